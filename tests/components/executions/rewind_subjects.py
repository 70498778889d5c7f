"""One scene for every registered component, in which the component acts on the motion.

A component that is registered later is covered with its default values by the scene of its family,
until `VALUES` has others for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mjrig.components import Clamp, Law, PolicyFile
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.core.control.controller import ArticulationController
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.actor_description import Prop
from tests.networks import gru, lstm, mlp, onnx, save, tensor, value

Data = dict[str, Any]

#: A floating robot on the ground, two motors, sensors with delay, and a ball that falls asleep.
ROBOT = """<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002"/>
  <size memory="1M"/>
  <default><geom condim="3" friction="0.8"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <light pos="0 0 3"/>
    <body name="trunk" pos="0 0 0.12">
      <freejoint name="root"/>
      <geom name="trunk" type="box" size="0.1 0.08 0.05" mass="2"/>
      <site name="imu"/>
      <camera name="eye" pos="0.1 0 0.1" xyaxes="0 -1 0 0.3 0 1"/>
      <body name="upper" pos="0.1 0 0.06">
        <joint name="hip" axis="0 1 0" armature="0.02" damping="0.05" frictionloss="0.05"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.15 0 0.02" mass="0.3"/>
        <site name="knee_site" pos="0.1 0 0"/>
        <body name="lower" pos="0.15 0 0.02">
          <joint name="knee" axis="0 1 0" armature="0.02" range="-2 2" stiffness="0.2"/>
          <geom name="foot" type="capsule" size="0.02" fromto="0 0 0 0.1 0 -0.1" mass="0.2"/>
          <site name="foot" pos="0.1 0 -0.1"/>
        </body>
      </body>
      <body name="head" pos="-0.08 0 0.1">
        <joint name="neck" type="ball" damping="0.02" armature="0.01"/>
        <geom type="sphere" size="0.03" mass="0.1" pos="0 0 0.04" contype="0" conaffinity="0"/>
        <site name="crown" pos="0.02 0 0.07"/>
      </body>
    </body>
    <body name="ball" pos="0.6 0 0.031" sleep="init">
      <freejoint/>
      <geom type="sphere" size="0.03" mass="0.05"/>
    </body>
    <body name="crate" pos="-0.6 0 0.0499" euler="0 0 0.3">
      <freejoint/>
      <geom type="box" size="0.05 0.05 0.05" mass="0.2"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="cable"><joint joint="hip" coef="1"/><joint joint="knee" coef="-0.5"/></fixed>
  </tendon>
  <actuator>
    <motor name="hip" joint="hip" gear="2" ctrlrange="-3 3"/>
    <motor name="knee" joint="knee" forcerange="-2 2"/>
  </actuator>
  <sensor>
    <gyro name="gyro" site="imu"/>
    <framequat name="attitude" objtype="site" objname="imu"/>
    <framequat name="crown" objtype="site" objname="crown"/>
    <jointpos name="angle" joint="hip" delay="0.006" nsample="4"/>
    <touch name="touch" site="foot"/>
  </sensor>
  <keyframe>
    <key name="bent" qpos="0 0 0.12 1 0 0 0 0.3 -0.4 1 0 0 0
     0.6 0 0.031 1 0 0 0 -0.6 0 0.0499 0.98877 0 0 0.14944"/>
  </keyframe>
</mujoco>"""

#: Two boxes on a tendon: one begins asleep and is woken when the tendon is taut.
SLEEPERS = """<mujoco>
  <worldbody>
    <body name="asleep" pos=".3 0 1" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/>
      <site name="one" pos="-.1 -.1 -.1"/></body>
    <body name="falling" pos="-.3 0 1" euler="10 20 30"><freejoint/>
      <geom type="box" size=".1 .1 .1"/><site name="two" pos=".1 -.1 .1"/></body>
  </worldbody>
  <tendon><spatial range="0 .5"><site site="one"/><site site="two"/></spatial></tendon>
</mujoco>"""
SLEEPING: Data = {"name": "sleepers", "model": "sleepers.xml", "pose": {"position": [0, 3, 0]}}

JOINTS = ["hip", "knee"]
PD: Data = {"type": "PDController", "kp": 20, "kv": 0.4}
PID: Data = {"type": "PIDController", "kp": 20, "kv": 0.4, "ki": 30, "integral_max": 0.02}

#: Values with which a component does something on this robot; others have their defaults.
VALUES: Mapping[str, Data] = {
    # Laws
    "PD": {"kp": 20, "kv": 0.4},
    "PID": {"kp": 20, "kv": 0.4, "ki": 30, "integral_max": 0.02},
    "VoltageServo": {"gain": 8, "kt": 0.5, "resistance": 2, "slew_rate": 4},
    "CurrentServo": {"gain": 8, "damping": 0.2, "kt": 0.5, "resistance": 2, "voltage": 12},
    "MLP": {"path": "mlp.onnx"},
    "LSTM": {"path": "lstm.onnx"},
    "GRU": {"path": "gru.onnx"},
    # Clamps
    "MaxEffort": {"max_effort": 1.5, "min_effort": -0.7},
    "DCMotor": {"saturation_effort": 2.0, "velocity_limit": 5.0, "max_effort": 1.5},
    "TorqueSpeedCurve": {"x1": 1.0, "x2": 6.0, "y1": 1.2, "y2": 1.7},
    "PositionTable": {"positions": [-0.5, 0.0, 0.7], "efforts": [0.4, 1.5, 0.8]},
    "Delay": {"steps": 3, "max_steps": 8},
    # Components of an actor
    "NeuralController": {"path": "lstm.onnx"},
    "ServoController": {"gain": 32},
    "LawController": {"law": {"type": "PID", "kp": 20, "kv": 0.4, "ki": 30}},
    "PDController": {"kp": 20, "kv": 0.4, "decimation": 3, "delay": {"random": [0, 3]}},
    "PIDController": {"kp": 20, "kv": 0.4, "ki": 30, "integral_max": 0.02, "delay": {"steps": 2}},
    "JointFriction": {
        "joints": ".*", "coulomb": 0.05, "stribeck": 0.05, "stribeck_velocity": 0.3,
        "stribeck_exponent": 1, "load": 0.05, "motor_load": 0.1, "external_load": 0.02,
    },
    "Policy": {"file": "policy.yaml"},
    "PolicySwitch": {
        "blend": 0.02,
        "options": [
            {"name": "move", "file": "moving.yaml"},
            {"name": "stand", "after": 0.06},
        ],
    },
    # Actuators
    "AdhesionActuator": {"body": "lower", "gainprm": [3.0]},
    "CylinderActuator": {"joint": "hip", "timeconst": 0.05, "area": 0.5},
    "DCMotorActuator": {
        "joint": "hip", "motorconst": [0.3, 0.3], "resistance": 1.0, "inductance": [0.01, 0.0],
        "lugre": [50.0, 0.5, 0.02, 0.03, 0.1], "thermal": [2.0, 5.0, 0.0, 0.004, 25.0, 25.0],
    },
    "DamperActuator": {"joint": "hip", "kv": 0.5},
    "GeneralActuator": {"joint": "hip", "dyntype": "filter", "dynprm": [0.03], "delay": 0.006,
                        "nsample": 4},
    "IntVelocityActuator": {"joint": "hip", "kp": 10, "actrange": [-1, 1]},
    "MotorActuator": {"joint": "hip", "delay": 0.006, "nsample": 4, "interp": "linear"},
    "MuscleActuator": {"joint": "hip", "lengthrange": [0.1, 1.0]},
    "OrientationActuator": {"joint": "neck", "kp": 2.0},
    "PIDActuator": {"joint": "hip", "kp": 10, "kv": 0.5, "ki": 20, "imax": 0.1, "slewmax": 3},
    "PositionActuator": {"joint": "hip", "kp": 10, "kv": 0.5, "timeconst": 0.02},
    "VelocityActuator": {"joint": "hip", "kv": 0.5},
    # Observation terms
    "BaseAngularVelocity": {"sensor": "gyro"},
    "GaitPhase": {"period": 0.05, "standing": "stop", "clock": "first_tick", "speedup": 0.5},
    "ContactTerm": {"bodies": ["lower", "trunk"]},
    "FootPositions": {"sites": ["foot"], "bodies": ["trunk"]},
    "HeightScan": {"extent": [0.2, 0.1], "resolution": 0.1},
    "DepthImage": {"camera": "eye", "size": [4, 3]},
    "MotionPhase": {"duration": 0.2},
    "SensorTerm": {"sensor": "angle"},
    "RelativeRotation": {"sensor": "attitude", "other": "crown"},
    # Props
    "HeightFieldProp": {"heights": [[0.0, 0.02], [0.03, 0.0]], "size": [1, 1]},
    "MeshProp": {"file": "mesh.obj"},
    "TerrainProp": {"tiles": [{"type": "RoughTile"}], "tile": 2},
}  # fmt: skip

#: Components that do not act in a world, with the reason.
OUTSIDE: Mapping[str, str] = {
    "BenchSuite": "a file about many runs",
    "MotorFile": "a file of constants",
    "PolicyFile": "part of Policy",
    "Gap": "a policy with it does not run",
}
#: Dependent on messages from other processes, which no snapshot can rewind.
BRIDGES = "Bridge"


@dataclass(frozen=True)
class Subject:
    """A component in a scene.

    Attributes:
        name: type of the component.
        actors: data of the scene's actors.
        place: where it is edited: actor, property, index, and property of that component; empty:
            it cannot be in a running world.
        edits: type of the component there, if that is another one.
    """

    name: str
    actors: list[Data]
    place: tuple[str | int, ...] = ()
    edits: str = ""

    def scene(self, sim: Data) -> Data:
        """The data of a scene."""
        return {"mjrig": 1, "sim": sim, "actors": self.actors}


def subjects(folder: Path) -> dict[str, Subject]:
    """A scene for every registered component; the files they need are written to `folder`."""
    write_files(folder)
    built = {}
    for name in registry.names():
        family = family_of(registry.get(name, object))
        if name not in OUTSIDE and family is not None:
            built[name] = family(name, {"type": name, **VALUES.get(name, {})}, folder)
    return built


def family_of(cls: type) -> "Callable[[str, Data, Path], Subject] | None":
    """What puts a component into a scene; None: nothing does."""
    bases = {base.__name__ for base in cls.__mro__}
    if BRIDGES in bases:
        return _bridge
    for base, make in (
        ("Actuator", _actuator), ("TerrainTile", _tile), ("ServoLaw", _law), ("Delay", _delay),
    ):  # fmt: skip
        if base in bases:
            return make
    for kind, build in (
        (Law, _law), (Clamp, _clamp), (Prop, _prop), (ObservationTerm, _term),
        (ArticulationController, _controller), (ActorComponent, _component),
    ):  # fmt: skip
        if issubclass(cls, kind):
            return build
    return None


def _robot(*components: Data, **more: Any) -> list[Data]:
    model = {"name": "robot", "model": "robot.xml", "keyframe": "bent"}
    return [{**model, "components": list(components), **more}]


def _law(name: str, data: Data, folder: Path) -> Subject:
    holder = {"type": "LawController", "law": data, "delay": {"steps": 1}}
    return Subject(name, _robot(holder), ("robot", "components", 0, "law"))


def _clamp(name: str, data: Data, folder: Path) -> Subject:
    return Subject(name, _robot({**PID, "clamps": [data]}), ("robot", "components", 0, "clamps", 0))


def _delay(name: str, data: Data, folder: Path) -> Subject:
    values = {key: item for key, item in data.items() if key != "type"}
    return Subject(name, _robot({**PID, "delay": values}), ("robot", "components", 0, "delay"))


def _controller(name: str, data: Data, folder: Path) -> Subject:
    more = {"motors": "mx-106"} if name == "ServoController" else {}
    return Subject(name, _robot(data, **more), ("robot", "components", 0))


def _component(name: str, data: Data, folder: Path) -> Subject:
    if name == "TrotGait":
        model = {"name": "robot", "model": "package:mjrig.assets/quadruped/quadruped.xml"}
        return Subject(name, [{**model, "components": [PD, data]}], ("robot", "components", 1))
    return Subject(name, _robot({**PD, "delay": {"steps": 2}}, data), ("robot", "components", 1))


def _bridge(name: str, data: Data, folder: Path) -> Subject:
    """Not served: it waits for a program, and must not act."""
    model = {"name": "robot", "model": "package:mjrig.assets/quadruped/quadruped.xml"}
    return Subject(name, [{**model, "components": [PD, data]}])


def _actuator(name: str, data: Data, folder: Path) -> Subject:
    sensor = {"reads": "actuatorfrc", "delay": 0.006, "nsample": 4}
    actuator = {**data, "name": "extra", "sensors": [sensor]}
    if name == "OrientationActuator":
        actuator.pop("sensors")
    return Subject(name, _robot({**PD, "actuators": "hip|knee"}, actuators=[actuator]))


def _prop(name: str, data: Data, folder: Path) -> Subject:
    is_solid = "SolidProp" in {base.__name__ for base in registry.get(name, Prop).__mro__}
    prop = {**data, "free": True} if is_solid else data
    pose = {"position": [0.0, 0.5, 0.2 if is_solid else -0.5]}
    return Subject(name, [*_robot(PD), {"name": "prop", "prop": prop, "pose": pose}])


def _tile(name: str, data: Data, folder: Path) -> Subject:
    prop = {"type": "TerrainProp", "tile": 4, "tiles": [data]}
    terrain = {"name": "terrain", "prop": prop, "pose": {"position": [0.0, 0.0, -0.05]}}
    return Subject(name, [*_robot(PD), terrain])


def _term(name: str, data: Data, folder: Path) -> Subject:
    """With noise, bias, interval, delay and history: everything that a term can remember."""
    sampling = {"noise": 0.05, "bias": 0.1, "interval": 2, "delay": 1, "history": 3}
    file = f"{name}.yaml"
    write_policy(folder / file, [{**data, **sampling}])
    actors = _robot(PD, {"type": "Policy", "file": file})
    return Subject(name, actors, ("robot", "components", 1), edits="Policy")


# Files ------------------------------------------------------------------------------------------


def write_files(folder: Path) -> None:
    (folder / "robot.xml").write_text(ROBOT)
    (folder / "sleepers.xml").write_text(SLEEPERS)
    (folder / "mesh.obj").write_text(
        "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    mlp(folder / "mlp.onnx", 6, {"model_type": "mlp", "input_order": "pos_vel",
                                 "input_idx": [0, 1, 2], "pos_scale": 1.0, "vel_scale": 0.1,
                                 "effort_scale": 0.5})  # fmt: skip
    lstm(folder / "lstm.onnx", {"model_type": "lstm"})
    columns = ["position_error", "velocity"]
    gru(folder / "gru.onnx", {"model_type": "gru", "input_columns": columns, "sample_dt_s": 0.002})
    random = np.random.default_rng(3)
    quaternions = random.normal(size=(9, 1, 4))
    np.savez(
        folder / "clip.npz", fps=50.0,
        joint_pos=0.1 * random.normal(size=(9, 2)), joint_vel=random.normal(size=(9, 2)),
        body_pos_w=random.normal(size=(9, 1, 3)),
        body_quat_w=quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True),
    )  # fmt: skip
    network(folder / "network.onnx")
    terms: list[Data] = [{"type": "JointPositions", "history": 4, "noise": 0.1}]
    write_policy(folder / "policy.yaml", terms)
    write_policy(folder / "moving.yaml", terms, start=None)


def network(path: Path) -> None:
    """action = w · sin(sum of the observation + h), h ← sin(…): everything seen moves the robot."""
    make = onnx.helper.make_node
    nodes = [
        make("ReduceSum", ["obs"], ["sum"], keepdims=1),
        make("Add", ["sum", "h_in"], ["mixed"]),
        make("Sin", ["mixed"], ["h_out"]),
        make("MatMul", ["h_out", "w"], ["actions"]),
    ]
    inputs, outputs = [value("obs", [1, "n"]), value("h_in", [1, 1])], [value("actions", [1, 2])]
    weights = [tensor("w", [[0.3, -0.4]])]
    save(path, nodes, inputs, [*outputs, value("h_out", [1, 1])], weights, None)


def write_policy(path: Path, terms: list[Data], **more: Any) -> None:
    """A policy with every memory of its own: start, smoothing, last target, schedule."""
    data = {
        "network": "network.onnx",
        "joints": JOINTS,
        "decimation": 3,
        "default": 0.1,
        "start": {"duration": 0.012, "kp": 30.0, "kv": 1.0, "target": "pose"},
        "observation": {"terms": [*terms, {"type": "LastAction"}]},
        "action": {"mode": "delta", "scale": 0.1, "smoothing": 0.6, "clip_target": [-1, 1]},
        "command": {"names": ["vx"], "schedule": [[0.0, 0.0], [0.03, 0.5], [0.06, -0.2]]},
        "motion": {"file": "clip.npz", "anchor": "trunk", "bodies": ["trunk"]},
    }
    chosen = {name: entry for name, entry in (data | more).items() if entry is not None}
    path.write_text(yaml.safe_dump(chosen))
    PolicyFile.load(path)
