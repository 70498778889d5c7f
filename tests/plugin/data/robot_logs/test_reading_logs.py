"""Logs of one run in every container give the same motion."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.data.recording.recording import Recording
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(2.0)


@pytest.fixture(scope="module")
def logs(run: sim.Run, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return list(sim.all_logs(tmp_path_factory.mktemp("logs"), run))


def columns(recording: Recording) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Times, positions and velocities by joint."""
    (actor,) = recording.actors.values()
    assert actor.qvel is not None
    places = {joint.name: joint for joint in actor.joints}
    return (
        actor.time,
        {name: actor.qpos[:, places[name].qpos.start] for name in sim.NAMES},
        {name: actor.qvel[:, places[name].dof.start] for name in sim.NAMES},
    )


def test_every_container_gives_the_same_motion(logs: list[Path], run: sim.Run) -> None:
    assert len(logs) == 9
    for path in logs:
        recording = mjrig.read_recording(path, {"offset": 0})
        assert (recording.format, recording.timestep) == ("robot log", 0.002), path
        time, positions, speeds = columns(recording)
        first = run.time[-1] - time[-1]  # states before the first command are left out
        for k, name in enumerate(sim.NAMES):
            truth = np.interp(time + first, run.time, run.q[:, k])
            np.testing.assert_allclose(positions[name], truth, atol=1e-6, err_msg=str(path))
            truth = np.interp(time + first, run.time, run.dq[:, k])
            late = slice(5, -5)  # derived ones are worse at the ends
            assert np.std((speeds[name] - truth)[late]) < 0.1, path
        (actor,) = recording.actors.values()
        assert actor.commands is not None and set(actor.driven) == set(sim.NAMES)


def test_the_delay_of_commands_is_found_and_kept_as_whole_steps(
    logs: list[Path], run: sim.Run
) -> None:
    for path in (logs[0], logs[4]):
        recording = mjrig.read_recording(path, timestep=0.004)
        effect = recording.attributes["log"]["effect"]
        assert effect["delay"] == pytest.approx(sim.DELAY, abs=0.0005), path
        assert effect["error"] <= 0.001
        moved = next(note for note in recording.notes if "after their stamp" in note)
        assert mentions(moved, "by which they are …")


@pytest.mark.parametrize("seed", range(3))
def test_clocks_of_robot_and_recorder_are_brought_together(
    run: sim.Run, tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ahead, fastest = rng.uniform(-0.02, 0.02), 0.001

    def latency(count: int) -> Any:
        return fastest + rng.exponential(0.0004, count)

    store = sim.ros2()
    lost = rng.random(len(run.time)) < 0.005
    lost[700:712] = True
    keep = np.flatnonzero(~lost).tolist()
    messages = sim.joint_messages(run, store, ahead=ahead, latency=latency, keep=keep)
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    recording = mjrig.read_recording(path, timestep=0.001)
    clock = recording.attributes["log"]["clocks"]["/joint_states"]
    assert clock["offset"] == pytest.approx(ahead - fastest, abs=0.0002)
    assert clock["lost"] == int(lost.sum())
    effect = recording.attributes["log"]["effect"]
    assert effect["delay"] == pytest.approx(sim.DELAY + fastest, abs=0.0005)
    assert len(recording.segments) == 2  # the gap of 24 ms


def test_a_gap_splits_and_no_motion_is_invented(run: sim.Run, tmp_path: Path) -> None:
    keep = [*range(200), *range(260, 700)]
    store = sim.ros2()
    messages = sim.joint_messages(run, store, keep=keep)
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    recording = mjrig.read_recording(path, timestep=0.0005)
    (actor,) = recording.actors.values()
    assert len(actor.step) == len(keep)  # as many as were recorded, though steps are finer
    inside = (actor.time > 0.4005) & (actor.time < 0.5195)
    assert not inside.any()
    assert len(recording.segments) == 2
    assert mentions(recording.notes, "1 gap of more than … 2 …")


def test_doubled_and_overtaken_samples_are_put_right(run: sim.Run, tmp_path: Path) -> None:
    keep = [*range(100), 99, 99, *range(100, 300)]
    store = sim.ros2()
    messages = sim.joint_messages(run, store, keep=keep)
    states = [k for k, sent in enumerate(messages) if sent.topic == "/joint_states"]
    a, b = states[150], states[151]
    messages[a], messages[b] = (
        sim.Sent(messages[b].topic, messages[b].kind, messages[a].log, messages[b].content),
        sim.Sent(messages[a].topic, messages[a].kind, messages[b].log, messages[a].content),
    )
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    recording = mjrig.read_recording(path)
    notes = " ".join(recording.notes)
    assert mentions(notes, "2 samples with the stamp …")
    assert "1 sample had been overtaken" in notes
    time, positions, _ = columns(recording)
    np.testing.assert_allclose(
        positions["wrist"], np.interp(time, run.time, run.q[:, 1]), atol=1e-6
    )


def test_a_trajectory_is_interpolated_from_its_message_on(run: sim.Run, tmp_path: Path) -> None:
    store = sim.ros2()
    messages = [s for s in sim.joint_messages(run, store) if s.topic == "/joint_states"]
    kind = "trajectory_msgs/msg/JointTrajectory"
    header = messages[0].content.header
    point, duration = (
        store.types["trajectory_msgs/msg/JointTrajectoryPoint"],
        store.types["builtin_interfaces/msg/Duration"],
    )
    none = np.zeros(0)
    points = [
        point(np.array([0.0, 0.0]), none, none, none, duration(0, 0)),
        point(np.array([1.0, -1.0]), none, none, none, duration(1, 0)),
    ]
    content = store.types[kind](header, list(sim.NAMES), points)
    messages.insert(0, sim.Sent("/arm/joint_trajectory", kind, sim.EPOCH, content))
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    recording = mjrig.read_recording(path, {"map": _trajectory_map(tmp_path)})
    (actor,) = recording.actors.values()
    assert actor.commands is not None
    half = np.searchsorted(actor.commands.step, 250)
    np.testing.assert_allclose(actor.commands.position[half], [-0.5, 0.5], atol=0.003)
    np.testing.assert_allclose(actor.commands.position[-1], [-1.0, 1.0])


def _trajectory_map(folder: Path) -> str:
    path = folder / "my.yaml"
    path.write_text(
        "mjrig_log: 1\njoints: {wrist: wrist, shoulder: shoulder}\n"
        'position: {from: /joint_states, field: "position[{}]"}\n'
        'command: {from: /arm/joint_trajectory, field: "points[0].positions[{}]"}\n'
        "time: {/arm/joint_trajectory: log}\n"
    )
    return str(path)
