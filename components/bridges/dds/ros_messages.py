"""ROS 2 messages: types, their hashes (RIHS01), and states and commands of a robot."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mjrig.components.bridges.dds.robot_state import RobotState
from mjrig.core.arrays import FloatArray
from mjrig.data.robot_logs.cdr import CdrReader, CdrWriter, JointStateWriter

# Ros types ----------------------------------------------------------------------------------------
# Types of ROS 2 messages as DDS knows them.


#: Fields by type; a name with a slash is another type, `[]` behind it a sequence.
FIELDS: dict[str, dict[str, str]] = {
    "builtin_interfaces/Time": {"sec": "int32", "nanosec": "uint32"},
    "builtin_interfaces/Duration": {"sec": "int32", "nanosec": "uint32"},
    "std_msgs/Header": {"stamp": "builtin_interfaces/Time", "frame_id": "str"},
    "rosgraph_msgs/Clock": {"clock": "builtin_interfaces/Time"},
    "sensor_msgs/JointState": {
        "header": "std_msgs/Header", "name": "str[]", "position": "float64[]",
        "velocity": "float64[]", "effort": "float64[]",
    },
    "geometry_msgs/Vector3": {"x": "float64", "y": "float64", "z": "float64"},
    "geometry_msgs/Quaternion": {"x": "float64", "y": "float64", "z": "float64", "w": "float64"},
    "sensor_msgs/Imu": {
        "header": "std_msgs/Header",
        "orientation": "geometry_msgs/Quaternion", "orientation_covariance": "float64[9]",
        "angular_velocity": "geometry_msgs/Vector3", "angular_velocity_covariance": "float64[9]",
        "linear_acceleration": "geometry_msgs/Vector3",
        "linear_acceleration_covariance": "float64[9]",
    },
    "geometry_msgs/Transform": {
        "translation": "geometry_msgs/Vector3", "rotation": "geometry_msgs/Quaternion",
    },
    "geometry_msgs/TransformStamped": {
        "header": "std_msgs/Header", "child_frame_id": "str",
        "transform": "geometry_msgs/Transform",
    },
    "tf2_msgs/TFMessage": {"transforms": "geometry_msgs/TransformStamped[]"},
    "std_msgs/MultiArrayDimension": {"label": "str", "size": "uint32", "stride": "uint32"},
    "std_msgs/MultiArrayLayout": {"dim": "std_msgs/MultiArrayDimension[]", "data_offset": "uint32"},
    "std_msgs/Float64MultiArray": {"layout": "std_msgs/MultiArrayLayout", "data": "float64[]"},
    "trajectory_msgs/JointTrajectoryPoint": {
        "positions": "float64[]", "velocities": "float64[]", "accelerations": "float64[]",
        "effort": "float64[]", "time_from_start": "builtin_interfaces/Duration",
    },
    "trajectory_msgs/JointTrajectory": {
        "header": "std_msgs/Header", "joint_names": "str[]",
        "points": "trajectory_msgs/JointTrajectoryPoint[]",
    },
}  # fmt: skip


def ros_type(name: str, known: dict[str, Any] | None = None) -> Any:
    """The DDS type of a ROS 2 message type: `sensor_msgs/JointState`."""
    import types as python_types
    from dataclasses import dataclass

    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl import types as idl_types

    types: Any = idl_types  # its generics are known at run time only

    made = {} if known is None else known
    plain = {
        "str": str, "int32": types.int32, "uint32": types.uint32, "float64": types.float64,
    }  # fmt: skip
    fields: dict[str, Any] = {}
    for field, kind in FIELDS[name].items():
        base, _, count = kind.partition("[")
        if base not in plain and base not in made:
            made[base] = ros_type(base, made)
        inner = plain.get(base) or made[base]
        length = count.rstrip("]")
        if not count:
            fields[field] = inner
        else:
            fields[field] = types.array[inner, int(length)] if length else types.sequence[inner]
    package, short = name.split("/")

    def body(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = fields

    keywords = {"typename": f"{package}.msg.dds_.{short}_"}
    return dataclass(python_types.new_class(f"{short}_", (IdlStruct,), keywords, body))


# Ros hashes ---------------------------------------------------------------------------------------
# Hashes of ROS 2 message types (RIHS01), which nodes compare and recorders write down.


#: Numbers of the kinds of a field in type_description_interfaces.
_NESTED, _KINDS = 1, {"int32": 6, "uint32": 7, "float64": 11, "str": 17}
#: Added for an array of a fixed length, and for a sequence of any.
_ARRAY, _SEQUENCE = 48, 144


def type_hash(name: str) -> str:
    """The hash of a message type: `sensor_msgs/JointState` → `RIHS01_…`."""
    description = {
        "type_description": _described(name),
        "referenced_type_descriptions": [_described(other) for other in _referenced(name)],
    }
    text = json.dumps(description, separators=(", ", ": "))
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def _full(name: str) -> str:
    package, short = name.split("/")
    return f"{package}/msg/{short}"


def _described(name: str) -> dict[str, Any]:
    return {
        "type_name": _full(name),
        "fields": [
            {"name": field, "type": _field_type(kind)} for field, kind in FIELDS[name].items()
        ],
    }


def _field_type(kind: str) -> dict[str, Any]:
    base, _, count = kind.partition("[")
    number, length = _KINDS.get(base, _NESTED), count.rstrip("]")
    if count:
        number += _ARRAY if length else _SEQUENCE
    return {
        "type_id": number,
        "capacity": int(length) if length else 0,
        "string_capacity": 0,
        "nested_type_name": "" if base in _KINDS else _full(base),
    }


def _referenced(name: str) -> list[str]:
    """All types below one, sorted."""
    found: set[str] = set()
    open_ends = [name]
    while open_ends:
        for kind in FIELDS[open_ends.pop()].values():
            base = kind.partition("[")[0]
            if base not in _KINDS and base not in found:
                found.add(base)
                open_ends.append(base)
    return sorted(found, key=_full)


# Ros wire -----------------------------------------------------------------------------------------
# RosWire: states and commands of a robot as ROS 2 messages.


#: Most points of a trajectory: a command travels in one frame.
MOST_POINTS = 200
#: Kinds of command, the first number of its frame.
TARGETS, TRAJECTORY = 0.0, 1.0
_NO_COVARIANCE = np.zeros(9)


class RosWire:
    """Encodes states and decodes commands.

    Settings: `joints` in order, `namespace`, `controller`, `frame`, `base_frame`, `imu_frame`,
    `reader`.
    A command of targets is position, velocity and effort per joint, NaN where it is not given; one
    of a trajectory is the number of points, and for each its time, positions and velocities.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._joints = [str(name) for name in settings["joints"]]
        self._joint_states = JointStateWriter(self._joints)
        self._place = {name: i for i, name in enumerate(self._joints)}
        self._frames = {n: str(settings[n]) for n in ("frame", "base_frame", "imu_frame")}
        space = str(settings["namespace"]).strip("/")
        own = f"rt/{space}/" if space else "rt/"
        controller = str(settings["controller"]).strip("/")
        self._own = own
        self.publications: Mapping[str, Any] = {
            f"{own}joint_states": "sensor_msgs/JointState",
            f"{own}imu": "sensor_msgs/Imu",
            "rt/clock": "rosgraph_msgs/Clock",
            "rt/tf": "tf2_msgs/TFMessage",
        }
        self._read = {
            f"{own}joint_commands": self._joint_state,
            f"{own}{controller}/commands": self._array,
            f"{own}{controller}/joint_trajectory": self._trajectory,
        }
        n = len(self._joints)
        self.notes: list[str] = []
        self._reader: RobotState = settings["reader"]
        self.state_size = self._reader.size
        self.command_size = 3 + max(3 * n, MOST_POINTS * (1 + 2 * n))
        kinds = ("sensor_msgs/JointState", "std_msgs/Float64MultiArray",
                 "trajectory_msgs/JointTrajectory")  # fmt: skip
        self.subscriptions: Mapping[str, Any] = dict(zip(self._read, kinds, strict=True))

    # Out ----------------------------------------------------------------------------------------

    def states(self, frame: FloatArray) -> Iterator[tuple[str, bytes]]:
        """Clock, joint states, inertial sensor and base transform for a state of the world."""
        now = round(float(frame[0]) * 1e9)
        q, dq, _, tau = self._reader.joints(frame)
        body, turn = self._reader.body(frame), self._reader.orientation(frame)
        yield "rt/clock", CdrWriter().stamp(now).message()
        yield f"{self._own}joint_states", self._joint_states.message(now, (q, dq, tau))
        out = CdrWriter().stamp(now).text(self._frames["imu_frame"])
        for values in (body[[1, 2, 3, 0]], body[4:7], body[7:10]):
            out.array(values).array(_NO_COVARIANCE)
        yield f"{self._own}imu", out.message()
        out = CdrWriter().uint32(1).stamp(now).text(self._frames["frame"])
        out.text(self._frames["base_frame"]).array(body[10:13]).array(turn[[1, 2, 3, 0]])
        yield "rt/tf", out.message()

    # In -----------------------------------------------------------------------------------------

    def command(self, topic: str, payload: bytes) -> FloatArray | None:
        """The numbers of a command.

        Raises:
            ValueError: the message is not used; the text says why.
        """
        found = self._read[topic](CdrReader(payload))
        if np.isinf(found).any() or (np.abs(np.nan_to_num(found)) > 1e9).any():
            raise ValueError("it has a number that is not finite")
        return found

    def answers(self, topic: str, payload: bytes) -> Sequence[tuple[str, bytes]]:
        """Nothing is answered."""
        return ()

    def _spread(self, names: list[str], values: FloatArray, what: str) -> FloatArray:
        """Values by joint; NaN where none is given."""
        out = np.full(len(self._joints), np.nan)
        if not len(values):
            return out
        if len(values) != len(names):
            raise ValueError(f"{what} has {len(values)} values for {len(names)} joints")
        if not np.isfinite(values).all():
            raise ValueError(f"{what} is not finite")
        for name, value in zip(names, values.tolist(), strict=True):
            if name not in self._place:
                raise ValueError(f"no joint {name!r}; joints: {', '.join(self._joints)}")
            out[self._place[name]] = value
        return out

    def _joint_state(self, read: CdrReader) -> FloatArray:
        read.int32(), read.uint32(), read.text()
        names = read.texts()
        rows = [self._spread(names, read.doubles(), w) for w in ("position", "velocity", "effort")]
        if np.isnan(rows).all():
            raise ValueError("it commands nothing")
        return np.concatenate([[TARGETS], *rows])

    def _array(self, read: CdrReader) -> FloatArray:
        for _ in range(read.count()):
            read.text(), read.uint32(), read.uint32()
        skip = read.uint32()
        position = self._spread(self._joints, read.doubles()[skip:], "data")
        if np.isnan(position).any():
            raise ValueError("it commands nothing")
        nothing = np.full(2 * len(self._joints), np.nan)
        return np.concatenate([[TARGETS], position, nothing])

    def _trajectory(self, read: CdrReader) -> FloatArray:
        read.int32(), read.uint32(), read.text()
        names, points, last = read.texts(), [], -1.0
        for _ in range(read.count()):
            position = self._spread(names, read.doubles(), "positions")
            velocity = self._spread(names, read.doubles(), "velocities")
            read.doubles(), read.doubles()
            at = read.int32() + read.uint32() * 1e-9
            if at <= last:
                raise ValueError("the times of its points do not increase")
            if np.isnan(position).all():
                raise ValueError("a point has no positions")
            last = at
            points.append(np.concatenate([[at], position, velocity]))
        if not 1 <= len(points) <= MOST_POINTS:
            raise ValueError(f"it has {len(points)} points; 1 to {MOST_POINTS} are served")
        return np.concatenate([[TRAJECTORY, len(points)], *points])
