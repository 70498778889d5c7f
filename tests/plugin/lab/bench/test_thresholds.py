"""Where metrics, standings and tasks of a bench change: cases on both sides of each threshold."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.core.control.policy import CommandSpace
from mjrig.lab.bench.episode_metrics import EpisodeLog, episode_metrics
from mjrig.lab.bench.report import described
from mjrig.lab.bench.runner import Benched, Entrant, TaskResult
from mjrig.lab.bench.standings import falls_everywhere, mean_of, pairings
from mjrig.lab.bench.suite import BenchSuite, schedule
from mjrig.lab.bench.trial import GroundContacts
from mjrig.lab.report.content import ReportTable
from mjrig.lab.rollouts.hosts import WorldHost
from mjrig.lab.rollouts.results import SweepRow
from tests.worlds import make_world

# Metrics ----------------------------------------------------------------------------------------


def _log(*, way: float = 1.0, speed: float = 0.5) -> EpisodeLog:
    """A base of 10 kg that moves ahead at a constant speed for a second, with 5 W."""
    ticks = 51
    pose, twist = np.zeros((ticks, 7)), np.zeros((ticks, 6))
    pose[:, 0], pose[:, 3] = np.linspace(0.0, way, ticks), 1.0
    twist[:, 0] = way
    one = np.zeros((ticks, 1))
    command = np.tile([speed, 0.0, 0.0], (ticks, 1))
    limits = np.array([[-1.0, 1.0]])
    return EpisodeLog(
        period=0.02, settle=0, duration=1.0, mass=10.0, limits=limits, pose=pose, twist=twist,
        command=command, position=one, velocity=one, target=one, effort=one, at_limit=one,
        power=np.full((ticks, 2), 5.0), slip=np.zeros(ticks),
    )  # fmt: skip


@pytest.mark.parametrize(("way", "is_long"), [(0.16, False), (0.25, True)])
def test_a_way_of_a_fifth_of_a_metre_has_a_cost_of_transport(way: float, is_long: bool) -> None:
    metrics = episode_metrics(_log(way=way))
    assert ("cost_of_transport" in metrics) is ("foot_slip" in metrics) is is_long
    if is_long:
        assert metrics["cost_of_transport"] == pytest.approx(5.0 / (10.0 * 9.81 * way))


@pytest.mark.parametrize(("speed", "is_fast"), [(0.08, False), (0.125, True)])
def test_a_command_of_a_tenth_of_a_metre_per_second_has_a_gain(speed: float, is_fast: bool) -> None:
    assert ("velocity_gain" in episode_metrics(_log(speed=speed))) is is_fast


def test_the_tracking_score_is_that_of_isaac_lab() -> None:
    assert episode_metrics(_log(way=1.0, speed=0.5))["tracking_score"] == pytest.approx(
        math.exp(-(0.5**2) / 0.25)
    )


# Standings --------------------------------------------------------------------------------------


def _suite(tmp_path: Path, text: str = "{name: t}") -> BenchSuite:
    return BenchSuite.parse(f"tasks: [{text}]", tmp_path / "suite.yaml")


def _task(tmp_path: Path, fell: list[bool]) -> TaskResult:
    (level,) = _suite(tmp_path).levels()
    metrics = [{"fell": float(f), "lin_vel_rmse": 0.1, "survival": 6.0} for f in fell]
    rows = tuple(SweepRow("t", seed, {}, m, 0.1, "ok") for seed, m in enumerate(metrics))
    return TaskResult(level, rows)


def _bench(tmp_path: Path, **fell: list[bool]) -> Benched:
    results = {name: {"t": _task(tmp_path, each)} for name, each in fell.items()}
    count = len(next(iter(fell.values())))
    entrants = [Entrant(name, tmp_path / name) for name in fell]
    return Benched(_suite(tmp_path), tuple(range(count)), entrants, results)


@pytest.mark.parametrize(
    ("up", "episodes", "is_shown"),
    [(4, 10, False), (6, 10, True), (16, 100, False), (25, 100, True), (2, 2, True), (1, 2, False)],
)
def test_a_mean_needs_five_episodes_and_a_fifth_without_a_fall(
    tmp_path: Path, up: int, episodes: int, is_shown: bool
) -> None:
    task = _task(tmp_path, [False] * up + [True] * (episodes - up))
    assert math.isnan(mean_of(task, "lin_vel_rmse")) is not is_shown


@pytest.mark.parametrize(("pairs", "is_compared"), [(4, False), (6, True)])
def test_differences_need_five_seeds(tmp_path: Path, pairs: int, is_compared: bool) -> None:
    (pairing,) = pairings(_bench(tmp_path, a=[False] * pairs, b=[False] * pairs))
    assert ("lin_vel_rmse" in pairing.differences) is is_compared


@pytest.mark.parametrize(("falls", "expected"), [(30, False), (76, False), (84, True)])
def test_a_policy_that_falls_in_four_of_five_episodes_falls_everywhere(
    tmp_path: Path, falls: int, expected: bool
) -> None:
    bench = _bench(tmp_path, a=[True] * falls + [False] * (100 - falls))
    assert falls_everywhere(bench, "a") is expected


@pytest.mark.parametrize(("pairs", "expected"), [(5, "no"), (6, "yes")])
def test_a_difference_is_one_if_chance_explains_it_once_in_twenty_times(
    tmp_path: Path, pairs: int, expected: str
) -> None:
    """Five seeds of five on which one alone stays up have p = 0.0625, six of six 0.03125."""
    bench = _bench(tmp_path, a=[False] * pairs, b=[True] * pairs)
    tables = [s for s in described(bench, "suite").sections if isinstance(s, ReportTable)]
    (table,) = [t for t in tables if t.title.startswith("paired")]
    assert expected in table.rows[0]


# Tasks ------------------------------------------------------------------------------------------


def _commands(tmp_path: Path, text: str, seed: int = 0, ranges: Any = ()) -> Any:
    (level,) = _suite(tmp_path, f"{{name: t, speed: 1, {text}}}").levels()
    space = CommandSpace(("vx", "vy", "wz"), np.zeros(3), np.asarray(ranges, float))
    return schedule(level.task, space, seed)


def test_a_grid_has_five_speeds_ahead_and_three_of_the_others(tmp_path: Path) -> None:
    ranges = [[-1.0, 1.0]] * 3
    commands = [_commands(tmp_path, "command: grid", seed, ranges) for seed in range(45)]
    points = {tuple(command) for ((_, command),) in commands}
    assert len(points) == 45
    assert [len({point[k] for point in points}) for k in range(3)] == [5, 3, 3]


@pytest.mark.parametrize("kind", ["steps", "flips"])
def test_commands_change_every_two_seconds(tmp_path: Path, kind: str) -> None:
    commands = _commands(tmp_path, f"command: {kind}, duration: 7", ranges=[[-1.0, 1.0]] * 3)
    assert [time for time, _ in commands] == [0.0, 2.0, 4.0, 6.0]


def test_commands_without_ranges_go_up_to_a_half(tmp_path: Path) -> None:
    ((_, command),) = _commands(tmp_path, "command: forward")
    assert command == [0.5, 0.0, 0.0]


# Contacts ---------------------------------------------------------------------------------------


def _slider(weight: float = 1.0, bottom: float = 0.0, floor: str = "plane") -> GroundContacts:
    """A ball on the floor that slides; `weight` [N], `bottom` above the floor [m]."""
    size = "5 5 1" if floor == "plane" else "5 5 0.5"
    at = "0 0 0" if floor == "plane" else "0 0 -0.5"
    xml = f"""
    <mujoco><option timestep="0.001"/><worldbody>
      <geom type="{floor}" size="{size}" pos="{at}" condim="1"/>
      <body pos="0 0 {0.1 + bottom}"><freejoint/>
        <geom size="0.1" mass="{weight / 9.81}" condim="1"/>
        <body><joint name="j" axis="0 1 0"/>
          <inertial pos="0 0 0" mass="1e-6" diaginertia="1e-6 1e-6 1e-6"/>
        </body>
      </body>
    </worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""
    world = make_world(xml, [PDController(kp=1e-6, kv=1e-6)], velocity={"linear": [0.3, 0.0, 0.0]})
    if not bottom:
        world.step(1000)
    return GroundContacts(WorldHost(world, "robot"), ())


@pytest.mark.parametrize(("weight", "speed"), [(0.8, 0.0), (1.25, 0.3)])
def test_a_contact_of_less_than_a_newton_does_not_slide(weight: float, speed: float) -> None:
    assert _slider(weight).look()[0] == pytest.approx(speed, abs=0.02)


def test_the_ground_is_found_a_tenth_of_a_millimetre_below_a_foot() -> None:
    ground = _slider(bottom=1.25e-4, floor="box")
    assert ground.height() == pytest.approx(0.1 + 1.25e-4, abs=1e-9)
