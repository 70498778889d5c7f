"""A method that has to write to `out` and returns its values instead is an error that says so."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PD, Clamp, Law, LawController, ObservationTerm, PDController, Pipeline
from mjrig.components.policies.observer import connected
from mjrig.components.policies.terms.view import View
from mjrig.core.errors import MjrigError
from mjrig.data.gym.scene_env import Reward, as_number
from mjrig.scene import Prop
from tests.worlds import arm, make_world


class ReturningLaw(Law):
    def compute(self, q: Any, qd: Any, *rest: Any) -> Any:  # type: ignore[override]
        return -q


class ReturningClamp(Clamp):
    def apply(self, effort: Any, *rest: Any) -> Any:  # type: ignore[override]
        return effort.clip(-1.0, 1.0)


class BoundedClamp(ReturningClamp):
    def bounds(self, q: Any, qd: Any) -> Any:
        return q - 1.0, q + 1.0

    def bound_slopes(self, q: Any, qd: Any) -> Any:
        return q, q, q, q


class FillingLaw(Law):
    """Returns `out` as well, as numpy functions do."""

    def compute(  # type: ignore[override]
        self, q: Any, qd: Any, target_q: Any, *rest: Any
    ) -> Any:
        return np.subtract(target_q, q, out=rest[-1])


class FillingClamp(Clamp):
    def apply(self, effort: Any, q: Any, qd: Any, out: Any) -> Any:
        return np.clip(effort, -1.0, 1.0, out=out)


class ReturningController(mjrig.ArticulationController):
    def compute_and_apply(self, model: Any, data: Any, source: Any) -> Any:
        return np.zeros(2)


class NoLaw(PDController):
    def make_law(self) -> Any:
        return None


def stepped(component: mjrig.ArticulationController) -> None:
    make_world(arm(), [component]).step()


def pipeline(law: Law, *clamps: Clamp) -> Pipeline:
    return Pipeline(law, clamps=clamps, size=2)


class Bounded(Clamp):
    result: Any = (-1.0, 1.0)

    def bounds(self, q: Any, qd: Any) -> Any:
        return self.result


ZERO = np.zeros(2)
WAYS: dict[str, Callable[[], object]] = {
    "law in a pipeline": lambda: pipeline(ReturningLaw()).step(ZERO, ZERO, ZERO),
    "law, jacobian": lambda: pipeline(ReturningLaw()).jacobian(ZERO, ZERO, ZERO),
    "law in a world": lambda: stepped(LawController(law=ReturningLaw())),
    "clamp in a pipeline": lambda: pipeline(PD(kp=1.0), ReturningClamp()).step(ZERO, ZERO, ZERO),
    "clamp, jacobian": lambda: pipeline(PD(kp=1.0), BoundedClamp()).jacobian(ZERO, ZERO, ZERO),
    "clamp, implicit": lambda: pipeline(PD(kp=1.0), ReturningClamp()).step_implicit(
        ZERO, ZERO, ZERO, dt=0.01, inverse_mass=np.eye(2)
    ),
    "clamp in a world": lambda: stepped(PDController(kp=9.0, clamps=[ReturningClamp()])),
    "clamp in an implicit world": lambda: stepped(
        PDController(kp=9.0, effort="implicit", clamps=[ReturningClamp()])
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_law_or_clamp_that_returns_its_effort_is_an_error(way: str) -> None:
    method = "ReturningLaw.compute" if way.startswith("law") else "Clamp.apply"
    with pytest.raises(MjrigError) as info:
        WAYS[way]()
    text = f"{method} returned an array of shape (2,); write the values to `out` instead"
    assert text in str(info.value)


@pytest.mark.parametrize(
    ("result", "fragment"),
    [
        (None, "Odd.bounds returned None"),
        (-1.0, "Odd.bounds returned -1.0"),
        ((-1.0,), "Odd.bounds returned (-1.0,)"),
        ((ZERO, ZERO, ZERO), "Odd.bounds returned (array"),
        (("low", "high"), "Odd.bounds returned values of shape () and ()"),
        ((np.zeros(3), np.ones(3)), "shape (3,) and (3,) for efforts of shape (2,)"),
        ((1.0, -1.0), "a lowest effort above the highest, at index 0"),
        ((np.array([-1.0, 2.0]), 1.0), "a lowest effort above the highest, at index 1"),
    ],
)
def test_bounds_that_are_not_bounds_are_an_error(result: Any, fragment: str) -> None:
    odd = type("Odd", (Bounded,), {"result": result})
    ways: tuple[Callable[[], object], ...] = (
        lambda: pipeline(PD(kp=1.0), odd()).step(ZERO, ZERO, ZERO),
        lambda: make_world(arm(), [PDController(kp=9.0, clamps=[odd()])]),
    )
    for way in ways:
        with pytest.raises(MjrigError) as info:
            way()
        assert fragment in str(info.value)
        assert "return (lowest, highest)" in str(info.value)


def test_bounds_that_become_wrong_later_are_an_error() -> None:
    clamp = Bounded()
    pipe = pipeline(PD(kp=1.0), clamp)
    pipe.step(ZERO, ZERO, ZERO)
    pipe.clamps[0].__dict__["result"] = None
    with pytest.raises(MjrigError, match=r"Bounded\.bounds returned None"):
        pipe.step(ZERO, ZERO, ZERO)


def test_a_law_or_clamp_may_return_out() -> None:
    pipe = pipeline(FillingLaw(), FillingClamp())
    np.testing.assert_array_equal(pipe.step(ZERO, ZERO, np.array([0.5, 3.0])), [0.5, 1.0])


def test_a_controller_that_returns_its_efforts_is_an_error() -> None:
    with pytest.raises(MjrigError, match=r"compute_and_apply returned an array .*data\.ctrl"):
        stepped(ReturningController())


def test_a_controller_without_a_law_is_an_error() -> None:
    with pytest.raises(MjrigError, match=r"NoLaw\.make_law returned None; return a Law"):
        stepped(NoLaw())


def test_a_prop_that_returns_another_spec_is_an_error() -> None:
    class Lost(Prop):
        def fill(self, spec: Any) -> Any:
            return mujoco.MjSpec()

    scene = mjrig.Scene()
    with pytest.raises(MjrigError, match=r"Lost\.fill returned another spec; add the elements"):
        scene.add_actor("box", prop=Lost())
        mjrig.World(scene)


class ReturningTerm(ObservationTerm):
    def connect(self, view: View) -> int:
        return 2

    def measure(self, *rest: Any) -> Any:  # type: ignore[override]
        return np.ones(2)


class Unsized(ReturningTerm):
    def connect(self, view: View) -> Any:
        return None


def test_a_term_that_returns_its_values_is_an_error() -> None:
    view: Any = SimpleNamespace(worlds=0)
    size, measure, _ = connected(ReturningTerm(), view, None)
    with pytest.raises(MjrigError, match=r"ReturningTerm\.measure returned an array of shape"):
        measure(np.zeros(size))
    with pytest.raises(MjrigError, match=r"Unsized\.connect returned None; return the number of"):
        connected(Unsized(), view, None)


@pytest.mark.parametrize("value", [None, "high", [1.0, 2.0]])
def test_a_reward_that_is_not_a_number_is_an_error(value: object) -> None:
    class Odd(Reward):
        def reward(self, world: mjrig.World) -> Any:
            return value

    with pytest.raises(MjrigError, match=r"Odd\.reward returned .*; return a number"):
        as_number(Odd().reward(None), Odd())  # type: ignore[arg-type]
    with pytest.raises(MjrigError, match=r"reward\(world\) returned .*; return a number"):
        as_number(value, "reward(world)")
