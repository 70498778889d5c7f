"""Each kind of Unitree robot: motor indices against joint names written down from its manuals."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.unitree_bridge import UnitreeBridge
from tests.components.bridges.unitree_client import Client

QUADRUPED = {
    0: "FR_hip_joint", 1: "FR_thigh_joint", 2: "FR_calf_joint", 3: "FL_hip_joint",
    4: "FL_thigh_joint", 5: "FL_calf_joint", 6: "RR_hip_joint", 7: "RR_thigh_joint",
    8: "RR_calf_joint", 9: "RL_hip_joint", 10: "RL_thigh_joint", 11: "RL_calf_joint",
}  # fmt: skip
WHEELS = {12: "FR_wheel_joint", 13: "FL_wheel_joint", 14: "RR_wheel_joint", 15: "RL_wheel_joint"}
H1 = {
    0: "right_hip_roll_joint", 1: "right_hip_pitch_joint", 2: "right_knee_joint",
    3: "left_hip_roll_joint", 4: "left_hip_pitch_joint", 5: "left_knee_joint", 6: "torso_joint",
    7: "left_hip_yaw_joint", 8: "right_hip_yaw_joint", 10: "left_ankle_joint",
    11: "right_ankle_joint", 12: "right_shoulder_pitch_joint", 13: "right_shoulder_roll_joint",
    14: "right_shoulder_yaw_joint", 15: "right_elbow_joint", 16: "left_shoulder_pitch_joint",
    17: "left_shoulder_roll_joint", 18: "left_shoulder_yaw_joint", 19: "left_elbow_joint",
}  # fmt: skip
G1_LEG = ["hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"]
H1_2_LEG = ["hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll"]
ARM = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
       "wrist_yaw"]  # fmt: skip


def row(first: int, side: str, names: list[str]) -> dict[int, str]:
    return {first + k: f"{side}_{name}_joint" for k, name in enumerate(names)}


G1 = {
    **row(0, "left", G1_LEG), **row(6, "right", G1_LEG),
    12: "waist_yaw_joint", 13: "waist_roll_joint", 14: "waist_pitch_joint",
    **row(15, "left", ARM), **row(22, "right", ARM),
}  # fmt: skip
G1_23 = {i: name for i, name in G1.items() if i not in (13, 14, 20, 21, 27, 28)}
H1_2 = {
    **row(0, "left", H1_2_LEG), **row(6, "right", H1_2_LEG), 12: "torso_joint",
    **row(13, "left", ARM), **row(20, "right", ARM),
}  # fmt: skip
KINDS = {
    "go2": ("go2", QUADRUPED), "b2": ("b2", QUADRUPED), "go2w": ("go2w", QUADRUPED | WHEELS),
    "b2w": ("b2w", QUADRUPED | WHEELS), "h1": ("h1", H1), "g1": ("g1", G1),
    "g1 with 23 joints": ("g1", G1_23), "h1_2": ("h1_2", H1_2),
}  # fmt: skip


def write_scene(folder: Path, joints: list[str], seed: int = 0) -> Path:
    """A floating base with these joints, in another order than a message has them."""
    order = np.random.default_rng(seed).permutation(len(joints))
    bodies = "".join(
        f'<body pos="0 {0.1 * k} 0"><joint name="{joints[i]}" axis="0 1 0"/>'
        '<geom size="0.02" mass="0.1" contype="0" conaffinity="0"/></body>'
        for k, i in enumerate(order)
    )
    motors = "".join(f'<motor name="m{i}" joint="{joints[i]}"/>' for i in order[::-1])
    model = folder / "robot.xml"
    model.write_text(
        f'<mujoco><option timestep="0.002"/><worldbody><body name="base" pos="0 0 1"><freejoint/>'
        f'<geom size="0.1" mass="5"/>{bodies}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )
    scene = folder / "scene.yaml"
    scene.write_text(
        "mjrig: 1\nactors:\n  - name: robot\n    model: robot.xml\n    components:\n"
        "      - type: PDController\n        kp: 20\n        kv: 1\n"
    )
    return scene


@pytest.fixture(params=list(KINDS))
def robot(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Client, dict[int, str]]]:
    kind, joints = KINDS[request.param]
    made = Client(write_scene(tmp_path, list(joints.values())), kind)
    with made.serving:
        yield made, joints


def test_every_index_commands_and_reads_its_joint_and_no_other(
    robot: tuple[Client, dict[int, str]],
) -> None:
    client, joints = robot
    slots = len(client.command()["motor_cmd"])
    assert set(client.bridge.motor_indices) == set(joints)
    rng = np.random.default_rng(1)
    values = {
        n: rng.uniform(0.5, 1.0, slots).astype(np.float32) for n in ("q", "dq", "tau", "kp", "kd")
    }
    unused = [i for i in range(slots) if i not in joints]
    for given in values.values():
        given[unused] = np.nan  # no motor is there: whatever it says has no meaning
    client.say(client.command(**values))
    client.serving.advance(1)
    assert client.bridge.traffic.rejected == 0
    setpoints, names = client.robot.setpoints, list(client.robot.actuator_names)
    column = {b.joint: names.index(b.actuator) for b in client.robot.bindings}
    kp, kv = client.bridge.motors.gains()
    place = {b.joint: k for k, b in enumerate(client.bridge.motors.bindings)}
    for index, joint in joints.items():
        at = column[joint]
        assert setpoints.position[at] == values["q"][index]
        assert setpoints.velocity[at] == values["dq"][index]
        assert setpoints.feedforward[at] == values["tau"][index]
        assert kp[place[joint]] == values["kp"][index] and kv[place[joint]] == values["kd"][index]
    client.serving.advance(20)
    state, data = client.state()["motor_state"], client.world.data
    for index, joint in joints.items():
        found = client.world.model.joint(f"robot/{joint}")
        assert state["q"][index] == np.float32(data.qpos[found.qposadr[0]])
        assert state["dq"][index] == np.float32(data.qvel[found.dofadr[0]])
        assert state["ddq"][index] == np.float32(data.qacc[found.dofadr[0]])
        effort = client.robot.applied_effort[[b.joint for b in client.robot.bindings].index(joint)]
        assert state["tau_est"][index] == np.float32(effort)
    for name in ("mode", "q", "dq", "ddq", "tau_est"):
        assert not state[name][unused].any()
    assert np.all(state["mode"][list(joints)] == 1)


@pytest.mark.parametrize(("kind", "linked"), [("g1", [4, 5, 10, 11, 13, 14]),
                                              ("h1_2", [4, 5, 10, 11])])  # fmt: skip
@pytest.mark.parametrize("first_by_joint", [True, False])
def test_motors_of_linkages_hold_and_the_rest_moves(
    tmp_path: Path, kind: str, linked: list[int], first_by_joint: bool
) -> None:
    joints = KINDS[kind][1]
    client = Client(write_scene(tmp_path, list(joints.values())), kind)
    names = list(client.robot.actuator_names)
    column = {b.joint: names.index(b.actuator) for b in client.robot.bindings}
    with client.serving:
        client.serving.advance(2)
        held = client.state()["motor_state"]["q"].copy()
        if first_by_joint:
            held[:] = 0.25
            client.say(client.command(q=held, kp=10.0, kd=1.0))
            client.serving.advance(1)
        record = client.command(q=0.5, kp=12.0, kd=1.0)
        record["mode_pr"] = 1
        client.say(record)
        client.say(record)
        client.serving.advance(1)
        place = client.robot.setpoints.position
        for index, joint in joints.items():
            assert place[column[joint]] == (held[index] if index in linked else 0.5)
        said = [e.message for e in client.world.events if "the model has no linkages" in e.message]
        assert len(said) == 1 and client.bridge.traffic.rejected == 0
        record["mode_pr"] = 2
        client.say(record)
        client.serving.advance(1)
        assert "it must be 0 (PR) or 1 (AB)" in client.bridge.traffic.log[-1].reason


def test_a_table_of_ones_own_has_room_for_all_motors_of_a_message(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(write_scene(tmp_path, [f"j{i}" for i in range(20)]))
    scene.actors[0].add_component(UnitreeBridge(motors_of=[f"j{19 - i}" for i in range(20)]))
    bridge = mjrig.World(scene)["robot"].components[-1]
    assert isinstance(bridge, UnitreeBridge)
    found = {i: b.joint for i, b in zip(bridge.motor_indices, bridge.motors.bindings, strict=True)}
    assert found == {i: f"j{19 - i}" for i in range(20)}
