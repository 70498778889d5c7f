"""A small biped, networks that fit it, and configurations of other stacks for it."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.networks import onnx, value

JOINTS = ("left_hip_joint", "left_knee_joint", "right_hip_joint", "right_knee_joint")
_LEG = """
      <body name="{side}_thigh" pos="0 {y} -0.1">
        <joint name="{side}_hip_joint" axis="0 1 0" range="-1.5 1.5" armature="0.02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="2"/>
        <body name="{side}_shank" pos="0 0 -0.3">
          <joint name="{side}_knee_joint" axis="0 1 0" range="-0.1 2.5" armature="0.02"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="1"/>
        </body>
      </body>"""
_MODEL = """
<mujoco model="biped">
  <compiler angle="radian"/>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="trunk" pos="0 0 0.8">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.1 0.1" mass="5"/>
      <site name="imu"/>{legs}
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
  <sensor>
    <gyro name="gyro" site="imu"/>
    <velocimeter name="local_linvel" site="imu"/>
  </sensor>
  <keyframe><key name="home" qpos="0 0 0.75 1 0 0 0 0.2 0.4 0.2 0.4"/></keyframe>
</mujoco>"""


def model(folder: Path, kind: str = "motor", order: tuple[str, ...] = JOINTS) -> Path:
    """The robot in a file; `order` is that of its actuators."""
    gains = {"motor": 'ctrlrange="-40 40"', "position": 'kp="60" forcerange="-40 40"'}
    said = gains.get(kind, "")
    actuators = "".join(
        f'<{kind} name="{joint.removesuffix("_joint")}" joint="{joint}" {said}/>' for joint in order
    )
    legs = _LEG.format(side="left", y=0.1) + _LEG.format(side="right", y=-0.1)
    path = folder / "biped.xml"
    path.write_text(_MODEL.format(legs=legs, actuators=actuators))
    return path


def network(
    path: Path,
    size: int,
    actions: int = 4,
    *,
    names: tuple[str, str] = ("obs", "actions"),
    memory: bool = False,
    extra_inputs: tuple[str, ...] = (),
    metadata: dict[str, str] | None = None,
) -> Path:
    """actions = 0.01 · W obs; with `memory` there are h_in and h_out too."""
    weights = np.random.default_rng(size).normal(size=(size, actions)).astype(np.float32) * 0.01
    nodes = [onnx.helper.make_node("MatMul", [names[0], "w"], [names[1]])]
    inputs, outputs = [value(names[0], [1, size])], [value(names[1], [1, actions])]
    if memory:
        nodes.append(onnx.helper.make_node("Identity", ["h_in"], ["h_out"]))
        inputs.append(value("h_in", [1, 1, 8]))
        outputs.append(value("h_out", [1, 1, 8]))
    for name in extra_inputs:
        nodes.append(onnx.helper.make_node("Identity", [name], [f"{name}_seen"]))
        inputs.append(value(name, [1, 1]))
        outputs.append(value(f"{name}_seen", [1, 1]))
    graph = onnx.helper.make_graph(
        nodes, "net", inputs, outputs, [onnx.numpy_helper.from_array(weights, "w")]
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    made = onnx.helper.make_model(graph, opset_imports=opset, ir_version=9)
    for key, text in (metadata or {}).items():
        entry = made.metadata_props.add()
        entry.key, entry.value = key, text
    onnx.save(made, str(path))
    return path


def torchscript(path: Path) -> Path:
    """The skeleton of a TorchScript archive: code besides the weights."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy/code/__torch__/policy.py", "class Policy(Module):\n  pass\n")
        for name in ("data.pkl", "constants.pkl", "version"):
            archive.writestr(f"policy/{name}", b"\x80\x02}q\x00.")
    return path


def write(path: Path, text: str) -> Path:
    """A file with folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


GYM = """
policy_path: "{HOME}/pre_train/walker/policy.pt"
xml_path: "{HOME}/robots/walker_description/scene.xml"
simulation_dt: 0.002
control_decimation: 10
kps: [60, 80, 60, 80]
kds: [1, 2, 1, 2]
default_angles: [-0.1, 0.3, -0.1, 0.3]
ang_vel_scale: 0.25
dof_pos_scale: 1.0
dof_vel_scale: 0.05
action_scale: 0.25
cmd_scale: [2.0, 2.0, 0.25]
num_actions: 4
num_obs: 23
cmd_init: [0.5, 0, 0]
"""

LAB = """
joint_ids_map: [0, 2, 1, 3]
step_dt: 0.02
stiffness: [60, 80, 60, 80]
damping: [1, 2, 1, 2]
default_joint_pos: [-0.1, -0.1, 0.3, 0.3]
commands: {base_velocity: {ranges: {lin_vel_x: [-0.5, 1], lin_vel_y: [-0.3, 0.3], ang_vel_z: [-0.2, 0.2]}}}
actions:
  JointPositionAction:
    clip: null
    scale: [0.25, 0.25, 0.25, 0.25]
    offset: [-0.1, -0.1, 0.3, 0.3]
    joint_ids: !!python/object/apply:builtins.slice [null, null, null]
observations:
  base_ang_vel: {params: {}, clip: [-5, 5], scale: [0.2, 0.2, 0.2], history_length: 2}
  projected_gravity: {params: {}, clip: null, scale: [1, 1, 1], history_length: 2}
  velocity_commands: {params: {}, clip: null, scale: [1, 1, 1], history_length: 2}
  joint_pos_rel: {params: {}, clip: null, scale: [1, 1, 1, 1], history_length: 2}
  joint_vel_rel: {params: {}, clip: null, scale: 0.05, history_length: 2}
  last_action: {params: {}, clip: null, scale: 1.0, history_length: 2}
"""  # noqa: E501

SAR_BASE = """
walker:
  dt: 0.005
  decimation: 4
  num_of_dofs: 4
  wheel_indices: []
  fixed_kp: [90, 90, 90, 90]
  fixed_kd: [3, 3, 3, 3]
  default_dof_pos: [0, 0, 0, 0]
  joint_names: [right_hip_joint, right_foot_joint, left_hip_joint, left_foot_joint]
  joint_mapping: [0, 1, 2, 3]
"""
SAR = """
walker/lab:
  num_observations: 21
  observations: [commands, ang_vel, gravity_vec, dof_pos, dof_vel, actions]
  observations_history: []
  clip_obs: 100
  clip_actions_lower: [-10, -10, -10, -10]
  clip_actions_upper: [10, 10, 10, 10]
  rl_kp: [60, 80, 60, 80]
  rl_kd: [1, 2, 1, 2]
  num_of_dofs: 4
  action_scale: [0.1, 0.25, 0.1, 0.25]
  ang_vel_scale: 0.25
  dof_pos_scale: 1.0
  dof_vel_scale: 0.05
  commands_scale: [2, 2, 0.25]
  torque_limits: [40, 40, 40, 40]
  default_dof_pos: [-0.1, 0.3, -0.1, 0.3]
  joint_mapping: [2, 3, 0, 1]
"""

BOOSTER = """
env: {num_observations: 23, num_actions: 4}
sim: {dt: 0.002}
asset: {name: walker, armature: 0.0}
init_state:
  pos: [0, 0, 0.72]
  rot: [0, 0, 0, 1]
  default_joint_angles: {hip: -0.1, knee: 0.3, default: 0}
control:
  stiffness: {joint: 50, hip: 60, knee: 80}
  damping: {hip: 1, knee: 2}
  action_scale: 1.0
  decimation: 10
commands: {lin_vel_x: [-1, 1], lin_vel_y: [-1, 1], ang_vel_yaw: [-1, 1], gait_frequency: [1, 2]}
normalization: {gravity: 1, lin_vel: 1, ang_vel: 1, dof_pos: 1, dof_vel: 0.1, clip_actions: 1}
"""

#: kp = armature·ω², kd = 4·armature·ω with armature .02 and efforts of 40: a file that agrees.
MIMIC = {
    "joint_names": "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint",
    "joint_stiffness": "78.957,78.957,78.957,78.957",
    "joint_damping": "5.027,5.027,5.027,5.027",
    "action_scale": "0.127",
    "default_joint_pos": "-0.100,-0.100,0.300,0.300",
    "command_names": "twist",
    "observation_names": "base_lin_vel,base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,"
    "command",
}
MIMIC_SIZE = 24


def judo(**policy: Any) -> dict[str, Any]:
    """A config.json of RoboJuDo; arguments replace settings of the policy."""
    dof = {
        "joint_names": list(JOINTS),
        "default_pos": [-0.1, 0.3, -0.1, 0.3],
        "stiffness": [60.0, 80.0, 60.0, 80.0],
        "damping": [1.0, 2.0, 1.0, 2.0],
        "torque_limits": [30.0, 35.0, 30.0, 35.0],
    }
    return {
        "robot": "walker",
        "env": {"dof": dof, "sim_dt": 0.001, "sim_decimation": 20, "xml": "walker.xml"},
        "policy": {
            "policy_type": "UnitreePolicy",
            "robot": "walker",
            "freq": 50,
            "obs_dof": dof,
            "action_dof": {"joint_names": list(JOINTS)},
            "action_scale": 0.25,
            "action_clip": None,
            "action_beta": 0.8,
            "obs_scales": {
                "dof_pos": 1.0, "dof_vel": 0.05, "ang_vel": 0.25, "command": [2.0, 2.0, 0.25],
            },
            "max_cmd": [0.8, 0.5, 1.57],
            **policy,
        },
    }  # fmt: skip
