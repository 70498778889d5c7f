"""A walker, env.yaml files for it as Isaac Lab and mjlab write them, and a loop of its own.

The loop (`reference`) shares nothing with the importer: it reads the same data with `re` and
ElementTree, and steps MuJoCo itself.
"""

import copy
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from tests.components.importers import biped
from tests.components.importers.isaac.plants import actuator_of, by_pattern, plant

Data = dict[str, Any]
JOINTS = ("right_hip_joint", "left_hip_joint", "arm_joint", "right_knee_joint", "left_knee_joint")
SORTED = ("arm_joint", "left_hip_joint", "right_hip_joint", "left_knee_joint", "right_knee_joint")
DEPTH = ("right_hip_joint", "right_knee_joint", "left_hip_joint", "left_knee_joint", "arm_joint")
_LEG = """
      <body name="{side}_thigh" pos="0 {y} -0.1">
        <joint name="{side}_hip_joint" axis="0 1 0" range="-1.5 1.5" armature="0.02" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="2" group="1"/>
        <body name="{side}_shank" pos="0 0 -0.3">
          <joint name="{side}_knee_joint" axis="0 1 0" range="-0.1 2.5" armature="0.02"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="1" group="1"/>
        </body>
      </body>"""
_ARM = """
      <body name="arm" pos="0 0 0.15">
        <joint name="arm_joint" axis="1 0 0" range="-1 1" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.5" group="1"/>
      </body>"""
_MODEL = """
<mujoco model="walker">
  <compiler angle="radian"/>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <geom type="box" size="0.3 2 0.02" pos="0.9 0 0.02"/>
    <body name="trunk" pos="0 0 0.8">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.1 0.1" pos="0.03 0.01 0.02" mass="5" group="1"/>
      <site name="imu" pos="0.05 0 0.02"/>{limbs}
    </body>
  </worldbody>
  {actuators}
</mujoco>"""
#: Order of the actuators: neither that of the joints nor that of the training.
MOTORS = ("left_knee", "left_hip", "right_knee", "right_hip", "arm")
LIMBS = ("right", "left", "arm")


def model(
    folder: Path,
    kind: str = "motor",
    limit: float = 40.0,
    limbs: Sequence[str] = LIMBS,
    motors: Sequence[str] = MOTORS,
) -> Path:
    """The robot in a file, with limbs and motors in an order; kind none: without actuators."""
    said = {"motor": f'ctrlrange="-{limit:g} {limit:g}"',
            "position": f'kp="500" forcerange="-{limit:g} {limit:g}"'}  # fmt: skip
    made = "".join(
        f'<{kind} name="{name}" joint="{name}_joint" {said.get(kind, "")}/>' for name in motors
    )
    made_limbs = {
        "right": _LEG.format(side="right", y=-0.1),
        "left": _LEG.format(side="left", y=0.1),
        "arm": _ARM,
    }
    there = "".join(made_limbs[limb] for limb in limbs)
    actuators = f"<actuator>{made}</actuator>" if kind != "none" else ""
    path = folder / "walker.xml"
    path.write_text(_MODEL.format(limbs=there, actuators=actuators))
    return path


# Files ------------------------------------------------------------------------------------------


def term(func: str, **more: Any) -> Data:
    """An observation term as Isaac Lab dumps it."""
    return {
        "func": f"isaaclab.envs.mdp.observations:{func}", "params": {}, "modifiers": None,
        "noise": {"func": "isaaclab.utils.noise:uniform_noise", "n_min": -0.1, "n_max": 0.1},
        "clip": None, "scale": None, "history_length": 0, "flatten_history_dim": True, **more,
    }  # fmt: skip


def command_term(**more: Any) -> Data:
    return term("generated_commands", params={"command_name": "base_velocity"}, **more)


def actuators(kind: str = "ImplicitActuator", **more: Any) -> Data:
    """A group of actuators."""
    return {
        "class_type": f"isaaclab.actuators.actuator_pd:{kind}", "joint_names_expr": [".*"],
        "effort_limit": None, "velocity_limit": None, "effort_limit_sim": None,
        "velocity_limit_sim": None, "stiffness": 60.0, "damping": 2.0, "armature": None,
        "friction": None, "dynamic_friction": None, "viscous_friction": None, **more,
    }  # fmt: skip


def action(**more: Any) -> Data:
    """A joint position action."""
    return {
        "class_type": "isaaclab.envs.mdp.actions.joint_actions:JointPositionAction",
        "asset_name": "robot", "debug_vis": False, "clip": None, "joint_names": [".*"],
        "scale": 0.25, "offset": 0.0, "preserve_order": False, "use_default_offset": True, **more,
    }  # fmt: skip


def env(**changes: Any) -> Data:
    """env.yaml of a run on the walker: 24 + 3·5 observations with all five joints moved."""
    data: Data = {
        "sim": {"dt": 0.005, "render_interval": 4, "gravity": (0.0, 0.0, -9.81),
                "physx": {"solver_type": 1}},
        "decimation": 4,
        "scene": {
            "num_envs": 16,
            "robot": {
                "class_type": "isaaclab.assets.articulation.articulation:Articulation",
                "prim_path": "/World/envs/env_.*/Robot",
                "init_state": {
                    "pos": (0.0, 0.0, 0.75), "rot": (1.0, 0.0, 0.0, 0.0),
                    "lin_vel": (0.0, 0.0, 0.0), "ang_vel": (0.0, 0.0, 0.0),
                    "joint_pos": {".*_hip_joint": -0.2, ".*_knee_joint": 0.4},
                    "joint_vel": {".*": 0.0},
                },
                "soft_joint_pos_limit_factor": 0.9,
                "actuators": {"legs": actuators()},
            },
            "height_scanner": {
                "class_type": "isaaclab.sensors.ray_caster.ray_caster:RayCaster",
                "prim_path": "/World/envs/env_.*/Robot/trunk",
                "offset": {"pos": (0.0, 0.0, 20.0), "rot": (1.0, 0.0, 0.0, 0.0)},
                "ray_alignment": "yaw",
                "pattern_cfg": {"resolution": 0.2, "size": [0.8, 0.4],
                                "direction": (0.0, 0.0, -1.0), "ordering": "xy"},
                "max_distance": 1000000.0,
            },
        },
        "observations": {"policy": {
            "concatenate_terms": True, "concatenate_dim": -1, "enable_corruption": True,
            "history_length": None, "flatten_history_dim": True,
            "base_lin_vel": term("base_lin_vel"),
            "base_ang_vel": term("base_ang_vel", scale=0.25),
            "projected_gravity": term("projected_gravity"),
            "velocity_commands": command_term(),
            "joint_pos": term("joint_pos_rel"),
            "joint_vel": term("joint_vel_rel", scale=0.05),
            "actions": term("last_action"),
        }},
        "actions": {"joint_pos": action()},
        "events": {"push_robot": None},
        "commands": {"base_velocity": {
            "class_type": "isaaclab.envs.mdp.commands.velocity_command:UniformVelocityCommand",
            "heading_command": False,
            "ranges": {"lin_vel_x": (-1.0, 1.0), "lin_vel_y": (-0.5, 0.5),
                       "ang_vel_z": (-1.0, 1.0), "heading": None},
        }},
    }  # fmt: skip
    data.update(copy.deepcopy(changes))
    return data


class _Dumper(yaml.Dumper):
    """As Isaac Lab dumps: tuples and slices get Python tags."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Tied(yaml.Dumper):
    """What occurs twice is an anchor and aliases, as mjlab's own dumper writes it."""


def write(folder: Path, data: Data, name: str = "params/env.yaml", *, tied: bool = False) -> Path:
    """A file of a run; `tied`: with anchors and aliases."""
    dumper = _Tied if tied else _Dumper
    text = yaml.dump(data, Dumper=dumper, default_flow_style=False, sort_keys=False)
    return biped.write(folder / name, text)


def agent(**changes: Any) -> Data:
    """agent.yaml of rsl_rl."""
    return {
        "seed": 42, "num_steps_per_env": 24, "empirical_normalization": False, "obs_groups": {},
        "clip_actions": None, "policy": {"class_name": "ActorCritic"},
        "algorithm": {"class_name": "PPO"}, **changes,
    }  # fmt: skip


# The loop of the tests --------------------------------------------------------------------------


def breadth_first(path: Path) -> list[str]:
    """Joints level by level, from the XML."""
    level, found = [ET.parse(path).getroot().find(".//body[@name='trunk']")], []
    while level:
        found += [
            j.get("name") for body in level if body is not None for j in body.findall("joint")
        ]
        level = [child for body in level if body is not None for child in body.findall("body")]
    return [str(name) for name in found]


@dataclass
class Reference:
    """What a loop gives: its start, the last observation and target by joint, and the state."""

    start: np.ndarray
    observation: np.ndarray
    targets: dict[str, float]
    qpos: np.ndarray
    torque: np.ndarray


def sizes(path: Path, data: Data, order: Sequence[str] = ()) -> tuple[int, int]:
    """Values of the observation, and of the action."""
    names = order or breadth_first(path)
    default = dict.fromkeys(names, 0.0)
    moved, _ = _actions(data["actions"], names, default)
    m = mujoco.MjModel.from_xml_path(str(path))
    seen = _observe(
        m, mujoco.MjData(m), data, names, default, np.zeros(len(moved)), (0.0, 0.0, 0.0), {}
    )
    return seen.size, len(moved)


def reference(
    path: Path, data: Data, weights: np.ndarray, ticks: int, command: Sequence[float],
    order: Sequence[str] = (),
) -> Reference:  # fmt: skip
    """Run `action = observation · weights` as env.yaml says, for some ticks.

    `order` of the joints is breadth first unless it is given.
    """
    m = mujoco.MjModel.from_xml_path(str(path))
    names = order or breadth_first(path)
    robot = data["scene"]["robot"]
    default = dict(
        zip(names, by_pattern(robot["init_state"]["joint_pos"], names, 0.0), strict=True)
    )
    m.opt.timestep = data["sim"]["dt"]
    laws = plant(m, robot["actuators"], names, path.parent / "params")
    d = mujoco.MjData(m)
    mujoco.mj_setConst(m, d)  # weights of constraints follow the armature
    d.qpos[:3] = robot["init_state"]["pos"]
    for name in names:
        d.qpos[m.joint(name).qposadr[0]] = np.float32(default[name])  # as Isaac Lab's tensors
    start = d.qpos.copy()
    targets = dict(default)
    moved, recipe = _actions(data["actions"], names, default)
    last = np.zeros(len(moved), np.float32)
    histories: dict[str, list[np.ndarray]] = {}
    observation = np.zeros(0)
    for step in range(ticks * data["decimation"]):
        if step % data["decimation"] == 0:
            observation = _observe(m, d, data, names, default, last, command, histories)
            last = (observation @ weights).astype(np.float32)
            for name, value, (scale, offset, low, high) in zip(moved, last, recipe, strict=True):
                target = np.float32(value) * np.float32(scale) + np.float32(offset)
                targets[name] = float(np.clip(target, np.float32(low), np.float32(high)))
        for name, law in laws.items():
            joint = m.joint(name)
            q, v = d.qpos[joint.qposadr[0]], d.qvel[joint.dofadr[0]]
            d.ctrl[actuator_of(m, name)] = law(targets[name], q, v)
        mujoco.mj_step(m, d)
    return Reference(start, observation, targets, d.qpos.copy(), d.qfrc_actuator.copy())


def _actions(
    terms: Data, names: Sequence[str], default: Mapping[str, float]
) -> tuple[list[str], list[tuple[float, float, float, float]]]:
    moved: list[str] = []
    recipe: list[tuple[float, float, float, float]] = []
    for said in terms.values():
        if said is None:
            continue
        per = [[n for n in names if re.fullmatch(p, n)] for p in said["joint_names"]]
        own = [n for group in per for n in group]
        if not said["preserve_order"]:
            own.sort(key=list(names).index)
        scales = by_pattern(said["scale"], own, 1.0)
        offsets = by_pattern(said["offset"], own, 0.0)
        if said["use_default_offset"]:
            offsets = [default[n] for n in own]
        for name, scale, offset in zip(own, scales, offsets, strict=True):
            spans = [v for k, v in (said["clip"] or {}).items() if re.fullmatch(k, name)]
            low, high = spans[0] if spans else (-math.inf, math.inf)
            recipe.append((scale, offset, low, high))
        moved += own
    return moved, recipe


def _observe(
    m: Any, d: Any, data: Data, names: Sequence[str], default: Mapping[str, float],
    last: np.ndarray, command: Sequence[float], histories: dict[str, list[np.ndarray]],
) -> np.ndarray:  # fmt: skip
    group = data["observations"]["policy"]
    found = []
    for key, said in group.items():
        if not isinstance(said, dict):
            continue
        value = _measured(m, d, data, said, names, default, last, command)
        if said["clip"] is not None:
            value = np.clip(value, *said["clip"])
        if said["scale"] is not None:
            value = value * np.asarray(said["scale"])
        length = group["history_length"]
        length = max(1, said["history_length"] if length is None else length)
        kept = histories.setdefault(key, [value.astype(np.float32)] * length)
        kept[:] = [*kept[1:], value.astype(np.float32)]
        found += kept
    return np.concatenate(found)


def _measured(
    m: Any, d: Any, data: Data, said: Data, names: Sequence[str], default: Mapping[str, float],
    last: np.ndarray, command: Sequence[float],
) -> np.ndarray:  # fmt: skip
    function = re.split(r"[:. ]", said["func"].partition(" at ")[0])[-1]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, d.qpos[3:7])
    to_base = turn.reshape(3, 3).T
    picked = list(names)
    asset = said["params"].get("asset_cfg")
    if asset and asset["joint_names"]:
        per = [[n for n in names if re.fullmatch(p, n)] for p in asset["joint_names"]]
        picked = [n for group in per for n in group]
        if not asset["preserve_order"]:
            picked.sort(key=list(names).index)
    q = np.array([d.qpos[m.joint(n).qposadr[0]] for n in picked])
    base = np.array([np.float64(np.float32(default[n])) for n in picked])
    values = {
        "base_lin_vel": lambda: to_base @ d.qvel[:3] + np.cross(d.qvel[3:6], m.body("trunk").ipos),
        "base_ang_vel": d.qvel[3:6].copy,
        "projected_gravity": lambda: to_base @ (0.0, 0.0, -1.0),
        "generated_commands": lambda: np.asarray(command, float),
        "joint_pos_rel": lambda: q - base,
        "joint_pos": lambda: q,
        "joint_vel_rel": lambda: np.array([d.qvel[m.joint(n).dofadr[0]] for n in picked]),
        "last_action": lambda: last.astype(float),
        "height_scan": lambda: _scan(m, d, data["scene"]["height_scanner"]),
    }
    return values[function]()


def _scan(m: Any, d: Any, scanner: Data) -> np.ndarray:
    """Rays from above onto what belongs to the world."""
    mujoco.mj_kinematics(m, d)
    along, across = (np.arange(-s / 2, s / 2 + 1e-9, scanner["pattern_cfg"]["resolution"])
            for s in scanner["pattern_cfg"]["size"])  # fmt: skip
    points = [(a, b) for b in across for a in along]
    if scanner["pattern_cfg"]["ordering"] == "yx":
        points = [(a, b) for a in along for b in across]
    position, (w, i, j, k) = d.body("trunk").xpos, d.body("trunk").xquat
    yaw = math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k))
    found, hit = [], np.zeros(1, np.int32)
    groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    for a, b in points:
        x, y = a * math.cos(yaw) - b * math.sin(yaw), a * math.sin(yaw) + b * math.cos(yaw)
        start = position + np.array([x, y, 20.0])
        distance = mujoco.mj_ray(m, d, start, np.array([0.0, 0.0, -1.0]), groups, 1, -1, hit, None)
        found.append(position[2] - (start[2] - distance) - 0.5)
    return np.array(found)


def onnx_weights(path: Path) -> list[np.ndarray]:
    """The constants of a network."""
    found = biped.onnx.load(str(path)).graph.initializer
    return [biped.onnx.numpy_helper.to_array(tensor) for tensor in found]


# Other files of runs ----------------------------------------------------------------------------


def descriptors(**changes: Any) -> Data:
    """IO_descriptors.yaml of the run `env()`, as Isaac Lab writes it: without scans, float32."""
    default = [-0.2, -0.2, 0.0, 0.4, 0.4]
    overloads = {"clip": None, "flatten_history_dim": True, "history_length": 0, "scale": None}
    home = "isaaclab.envs.mdp.observations"

    def said(name: str, size: int, scale: Any = None, **more: Any) -> Data:
        return {
            "name": name, "full_path": f"{home}.{name}", "mdp_type": "Observation",
            "observation_type": "RootState", "dtype": "torch.float32", "shape": [size],
            "overloads": {**overloads, "scale": scale},
            "extras": {"description": "…", "modifiers": None}, **more,
        }  # fmt: skip

    joints = {"joint_names": list(JOINTS)}
    return {
        "actions": [{
            "name": "joint_position_action", "mdp_type": "Action", "action_type": "JointAction",
            "full_path": "isaaclab.envs.mdp.actions.joint_actions.JointPositionAction",
            "dtype": "torch.float32", "shape": [5], "joint_names": list(JOINTS),
            "scale": 0.25, "offset": list(default), "clip": None, "extras": {"description": "…"},
        }],
        "articulations": {"robot": {
            "joint_names": list(JOINTS), "default_joint_pos": list(default),
            "default_joint_vel": [0.0] * 5, "default_joint_pos_limits": [[-1.0, 1.0]] * 5,
            "default_joint_stiffness": [60.0] * 5, "default_joint_damping": [2.0] * 5,
            "default_joint_friction": [0.0] * 5, "default_joint_armature": [0.02] * 5,
        }},
        "observations": {"policy": [
            said("base_lin_vel", 3),
            said("base_ang_vel", 3, 0.25),
            said("projected_gravity", 3),
            said("generated_commands", 3, observation_type="Command"),
            said("joint_pos_rel", 5, **joints),
            said("joint_vel_rel", 5, 0.05000000074505806, **joints),
            said("last_action", 5),
        ]},
        "scene": {"physics_dt": 0.005, "dt": 0.02, "decimation": 4},
        **copy.deepcopy(changes),
    }  # fmt: skip


def mjlab(**changes: Any) -> Data:
    """env.yaml of mjlab on the walker, but for its Python tags of functions."""
    home = "mjlab.envs.mdp.observations"

    def said(func: str, **more: Any) -> Data:
        return {
            "func": f"{home}.{func}", "params": {}, "noise": None, "clip": None, "scale": None,
            "delay_min_lag": 0, "delay_max_lag": 0, "history_length": 0,
            "flatten_history_dim": True, **more,
        }  # fmt: skip

    return {
        "decimation": 4,
        "scene": {
            "num_envs": 1,
            "entities": {"robot": {
                "init_state": {
                    "pos": (0.0, 0.0, 0.75), "rot": (1.0, 0.0, 0.0, 0.0),
                    "joint_pos": {".*_hip_joint": -0.2, ".*_knee_joint": 0.4},
                    "joint_vel": {".*": 0.0},
                },
                "articulation": {
                    "actuators": ({
                        "target_names_expr": (".*",), "armature": 0.03, "frictionloss": None,
                        "viscous_damping": None, "delay_min_lag": 0, "delay_max_lag": 0,
                        "stiffness": 60.0, "damping": 2.0, "effort_limit": 30.0,
                    },),
                    "soft_joint_pos_limit_factor": 0.9,
                },
            }},
            "sensors": ({
                "name": "terrain_scan", "frame": {"type": "body", "name": "trunk"},
                "pattern": {"size": (0.8, 0.4), "resolution": 0.2, "direction": (0.0, 0.0, -1.0)},
                "ray_alignment": "yaw", "max_distance": 5.0, "include_geom_groups": (0,),
            },),
        },
        "observations": {"actor": {
            "terms": {
                "base_lin_vel": said("builtin_sensor", params={"sensor_name": "robot/imu_lin_vel"}),
                "base_ang_vel": said("builtin_sensor", params={"sensor_name": "robot/imu_ang_vel"}),
                "projected_gravity": said("projected_gravity"),
                "joint_pos": said("joint_pos_rel", params={"biased": True}),
                "joint_vel": said("joint_vel_rel"),
                "actions": said("last_action"),
                "command": said("generated_commands", params={"command_name": "twist"}),
                "height_scan": said(
                    "height_scan", params={"sensor_name": "terrain_scan"}, scale=0.2
                ),
            },
            "concatenate_terms": True, "concatenate_dim": -1, "enable_corruption": True,
            "history_length": None, "flatten_history_dim": True, "nan_policy": "disabled",
        }},
        "actions": {"joint_pos": {
            "entity_name": "robot", "clip": None, "actuator_names": (".*",),
            "scale": {".*_hip_joint": 0.37, ".*_knee_joint": 0.25}, "offset": 0.0,
            "preserve_order": False, "use_default_offset": True,
        }},
        "sim": {"mujoco": {
            "timestep": 0.005, "integrator": "implicitfast", "impratio": 10, "cone": "elliptic",
            "iterations": 10, "ls_iterations": 20, "gravity": (0.0, 0.0, -9.81),
        }},
        "commands": {"twist": {
            "heading_command": True,
            "ranges": {"lin_vel_x": (-1.0, 1.0), "lin_vel_y": (-1.0, 1.0),
                       "ang_vel_z": (-0.5, 0.5), "heading": (-3.14, 3.14)},
        }},
        "episode_length_s": 20.0,
        **copy.deepcopy(changes),
    }  # fmt: skip
