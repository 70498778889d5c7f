"""Policies of several vendors walk, drive or turn a cube, as their own loops make them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_file import PolicyFile
from tests.places import SHARED

ROBOTS = SHARED / "robots"
needs_robots = pytest.mark.skipif(
    not ROBOTS.is_dir(), reason="no shared/robots beside the checkout"
)
#: How many ticks are compared with the vendor's own, number for number.
COMPARED = 10


@dataclass(frozen=True)
class Fixture:
    """A policy on its robot, with the numbers its vendor gives.

    `ends` is where the base or the cube is in the end; `within` how close [m].
    """

    model: str
    policy: Mapping[str, Any]
    ends: tuple[float, ...]
    within: float
    seconds: float = 10.0
    kp: Any = None
    kv: Any = None
    precision: str = "float64"
    keyframe: str = ""


def legs(*parts: str, sides: tuple[str, ...] = ("FR", "FL", "RR", "RL")) -> list[str]:
    return [f"{side}_{part}_joint" for side in sides for part in parts]


def terms(*found: Any) -> list[dict[str, Any]]:
    return [{"type": t} if isinstance(t, str) else {"type": t[0], **t[1]} for t in found]


G1_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
T1_LEG = ("Hip_Pitch", "Hip_Roll", "Hip_Yaw", "Knee_Pitch", "Ankle_Pitch", "Ankle_Roll")
#: Left and right in turns, as the simulator it was trained in orders them.
G1_INTERLEAVED = [
    "left_hip_pitch", "right_hip_pitch", "waist_yaw", "left_hip_roll", "right_hip_roll",
    "waist_roll", "left_hip_yaw", "right_hip_yaw", "waist_pitch", "left_knee", "right_knee",
    "left_shoulder_pitch", "right_shoulder_pitch", "left_ankle_pitch", "right_ankle_pitch",
    "left_shoulder_roll", "right_shoulder_roll", "left_ankle_roll", "right_ankle_roll",
    "left_shoulder_yaw", "right_shoulder_yaw", "left_elbow", "right_elbow", "left_wrist_roll",
    "right_wrist_roll", "left_wrist_pitch", "right_wrist_pitch", "left_wrist_yaw",
    "right_wrist_yaw",
]  # fmt: skip
GO2_SCHEDULE = [[0, 0, 0, 0], [1, 0.5, 0, 0], [6, 0.4, 0, 0.5]]
SPEED = ["vx", "vy", "wz"]


def robot_lab(**positions: Any) -> list[dict[str, Any]]:
    return terms(
        ("BaseAngularVelocity", {"scale": 0.25}),
        "ProjectedGravity",
        "CommandTerm",
        ("JointPositions", positions),
        ("JointVelocities", {"scale": 0.05}),
        "LastAction",
    )


FIXTURES = {
    "urlgym_g1": Fixture(
        "g1_12dof_rlgym",
        {
            "joints": legs(*G1_LEG, sides=("left", "right")),
            "timestep": 0.002,
            "decimation": 10,
            "phase": "after",
            "default": {".*_hip_pitch.*": -0.1, ".*_knee.*": 0.3, ".*_ankle_pitch.*": -0.2},
            "start": {"duration": 0},
            "observation": {
                "terms": terms(
                    ("BaseAngularVelocity", {"scale": 0.25}),
                    "ProjectedGravity",
                    ("CommandTerm", {"scale": [2, 2, 0.25]}),
                    "JointPositions",
                    ("JointVelocities", {"scale": 0.05}),
                    "LastAction",
                    ("GaitPhase", {"period": 0.8}),
                )
            },
            "action": {"scale": 0.25},
            "command": {"names": SPEED, "default": [0.5, 0, 0]},
        },
        kp={".*_hip_.*": 100, ".*_knee_.*": 150, ".*_ankle_.*": 40},
        kv={".*_knee_.*": 4, "default": 2},
        ends=(4.586, -0.390),
        within=0.01,
    ),
    "rlsar_go2_robotlab": Fixture(
        "go2_unitree",
        {
            "joints": legs("hip", "thigh", "calf"),
            "timestep": 0.005,
            "decimation": 4,
            "state": "float32",
            "default": {".*_hip_.*": 0, ".*_thigh_.*": 0.8, ".*_calf_.*": -1.5},
            "start": {"duration": 1.0, "kp": 80, "kv": 3},
            "observation": {
                "clip": 100,
                "terms": robot_lab(),
            },
            "action": {"scale": {".*_hip_.*": 0.125, "default": 0.25}, "clip": 100},
            "command": {"names": SPEED, "schedule": GO2_SCHEDULE},
        },
        kp=20,
        kv=0.5,
        ends=(1.691, 2.146),
        within=0.15,
        seconds=11.0,
    ),
    "pg_go1": Fixture(
        "go1_playground",
        {
            "joints": legs("hip", "thigh", "calf"),
            "timestep": 0.004,
            "decimation": 5,
            "phase": "inside",
            "default": [0.1, 0.9, -1.8, -0.1, 0.9, -1.8] * 2,
            "observation": {
                "terms": terms(
                    ("BaseLinearVelocity", {"sensor": "local_linvel"}),
                    ("BaseAngularVelocity", {"sensor": "gyro"}),
                    ("ProjectedGravity", {"site": "imu"}),
                    "JointPositions",
                    "JointVelocities",
                    "LastAction",
                    "CommandTerm",
                )
            },
            "action": {"scale": 0.5, "dtype": "float64"},
            "command": {
                "names": SPEED,
                "schedule": [[0, 0, 0, 0], [1, 1.0, 0, 0], [6, 0.6, 0, 0.8]],
            },
        },
        keyframe="home",
        ends=(4.861, 1.644),
        within=0.01,
    ),
    "booster_t1": Fixture(
        "t1_12dof_booster",
        {
            "joints": [f"{side}_{part}" for side in ("Left", "Right") for part in T1_LEG],
            "timestep": 0.002,
            "decimation": 10,
            "state": "float32",
            "default": {".*_Hip_Pitch": -0.2, ".*_Knee_Pitch": 0.4, ".*_Ankle_Pitch": -0.25},
            "observation": {
                "terms": terms(
                    ("ProjectedGravity", {"sensor": "orientation"}),
                    ("BaseAngularVelocity", {"sensor": "angular-velocity"}),
                    "CommandTerm",
                    ("GaitPhase", {"frequency": 1.5, "form": "cos_sin", "standing": "stop"}),
                    "JointPositions",
                    ("JointVelocities", {"scale": 0.1}),
                    "LastAction",
                )
            },
            "action": {"clip": 1, "last": "clipped"},
            "command": {
                "names": SPEED,
                "schedule": [[0, 0, 0, 0], [1, 0.6, 0, 0], [6, 0.5, 0, 0.5]],
            },
        },
        kp={".*_Ankle_.*": 50, "default": 200},
        kv={".*_Ankle_.*": 1, "default": 5},
        precision="float32",
        ends=(3.712, 0.714),
        within=0.01,
    ),
    "urllab_g1_velocity": Fixture(
        "g1_29dof_unitree",
        {
            "joints": [f"{name}_joint" for name in G1_INTERLEAVED],
            "timestep": 0.002,
            "decimation": 10,
            "default": {
                ".*_hip_pitch_.*": -0.1, ".*_knee_.*": 0.3, ".*_ankle_pitch_.*": -0.2,
                ".*_shoulder_pitch_.*": 0.3, "left_shoulder_roll_.*": 0.25,
                "right_shoulder_roll_.*": -0.25, ".*_elbow_.*": 0.97,
                "left_wrist_roll_.*": 0.15, "right_wrist_roll_.*": -0.15,
            },
            "observation": {
                "history": {"length": 5},
                "terms": terms(
                    ("BaseAngularVelocity", {"scale": 0.2}),
                    "ProjectedGravity",
                    "CommandTerm",
                    "JointPositions",
                    ("JointVelocities", {"scale": 0.05}),
                    "LastAction",
                ),
            },
            "action": {"scale": 0.25},
            "command": {
                "names": SPEED,
                "schedule": [[0, 0, 0, 0], [1, 0.6, 0, 0], [6, 0.5, 0, 0.2]],
            },
        },
        kp={".*_hip_.*": 100, ".*_knee": 150, "waist_.*": 200, "default": 40},
        kv={".*_(hip|ankle)_.*": 2, ".*_knee": 4, "waist_.*": 5, "default": 10},
        ends=(4.594, 0.377),
        within=0.01,
    ),
    "pg_leap": Fixture(
        "leap_cube_playground",
        {
            "joints": [
                *(f"{f}_{j}" for f in ("if", "mf", "rf") for j in ("mcp", "rot", "pip", "dip")),
                *("th_cmc", "th_axl", "th_mcp", "th_ipl"),
            ],
            "timestep": 0.002,
            "decimation": 25,
            "phase": "inside",
            "observation": {
                "terms": terms(
                    ("JointPositions", {"relative": False}),
                    "JointTargetErrors",
                    ("SensorTerm", {"sensor": "palm_position", "minus": "cube_position"}),
                    (
                        "RelativeRotation",
                        {
                            "sensor": "cube_orientation",
                            "other": "cube_goal_orientation",
                            "rows": [1, 2],
                        },
                    ),
                    "LastAction",
                )
            },
            "action": {
                "mode": "delta", "scale": 0.5, "clip_target": "ctrlrange", "dtype": "float64",
            },
        },
        keyframe="home",
        ends=(0.140, -0.011, 0.018),
        within=0.01,
    ),
    "rlsar_go2w_robotlab": Fixture(
        "go2w_unitree",
        {
            "joints": [*legs("hip", "thigh", "calf"), *legs("wheel")],
            "timestep": 0.005,
            "decimation": 4,
            "state": "float32",
            "default": {
                "F._thigh_.*": 0.5, "R._thigh_.*": 0.8, ".*_calf_.*": -1.5, "default": 0,
            },
            "start": {
                "duration": 1.0,
                "kp": {".*_wheel_.*": 0, "default": 70},
                "kv": {".*_wheel_.*": 0.5, "default": 5},
            },
            "observation": {"clip": 100, "terms": robot_lab(zero=".*_wheel_joint")},
            "action": {
                "scale": {".*_hip_.*": 0.125, ".*_wheel_.*": 5, "default": 0.25},
                "clip": 100,
                "targets": {".*_wheel_.*": "velocity"},
            },
            "command": {"names": SPEED, "schedule": GO2_SCHEDULE},
        },
        kp={".*_wheel": 0, "default": 20},
        kv=0.5,
        ends=(3.144, 0.502),
        within=0.15,
        seconds=11.0,
    ),
}  # fmt: skip


def write(name: str, folder: Path) -> Path:
    """The policy file of a fixture."""
    network = (ROBOTS / "policies" / f"{name}.onnx").resolve()
    data = {"network": str(network), **FIXTURES[name].policy}
    made = PolicyFile.from_data(data)
    made.save(folder / "policy.yaml")
    return folder / "policy.yaml"


def make(name: str, folder: Path, start: Any) -> mjrig.World:
    """A scene with this robot and its policy, in the state the recording starts from."""
    fixture = FIXTURES[name]
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": fixture.policy["timestep"]}})
    model = ROBOTS / "models" / fixture.model / "scene.xml"
    actor = scene.add_actor("robot", model=model, keyframe=fixture.keyframe)
    if fixture.kp is not None:
        controller = PDController(kp=fixture.kp, kv=fixture.kv, torque_limit=np.inf)
        controller.assign({"precision": fixture.precision, "order": "textbook"})
        actor.add_component(controller)
    actor.add_component(Policy(file=str(write(name, folder))))
    world = mjrig.World(scene)
    world.data.qpos[:] = start
    for robot in world.articulations.values():
        robot.reset()  # what is held follows the pose
    mujoco.mj_forward(world.model, world.data)
    world.data.qacc_warmstart[:] = 0.0  # as a loop without mj_forward starts
    return world


def policy_of(world: mjrig.World) -> Policy:
    found = next(c for c in world["robot"].components if isinstance(c, Policy))
    assert isinstance(found, Policy)
    return found


def upright(world: mjrig.World) -> float:
    """Cosine of the base's tilt."""
    _, x, y, _ = world.data.qpos[3:7]
    return float(1.0 - 2.0 * (x * x + y * y))


@needs_robots
@pytest.mark.parametrize("name", FIXTURES)
def test_a_policy_runs_as_its_vendor_runs_it(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    recorded = np.load(ROBOTS / "recordings" / f"{name}.npz", allow_pickle=False)
    world = make(name, tmp_path, recorded["qpos0"])
    policy = policy_of(world)
    steps, first = recorded["policy_step"], int(not recorded["policy_action"][0].any())
    is_hand = name == "pg_leap"
    for p in range(first, first + COMPARED):
        world.step(int(steps[p]) + 1 - world.steps)  # a tick is inside or just before that step
        assert policy.ticks == p + 1 - first
        assert np.abs(policy.observation - recorded["policy_obs"][p]).max() < 1e-5
        action = np.clip(policy.action, -1, 1) if name == "booster_t1" else policy.action
        assert np.abs(action - recorded["policy_action"][p]).max() < 1e-5
        if not is_hand:
            assert np.allclose(policy.command_now, recorded["policy_cmd"][p])
    tilt = 1.0
    while world.time < fixture.seconds - 1e-6:
        world.step(min(50, round((fixture.seconds - world.time) / world.timestep)))
        if is_hand:
            assert world.data.qpos[18] > -0.02
        else:
            tilt = min(tilt, upright(world))
    assert tilt > 0.99
    assert world.events == ()
    at = world.data.qpos[16:19] if is_hand else world.data.qpos[:2]
    error = np.abs(at - fixture.ends).max()
    assert error < fixture.within


# Motion tracking --------------------------------------------------------------------------------

TRACKING = {
    "joints": [f"{name}_joint" for name in G1_INTERLEAVED],
    "timestep": 0.005,
    "decimation": 4,
    "time_step": "time_step",
    "output": "actions",
    "observation": {
        "terms": terms(
            "MotionJoints",
            "MotionAnchorPosition",
            "MotionAnchorOrientation",
            "BaseLinearVelocity",
            "BaseAngularVelocity",
            "JointPositions",
            "JointVelocities",
            "LastAction",
        )
    },
}


def tracker(folder: Path, motion: Mapping[str, Any]) -> tuple[mjrig.World, Policy]:
    """The synthetic motion-tracking network on a G1."""
    network = (ROBOTS / "policies" / "synthetic_beyondmimic_g1.onnx").resolve()
    made = PolicyFile.from_data({"network": str(network), "motion": motion, **TRACKING})
    made.save(folder / "policy.yaml")
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": 0.005}})
    actor = scene.add_actor("robot", model=ROBOTS / "models" / "g1_29dof_unitree" / "scene.xml")
    actor.add_component(PDController(kp=40, kv=2))
    actor.add_component(Policy(file=str(folder / "policy.yaml")))
    world = mjrig.World(scene)
    return world, policy_of(world)


@needs_robots
def test_a_network_tracks_the_motion_inside_of_it(tmp_path: Path) -> None:
    recorded = np.load(ROBOTS / "policies" / "synthetic_beyondmimic_g1_io.npz", allow_pickle=False)
    index = int(np.flatnonzero(recorded["time_step"].reshape(-1) == 1)[0])
    bodies = [f"body_{i}" for i in range(14)]
    inside = {"from_network": True, "anchor": "pelvis", "bodies": ["pelvis", *bodies[1:]]}
    world, policy = tracker(tmp_path, inside)
    world.step(5)
    assert (policy.ticks, policy.observation.size) == (2, 160)
    joints = np.concatenate([recorded[k][index].reshape(-1) for k in ("joint_pos", "joint_vel")])
    assert np.abs(policy.observation[:58] - joints).max() < 1e-6


@needs_robots
def test_a_clip_beside_the_network_is_seen_like_the_one_inside(tmp_path: Path) -> None:
    clip = (ROBOTS / "motions" / "synthetic_g1_wave.npz").resolve()
    bodies = ["pelvis", *(f"body_{i}" for i in range(1, 14))]
    seen = []
    motions: tuple[dict[str, Any], ...] = ({"from_network": True}, {"file": str(clip)})
    for i, motion in enumerate(motions):
        (tmp_path / str(i)).mkdir()
        world, policy = tracker(tmp_path / str(i), {**motion, "anchor": "pelvis", "bodies": bodies})
        world.step(41)
        seen.append(policy.observation[:67].copy())
    assert np.abs(seen[0] - seen[1]).max() < 1e-5
