"""Messages of Unitree's robots, field by field: `unitree_go` (Go2, B2, H1) and `unitree_hg`."""

from mjrig.components.bridges.dds.records import Codec, Layout, named


def _motor_cmd(reserve: int) -> Layout:
    return named(
        "MotorCmd_",
        ("mode", "u1", 1), ("q", "f4", 1), ("dq", "f4", 1), ("tau", "f4", 1), ("kp", "f4", 1),
        ("kd", "f4", 1), ("reserve", "u4", reserve),
    )  # fmt: skip


def _imu(temperature: str) -> Layout:
    return named(
        "IMUState_",
        ("quaternion", "f4", 4), ("gyroscope", "f4", 3), ("accelerometer", "f4", 3),
        ("rpy", "f4", 3), ("temperature", temperature, 1),
    )  # fmt: skip


GO_MOTORS, HG_MOTORS = 20, 35
_GO_CMD, _HG_CMD = _motor_cmd(3), _motor_cmd(1)
_GO_IMU, _HG_IMU = _imu("u1"), _imu("i2")
_GO_STATE = named(
    "MotorState_",
    ("mode", "u1", 1), ("q", "f4", 1), ("dq", "f4", 1), ("ddq", "f4", 1), ("tau_est", "f4", 1),
    ("q_raw", "f4", 1), ("dq_raw", "f4", 1), ("ddq_raw", "f4", 1), ("temperature", "u1", 1),
    ("lost", "u4", 1), ("reserve", "u4", 2),
)  # fmt: skip
_HG_STATE = named(
    "MotorState_",
    ("mode", "u1", 1), ("q", "f4", 1), ("dq", "f4", 1), ("ddq", "f4", 1), ("tau_est", "f4", 1),
    ("temperature", "i2", 2), ("vol", "f4", 1), ("sensor", "u4", 2), ("motorstate", "u4", 1),
    ("reserve", "u4", 4),
)  # fmt: skip
_BMS_CMD = named("BmsCmd_", ("off", "u1", 1), ("reserve", "u1", 3))
_BMS_STATE = named(
    "BmsState_",
    ("version_high", "u1", 1), ("version_low", "u1", 1), ("status", "u1", 1), ("soc", "u1", 1),
    ("current", "i4", 1), ("cycle", "u2", 1), ("bq_ntc", "u1", 2), ("mcu_ntc", "u1", 2),
    ("cell_vol", "u2", 15),
)  # fmt: skip
_HEAD = (
    ("head", "u1", 2), ("level_flag", "u1", 1), ("frame_reserve", "u1", 1), ("sn", "u4", 2),
    ("version", "u4", 2), ("bandwidth", "u2", 1),
)  # fmt: skip

GO_LOW_CMD: Layout = (
    *_HEAD, ("motor_cmd", _GO_CMD, GO_MOTORS), ("bms_cmd", _BMS_CMD, 1),
    ("wireless_remote", "u1", 40), ("led", "u1", 12), ("fan", "u1", 2), ("gpio", "u1", 1),
    ("reserve", "u4", 1), ("crc", "u4", 1),
)  # fmt: skip
GO_LOW_STATE: Layout = (
    *_HEAD, ("imu_state", _GO_IMU, 1), ("motor_state", _GO_STATE, GO_MOTORS),
    ("bms_state", _BMS_STATE, 1), ("foot_force", "i2", 4), ("foot_force_est", "i2", 4),
    ("tick", "u4", 1), ("wireless_remote", "u1", 40), ("bit_flag", "u1", 1),
    ("adc_reel", "f4", 1), ("temperature_ntc1", "u1", 1), ("temperature_ntc2", "u1", 1),
    ("power_v", "f4", 1), ("power_a", "f4", 1), ("fan_frequency", "u2", 4), ("reserve", "u4", 1),
    ("crc", "u4", 1),
)  # fmt: skip
HG_LOW_CMD: Layout = (
    ("mode_pr", "u1", 1), ("mode_machine", "u1", 1), ("motor_cmd", _HG_CMD, HG_MOTORS),
    ("reserve", "u4", 4), ("crc", "u4", 1),
)  # fmt: skip
HG_LOW_STATE: Layout = (
    ("version", "u4", 2), ("mode_pr", "u1", 1), ("mode_machine", "u1", 1), ("tick", "u4", 1),
    ("imu_state", _HG_IMU, 1), ("motor_state", _HG_STATE, HG_MOTORS),
    ("wireless_remote", "u1", 40), ("reserve", "u4", 4), ("crc", "u4", 1),
)  # fmt: skip
_TIME = named("TimeSpec_", ("sec", "i4", 1), ("nanosec", "u4", 1))
_PATH_POINT = named(
    "PathPoint_",
    ("t_from_start", "f4", 1), ("x", "f4", 1), ("y", "f4", 1), ("yaw", "f4", 1), ("vx", "f4", 1),
    ("vy", "f4", 1), ("vyaw", "f4", 1),
)  # fmt: skip
SPORT_MODE_STATE: Layout = (
    ("stamp", _TIME, 1), ("error_code", "u4", 1), ("imu_state", _GO_IMU, 1), ("mode", "u1", 1),
    ("progress", "f4", 1), ("gait_type", "u1", 1), ("foot_raise_height", "f4", 1),
    ("position", "f4", 3), ("body_height", "f4", 1), ("velocity", "f4", 3), ("yaw_speed", "f4", 1),
    ("range_obstacle", "f4", 4), ("foot_force", "i2", 4), ("foot_position_body", "f4", 12),
    ("foot_speed_body", "f4", 12), ("path_point", _PATH_POINT, 10),
)  # fmt: skip
WIRELESS_CONTROLLER: Layout = (
    ("lx", "f4", 1), ("ly", "f4", 1), ("rx", "f4", 1), ("ry", "f4", 1), ("keys", "u2", 1),
)  # fmt: skip

#: Message types by package and name.
LAYOUTS = {
    "unitree_go.LowCmd_": GO_LOW_CMD,
    "unitree_go.LowState_": GO_LOW_STATE,
    "unitree_hg.LowCmd_": HG_LOW_CMD,
    "unitree_hg.LowState_": HG_LOW_STATE,
    "unitree_go.SportModeState_": SPORT_MODE_STATE,
    "unitree_go.WirelessController_": WIRELESS_CONTROLLER,
}


def codec(name: str) -> Codec:
    """The codec of a message type."""
    layout = LAYOUTS[name]
    return Codec(layout, has_crc=layout[-1][0] == "crc")


def dds_name(name: str) -> str:
    """The name of a type in DDS, as Python writes it."""
    package, short = name.split(".")
    return f"{package}.msg.dds_.{short}"
