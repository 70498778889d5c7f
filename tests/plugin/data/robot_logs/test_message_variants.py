"""The same motion in messages as different publishers fill them, in bags of ROS 1 and ROS 2."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags import rosbag1
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import mjrig
from mjrig.data.robot_logs.containers.message_definitions import definition_text
from tests.plugin.data.robot_logs import simulated as sim

NONE = np.zeros(0)
STATE = "sensor_msgs/msg/JointState"
Stamped = Callable[[int], int]


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(0.6)


def _header(store: Any, stamp: int) -> Any:
    time = store.types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9))
    kind = store.types["std_msgs/msg/Header"]
    seq = {"seq": 0} if "seq" in kind.__dataclass_fields__ else {}
    return kind(**seq, stamp=time, frame_id="")


def _write(path: Path, messages: list[sim.Sent], store: Any, ros: int) -> Path:
    messages.sort(key=lambda sent: sent.log)
    if ros == 2:
        return sim.write_rosbag2(path, messages, store, "SQLITE3")
    path = path.with_suffix(".bag")
    with rosbag1.Writer(path) as writer:
        known: dict[str, Any] = {}
        for sent in messages:
            if sent.topic not in known:
                known[sent.topic] = writer.add_connection(sent.topic, sent.kind, typestore=store)
            data = store.serialize_ros1(sent.content, sent.kind)
            writer.write(known[sent.topic], sent.log, data)
    return path


def _store(ros: int) -> Any:
    return get_typestore(Stores.ROS1_NOETIC) if ros == 1 else sim.ros2()


def _states(run: sim.Run, store: Any, variant: str) -> Iterator[sim.Sent]:
    rng = np.random.default_rng(len(variant))
    for k, t in enumerate(run.time):
        log = int(sim.nanoseconds(t))
        order = rng.permutation(2) if "order" in variant else np.arange(2)
        values = [a[k][order] for a in (run.q, run.dq, run.tau)]
        names = [sim.NAMES[i] for i in order]
        if "no velocities" in variant:
            values[1] = NONE
        if "positions alone" in variant:
            values[1:] = [NONE, NONE]
        if "some efforts" in variant and k % 3:
            values[2] = NONE
        if "more joints" in variant:
            names.append("finger")
            values = [np.append(v, 0.01) if len(v) else v for v in values]
        header = _header(store, 0 if "stamps 0" in variant else log)
        yield sim.Sent("/joint_states", STATE, log, store.types[STATE](header, names, *values))
        if "gripper" in variant:
            grip = store.types[STATE](
                _header(store, log), ["finger"], np.array([0.02 * np.sin(t)]), NONE, NONE
            )
            yield sim.Sent("/joint_states", STATE, log + 300_000, grip)
        if "imu" in variant:
            yield _imu(store, log)


def _imu(store: Any, log: int) -> sim.Sent:
    kind = "sensor_msgs/msg/Imu"
    vector = store.types["geometry_msgs/msg/Vector3"]
    unknown = np.zeros(9)
    unknown[0] = -1.0  # no orientation
    content = store.types[kind](
        _header(store, 0), store.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 0.0), unknown,
        vector(0.1, 0.0, 0.0), np.zeros(9), vector(0.0, 0.0, 9.81), np.zeros(9),
    )  # fmt: skip
    return sim.Sent("/imu/data", kind, log + 100_000, content)


def _follows(path: Path, run: sim.Run) -> Any:
    recording = mjrig.read_recording(path, {"offset": 0})
    actor: Any = next(iter(recording.actors.values()))
    assert recording.timestep == 0.002
    places = {joint.name: joint.qpos.start for joint in actor.joints}
    inside = slice(5, -5)
    # A joint whose messages come later begins the recording with its first row after the others'.
    first = actor.qpos[0, [places[name] for name in sim.NAMES]]
    row = int(np.argmin(np.abs(run.q[:2] - first).max(axis=1)))
    time = actor.time + run.time[row]
    for k, name in enumerate(sim.NAMES):
        truth = np.interp(time, run.time, run.q[:, k])
        assert np.abs(actor.qpos[:, places[name]] - truth)[inside].max() < 2e-4
        truth = np.interp(time, run.time, run.dq[:, k])
        assert np.std((actor.qvel[:, places[name]] - truth)[inside]) < 0.1
    return actor


@pytest.mark.parametrize("ros", [1, 2])
@pytest.mark.parametrize(
    "variant",
    ["any order", "stamps 0", "no velocities", "positions alone", "some efforts", "more joints",
     "gripper", "imu", "any order, stamps 0, no velocities, imu", "any order, more joints, imu",
     "gripper, any order, stamps 0, some efforts"],
)  # fmt: skip
def test_joint_states_as_publishers_fill_them(
    tmp_path: Path, run: sim.Run, variant: str, ros: int
) -> None:
    store = _store(ros)
    path = _write(tmp_path / "log", list(_states(run, store, variant)), store, ros)
    actor = _follows(path, run)
    more = {"finger"} if "more" in variant or "gripper" in variant else set()
    assert {joint.name for joint in actor.joints} == {*sim.NAMES, *more}
    assert not any("lost" in note for note in mjrig.read_recording(path).notes)


def _point(store: Any, *values: Any, seconds: int = 0) -> Any:
    duration = store.types["builtin_interfaces/msg/Duration"](seconds, 0)
    padded = [*values, *[NONE] * (4 - len(values))]
    return store.types["trajectory_msgs/msg/JointTrajectoryPoint"](*padded, duration)


@pytest.mark.parametrize("ros", [1, 2])
@pytest.mark.parametrize("variant", ["as stated", "any order", "stamps 0", "velocities too"])
def test_trajectories_of_one_point_are_setpoints(
    tmp_path: Path, run: sim.Run, variant: str, ros: int
) -> None:
    store, kind = _store(ros), "trajectory_msgs/msg/JointTrajectory"
    messages = list(_states(run, store, ""))
    rng = np.random.default_rng(4)
    for t, goal in zip(run.command_time, run.command, strict=True):
        log = int(sim.nanoseconds(t))
        order = rng.permutation(2) if variant == "any order" else np.arange(2)
        speed = np.zeros(2) if variant == "velocities too" else NONE
        header = _header(store, 0 if variant == "stamps 0" else log)
        names = [sim.NAMES[i] for i in order]
        content = store.types[kind](header, names, [_point(store, goal[order], speed)])
        messages.append(sim.Sent("/arm_controller/joint_trajectory", kind, log, content))
    actor = _follows(_write(tmp_path / "log", messages, store, ros), run)
    order = [actor.driven.index(name) for name in sim.NAMES]
    # A command whose stamp is between two steps acts in a share of them.
    steps = actor.commands.step[3:-3]
    around = np.stack([sim.held(run)[steps + k] for k in (-1, 0, 1)])
    found = actor.commands.position[3:-3][:, order]
    assert (found >= around.min(axis=0) - 1e-9).all() and (found <= around.max(axis=0) + 1e-9).all()


@pytest.mark.parametrize("variant", ["as stated", "any order", "stamps 0", "no velocities"])
@pytest.mark.parametrize("kind", ["JointTrajectoryControllerState", "DynamicJointState"])
def test_states_of_controllers(tmp_path: Path, run: sim.Run, kind: str, variant: str) -> None:
    store = sim.ros2()
    full = f"control_msgs/msg/{kind}"
    types = get_types_from_msg(definition_text(f"control_msgs/{kind}"), full)
    store.register({n: t for n, t in types.items() if n not in store.types})
    rng = np.random.default_rng(6)
    messages = []
    for k, t in enumerate(run.time):
        log = int(sim.nanoseconds(t))
        header = _header(store, 0 if variant == "stamps 0" else log)
        order = rng.permutation(2) if variant == "any order" else np.arange(2)
        names = [sim.NAMES[i] for i in order]
        q, dq, goal = run.q[k][order], run.dq[k][order], sim.held(run)[k][order]
        speed = NONE if variant == "no velocities" else dq
        if kind == "DynamicJointState":
            value = store.types["control_msgs/msg/InterfaceValue"]
            called = ["position", "velocity"] if len(speed) else ["position"]
            values = [value(called, np.array([q[i], *speed[i : i + 1]])) for i in range(2)]
            content = store.types[full](header, names, values)
        else:
            points = _point(store, goal), _point(store, q, speed), _point(store), _point(store)
            content = store.types[full](header, names, *points, [])
        messages.append(sim.Sent("/arm_controller/state", full, log, content))
    _follows(_write(tmp_path / "log", messages, store, 2), run)


@pytest.mark.parametrize("ticks", ["counted", "0"])
@pytest.mark.parametrize("commanded", [True, False])
@pytest.mark.parametrize(("family", "used"), [("go", 12), ("go", 7), ("hg", 29), ("hg", 14)])
def test_motors_of_unitree(
    tmp_path: Path, family: str, used: int, commanded: bool, ticks: str
) -> None:
    """Robots with other numbers of motors, firmware that leaves the tick at 0, states alone."""
    store = sim.ros2()
    kinds = [f"unitree_{family}/msg/{kind}" for kind in ("LowState", "LowCmd")[: 1 + commanded]]
    for kind in kinds:
        store.register(get_types_from_msg(definition_text(kind.replace("/msg/", "/")), kind))
    messages = []
    truth = 0.3 * np.sin(0.02 * np.arange(120)[:, None] + np.arange(used))
    for k, row in enumerate(truth):
        for kind in kinds:
            content = sim.filled(store, kind)
            is_state = kind.endswith("State")
            for part, q in zip(
                content.motor_state if is_state else content.motor_cmd, row, strict=False
            ):
                part.q, part.mode = float(q), 1
            if is_state and ticks == "counted":
                content.tick = 5000 + 2 * k
            log = sim.EPOCH + k * 2_000_000
            messages.append(sim.Sent(f"/{kind[-8:].strip('/').lower()}", kind, log, content))
    path = _write(tmp_path / "log", messages, store, 2)
    recording = mjrig.read_recording(path, {"offset": 0})
    (actor,) = recording.actors.values()
    assert recording.timestep == 0.002 and actor.qpos.shape == truth.shape
    np.testing.assert_allclose(actor.qpos, truth, atol=1e-5)
    assert (actor.commands is not None) == commanded
