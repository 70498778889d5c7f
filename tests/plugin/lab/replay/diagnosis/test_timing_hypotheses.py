"""Times of a recording: units of velocities, gains and targets of the stand, shifted setpoints."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.diagnosis.hypothesis import NotJudged
from mjrig.lab.replay.diagnosis.policy_case import LayoutTerm, TermLayout
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.diagnosis.timing_hypotheses import (
    _differ,
    history_fill,
    shifted_setpoints,
    velocity_units,
)
from mjrig.lab.replay.matching import match
from tests.plugin.lab.replay.recorded import biped, from_world


@pytest.mark.parametrize(("off", "named"), [(0.7e-6, True), (1.5e-6, False)])
@pytest.mark.parametrize("fill", ["zeros", "first"])
def test_the_first_observation_shows_how_a_history_is_filled(
    off: float, named: bool, fill: str
) -> None:
    layout = TermLayout((LayoutTerm(0, "T", 1, 2, {}),))
    before = off if fill == "zeros" else 1.0 + off
    observation = np.array([[before, 1.0]])  # the oldest first
    ticks = SimpleNamespace(observation=observation, action=observation, step=np.zeros(1))
    other = {"zeros": "first", "first": "zeros"}[fill]
    case: Any = SimpleNamespace(
        layout=layout, ticks=ticks, policy=SimpleNamespace(observation=np.zeros(2)),
        said={"observation": {"history": {"fill": other}}},
    )  # fmt: skip
    (answer,) = history_fill(case)
    if named:
        assert isinstance(answer, Finding) and (answer.expected, answer.here) == (fill, other)
    else:
        assert isinstance(answer, NotJudged)


def units(rows: int, change: Callable[[FloatArray], FloatArray]) -> list[Any]:
    """Findings on velocities that are changed like that; positions follow the true ones."""
    time = 1e-3 * np.arange(rows)
    velocity = np.stack([np.cos(9.0 * time), np.sin(7.0 * time)], axis=1)
    position = np.cumsum(velocity * 1e-3, axis=0)
    joint = [SimpleNamespace(qpos=slice(i, i + 1), dof=slice(i, i + 1)) for i in range(2)]
    recorded = SimpleNamespace(step=np.arange(rows), qpos=position, qvel=change(velocity))
    pair = SimpleNamespace(recorded=recorded, single=[(j, j) for j in joint])
    case: Any = SimpleNamespace(match=pair, recording=SimpleNamespace(timestep=1e-3))
    return list(velocity_units(case))


@pytest.mark.parametrize(("factor", "named"), [(1.07, False), (1.15, True), (57.3, True)])
def test_velocities_in_another_unit(factor: float, named: bool) -> None:
    found = units(400, lambda v: factor * v)
    assert bool(found) == named
    if named:
        assert found[0].evidence["factor"] == pytest.approx(factor)
        assert found[0].evidence["in_degrees"] == (factor > 50.0)


@pytest.mark.parametrize(("rest", "named"), [(0.07, True), (0.15, False)])
def test_another_unit_is_one_factor_of_all(rest: float, named: bool) -> None:
    noise = np.random.default_rng(1).standard_normal((400, 2))
    noise /= np.sqrt(np.mean(noise**2))
    assert bool(units(400, lambda v: 2.0 * (v + rest * np.sqrt(np.mean(v**2)) * noise))) == named


@pytest.mark.parametrize(("rows", "named"), [(8, False), (12, True)])
def test_another_unit_needs_ten_steps(rows: int, named: bool) -> None:
    assert bool(units(rows, lambda v: 2.0 * v)) == named


@pytest.mark.parametrize(("factor", "differ"), [(1.0 + 0.7e-3, False), (1.0 + 1.5e-3, True)])
def test_gains_that_differ(factor: float, differ: bool) -> None:
    assert _differ(40.0, 40.0 * factor) == differ
    assert not _differ(0.0, 0.0)


def shifts(run: Recording, monkeypatch: pytest.MonkeyPatch, best: int) -> list[int]:
    """The shifts that are tried by running, where short predictions like one best."""
    tried: list[int] = []

    class Segments:
        pair = match(run, biped())[0]

        def miss(self, recording: Recording) -> FloatArray:
            (actor,) = recording.actors.values()
            (before,) = run.actors.values()
            assert actor.commands is not None and before.commands is not None
            steps = int(actor.commands.step[-1] - before.commands.step[-1])
            tried.append(steps)
            return np.full(3, abs(steps - best))

    case = object.__new__(ReplayCase)
    case.recording = run
    monkeypatch.setattr(ReplayCase, "segments", Segments())
    list(shifted_setpoints(case))
    return sorted(tried)


@pytest.mark.parametrize("tick", [4, 12])
def test_shifts_within_a_tick_and_of_whole_ticks_are_sought(
    tick: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drive(step: int, world: Any) -> None:
        if step % tick == 0:
            world["robot"].set_targets(0.1 * np.sin(0.1 * step + np.arange(4.0)))

    run = from_world(biped(), 120, drive)
    near = min(tick, 10)
    expected = {*range(1, near + 1), tick, 2 * tick, 3 * tick}
    assert shifts(run, monkeypatch, 2) == sorted({s * n for n in expected for s in (-1, 1)})
