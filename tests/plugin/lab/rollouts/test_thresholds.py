"""Where decisions about rollouts change: each case is on one of the two sides of a threshold."""

import math
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import SceneError
from mjrig.lab.rollouts import worker
from mjrig.lab.rollouts.backends import Inline, Pool, drive
from mjrig.lab.rollouts.experiment import Variation
from mjrig.lab.rollouts.hosts import WorldHost
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.randomisation import Bumps, Randomisation
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.rollouts.scene_bundle import Bundle
from mjrig.lab.rollouts.signals import (
    Kind,
    Signal,
    has_final,
    is_over,
    is_still,
    limit,
    settling,
)
from tests.plugin.lab.sweep.swept import hinge_scene
from tests.worlds import make_world

RUN: FloatArray = np.linspace(0.0, 1.0, 3001)


def _bisect(of: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where an increasing function has a value."""
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if of(middle) < value else (low, middle)
    return low


# Signals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("remaining", "expected"), [(0.8e-3, True), (1.25e-3, False)])
def test_a_response_has_a_final_value_if_a_thousandth_of_the_way_remains(
    remaining: float, expected: bool
) -> None:
    """What remains at the mean of the last tenth of an exponential."""
    constant = _bisect(lambda t: np.exp(-RUN[RUN >= 0.9] / t).mean(), remaining, 0.05, 1.0)
    assert has_final(1.0 - np.exp(-RUN / constant)) is expected


def test_a_chatter_that_is_slower_than_a_thirtieth_of_the_end_is_a_swing() -> None:
    """The end of a swing is its mean; that of a motion is extrapolated beyond the mean."""
    motion = 1.0 - np.exp(-2.0 * RUN)
    swing = motion + 0.05 * np.where((RUN * 100.0).astype(int) % 2, 1.0, -1.0)
    tail = RUN > RUN[-301]
    assert limit(swing)[0] == pytest.approx(swing[tail].mean(), abs=1e-3)
    assert limit(motion)[0] > motion[-1] + 0.05


def test_a_joint_is_still_if_it_would_move_half_a_percent_of_the_amplitude() -> None:
    signal = Signal(amplitude=0.4, duration=5.0)
    ways = np.array([0.004, 0.006]) * signal.amplitude
    assert is_still(ways / signal.duration, signal).tolist() == [True, False]


@pytest.mark.parametrize(("way", "expected"), [(0.0008, True), (0.00125, False)])
def test_a_chirp_is_over_if_a_thousandth_of_the_amplitude_is_left_to_move(
    way: float, expected: bool
) -> None:
    signal = Signal(Kind.CHIRP, amplitude=0.5, duration=2.0)
    speed = way * signal.amplitude / signal.duration
    positions = speed * 0.001 * np.arange(2001, dtype=np.float64)
    assert is_over(positions, signal, 0.001) is expected


@pytest.mark.parametrize(
    ("begin", "end", "expected"), [(0.50, 0.60, True), (0.66, 0.69, False), (0.60, 0.64, True)]
)
def test_a_step_is_over_if_its_last_third_is_quiet(
    begin: float, end: float, expected: bool
) -> None:
    """An excursion before the last 35 % of the run does not count, a later one does."""
    signal = Signal(duration=1.0)
    values = np.where(RUN > 0.1, 1.0, RUN / 0.1)
    values[(begin < RUN) & (end > RUN)] += 0.1
    assert has_final(values)
    assert is_over(values, signal, 0.001) is expected


@pytest.mark.parametrize(("period", "expected"), [(8, True), (16, False)])
def test_a_chatter_of_eight_steps_is_not_a_motion(period: int, expected: bool) -> None:
    """Decimated laws chatter that fast around a target; a swing of twice the period moves."""
    steps = 0

    def step(count: int) -> None:
        nonlocal steps
        steps += count

    def read() -> FloatArray:
        return np.array([0.1 * math.cos(2.0 * math.pi * steps / period)])

    still, _ = next(settling(step, read, 0.001, Signal()))
    assert still.tolist() == [expected]


# Free runs --------------------------------------------------------------------------------------

#: A floating base whose principal axes are its own, and a joint that a law can hold.
DRONE = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <inertial pos="0 0 0" mass="10" diaginertia="1 1 1"/>
      <body name="wheel">
        <joint name="spin" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="0.001" diaginertia="1e-6 1e-6 1e-6"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="drive" joint="spin"/></actuator>
</mujoco>"""


def _drone(**velocity: tuple[float, float, float]) -> WorldHost:
    world = make_world(DRONE, [PDController(kp=0.001, kv=0.001)], velocity=dict(velocity))
    return WorldHost(world, "robot")


def _fell(host: WorldHost) -> bool:
    (metrics,) = FreeRun(1.0).run(host, Randomisation(), [Variation()])
    return metrics["fell"] == 1.0


@pytest.mark.parametrize(("degrees", "expected"), [(50.0, False), (57.0, False), (64.0, True)])
def test_a_base_that_leans_by_60_degrees_has_fallen(degrees: float, expected: bool) -> None:
    assert _fell(_drone(angular=(math.radians(degrees), 0.0, 0.0))) is expected


@pytest.mark.parametrize(("height", "expected"), [(0.6, False), (0.53, False), (0.46, True)])
def test_a_base_at_half_its_height_has_fallen(height: float, expected: bool) -> None:
    assert _fell(_drone(linear=(0.0, 0.0, height - 1.0))) is expected


# Kicks and pushes -------------------------------------------------------------------------------


def test_bumps_come_every_two_seconds_and_up_to_half_a_second_late() -> None:
    randomisation = Randomisation(kick=(0.5, 0.5))
    times = [[b.time for b in randomisation.bumps(seed, 9.0)] for seed in range(200)]
    late = np.array(times) - [2.0, 4.0, 6.0, 8.0]
    assert 0.0 <= late.min() < 0.02
    assert 0.48 < late.max() <= 0.5
    assert not randomisation.bumps(0, 2.0)


def test_a_push_changes_the_speed_within_a_tenth_of_a_second() -> None:
    """Halfway through it, the base has half of the speed that the push is worth."""
    randomisation = Randomisation(push=(0.8, 0.8))
    (push,) = randomisation.bumps(3, 3.0)
    speeds = []
    for after in (0.05, 0.1, 0.2):
        host = _drone()
        Bumps(host, randomisation, [3], 3.0).step(round((push.time + after) / host.timestep))
        assert host.base_dof is not None
        speeds.append(np.linalg.norm(host.qvel[0, host.base_dof : host.base_dof + 2]))
    assert speeds == pytest.approx([0.4, 0.8, 0.8], abs=0.01)


# Joint bench ------------------------------------------------------------------------------------


def _rod(stiffness: float = 0.0) -> str:
    """A rod whose weight pulls with 9.81 · 0.2 N·m if it is level."""
    return f"""
    <mujoco>
      <compiler angle="radian"/>
      <option timestep="0.001"/>
      <worldbody>
        <body name="rod">
          <joint name="swing" axis="0 1 0" stiffness="{stiffness}"/>
          <inertial pos="0.2 0 0" mass="1" diaginertia="0.05 0.05 0.05"/>
        </body>
      </worldbody>
      <actuator><motor name="drive" joint="swing"/></actuator>
    </mujoco>"""


def _causes(xml: str, kp: float, signal: Signal) -> list[str]:
    law = PDController(kp=kp, kv=2.0 * math.sqrt(0.09 * kp))
    (response,) = Bench(make_world(xml, [law])).run("robot", ["drive"], signal)
    assert response.metrics is not None
    return [cause.kind for cause in response.causes]


@pytest.mark.parametrize(("share", "expected"), [(0.008, []), (0.0125, ["gravity sag"])])
def test_an_error_of_a_percent_of_the_step_is_explained(share: float, expected: list[str]) -> None:
    signal = Signal(amplitude=-0.5, duration=2.0)
    kp = 9.81 * 0.2 * math.cos(0.5) / (share * 0.5)
    assert _causes(_rod(), kp, signal) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.15, ["gravity sag"]),
        (0.25, ["gravity sag", "joint spring"]),
    ],
)
def test_a_load_of_a_fifth_of_the_error_is_named(share: float, expected: list[str]) -> None:
    """The spring's share of what the law must hold, next to gravity."""
    angle = 0.5
    gravity = 9.81 * 0.2 * math.cos(angle)
    spring = share / (1.0 - share) * gravity / angle
    assert _causes(_rod(spring), 200.0, Signal(amplitude=-angle, duration=2.0)) == expected


# Work -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deaths", "expected"), [(2, "done"), (3, "given up")])
def test_a_task_is_given_up_when_it_has_killed_two_workers_alone(
    deaths: int, expected: str
) -> None:
    """The first death does not count: it may have been a task next to it."""
    left = deaths

    def work(pool: Pool, piece: list[str]) -> "Future[Any]":
        nonlocal left
        if left:
            left -= 1
            raise BrokenProcessPool("gone")
        return pool.executor.submit(lambda: ["done"] * len(piece))

    pieces = [["a"]]
    pool = Pool(Inline(), lambda: 1, renew=Inline)
    feed = lambda: pieces.pop() if pieces else None  # noqa: E731
    results = drive(pool, feed, work, lambda task, why: "given up")
    assert [result for batch in results for result in batch] == [expected]


def test_a_bundle_of_more_than_a_gigabyte_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(1_000_000_001)  # has no blocks on the disk
    with pytest.raises(SceneError, match="a bundle takes at most 1000000000"):
        Bundle.of(scene, [large])


@pytest.mark.parametrize(("needed", "status"), [(60, "ok"), (70, "failed")])
def test_contacts_have_up_to_64_times_their_usual_room(
    monkeypatch: pytest.MonkeyPatch, needed: int, status: str
) -> None:
    """A world of MuJoCo Warp has room for a number of contacts, and reports that it is full."""

    def in_room(rig: object, experiment: object, room: int, report: object) -> Any:
        return [("ok", {}, "")], np.array([room < needed])

    monkeypatch.setattr(worker, "_rig", lambda *_: None)
    monkeypatch.setattr(worker, "_in_room", in_room)
    monkeypatch.setattr(worker, "_rollouts", lambda experiment, results, *_: results)
    experiment: Any = SimpleNamespace(variations=[Variation()])
    results: Any = worker._on_warp(experiment, lambda share: None)
    assert [result[0] for result in results] == [status]
