"""Parameters of the body that are fitted to short predictions."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.lab.replay.diagnosis.body_hypotheses import (
    BodyFits,
    _changed,
    _of_kind,
    _rounded,
    state_edits,
)
from mjrig.lab.replay.diagnosis.predictions import ParameterFit
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from tests.places import SCENES
from tests.plugin.lab.replay.recorded import biped, from_world


@dataclass
class OneSided:
    """Short predictions that only less of a parameter improves, as where a foot leaves the ground.

    `promise` is what a step downwards would remove, `share` what the best fit removes.
    """

    pair: Any
    size: float
    promise_below: float
    share: float
    change: float = -0.5
    steps: list[float] = field(default_factory=list)

    def miss(self) -> Any:
        return np.full((4, 3), self.size)

    def promise(self, apply: Any, undo: Any, step: float, before: Any) -> float:
        self.steps.append(step)
        return self.promise_below if step < 0.0 else 0.0

    def fit(self, *_: Any, **__: Any) -> ParameterFit:
        return ParameterFit(self.change, self.size, self.size * (1.0 - self.share))

    def efforts(self, miss: Any) -> Any:
        return np.zeros(1000)


def fits(size: float, promise_below: float, share: float, change: float = -0.5) -> BodyFits:
    """Fits to a recording that lists nothing."""
    world = mjrig.World(SCENES / "quadruped_trot.yaml")
    robot = next(iter(world.articulations.values()))

    plant = SimpleNamespace(joints={}, overall={})
    recorded = SimpleNamespace(plant=plant)
    pair = SimpleNamespace(robot=robot, base=object(), joints=(), recorded=recorded)
    segments: Any = OneSided(pair, size, promise_below, share, change)
    return BodyFits(segments, world)


def names(promise_below: float, share: float, size: float = 0.1, change: float = -0.5) -> set[str]:
    """The properties that are named."""
    return {finding.kind for finding, _ in fits(size, promise_below, share, change).run()}


@pytest.mark.parametrize(("promise", "fitted"), [(0.5, True), (0.03, True), (0.015, False)])
def test_a_parameter_is_fitted_if_either_side_of_it_promises_something(
    promise: float, fitted: bool
) -> None:
    assert ("gravity" in names(promise, 0.9)) == fitted


@pytest.mark.parametrize(("share", "named"), [(0.25, False), (0.4, True)])
def test_a_parameter_is_named_if_it_removes_a_third(share: float, named: bool) -> None:
    assert ("gravity" in names(0.5, share)) == named


@pytest.mark.parametrize("size", [1.2, 1.8])
@pytest.mark.parametrize("share", [0.9, 0.994, 0.996])
def test_gross_misses_are_explained_by_one_parameter_or_by_none(size: float, share: float) -> None:
    kinds = names(0.5, share, size)
    if share > 0.995:
        assert len(kinds) == 1
    else:
        assert (len(kinds) > 1) == (size < 1.5)


@pytest.mark.parametrize(("size", "named"), [(0.7e-5, False), (1.5e-5, True)])
def test_predictions_that_miss_by_rounding_need_no_explanation(size: float, named: bool) -> None:
    assert bool(names(0.5, 0.9, size)) == named


@pytest.mark.parametrize(
    ("what", "most"), [("gravity", 25.0), ("ground friction", 3.0)], ids=["gravity", "friction"]
)
def test_gravity_and_friction_of_no_robot_are_not_named(what: str, most: float) -> None:
    assert what in names(0.5, 0.9, change=-0.9 * most)
    assert what not in names(0.5, 0.9, change=-1.1 * most)


@pytest.mark.parametrize(
    ("what", "range_", "least", "gap"),
    [
        ("gravity", (-2.0, 9.81), (-0.5, 0.5), 4.0),
        ("ground friction", (-1.4, 1.4), (-0.15, 0.15), 0.4),  # from a quarter to four times
        ("payload", (-0.3, 0.3), (-0.05, 0.05), 0.1),
        ("kp", (-0.9, 1.5), (-0.4, 0.5), 1.0),  # of a gain of 1
    ],
)
def test_fits_begin_at_changes_that_cover_what_robots_have(
    what: str, range_: tuple[float, float], least: tuple[float, float], gap: float
) -> None:
    body = fits(0.1, 0.5, 0.9)
    parameters = [*body._parameters(), _of_kind("kp", "hinge", {"knee": 1.0})]
    scan = np.array(next(p.scan for p in parameters if p.what == what))
    if what == "payload":  # shares of the robot's mass
        scan /= body._world.model.body_subtreemass[1]
    assert (scan[0], scan[-1]) == pytest.approx(range_)
    assert (np.diff(scan) > 0.0).all()
    assert (scan[scan < 0.0][-1], scan[scan > 0.0][0]) == pytest.approx(least)
    for side in (-scan[scan < 0.0][::-1], scan[scan > 0.0]):
        assert (np.diff(side) <= gap + 1e-9).all() and (side[1:] <= 4.0 * side[:-1]).all()


def test_the_best_two_properties_of_the_three_joints_that_are_pushed_most_are_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body, pushes = fits(0.1, 0.5, 0.9), [1.0, 7.0, 5.0, 6.0, 2.0, 3.0, 4.0]
    joints = [SimpleNamespace(name=f"j{k}", kind="hinge", dof=slice(k, k + 1)) for k in range(7)]
    body._pair.joints = [(None, joint) for joint in joints]  # type: ignore[misc, assignment]
    segments: Any = body._segments
    segments.efforts = lambda miss: np.array(pushes)
    promises = iter([0.2, 0.2, 0.25, 0.3, *[0.5] * 9])  # of the first joint, one per side
    segments.promise = lambda *_: next(promises)
    asked: list[str] = []

    def parameters(only: tuple[str, ...]) -> Any:
        asked.extend(only)
        return [replace(_of_kind("kv", "hinge", {only[0]: 1.0}), where=only[0])]

    monkeypatch.setattr(body, "_of_joints", parameters)
    assert [p.where for p in body._promising(segments.miss())] == ["j2", "j3"]
    assert asked == ["j1", "j3", "j2"]


@pytest.mark.parametrize(("spread", "by_share"), [(1.8, False), (2.3, True)])
def test_unlike_values_are_changed_by_a_share(spread: float, by_share: bool) -> None:
    values = {"a": 1.0, "b": spread}
    changed = _changed(values, 0.5)
    assert changed == ({"a": 1.5, "b": 1.5 * spread} if by_share else {"a": 1.5, "b": spread + 0.5})


@pytest.mark.parametrize(("new", "rounded"), [(1.5e-4, 1.5e-4), (0.6e-4, 0.0)])
def test_a_value_that_is_nothing_next_to_the_one_here_is_zero(new: float, rounded: float) -> None:
    assert _rounded(new, 1.0) == rounded


@pytest.mark.parametrize(
    ("what", "step"),
    [("kp", 1.0), ("kv", 0.05), ("armature", 2e-3), ("damping", 0.02), ("frictionloss", 0.02),
     ("stiffness", 0.2)],
)  # fmt: skip
def test_changes_that_no_robot_has_are_beyond_twenty_times(what: str, step: float) -> None:
    like, unlike = (_of_kind(what, "hinge", {"a": 90.0, "b": v}) for v in (90.0, 900.0))
    assert (like.most, unlike.most) == (20.0 * 90.0, 20.0)
    tiny = _of_kind(what, "hinge", {"a": 0.0})
    assert tiny.most == 20.0 * 25.0 * step
    assert (like.step, unlike.step) == (step, 0.02)


def edits(jump: float, count: int, steps: int, first: int) -> list[str]:
    """What is named where the source wrote velocities, from one of so many steps on."""
    run = from_world(biped(), steps + 1, drive=lambda step, world: None)
    (actor,) = run.actors.values()
    assert actor.qvel is not None
    velocity = actor.qvel.copy()
    # The step to a written velocity misses it, and so does the one that begins with it.
    velocity[first : first + 2 * count : 2, -1] += jump
    run = replace(run, actors={actor.name: replace(actor, qvel=velocity)})
    found = mjrig.replay(run, biped(), diagnose=False)
    assert found.comparison is not None
    case = ReplayCase(run, biped(), "", found.comparison, 1e-3)
    return [f.kind for f in state_edits(case) if not isinstance(f, str)]


@pytest.mark.parametrize(
    ("jump", "count", "named"),
    [(0.015, 1, True), (0.007, 1, False), (0.02, 5, True), (0.02, 7, False)],
)
def test_velocities_that_were_written_are_rare_jumps(jump: float, count: int, named: bool) -> None:
    assert edits(jump, count, 40, 17) == (["state edited by the source"] if named else [])


@pytest.mark.parametrize(("steps", "named"), [(8, False), (13, True)])
def test_rare_jumps_need_ten_steps(steps: int, named: bool) -> None:
    assert bool(edits(0.02, 1, steps, 4)) == named
