"""Where a replay judges: each case is on one of the two sides of a threshold."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.lab.replay import runner
from mjrig.lab.replay.comparison import BasePath, saturation
from mjrig.lab.replay.result import FAILS, TRANSFERS, UNKNOWN
from mjrig.lab.replay.trials import Perturbation, _perturb, tracking
from tests.worlds import make_robot

# Falls and limits -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tilt", "height", "falls"),
    [(50.0, 1.0, False), (57.0, 0.53, False), (63.0, 1.0, True), (0.0, 0.47, True)],
)
def test_a_base_that_leans_by_60_degrees_or_sinks_to_a_half_has_fallen(
    tilt: float, height: float, falls: bool
) -> None:
    position = np.array([[0.0, 0.0, 0.8], [0.0, 0.0, 0.8 * height]])
    upright = np.array([1.0, math.cos(math.radians(tilt))])
    path = BasePath(position, upright, np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))
    assert path.fell_at() == (1 if falls else None)


@pytest.mark.parametrize(("below", "share"), [(0.8e-6, 1.0), (1.25e-6, 0.0)])
def test_an_effort_within_a_millionth_of_its_limit_is_at_the_limit(
    below: float, share: float
) -> None:
    assert saturation(np.array([20.0 * (1.0 - below)]), 20.0) == share


def _replay(**values: Any) -> Any:
    usual = {
        "joints": {}, "diagnosis": [], "notes": [], "trials": [], "base_start": [0.0] * 3,
        "verdict": TRANSFERS, "evidence": "", "tolerance": 1e-3,
    }  # fmt: skip
    return SimpleNamespace(**usual | values)


@pytest.mark.parametrize(("share", "is_noted"), [(0.04, False), (0.0625, True)])
def test_a_joint_at_its_limit_for_a_twentieth_of_the_time_is_noted(
    share: float, is_noted: bool
) -> None:
    assert bool(runner.saturated(_replay(joints={"knee": {"saturation": share}}))) is is_noted


@pytest.mark.parametrize(("falls", "fails"), [(3, False), (4, False), (5, True), (7, True)])
def test_a_policy_that_falls_in_more_than_half_of_the_runs_fails(falls: int, fails: bool) -> None:
    trials = [SimpleNamespace(fell=k <= falls and k > 0) for k in range(9)]
    replay = _replay(trials=trials)
    run: Any = SimpleNamespace(trial=trials[0])
    runner._judge(replay, run, None, SimpleNamespace(name="dog"))  # type: ignore[arg-type]
    assert (replay.verdict == FAILS) is fails


@pytest.mark.parametrize(
    ("error", "time", "is_rounding"),
    [(0.8e-4, 0.2, True), (1.25e-4, 0.2, False), (1.0, 0.4, False), (1.0, 0.625, True)],
)
def test_a_difference_that_is_tiny_for_half_a_second_is_rounding(
    error: float, time: float, is_rounding: bool
) -> None:
    """It grows beyond the tolerance later."""
    comparison = SimpleNamespace(time=np.array([time, 3.0]), error=np.array([error, 1.0]))
    replay = _replay(comparison=comparison, max_abs_position_error=1.0)
    found: Any = SimpleNamespace(agrees=True)
    recording: Any = SimpleNamespace(actors={}, timestep=0.002)
    if time > 0.5:  # something is compared before
        comparison.time, comparison.error = np.array([0.1, time]), np.array([0.0, error])
    runner.judge_difference(replay, found, recording)
    assert (replay.verdict != UNKNOWN) is is_rounding


# Perturbed runs ---------------------------------------------------------------------------------

DOG = """
<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body pos="0 0 1"><freejoint/>
  <geom size="0.1" mass="8"/>
  <body><joint name="hip" axis="0 1 0"/><geom size="0.05" mass="2"/></body>
</body></worldbody><actuator><motor joint="hip"/></actuator></mujoco>"""


class _Edit:
    """Notes what a perturbation changes."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add_mass(self, value: float) -> None:
        self.values.append(value)

    scale_friction = scale_strength = add_mass


def _drawn(kind: str, count: int = 300) -> tuple[list[float], Any]:
    """Values that a kind of perturbation draws, and what it does between steps."""
    world, robot = make_robot(DOG, PDController(kp=1.0, kv=0.1))
    edit: Any = _Edit()
    between = None
    for k in range(count):
        _, between = _perturb(world, robot, edit, Perturbation(kind, (0, k)))
    return edit.values, between


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("less friction", 0.5, 0.85),
        ("more friction", 1.1, 1.25),
        ("less strength", 0.85, 0.95),
        ("more strength", 1.05, 1.15),
        ("payload", 0.5, 1.5),
    ],
)
def test_factors_of_trials_are_drawn_from_their_ranges(kind: str, low: float, high: float) -> None:
    """The payload is a share of 10 kg."""
    values, _ = _drawn(kind)
    assert (min(values), max(values)) == (
        pytest.approx(low, rel=0.02),
        pytest.approx(high, rel=0.02),
    )
    assert low <= min(values) and max(values) <= high


def test_runs_start_off_by_a_twentieth_of_a_radian_and_a_tenth_per_second() -> None:
    offsets, speeds = [], []
    world, robot = make_robot(DOG, PDController(kp=1.0, kv=0.1))
    for k in range(200):
        world.reset()
        edit: Any = _Edit()
        _perturb(world, robot, edit, Perturbation("start", (0, k)))
        offsets.append(float(world.data.qpos[7]))
        speeds.append(world.data.qvel.copy())
    assert (np.min(offsets), np.max(offsets)) == pytest.approx((-0.05, 0.05), abs=0.004)
    assert (np.min(speeds), np.max(speeds)) == pytest.approx((-0.1, 0.1), abs=0.004)


def test_pushes_change_the_speed_every_two_seconds() -> None:
    world, robot = make_robot(DOG, PDController(kp=1.0, kv=0.1))
    edit: Any = _Edit()
    _, push = _perturb(world, robot, edit, Perturbation("pushes", (0, 0)))
    assert push is not None
    times, before = [], world.data.qvel[:2].copy()
    for step in range(3001):
        push(step)
        if not np.array_equal(before, world.data.qvel[:2]):
            times.append(step * world.timestep)
            assert np.linalg.norm(world.data.qvel[:2] - before) == pytest.approx(0.4)
            before = world.data.qvel[:2].copy()
    assert times == pytest.approx([2.0, 4.0, 6.0])


def test_speeds_are_compared_as_means_over_a_second() -> None:
    """A sway of a second costs nothing, one of two seconds does; half a second is too short."""
    time = 0.01 * np.arange(401)
    straight = np.tile([1.0, 0.0, 0.0, 0.0], (401, 1))
    commands = np.tile([0.5, 0.0, 0.0], (400, 1))
    errors = []
    for period in (1.0, 2.0, 0.5):
        position = np.zeros((401, 3))
        position[:, 0] = 0.5 * time + 0.1 * np.cos(2.0 * np.pi * time / period)
        errors.append(tracking(position, straight, commands, 0.01, 400))
    assert errors == [
        pytest.approx(0.0, abs=1e-9),
        pytest.approx(0.2),
        pytest.approx(0.0, abs=1e-9),
    ]
    assert tracking(np.zeros((401, 3)), straight, commands, 0.01, 90) is None
