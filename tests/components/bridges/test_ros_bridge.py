"""RosBridge: messages against cyclonedds' own encoding, a client in this process, one over DDS."""

import math
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.dds.link import LocalLink
from mjrig.components.bridges.dds.ros_messages import FIELDS, ros_type, type_hash
from mjrig.components.bridges.ros_bridge import RosBridge
from mjrig.components.bridges.serving import Serving
from tests.campaign import Tally
from tests.patience import PATIENCE
from tests.places import SCENES

pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")

KNOWN: dict[str, Any] = {}
TYPES = {name: KNOWN.setdefault(name, ros_type(name, KNOWN)) for name in FIELDS}


class Client:
    """A node, in this process; messages are encoded and decoded by cyclonedds."""

    def __init__(self, link: bool = True, **values: Any) -> None:
        scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
        scene.actors[0].add_component(RosBridge(**values))
        self.world = mjrig.World(scene)
        found = self.world["quadruped"].components[-1]
        assert isinstance(found, RosBridge)
        self.bridge = found
        self.link = LocalLink(found.make_wire())
        if link:
            found.use_link(self.link)
        self.serving = Serving(self.world)

    def seen(self, topic: str) -> Any:
        kind = TYPES[self.bridge.make_wire().publications[topic]]
        return kind.deserialize([m for t, m in self.link.sent if t == topic][-1])

    def say(self, topic: str, message: Any) -> None:
        self.link.say(topic, message.serialize())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    with made.serving:
        yield made


def header() -> Any:
    return TYPES["std_msgs/Header"](TYPES["builtin_interfaces/Time"](0, 0), "")


def joint_state(names: list[str], *rows: list[float]) -> Any:
    given = [list(row) for row in rows] + [[]] * (3 - len(rows))
    return TYPES["sensor_msgs/JointState"](header(), names, *given)


def trajectory(names: list[str], *points: tuple[float, list[float]]) -> Any:
    made = []
    for at, position in points:
        duration = TYPES["builtin_interfaces/Duration"](int(at), round((at % 1.0) * 1e9))
        point = TYPES["trajectory_msgs/JointTrajectoryPoint"]
        made.append(point(position, [], [], [], duration))
    return TYPES["trajectory_msgs/JointTrajectory"](header(), names, made)


def test_states_read_as_ros_messages(client: Client) -> None:
    client.link.sent.clear()
    client.serving.advance(1000)
    assert len([t for t, _ in client.link.sent if t == "rt/joint_states"]) == 200
    robot, data = client.world["quadruped"], client.world.data
    state, clock = client.seen("rt/joint_states"), client.seen("rt/clock").clock
    assert state.name == [b.joint for b in robot.bindings]
    assert state.position == data.qpos[client.bridge.motors.qpos].tolist()
    assert state.velocity == data.qvel[client.bridge.motors.dof].tolist()
    assert np.allclose(state.effort, robot.applied_effort)
    assert math.isclose(clock.sec + clock.nanosec * 1e-9, client.world.time, abs_tol=1e-8)
    imu, transform = client.seen("rt/imu"), client.seen("rt/tf").transforms[0]
    turn = imu.orientation
    assert [turn.w, turn.x, turn.y, turn.z] == data.qpos[3:7].tolist()
    assert imu.header.frame_id == "imu" and 9.0 < imu.linear_acceleration.z < 11.0
    assert transform.header.frame_id == "world" and transform.child_frame_id == "base_link"
    place = transform.transform.translation
    assert [place.x, place.y, place.z] == data.qpos[:3].tolist()


def test_all_kinds_of_command_move_the_joints_they_name(client: Client) -> None:
    robot, place = client.world["quadruped"], client.world["quadruped"].setpoints.position
    start = place.copy()
    client.say("rt/joint_commands", joint_state(["FR_pitch_thigh"], [0.9]))
    client.serving.advance(1)
    assert place[4] == 0.9 and np.array_equal(np.delete(place, 4), np.delete(start, 4))
    client.say("rt/joint_commands", joint_state(["FR_pitch_thigh"], [0.8], [0.1], [0.2]))
    client.serving.advance(1)
    assert robot.setpoints.values[:, 4].tolist() == [0.8, 0.1, 0.2]
    layout = TYPES["std_msgs/MultiArrayLayout"]([], 0)
    array = TYPES["std_msgs/Float64MultiArray"](layout, start.tolist())
    client.say("rt/joint_controller/commands", array)
    client.serving.advance(1)
    assert np.array_equal(place, start)
    ahead = trajectory(["FL_roll_hip"], (0.1, [0.1]), (0.2, [0.05]))
    client.say("rt/joint_controller/joint_trajectory", ahead)
    client.serving.advance(51)
    assert math.isclose(place[0], (start[0] + 0.1) / 2, abs_tol=2e-3)
    client.serving.advance(200)
    assert place[0] == 0.05 and robot.setpoints.velocity[0] == 0.0
    assert client.bridge.phase is BridgePhase.COMMANDED


def test_commands_of_one_step_about_different_joints_all_count(client: Client) -> None:
    place = client.world["quadruped"].setpoints.position
    for name, value in (("FL_roll_hip", 0.11), ("FR_pitch_thigh", 0.72), ("FL_roll_hip", 0.12)):
        client.say("rt/joint_commands", joint_state([name], [value]))
    client.serving.advance(1)
    assert place[0] == 0.12 and place[4] == 0.72


BAD = [
    ("rt/joint_commands", joint_state(["nobody"], [0.0]), "no joint 'nobody'"),
    ("rt/joint_commands", joint_state(["FL_roll_hip"], [math.nan]), "position is not finite"),
    ("rt/joint_commands", joint_state(["FL_roll_hip"], [1.0, 2.0]), "has 2 values for 1 joints"),
    ("rt/joint_commands", joint_state([], []), "it commands nothing"),
    ("rt/joint_controller/joint_trajectory", trajectory(["FL_roll_hip"]), "it has 0 points"),
    ("rt/joint_controller/joint_trajectory",
     trajectory(["FL_roll_hip"], (1.0, [0.0]), (0.5, [0.0])), "do not increase"),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "message", "problem"), BAD)
def test_what_cannot_be_used_is_logged_and_moves_nothing(
    client: Client, topic: str, message: Any, problem: str
) -> None:
    before = client.world["quadruped"].setpoints.values.copy()
    client.say(topic, message)
    client.serving.advance(1)
    assert problem in client.bridge.traffic.log[-1].reason
    assert np.array_equal(client.world["quadruped"].setpoints.values, before)


@pytest.mark.campaign
def test_no_bytes_stop_the_world(client: Client, tally: Tally) -> None:
    good = {topic: message.serialize() for topic, message, _ in BAD}
    robot = client.world["quadruped"]
    for rng in tally.cases("ROS messages", 100, 20_000):
        topic = rng.choice(list(good))
        raw = bytearray(good[topic])
        for _ in range(rng.randint(1, 8)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        client.link.say(topic, bytes(raw[: rng.randint(0, len(raw))]))
        client.bridge.before_controls(client.world.time)
        if not np.isfinite(robot.setpoints.values).all():
            tally.found(f"{topic}: {raw.hex()}")


def test_type_hashes_are_those_of_ros() -> None:
    typesys = pytest.importorskip("rosbags.typesys", reason="needs the extra 'logs'")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for name in FIELDS:
        package, short = name.split("/")
        assert type_hash(name) == store.hash_rihs01(f"{package}/msg/{short}")


@pytest.mark.slow
def test_a_node_sees_and_commands_over_dds() -> None:
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
    from cyclonedds.core import Policy
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    from mjrig.components.bridges.dds.dds_process import configuration

    number = 20 + (os.getpid() + 40) % 80  # higher ones have ports that are given to anybody
    made = Client(link=False, domain=number)
    with made.serving:
        domain = Domain(number, configuration("lo"))
        node = DomainParticipant(number)
        kind = TYPES["sensor_msgs/JointState"]
        reader = DataReader(node, Topic(node, "rt/joint_states", kind))
        writer = DataWriter(node, Topic(node, "rt/joint_commands", kind))
        found = BuiltinDataReader(node, BuiltinTopicDcpsPublication)
        end, states = time.monotonic() + PATIENCE, 0
        place = made.world["quadruped"].setpoints.position
        while time.monotonic() < end and not (states > 20 and place[0] == 0.0625):
            writer.write(joint_state(["FL_roll_hip"], [0.0625]))
            made.serving.run(0.05)
            states += len(reader.take(N=100))
        assert states > 20 and place[0] == 0.0625
        said = {end.topic_name: end.qos[Policy.Userdata] for end in found.take(N=100)}
        assert said["rt/imu"].data.decode() == f"typehash={type_hash('sensor_msgs/Imu')};"
        # In this order: a domain that is deleted first takes the rest with it, and may wait for it.
        del found, reader, writer, node, domain
