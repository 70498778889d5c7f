"""Setpoints of trajectories: at every physics step where the points say, at any timestep."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.recording_summary import log_summary
from mjrig.data.robot_logs.log_reader import open_log
from tests.plugin.data.robot_logs import simulated as sim

KIND = "trajectory_msgs/msg/JointTrajectory"
TOPIC = "/arm_controller/joint_trajectory"
#: Setpoints as they are sent: when [s], and (seconds from then, positions of both joints).
Plan = list[tuple[float, list[tuple[float, tuple[float, float]]]]]


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(2.0)


def _plan(seed: int, lasts: float) -> Plan:
    """Messages at any times: some replace the one before, some come long after it has ended."""
    rng = np.random.default_rng(seed)
    begin, plan = 0.0, []
    while begin < lasts:
        count = int(rng.integers(1, 5))
        due = np.round(np.cumsum(rng.uniform(0.013, 0.21, count)), 6)
        due -= due[0] if rng.random() < 0.3 else 0.0
        goals = rng.uniform(-1.0, 1.0, (count, 2))
        points = [
            (round(float(t), 9), (float(a), float(b))) for t, (a, b) in zip(due, goals, strict=True)
        ]
        plan.append((begin, points))
        begin = round(begin + float(rng.uniform(0.02, 0.5)), 9)
    return plan


def _written(folder: Path, run: sim.Run, plan: Plan) -> Path:
    store = sim.ros2()
    messages = [s for s in sim.joint_messages(run, store) if s.topic == "/joint_states"]
    for sent in messages:
        sent.content.effort = np.zeros(0)  # stamps of commands stay as they are
    header = messages[0].content.header
    point = store.types["trajectory_msgs/msg/JointTrajectoryPoint"]
    duration = store.types["builtin_interfaces/msg/Duration"]
    none = np.zeros(0)
    for begin, points in plan:
        made = [
            point(np.array(goal), none, none, none, duration(0, round(due * 1e9)))
            for due, goal in points
        ]
        content = store.types[KIND](header, list(sim.NAMES), made)
        messages.append(sim.Sent(TOPIC, KIND, sim.EPOCH + round(begin * 1e9), content))
    messages.sort(key=lambda sent: sent.log)
    return sim.write_rosbag2(folder / "bag", messages, store, "SQLITE3")


def _followed(plan: Plan, at: float) -> np.ndarray:
    """Where the setpoints are at a time: message by message, each from where the last one was."""
    place = np.array(plan[0][1][0][1])
    for k, (begin, points) in enumerate(plan):
        if begin > at:
            break
        until = min(at, plan[k + 1][0]) if k + 1 < len(plan) else at
        due, goals = [t for t, _ in points], [goal for _, goal in points]
        if due[0] > 0.0:
            due, goals = [0.0, *due], [tuple(place), *goals]
        place = np.array([np.interp(until - begin, due, [g[j] for g in goals]) for j in (0, 1)])
    return place


def _commands(path: Path, timestep: float) -> tuple[Any, np.ndarray]:
    hints = {"timestep": timestep, "offset": 0.0, "map": _map(path.parent)}
    (actor,) = mjrig.read_recording(path, hints).actors.values()
    order = [actor.driven.index(name) for name in sim.NAMES]
    assert actor.commands is not None
    return actor.commands.step, actor.commands.position[:, order]


def _map(folder: Path) -> str:
    path = folder / "map.yaml"
    path.write_text(
        "mjrig_log: 1\njoints: {wrist: wrist, shoulder: shoulder}\n"
        'position: {from: /joint_states, field: "position[{}]"}\n'
        f'command: {{from: {TOPIC}, field: "points[0].positions[{{}}]"}}\n'
        f"time: {{/joint_states: log, {TOPIC}: log}}\n"
    )
    return str(path)


@pytest.mark.parametrize("timestep", [0.0005, 0.001, 0.002, 0.005])
@pytest.mark.parametrize("seed", range(4))
def test_setpoints_are_where_the_points_say_at_every_step(
    tmp_path: Path, run: sim.Run, seed: int, timestep: float
) -> None:
    plan = _plan(seed, 1.8)
    steps, found = _commands(_written(tmp_path, run, plan), timestep)
    assert (np.diff(steps) == 1).all()
    truth = np.array([_followed(plan, t) for t in steps * timestep])
    # A jump between two steps acts in a share of the one that is nearest to it.
    jumps = [begin for begin, points in plan if points[0][0] == 0.0]
    near = np.array([[abs(t - jump) <= 0.5 * timestep for jump in jumps] for t in steps * timestep])
    clear = ~near.any(axis=1) if jumps else np.ones(len(steps), dtype=bool)
    assert clear.mean() > 0.95
    np.testing.assert_allclose(found[clear], truth[clear], rtol=0.0, atol=1e-8)
    for step, jump in np.argwhere(near):
        around = [_followed(plan, jumps[jump] - 1e-9), _followed(plan, jumps[jump])]
        slack = 0.02 + 40.0 * timestep  # what points may move in a step
        assert (found[step] >= np.min(around, axis=0) - slack).all()
        assert (found[step] <= np.max(around, axis=0) + slack).all()


@pytest.mark.parametrize("timestep", [0.0005, 0.001, 0.002, 0.005])
def test_a_stream_of_single_points_is_no_staircase(
    tmp_path: Path, run: sim.Run, timestep: float
) -> None:
    """Each message is to be reached when the next one comes: steps between setpoints are even."""
    plan: Plan = [
        (0.02 * k, [(0.02, (float(np.sin(0.1 * k)), 0.5 * float(np.cos(0.1 * k))))])
        for k in range(95)
    ]
    steps, found = _commands(_written(tmp_path, run, plan), timestep)
    at = steps * timestep
    truth = np.array([_followed(plan, t) for t in at])
    np.testing.assert_allclose(found, truth, rtol=0.0, atol=1e-7)


def test_when_points_are_due_is_used(tmp_path: Path, run: sim.Run) -> None:
    log = open_log(_written(tmp_path, run, _plan(1, 1.8)), None)
    assert log is not None
    said = log_summary(log, {})
    assert "command: " in said
    assert "time_from_start" not in said
