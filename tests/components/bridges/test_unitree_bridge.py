"""UnitreeBridge: messages against recorded ones, a client in this process, and one over DDS."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.dds.fixed_records import checksum, idl_type
from mjrig.components.bridges.dds.link import DdsLink
from mjrig.components.bridges.dds.unitree_messages import (
    LAYOUTS,
    POSITION_STOP,
    VELOCITY_STOP,
    codec,
    dds_name,
    remote_bytes,
    reply_to,
    roll_pitch_yaw,
)
from mjrig.components.bridges.dds.writers import Writers
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.unitree_bridge import ROBOTS, UnitreeBridge
from tests.campaign import Tally
from tests.components.bridges.unitree_client import Client
from tests.patience import PATIENCE
from tests.places import SCENES, SHARED

VECTORS = SHARED / "bridge" / "unitree_vectors.json"


def slow_crc(words: list[int]) -> int:
    """The checksum bit by bit, as the robot's firmware computes it."""
    crc = 0xFFFFFFFF
    for word in words:
        for bit in range(31, -1, -1):
            top = (crc >> 31) ^ (word >> bit & 1)
            crc = (crc << 1) & 0xFFFFFFFF ^ (0x04C11DB7 if top else 0)
    return crc


def test_the_checksum_is_the_bitwise_one() -> None:
    rng = np.random.default_rng(0)
    for size in (8, 812, 2092):
        raw = rng.integers(0, 256, size, dtype=np.uint8)
        words = struct.unpack(f"<{size // 4 - 1}I", raw.tobytes()[:-4])
        assert checksum(raw) == slow_crc(list(words))


@pytest.mark.parametrize(
    ("name", "size"),
    [("unitree_go.LowCmd_", 812), ("unitree_go.LowState_", 1180),
     ("unitree_hg.LowCmd_", 1004), ("unitree_hg.LowState_", 2092)],
)  # fmt: skip
def test_messages_survive_encoding_and_have_the_size_of_the_struct(name: str, size: int) -> None:
    own, rng = codec(name), np.random.default_rng(1)
    assert own.size == own.dtype.itemsize == size
    message = bytearray(rng.integers(0, 256, size, dtype=np.uint8).tobytes())
    message[:4] = b"\0\1\0\0"
    again = own.encode(own.decode(bytes(message)).copy())
    for other in (own.decode(again), own.decode(again + b"\0")):
        assert own.expected_crc(other) == int(other["crc"])
        assert own.encode(other) == again
    for bad in (again[:-1], again + b"\0" * 4, b"\0\0" + again[2:], b""):
        with pytest.raises(ValueError, match=r"it has|its encoding"):
            own.decode(bad)


@pytest.mark.skipif(not VECTORS.exists(), reason="the recorded messages are not in this checkout")
def test_messages_checksums_and_types_are_those_of_the_vendor() -> None:
    given = json.loads(VECTORS.read_text())
    for name, vector in given["messages"].items():
        own, message = codec(name), bytes.fromhex(vector["cdr_hex"])
        record = own.decode(message)
        assert own.expected_crc(record) == int(record["crc"]) == vector["crc"]
        assert own.encode(record.copy()) == message
    real = given["real_go2_lowstate"]
    own = codec("unitree_go.LowState_")
    record = own.decode(bytes.fromhex(real["cdr_hex"]))
    assert own.expected_crc(record) == real["crc"] and int(record["tick"]) == real["tick"]
    remote = given["wireless_remote"]
    keys = 1 << 2 | 1 << 8  # start, A
    sticks = [remote[name] for name in ("lx", "ly", "rx", "ry")]
    assert remote_bytes(keys, *sticks).hex() == remote["hex"]


@pytest.mark.skipif(not VECTORS.exists(), reason="the recorded messages are not in this checkout")
def test_dds_type_information_is_byte_for_byte_the_vendors() -> None:
    pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")
    import hashlib

    for name, vector in json.loads(VECTORS.read_text())["messages"].items():
        made = idl_type(dds_name(name), LAYOUTS[name])
        made.__idl__.populate()
        made.__idl__.fill_type_data()
        info, mapping = made.__idl__._xt_bytedata
        assert info.hex() == vector["type_info_hex"]
        assert hashlib.sha256(mapping).hexdigest() == vector["type_map_sha256"]


# A client in this process -----------------------------------------------------------------------


@pytest.fixture(params=[("quadruped", "go2"), ("humanoid", "g1")], ids=["go2", "g1"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    made = Client(SCENES / f"{request.param[0]}.yaml", request.param[1])
    with made.serving:
        yield made


def test_each_motor_moves_its_joint_and_only_it(client: Client) -> None:
    bridge, robot = client.bridge, client.robot
    names = ROBOTS[bridge.kind.value].motors
    client.serving.advance(2)
    q = client.state()["motor_state"]["q"].copy()
    client.say(client.command(q=q, kp=40.0, kd=2.0))
    client.serving.advance(1)
    still = robot.setpoints.values.copy()
    for index in bridge.motor_indices[:: 3 if bridge.kind == "g1" else 1]:
        moved = q.copy()
        moved[index] += 0.25
        client.say(client.command(q=moved, kp=40.0, kd=2.0))
        client.serving.advance(1)
        changed = np.flatnonzero(np.abs(robot.setpoints.position - still[0]) > 0.2)
        assert [robot.actuator_names[i] for i in changed] == [names[index]]


def test_the_law_runs_with_the_commands_numbers_at_every_step(client: Client) -> None:
    robot, bridge = client.robot, client.bridge
    columns, used = bridge.motors.columns, list(bridge.motor_indices)
    rng = np.random.default_rng(4)
    slots = ROBOTS[bridge.kind.value].slots
    values = {n: rng.uniform(low, high, slots).astype(np.float32)
              for n, low, high in (("q", -0.1, 0.1), ("dq", -1, 1), ("tau", -1, 1),
                                   ("kp", 10, 50), ("kd", 0.5, 2))}  # fmt: skip
    client.say(client.command(**values))
    places = [list(b.actuator for b in robot.bindings).index(b.actuator)
              for b in bridge.motors.bindings]  # fmt: skip
    for _ in range(5):
        q, dq = robot.data.qpos[bridge.motors.qpos], robot.data.qvel[bridge.motors.dof]
        client.serving.advance(1)
        expected = {n: v.astype(np.float64)[used] for n, v in values.items()}
        torque = (expected["tau"] + expected["kp"] * (expected["q"] - q)
                  + expected["kd"] * (expected["dq"] - dq))  # fmt: skip
        assert np.allclose(robot.raw_effort[places], torque, rtol=1e-9, atol=1e-9)
    assert np.array_equal(robot.setpoints.feedforward[columns], expected["tau"])
    assert robot.setpoints.leases[0].holder == bridge.label


def test_modes_and_stop_values_switch_terms_off(client: Client) -> None:
    index = client.bridge.motor_indices
    record = client.command(q=0.1, dq=0.2, tau=0.3, kp=40.0, kd=2.0)
    motors = record["motor_cmd"]
    motors["mode"][index[0]] = 0
    motors["q"][index[1]], motors["dq"][index[2]] = POSITION_STOP, VELOCITY_STOP
    client.say(record)
    client.serving.advance(1)
    kp, kv = client.bridge.motors.gains()
    assert kp[:3].tolist() == [0.0, 0.0, 40.0] and kv[:3].tolist() == [0.0, 2.0, 0.0]
    feedforward = client.robot.setpoints.feedforward[client.bridge.motors.columns]
    assert feedforward[0] == 0.0 and feedforward[1] == np.float32(0.3)


def test_states_come_at_500_hz_with_all_that_programs_wait_for(client: Client) -> None:
    client.bridge.press("start A", lx=-0.25, ly=0.75)
    client.link.sent.clear()
    client.serving.advance(1000)
    states = [m for t, m in client.link.sent if t == "rt/lowstate"]
    assert len(states) == 500
    state = client.state()
    assert int(state["tick"]) > 0 and client.states.expected_crc(state) == int(state["crc"])
    used = list(client.bridge.motor_indices)
    assert np.array_equal(
        state["motor_state"]["q"][used], np.float32(client.bridge.motors.position())
    )
    assert bytes(state["wireless_remote"]) == remote_bytes(1 << 2 | 1 << 8, -0.25, 0.75, 0, 0)
    quaternion = state["imu_state"]["quaternion"]
    assert np.allclose(np.linalg.norm(quaternion), 1.0, atol=1e-5)
    assert np.allclose(state["imu_state"]["rpy"], roll_pitch_yaw(quaternion), atol=1e-5)
    assert 9.0 < np.linalg.norm(state["imu_state"]["accelerometer"]) < 11.0
    if client.bridge.kind == "g1":
        assert int(state["mode_machine"]) == 5
    topics = {t for t, _ in client.link.sent}
    assert {"rt/sportmodestate", "rt/wirelesscontroller", "rt/lf/lowstate"} <= topics


def test_a_silent_client_makes_the_robot_damp_and_a_new_one_takes_over(client: Client) -> None:
    bridge, robot, events = client.bridge, client.robot, client.world
    client.say(client.command(q=0.0, kp=40.0, kd=2.0))
    client.serving.advance(1)
    assert bridge.phase is BridgePhase.COMMANDED
    client.serving.advance(502)
    assert str(bridge.phase) == BridgePhase.LOST
    kp, kv = bridge.motors.gains()
    assert not kp.any() and np.all(kv == bridge.damping)
    assert "no command for 0.5 s; the motors damp" in events.events[-1].message
    assert not robot.setpoints.feedforward.any()
    client.say(client.command(q=0.0, kp=41.0, kd=2.0))
    client.serving.advance(1)
    assert bridge.phase is BridgePhase.COMMANDED and np.all(bridge.motors.gains()[0] == 41.0)


@pytest.mark.campaign
def test_no_message_moves_a_joint_unless_it_is_valid(client: Client, tally: Tally) -> None:
    bridge, robot = client.bridge, client.robot
    client.say(client.command(q=0.1, kp=40.0, kd=2.0))
    client.serving.advance(1)
    before = robot.setpoints.values.copy(), *(g.copy() for g in bridge.motors.gains())
    good = client.commands.encode(client.command(q=0.2, kp=30.0, kd=2.0))
    for rng in tally.cases(f"{bridge.kind} messages", 100, 20_000):
        message = broken(rng, client, good)
        rejected = bridge.traffic.rejected
        client.link.say("rt/lowcmd", message)
        bridge.before_controls(client.world.time)
        now = robot.setpoints.values, *bridge.motors.gains()
        same = all(np.array_equal(a, b) for a, b in zip(before, now, strict=True))
        if not same or bridge.traffic.rejected != rejected + 1:
            tally.found(f"{bridge.kind}: {message.hex()}")
    client.serving.advance(1)
    assert np.isfinite(client.world.data.qpos).all()


def broken(rng: random.Random, client: Client, good: bytes) -> bytes:
    """A message with something wrong: bits, length, or values with a checksum that fits."""
    how = rng.randrange(4)
    if how == 0:  # a bit, not in padding, which nobody reads
        raw = bytearray(good)
        used = client.commands._cdr
        raw[rng.choice(used.tolist())] ^= 1 << rng.randrange(8)
        return bytes(raw)
    if how == 1:
        return good[: rng.randrange(len(good))]
    if how == 2:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(3000)))
    record = client.command(q=0.2, kp=30.0, kd=2.0)
    motor = rng.choice(client.bridge.motor_indices)
    field = rng.choice(["q", "dq", "tau", "kp", "kd"])
    bad = [float("nan"), float("inf"), -float("inf")]
    bad += [-1.0] if field in ("kp", "kd") else []
    bad += [3e7] if field in ("tau", "kp", "kd") else [-3e7]
    record["motor_cmd"][field][motor] = rng.choice(bad)
    return client.commands.encode(record)


def test_wrong_checksums_are_used_only_where_the_scene_says_so(client: Client) -> None:
    message = bytearray(client.commands.encode(client.command(q=0.1, kp=40.0, kd=2.0)))
    message[-1] ^= 1
    client.link.say("rt/lowcmd", bytes(message))
    client.serving.advance(1)
    assert client.bridge.traffic.log[-1].reason == "rt/lowcmd: its CRC is wrong"
    assert client.bridge.phase is BridgePhase.WAITING


def test_samples_that_are_late_twice_or_out_of_order_are_refused() -> None:
    order, now = Writers(0.5), 10**18
    order.check(1, now, now)
    for sent, why in ((now, "a duplicate"), (now - 1000, "out of order")):
        with pytest.raises(ValueError, match=why):
            order.check(1, sent, now)
    order.check(2, now - 1000, now)  # another writer
    with pytest.raises(
        ValueError, match=r"it is late: sent 0\.600 s ago by its sender's clock, max_age is 0\.5 s"
    ):
        order.check(3, now - 600_000_000, now)
    order.check(1, now + 1, now)


def test_programs_find_the_services_they_ask_first() -> None:
    assert reply_to("motion_switcher", 1001) == (0, '{"form":"0","name":""}')
    assert reply_to("motion_switcher", 1003) == (0, "")
    assert reply_to("sport", 1)[0] == 0
    assert reply_to("sport", 1005) == (3203, "")


@pytest.mark.parametrize(
    ("values", "problem"),
    [({"kind": "h1"}, "h1 has motors like 'right_hip_roll', of which 'quadruped' has 0 of 20"),
     ({"motors_of": ["FL_hpi"]}, "motor 0: no actuator 'FL_hpi'; did you mean 'FL_hip'"),
     ({"motors_of": [".*_hip"]}, "motor 0: several actuators '.*_hip'; FL_hip, FR_hip"),
     ({"motors_of": ["-"] * 21}, "a message has 20 motors, got 21"),
     ({"remote": "strt@2"}, "no key 'strt'; did you mean 'start'"),
     ({"remote": "start"}, "must be like start@2, A@5.5; got 'start'")],
)  # fmt: skip
def test_what_does_not_fit_is_said(values: dict[str, Any], problem: str) -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    with pytest.raises(mjrig.MjrigError) as error:
        scene.actors[0].add_component(UnitreeBridge(**values))
        mjrig.World(scene)
    assert problem in str(error.value)


def test_the_motor_table_can_be_given() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.actors[0].add_component(UnitreeBridge(motors_of=["-", "RL_calf", "FL_roll_hip"]))
    bridge = mjrig.World(scene)["quadruped"].components[-1]
    assert isinstance(bridge, UnitreeBridge)
    actuators = [b.actuator for b in bridge.motors.bindings]
    assert dict(zip(bridge.motor_indices, actuators, strict=True)) == {1: "RL_calf", 2: "FL_hip"}


# Over DDS ---------------------------------------------------------------------------------------


@pytest.fixture
def over_dds() -> Iterator[tuple[Serving, UnitreeBridge]]:
    pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    bridge = UnitreeBridge(domain=20 + os.getpid() % 80, until_command="off")
    scene.actors[0].add_component(bridge)
    world = mjrig.World(scene)
    with Serving(world) as serving:
        found = serving.bridges[0]
        assert isinstance(found, UnitreeBridge)
        yield serving, found


def start_client(bridge: UnitreeBridge, seconds: float) -> "subprocess.Popen[str]":
    file = Path(__file__).with_name("dds_client.py")
    command = [sys.executable, str(file), str(bridge.domain), str(seconds), "140"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def start_sdk_client(bridge: UnitreeBridge, seconds: float) -> "subprocess.Popen[str]":
    """The program of `sdk_client.py`, with the DDS version of the vendor's SDK."""
    python = os.environ.get("MJRIG_SDK_PYTHON")
    if not python:
        pytest.skip("MJRIG_SDK_PYTHON is not set: a Python with cyclonedds 0.10.2, as the SDK has")
    file = Path(__file__).with_name("sdk_client.py")
    command = [python, str(file), str(bridge.domain), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_until(serving: Serving, condition: Any, seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        serving.run(0.1)
        if condition():
            return True
    return False


@pytest.mark.slow
def test_a_program_stands_the_robot_up_dies_and_another_takes_over(
    over_dds: tuple[Serving, UnitreeBridge],
) -> None:
    serving, bridge = over_dds
    world = serving.world

    def height() -> float:
        return float(world.data.qpos[2])

    assert run_until(serving, lambda: height() < 0.2)  # without torque it lies down
    first = start_client(bridge, 60.0)
    try:
        assert run_until(serving, lambda: height() > 0.27), bridge.traffic.report()
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    assert run_until(serving, lambda: bridge.phase is BridgePhase.LOST)
    assert "the motors damp" in world.events[-1].message
    assert run_until(serving, lambda: height() < 0.2)
    second = start_client(bridge, 4.0)
    assert run_until(serving, lambda: second.poll() is not None)
    said = second.communicate()[0].split()
    assert int(said[1]) > 100 and said[1] == said[3]
    assert height() > 0.27 and bridge.traffic.rejected == 0


@pytest.mark.slow
def test_a_program_on_the_dds_version_of_the_sdk_stands_the_robot_up(
    over_dds: tuple[Serving, UnitreeBridge],
) -> None:
    serving, bridge = over_dds
    world = serving.world
    client = start_sdk_client(bridge, 8.0)
    assert run_until(serving, lambda: client.poll() is not None)
    said = client.communicate()[0]
    assert client.returncode == 0 and "controller ''" in said, said
    states, good = (int(n) for n in said.splitlines()[-1].split()[1::2])
    assert states > 50 and states == good
    assert world.data.qpos[2] > 0.27 and bridge.traffic.rejected == 0


@pytest.mark.slow
def test_a_dds_process_that_dies_is_started_again_and_that_is_said(
    over_dds: tuple[Serving, UnitreeBridge],
) -> None:
    serving, bridge = over_dds
    assert isinstance(bridge.link, DdsLink)
    os.kill(bridge.link.pid, signal.SIGKILL)
    steps = serving.world.steps
    assert run_until(
        serving, lambda: any("was started again" in e.message for e in serving.world.events)
    )
    assert serving.world.steps > steps
    client = start_client(bridge, 3.0)
    assert run_until(serving, lambda: client.poll() is not None)
    assert int(client.communicate()[0].split()[1]) > 50


@pytest.mark.slow
def test_a_dds_process_that_hangs_does_not_keep_the_world_from_closing(
    over_dds: tuple[Serving, UnitreeBridge],
) -> None:
    serving, bridge = over_dds
    assert isinstance(bridge.link, DdsLink)
    process = bridge.link._process
    os.kill(process.pid, signal.SIGSTOP)
    serving.run(0.1)  # states have nowhere to go, and that stops nothing
    serving.close()
    assert process.poll() == -signal.SIGKILL


def test_a_recorded_run_replays_to_the_same_motion(tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="needs the extra 'record'")
    from mjrig.data.recording.recorder import Recorder
    from mjrig.lab.replay.runner import replay

    client, path = Client(SCENES / "quadruped.yaml", "go2"), tmp_path / "run.h5"
    rng = np.random.default_rng(5)
    with client.serving, Recorder(client.world, path):
        client.serving.advance(2)
        home = client.state()["motor_state"]["q"].copy()
        for kp in (60.0, 60.0, 140.0):
            client.say(client.command(q=home + rng.normal(0, 0.05, 20), kp=kp, kd=3.0))
            client.serving.advance(40)
    again = replay(path, mjrig.World(SCENES / "quadruped.yaml"), diagnose=False)
    assert again.bit_exact, again
