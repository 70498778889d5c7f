"""Every documented hook may be overridden without super(): nothing the base classes do is lost."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import Clamp, Law, MotorActuator, PDController
from mjrig.components.laws.delay import Delay
from mjrig.components.policies.terms.state_terms import ProjectedGravity
from mjrig.components.props.solids import BoxProp
from mjrig.properties import ActorComponent, Float, PerActuator
from tests.worlds import arm

MODEL: list[str] = []
#: Hooks of a controller, and what an override that does nothing returns.
HOOKS = {
    "prepare": None,
    "validate": None,
    "on_change": None,
    "on_bind": None,
    "attach": None,
    "detach": None,
    "reset": None,
    "before_controls": None,
    "memory": None,
    "memory_signature": None,
    "restore": None,
    "load_law": None,
    "needs_position_stage": False,
}
GAINS: Any = {
    "kp": 20.0,
    "kv": 2.0,
    "delay": {"random": [0, 3], "seed": 4},
    "clamps": [{"type": "MaxEffort", "max_effort": 9}],
}


def silenced(base: type, hook: str, returns: object) -> tuple[Any, list[str]]:
    """A subclass whose hook counts its calls and does nothing else."""
    calls: list[str] = []

    def count(self: object, *arguments: object) -> object:
        calls.append(hook)
        return returns

    value = property(count) if hook == "needs_position_stage" else count
    members: dict[str, Any] = {}
    if hook in ("memory", "restore"):  # one without the other is refused
        members = {"memory": lambda self: None, "restore": lambda self, memory: None}
    return type(f"Silent{base.__name__}", (base,), {**members, hook: value}), calls


def lived(controller: Any, execution: str = "python") -> dict[str, Any]:
    """Build, step, edit live, edit the structure, reset, go back: what came out."""
    scene = mjrig.Scene()
    scene.add_actor("robot", model=MODEL[0])
    scene.actors[0].add_component(controller)
    world = mjrig.World(scene, execution)
    robot = world["robot"]
    running: Any = robot.controllers[0]
    seen: dict[str, Any] = {}

    def go(name: str, steps: int = 20) -> None:
        for _ in range(steps):
            world.step()
        seen[name] = np.concatenate([world.data.qpos, world.data.qvel, robot.effort])

    robot.set_targets({"shoulder": 0.4, "elbow": -0.3})
    go("built")
    running.kp = {"shoulder": 30.0, "default": 12.0}
    go("edited")
    running.actuators = ["a"]
    go("owns less")
    running.actuators = [".*"]
    running.decimation = 2
    go("structure")
    world.reset()
    robot.set_targets({"shoulder": 0.2})
    go("reset")
    kept = world.snapshot()
    go("on")
    world.restore(kept)
    go("again")
    assert np.array_equal(seen["on"], seen["again"])
    robot.remove_component(running)
    go("without", 2)
    return seen


@pytest.fixture(autouse=True, scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An arm under gravity, where a controller that does nothing is found out."""
    path = tmp_path_factory.mktemp("hooks") / "arm.xml"
    path.write_text(arm(option=""))
    MODEL[:] = [str(path)]
    return MODEL[0]


@cache
def plain(base: Any) -> dict[str, Any]:
    """What comes out without any override."""
    return lived(base(**GAINS) if base is PDController else base())


@pytest.mark.parametrize("hook", HOOKS)
def test_a_controller_with_a_silent_hook_runs_as_before(hook: str) -> None:
    silent, calls = silenced(PDController, hook, HOOKS[hook])
    found = lived(silent(**GAINS))
    assert calls, "the hook is never called"
    for name, values in plain(PDController).items():
        assert np.array_equal(found[name], values), name


def test_a_silent_hook_changes_nothing_in_other_executions() -> None:
    expected = lived(PDController(kp=20.0, kv=2.0), "native")
    for hook in ("on_change", "prepare", "on_bind", "load_law", "reset", "memory", "restore"):
        silent, _ = silenced(PDController, hook, None)
        found = lived(silent(kp=20.0, kv=2.0), "native")
        assert all(np.array_equal(found[n], values) for n, values in expected.items()), hook


def test_a_reset_that_calls_super_draws_a_random_delay_once() -> None:
    class Polite(PDController):
        def reset(self) -> None:
            super().reset()

    found = lived(Polite(**GAINS))
    assert all(np.array_equal(found[n], values) for n, values in plain(PDController).items())


def test_what_a_subclass_remembers_comes_back_beside_the_laws_memory() -> None:
    class Counting(PDController):
        def prepare(self) -> None:
            self._count = 0

        def before_controls(self, time: float) -> None:
            self._count += 1

        def reset(self) -> None:
            self._count = 0

        def memory(self) -> int:
            return self._count

        def restore(self, memory: int) -> None:
            self._count = memory

    scene = mjrig.Scene()
    scene.add_actor("robot", model=MODEL[0]).add_component(Counting(kp=3, delay={"steps": 2}))
    world = mjrig.World(scene)
    running: Any = world["robot"].controllers[0]
    world.step(5)
    kept = world.snapshot()
    world.step(3)
    assert running._count == 8
    world.restore(kept)
    assert running._count == 5
    world.reset()
    assert running._count == 0


def test_a_compute_and_apply_of_ones_own_runs_instead_of_the_law() -> None:
    silent, calls = silenced(PDController, "compute_and_apply", None)
    lived(silent(kp=20.0, kv=2.0))
    assert len(calls) == 7 * 20  # every step of every part
    scene = mjrig.Scene()
    scene.add_actor("robot", model=MODEL[0]).add_component(silent(kp=20))
    robot = mjrig.World(scene)["robot"]
    assert robot.controllers[0].execution.name == "python"
    with pytest.raises(mjrig.MjrigError, match="has a compute_and_apply in Python"):
        mjrig.World(scene, "native")


class Push(mjrig.ArticulationController):
    """A constant effort."""

    push = Float(1.0)
    decimation = PerActuator(constant=1.0)
    kp = PerActuator(constant=1.0)

    def compute_and_apply(self, model: Any, data: Any, source: Any) -> None:
        for binding, gain in zip(self.bindings, self.kp, strict=True):
            data.ctrl[binding.ctrl_address] = gain * self.push


@pytest.mark.parametrize("hook", [h for h in HOOKS if h != "load_law"])
def test_a_bare_controller_with_a_silent_hook_runs_as_before(hook: str) -> None:
    silent, calls = silenced(Push, hook, HOOKS[hook])
    found = lived(silent())
    assert calls
    assert all(np.array_equal(found[n], values) for n, values in plain(Push).items())


class Spring(Law):
    """τ = k (q* − q)."""

    k = PerActuator(constant=5.0)

    def compute(self, q, qd, target_q, target_qd, feedforward, state, dt, out):  # type: ignore[no-untyped-def]
        out[...] = self.k * (target_q - q)


class Cap(Clamp):
    """|τ| ≤ most."""

    most = PerActuator(constant=2.0)

    def apply(self, effort, q, qd, out):  # type: ignore[no-untyped-def]
        np.clip(effort, -self.most, self.most, out=out)


PARTS = [
    (base, hook)
    for base, hooks in {
        Spring: ("prepare", "validate", "on_change", "enter", "remember", "check_dt", "advance"),
        Cap: ("prepare", "validate", "on_change", "enter"),
        Delay: ("prepare", "validate", "on_change"),
    }.items()
    for hook in hooks
]


@pytest.mark.parametrize(("base", "hook"), PARTS)
def test_parts_with_a_silent_hook_run_as_before(base: Any, hook: str) -> None:
    def controller(**other: Any) -> PDController:
        given: dict[str, Any] = {"law": Spring(), "clamps": [Cap()], "delay": Delay(2)}
        return PDController(**(given | other))

    silent, calls = silenced(base, hook, None)
    part = {Spring: "law", Cap: "clamps", Delay: "delay"}[base]
    made = silent(2) if base is Delay else silent()
    found = lived_parts(controller(**{part: [made] if base is Cap else made}))
    expected = lived_parts(controller())
    assert calls or hook == "advance"  # only a law that remembers advances
    assert all(np.array_equal(found[n], values) for n, values in expected.items())


def lived_parts(controller: Any) -> dict[str, Any]:
    """Live edits of the parts, a structural one, a reset, a rewind."""
    scene = mjrig.Scene()
    scene.add_actor("robot", model=MODEL[0]).add_component(controller)
    world = mjrig.World(scene)
    robot = world["robot"]
    running: Any = robot.controllers[0]
    seen: dict[str, Any] = {}

    def go(name: str) -> None:
        for _ in range(15):
            world.step()
        seen[name] = np.concatenate([world.data.qpos, world.data.qvel, robot.effort])

    robot.set_targets({"shoulder": 0.6})
    go("built")
    running.law.k = 9.0
    running.clamps[0].most = 1.0
    running.delay.steps = 1
    go("edited")
    running.actuators = ["b"]
    go("structure")
    world.reset()
    go("reset")
    kept = world.snapshot()
    go("on")
    world.restore(kept)
    go("again")
    assert np.array_equal(seen["on"], seen["again"])
    return seen


ACTOR_HOOKS = [h for h in HOOKS if h not in ("on_bind", "load_law")]


@pytest.mark.parametrize("hook", ACTOR_HOOKS)
def test_an_actor_component_with_a_silent_hook_lives(hook: str) -> None:
    silent, calls = silenced(ActorComponent, hook, HOOKS[hook])
    scene = mjrig.Scene()
    actor = scene.add_actor("robot", model=MODEL[0])
    actor.add_component(silent())
    actor.add_component(PDController(kp=4))
    world = mjrig.World(scene)
    world.step(3)
    kept = world.snapshot()
    world.reset()
    world.restore(kept)
    world["robot"].remove_component(world["robot"].components[0])
    assert calls or hook in ("validate", "on_change")  # it has no property to change


@pytest.mark.parametrize("hook", ["prepare", "validate", "on_change"])
@pytest.mark.parametrize("base", [BoxProp, MotorActuator, ProjectedGravity])
def test_the_checks_of_a_base_class_stay(base: Any, hook: str) -> None:
    silent, calls = silenced(base, hook, None)
    bad: dict[Any, dict[str, object]] = {
        BoxProp: {"mass": 1.0, "density": 2.0},
        MotorActuator: {"joint": "a", "site": "b"},
        ProjectedGravity: {"history": -1},
    }
    with pytest.raises(mjrig.PropertyError):
        silent(**bad[base])
    right: dict[Any, dict[str, object]] = {
        BoxProp: {"mass": 2.0},
        MotorActuator: {"joint": "a"},
        ProjectedGravity: {"scale": 2},
    }
    good = silent(**right[base])
    assert calls
    assert good.copy().to_data().keys() == good.to_data().keys()
