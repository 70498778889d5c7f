"""What recorded actions, targets and terms must show, on made-up values of one or two joints."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.lab.replay.diagnosis import observation_hypotheses as observations
from mjrig.lab.replay.diagnosis import order_hypotheses as orders
from mjrig.lab.replay.diagnosis import policy_case
from mjrig.lab.replay.diagnosis import precision_hypotheses as precision
from mjrig.lab.replay.diagnosis.action_hypotheses import (
    ActionLine,
    Outputs,
    action_clip,
    lost_setpoints,
)
from mjrig.lab.replay.diagnosis.order_hypotheses import MatchSamples, samples_of
from mjrig.lab.replay.diagnosis.policy_case import (
    NEWEST,
    OLDEST,
    LayoutTerm,
    Recomputed,
    TermLayout,
    term_frames,
)

# Actions ------------------------------------------------------------------------------------------


def targets(action: FloatArray, target: FloatArray, **options: Any) -> Any:
    """A case whose one joint's targets are its actions, but for some."""
    view = SimpleNamespace(
        wrong=[], beta=1.0, mode="absolute", lines={0: ActionLine(1.0, 0.0, 0.0)}, joints=["knee"],
        actions=action[:, None], steps=np.arange(len(action)), action=options,
        bound=options.get("clip", np.inf), moved=lambda joint, *_: target,
    )  # fmt: skip
    return SimpleNamespace(view=lambda kind: view, recording=SimpleNamespace(steps=1000))


@pytest.mark.parametrize(("jump", "lost"), [(0.7e-3, 0), (1.5e-3, 1)])
def test_a_target_that_stays_though_its_action_moves_is_lost(jump: float, lost: int) -> None:
    action = np.sin(np.arange(50.0))
    action[20] = action[19] + jump
    target = action.copy()
    target[20] = target[19]
    assert len(list(lost_setpoints(targets(action, target)))) == lost


@pytest.mark.parametrize(("beyond", "named"), [(0.7e-3, False), (1.5e-3, True)])
def test_targets_beyond_the_clip_show_that_there_is_none(beyond: float, named: bool) -> None:
    action = np.array([0.0, 1.0, 2.0, 5.0 * (1.0 + beyond)])
    assert bool(list(action_clip(targets(action, action, clip=5.0)))) == named


@pytest.mark.parametrize(("spread", "named"), [(0.7e-3, True), (1.5e-3, False)])
def test_targets_that_end_at_one_value_show_a_clip(spread: float, named: bool) -> None:
    action = np.array([0.0, 1.0, 4.0, 5.0, 6.0])
    target = np.array([0.0, 1.0, 3.0, 3.0, 3.0 * (1.0 - spread)])
    found = list(action_clip(targets(action, target)))
    assert [f.expected for f in found] == ([pytest.approx(3.0, rel=1e-3)] if named else [])


@pytest.mark.parametrize(("memory", "judged"), [(0.0, True), (0.5, False)])
def test_a_memory_that_was_not_recorded_is_no_other_network(memory: float, judged: bool) -> None:
    """The recording begins while the policy runs; its first actions differ."""

    def answers(seen: FloatArray) -> FloatArray:
        held, found = np.zeros(1), []
        for row in seen:
            held = row + memory * held
            found.append(held)
        return np.array(found)

    seen = np.cos(np.arange(20.0))[:, None]
    action = answers(seen)
    action[:5] += 1.0
    ticks = SimpleNamespace(observation=seen, action=action, step=np.arange(20))
    policy = SimpleNamespace(joints=("knee",), answers=answers)
    case: Any = SimpleNamespace(
        ticks=ticks, policy=policy, joints=("knee",), action={}, from_the_start=False
    )
    assert (Outputs(case).reason == "") == judged


# Observations -------------------------------------------------------------------------------------


def observed(layout: TermLayout, recorded: FloatArray, here: list[FloatArray]) -> Any:
    """A case with these recorded observations, and the terms here at age 0."""
    ticks = np.arange(len(recorded))
    found = Recomputed(ticks, recorded, recorded, ticks)
    places = [p[0] for p in layout.places()]
    frames = [(recorded[:, p], x) for p, x in zip(places, here, strict=True)]
    views: dict[Any, Any] = {term_frames: frames}
    return SimpleNamespace(observed=(layout, found), view=lambda make: views[make], said={})


@pytest.mark.parametrize(("terms", "named"), [(4, True), (6, True), (7, False)])
def test_the_order_of_up_to_six_terms_is_found(terms: int, named: bool) -> None:
    """All permutations are tried."""
    here = list(np.random.default_rng(2).normal(size=(terms, 30, 2)))
    layout = TermLayout(
        tuple(LayoutTerm(i, f"T{i}", 2, 1, {"type": f"T{i}"}) for i in range(terms))
    )
    order = [*range(1, terms), 0]
    recorded = np.concatenate([here[i] for i in order], axis=1)
    found = list(observations.term_order(observed(layout, recorded, here)))
    assert [f.expected for f in found] == ([[f"T{i}" for i in order]] if named else [])


@pytest.mark.parametrize(("noise", "named"), [(0.25, True), (1.2, False)])
def test_another_history_fits_much_better(noise: float, named: bool) -> None:
    random = np.random.default_rng(3)
    here = np.cumsum(random.normal(size=(200, 2)), axis=0)
    term = LayoutTerm(0, "T", 2, 2, {})
    newest_first = np.concatenate([here[1:], here[:-1]], axis=1)
    recorded = newest_first + noise * random.normal(size=newest_first.shape)
    case = observed(TermLayout((term,), OLDEST), recorded, [here[1:]])
    found = list(observations.history_order(case))
    assert [f.expected for f in found] == ([NEWEST] if named else [])


def phase_term(**said: Any) -> LayoutTerm:
    return LayoutTerm(0, "GaitPhase", 2, 1, said)


@pytest.mark.parametrize(("radius", "is_phase"), [(1.02, True), (1.035, False), (0.0, True)])
def test_a_phase_is_on_the_unit_circle(radius: float, is_phase: bool) -> None:
    angle = np.linspace(0.0, 6.0, 20)
    values = radius * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    assert observations._is_phase(values, phase_term()) == is_phase


@pytest.mark.parametrize(("size", "turns"), [(0.07, False), (0.14, True)])
def test_a_phase_turns_where_it_is_not_nearly_zero(size: float, turns: bool) -> None:
    time = np.linspace(0.0, 0.4, 20)
    values = size * np.stack([np.sin(9.0 * time), np.cos(9.0 * time)], axis=1)
    values /= np.abs(values).max(axis=1, keepdims=True) / size
    assert (observations._period(values, time, phase_term()) is not None) == turns


# Columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "is_assigned"), [(0.7e-3, False), (1.5e-3, True)])
def test_columns_that_hardly_move_keep_their_place(size: float, is_assigned: bool) -> None:
    waves = np.sin(np.outer(np.arange(200.0), [0.5, 0.8, 1.3])) * np.sqrt(2.0) * size
    found = orders.likely_order(MatchSamples(waves[:, [1, 2, 0]], waves))
    assert (found.tolist() == [2, 0, 1]) == is_assigned


@pytest.mark.parametrize(("steps", "used"), [(15, False), (25, True)])
def test_efforts_at_a_few_steps_are_not_used(steps: int, used: bool) -> None:
    joint = SimpleNamespace(name="knee", kind="hinge", qpos=slice(0, 1), dof=slice(0, 1))
    every = np.arange(100)
    wave = np.sin(every)[:, None]
    actor: Any = SimpleNamespace(
        joints=[joint], driven=["knee"], step=every, qpos=wave, qvel=wave,
        commands=SimpleNamespace(step=every, position=wave),
        efforts=SimpleNamespace(step=every[:steps], effort=wave[:steps]),
    )  # fmt: skip
    samples = samples_of(actor)
    assert samples is not None and (samples.effort is not None) == used


# Precision ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("differ", "named"), [(7, True), (13, False)])
def test_nearly_all_values_must_have_the_bits_of_a_precision(differ: int, named: bool) -> None:
    exact = np.random.default_rng(4).normal(size=1000)
    rounded = exact.astype(np.float32).astype(np.float64)
    recorded = rounded.copy()
    recorded[:differ] += 1.0
    case: Any = SimpleNamespace(said={"state": "float64"})
    ways = {"float32": [rounded], "float64": [exact]}
    assert bool(list(precision._found(case, "state", (recorded, ways)))) == named


# Recomputed observations --------------------------------------------------------------------------


class Counter:
    """A policy that observes its sensors at every state that it is shown."""

    needs_position_stage = False
    ticks = 0

    def __init__(self) -> None:
        self.observation = np.ones(2)

    def before_controls(self, time: float) -> None:
        self.ticks += 1


def recomputed(count: int, before: int, monkeypatch: pytest.MonkeyPatch) -> Recomputed:
    """Of some recorded ticks; of some of them the step before was recorded too."""
    for name in ("start", "_show", "_place"):
        monkeypatch.setattr(policy_case, name, lambda *_: None)
    ticks = SimpleNamespace(
        step=10 * np.arange(1, count + 1),
        observation=np.ones((count, 2)),
        action=np.ones((count, 1)),
    )
    step = np.union1d(ticks.step, ticks.step[:before] - 1)
    world = SimpleNamespace(data=SimpleNamespace(time=0.0), timestep=0.01)
    case: Any = SimpleNamespace(
        match=SimpleNamespace(recorded=SimpleNamespace(step=step)), ticks=ticks, policy=Counter(),
        world=world, reads_sensors=True, recording=None, matches=[], shift=0,
    )  # fmt: skip
    found = policy_case.recompute(case)
    assert found is not None
    return found


@pytest.mark.parametrize(("before", "sharp"), [(12, 30), (20, 20)])
def test_fifteen_ticks_are_enough_to_judge_sensors_by(
    before: int, sharp: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others show an older state; with fewer ticks they have to do."""
    assert len(recomputed(30, before, monkeypatch).sharp) == sharp


@pytest.mark.parametrize(("count", "compared"), [(300, 300), (600, 400)])
def test_four_hundred_ticks_are_compared_at_most(
    count: int, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(recomputed(count, 0, monkeypatch).ticks) == compared
