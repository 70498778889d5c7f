"""Definitions of ROS messages: parsed from `ros2msg` and `ros1msg`, or built in.

Bags of rosbag2 before Iron hold only the names of their types. The built-in layouts follow the
published interface descriptions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mjrig.core.errors import RecordingError

# Definitions --------------------------------------------------------------------------------------


#: Primitive type → numpy's letter without the byte order.
PRIMITIVES = {
    "bool": "u1", "byte": "u1", "char": "u1", "octet": "u1",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
TEXTS = ("string", "wstring")
#: Digits of the length of an array; no message is that long.
_MOST_DIGITS = 12
_SEPARATOR = re.compile(r"^=+\s*$", re.MULTILINE)
_FIELD = re.compile(r"^([\w/]+)(?:<=\d+)?(\[(?:<=)?\d*\])?\s+(\w+)\s*(.*)$")


@dataclass(frozen=True)
class MessageField:
    """One member: `count` None: a single value, -1: as many as the message says."""

    name: str
    type: str
    count: int | None = None


@dataclass(frozen=True)
class Definition:
    """A message: its type, and the fields of every type it is made of."""

    type: str
    types: Mapping[str, tuple[MessageField, ...]]

    def fields(self, name: str) -> tuple[MessageField, ...]:
        """The fields of a type that is no primitive.

        Raises:
            RecordingError: it is not defined.
        """
        if name not in self.types:
            raise RecordingError(f"{self.type}: the type {name} is not defined in the file")
        return self.types[name]


def short(name: str) -> str:
    """`sensor_msgs/msg/JointState` and `sensor_msgs/JointState` → the latter."""
    return name.replace("/msg/", "/").replace("::msg::dds_::", "/").rstrip("_")


def parse(type_name: str, text: str) -> Definition:
    """A definition and those it needs, as containers keep them: one text.

    Raises:
        RecordingError: a line is no field.
    """
    main = short(type_name)
    package = main.partition("/")[0]
    types: dict[str, tuple[MessageField, ...]] = dict(_BASIC)
    for k, part in enumerate(_SEPARATOR.split(text)):
        name, lines = main, part.strip().splitlines()
        if k:
            if not lines or not lines[0].startswith(("MSG:", "IDL:")):
                continue
            name, lines = short(lines[0][4:].strip()), lines[1:]
        types[name] = tuple(_fields(name, name.partition("/")[0] or package, lines))
    return Definition(main, _resolved(types))


def _fields(owner: str, package: str, lines: list[str]) -> list[MessageField]:
    found = []
    for raw in lines:
        line = raw.split("#", 1)[0].strip() if '"' not in raw else raw.strip()
        if not line or line.startswith("#"):
            continue
        hit = _FIELD.match(line)
        if hit is None:
            raise RecordingError(f"{owner}: a line of its definition is no field: {raw!r:.80}")
        kind, array, name, rest = hit.groups()
        if rest.startswith("="):  # a constant
            continue
        count = None
        if array is not None:
            size = array[1:-1]
            if len(size) > _MOST_DIGITS:
                raise RecordingError(f"{owner}: a line of its definition is no field: {raw!r:.80}")
            count = int(size) if size.isdigit() else -1
        found.append(MessageField(name, _type(kind, package), count))
    return found


def _type(kind: str, package: str) -> str:
    if kind in PRIMITIVES or kind in TEXTS or kind in ("time", "duration"):
        return kind
    if kind == "Header":
        return "std_msgs/Header"
    return short(kind) if "/" in kind else f"{package}/{kind}"


def _resolved(types: Mapping[str, tuple[MessageField, ...]]) -> dict[str, tuple[MessageField, ...]]:
    """Types that are written with another package than they are defined in, by their bare name."""
    bare = {name.rpartition("/")[2]: name for name in types}
    found = {}
    for name, fields in types.items():
        found[name] = tuple(
            MessageField(f.name, bare.get(f.type.rpartition("/")[2], f.type), f.count)
            if "/" in f.type and f.type not in types
            else f
            for f in fields
        )
    return found


#: Types that definitions take for granted; a file's own take their place.
_BASIC: dict[str, tuple[MessageField, ...]] = {
    name: (MessageField("sec", sec), MessageField("nanosec", rest))
    for name, sec, rest in (
        ("time", "uint32", "uint32"),
        ("duration", "int32", "int32"),
        ("builtin_interfaces/Time", "int32", "uint32"),
        ("builtin_interfaces/Duration", "int32", "uint32"),
    )
}
_BASIC["std_msgs/Header"] = (
    MessageField("stamp", "builtin_interfaces/Time"),
    MessageField("frame_id", "string"),
)


# Known --------------------------------------------------------------------------------------------
# Definitions of messages for files that hold only their names.
#
# Those of rosbag2 before Iron do. The layouts are those of the interfaces' own descriptions.


_LINE = "\n" + "=" * 80 + "\nMSG: "


def _joined(main: str, *names: str) -> str:
    return main + "".join(f"{_LINE}{name}\n{_PARTS[name]}" for name in names)


_MOTOR_STATE = "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\n"
_IMU = "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy\n"
_MOTOR_CMD = "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\n"
_HEAD = (
    "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\n"
    "uint16 bandwidth\n"
)
_PARTS = {
    "unitree_go/MotorState": f"{_MOTOR_STATE}float32 q_raw\nfloat32 dq_raw\nfloat32 ddq_raw\n"
    "int8 temperature\nuint32 lost\nuint32[2] reserve\n",
    "unitree_go/IMUState": f"{_IMU}int8 temperature\n",
    "unitree_go/BmsState": "uint8 version_high\nuint8 version_low\nuint8 status\nuint8 soc\n"
    "int32 current\nuint16 cycle\nint8[2] bq_ntc\nint8[2] mcu_ntc\nuint16[15] cell_vol\n",
    "unitree_go/MotorCmd": f"{_MOTOR_CMD}uint32[3] reserve\n",
    "unitree_go/BmsCmd": "uint8 off\nuint8[3] reserve\n",
    "unitree_go/TimeSpec": "int32 sec\nuint32 nanosec\n",
    "unitree_hg/MotorState": f"{_MOTOR_STATE}int16[2] temperature\nfloat32 vol\nuint32[2] sensor\n"
    "uint32 motorstate\nuint32[4] reserve\n",
    "unitree_hg/IMUState": f"{_IMU}int16 temperature\n",
    "unitree_hg/MotorCmd": f"{_MOTOR_CMD}uint32 reserve\n",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance\n",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance\n",
    "trajectory_msgs/JointTrajectoryPoint": "float64[] positions\nfloat64[] velocities\n"
    "float64[] accelerations\nfloat64[] effort\nbuiltin_interfaces/Duration time_from_start\n",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
    "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n",
    "control_msgs/InterfaceValue": "string[] interface_names\nfloat64[] values\n",
}
_POINT = "trajectory_msgs/JointTrajectoryPoint"
_GEOMETRY = tuple(name for name in _PARTS if name.startswith("geometry_msgs/"))
_LAYOUT = ("std_msgs/MultiArrayLayout", "std_msgs/MultiArrayDimension")
_TEXTS = {
    "unitree_go/LowState": _joined(
        f"{_HEAD}IMUState imu_state\nMotorState[20] motor_state\nBmsState bms_state\n"
        "int16[4] foot_force\nint16[4] foot_force_est\nuint32 tick\nuint8[40] wireless_remote\n"
        "uint8 bit_flag\nfloat32 adc_reel\nint8 temperature_ntc1\nint8 temperature_ntc2\n"
        "float32 power_v\nfloat32 power_a\nuint16[4] fan_frequency\nuint32 reserve\nuint32 crc\n",
        "unitree_go/IMUState",
        "unitree_go/MotorState",
        "unitree_go/BmsState",
    ),
    "unitree_go/LowCmd": _joined(
        f"{_HEAD}MotorCmd[20] motor_cmd\nBmsCmd bms_cmd\nuint8[40] wireless_remote\n"
        "uint8[12] led\nuint8[2] fan\nuint8 gpio\nuint32 reserve\nuint32 crc\n",
        "unitree_go/MotorCmd",
        "unitree_go/BmsCmd",
    ),
    "unitree_go/SportModeState": _joined(
        "TimeSpec stamp\nuint32 error_code\nIMUState imu_state\nuint8 mode\nfloat32 progress\n"
        "uint8 gait_type\nfloat32 foot_raise_height\nfloat32[3] position\nfloat32 body_height\n"
        "float32[3] velocity\nfloat32 yaw_speed\nfloat32[4] range_obstacle\nint16[4] foot_force\n"
        "float32[12] foot_position_body\nfloat32[12] foot_speed_body\n",
        "unitree_go/TimeSpec",
        "unitree_go/IMUState",
    ),
    "unitree_hg/LowState": _joined(
        "uint32[2] version\nuint8 mode_pr\nuint8 mode_machine\nuint32 tick\nIMUState imu_state\n"
        "MotorState[35] motor_state\nuint8[40] wireless_remote\nuint32[4] reserve\nuint32 crc\n",
        "unitree_hg/IMUState",
        "unitree_hg/MotorState",
    ),
    "unitree_hg/LowCmd": _joined(
        "uint8 mode_pr\nuint8 mode_machine\nMotorCmd[35] motor_cmd\nuint32[4] reserve\n"
        "uint32 crc\n",
        "unitree_hg/MotorCmd",
    ),
    "sensor_msgs/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\n"
    "float64[] velocity\nfloat64[] effort\n",
    "sensor_msgs/Imu": _joined(
        "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n"
        "float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n"
        "float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n"
        "float64[9] linear_acceleration_covariance\n",
        *_GEOMETRY,
    ),
    "nav_msgs/Odometry": _joined(
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/PoseWithCovariance pose\n"
        "geometry_msgs/TwistWithCovariance twist\n",
        *_GEOMETRY,
    ),
    "trajectory_msgs/JointTrajectory": _joined(
        f"std_msgs/Header header\nstring[] joint_names\n{_POINT}[] points\n", _POINT
    ),
    "std_msgs/Float64MultiArray": _joined(
        "std_msgs/MultiArrayLayout layout\nfloat64[] data\n", *_LAYOUT
    ),
    "control_msgs/JointTrajectoryControllerState": _joined(
        f"std_msgs/Header header\nstring[] joint_names\n{_POINT} reference\n{_POINT} feedback\n"
        f"{_POINT} error\n{_POINT} output\nstring[] multi_dof_joint_names\n",
        _POINT,
    ),
    "control_msgs/DynamicJointState": _joined(
        "std_msgs/Header header\nstring[] joint_names\n"
        "control_msgs/InterfaceValue[] interface_values\n",
        "control_msgs/InterfaceValue",
    ),
}


def known_definition(type_name: str) -> Definition | None:
    """The built-in definition of a type; None: there is none."""
    text = _TEXTS.get(short(type_name))
    return None if text is None else parse(type_name, text)


def definition_text(type_name: str) -> str:
    """Its text, as containers keep it."""
    return _TEXTS[short(type_name)]
