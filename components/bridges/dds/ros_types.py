"""Types of ROS 2 messages as DDS knows them."""

from typing import Any

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
