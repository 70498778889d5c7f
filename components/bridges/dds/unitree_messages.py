"""Messages of Unitree's robots (`unitree_go`, `unitree_hg`), and its remote procedures."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.components.bridges.dds.fixed_records import Codec, Layout, named
from mjrig.components.bridges.dds.robot_state import RobotState
from mjrig.core.arrays import FloatArray

# Unitree messages ---------------------------------------------------------------------------------
# Messages of Unitree's robots, field by field: `unitree_go` (Go2, B2, H1) and `unitree_hg`.


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


# Unitree api --------------------------------------------------------------------------------------
# Requests and responses of Unitree's remote procedures as DDS types; samples carry JSON.


def _types() -> tuple[Any, Any, dict[str, Any]]:
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl import types as idl_types

    types: Any = idl_types  # its generics are known at run time only

    def struct(name: str, fields: dict[str, Any]) -> Any:
        import types as python_types

        from cyclonedds.idl import annotations

        def body(namespace: dict[str, Any]) -> None:
            namespace["__annotations__"] = fields

        typename = f"unitree_api.msg.dds_.{name}"
        made = python_types.new_class(name, (IdlStruct,), {"typename": typename}, body)
        return annotations.final(annotations.autoid("sequential")(dataclass(made)))

    identity = struct("RequestIdentity_", {"id": types.int64, "api_id": types.int64})
    lease = struct("RequestLease_", {"id": types.int64})
    policy = struct("RequestPolicy_", {"priority": types.int32, "noreply": bool})
    header = struct("RequestHeader_", {"identity": identity, "lease": lease, "policy": policy})
    status = struct("ResponseStatus_", {"code": types.int32})
    answer = struct("ResponseHeader_", {"identity": identity, "status": status})
    binary = types.sequence[types.byte]
    request = struct("Request_", {"header": header, "parameter": str, "binary": binary})
    response = struct("Response_", {"header": answer, "data": str, "binary": binary})
    return request, response, {"identity": identity, "status": status, "header": answer}


def request_type() -> Any:
    """Its samples have a `payload`: JSON with `id`, `api_id`, `noreply` and `parameter`."""
    request, _, _ = _types()

    def payload(self: Any) -> bytes:
        identity, policy = self.header.identity, self.header.policy
        found = {
            "id": identity.id,
            "api_id": identity.api_id,
            "noreply": bool(policy.noreply),
            "parameter": self.parameter,
        }
        return json.dumps(found).encode()

    request.payload = property(payload)
    return request


def response_type() -> Any:
    """`from_payload` makes a sample of JSON with `id`, `api_id`, `code` and `data`."""
    _, response, parts = _types()

    def from_payload(payload: bytes) -> Any:
        given = json.loads(payload)
        identity = parts["identity"](id=given["id"], api_id=given["api_id"])
        status = parts["status"](code=given["code"])
        header = parts["header"](identity=identity, status=status)
        return response(header=header, data=given["data"], binary=[])

    response.from_payload = staticmethod(from_payload)
    return response


# Unitree wire -------------------------------------------------------------------------------------
# UnitreeWire: states and commands of a Unitree robot as messages, and its remote procedures.


#: A target that means "no position term", "no velocity term".
POSITION_STOP, VELOCITY_STOP = 2.146e9, 16000.0
#: Where the targets begin in a command, after its arrival and the number of its gains.
TARGETS_AT = 2
#: Rows of a command, each over the motors in use.
ROWS = ("q", "dq", "tau", "kp", "kd")
KEYS = ("R1", "L1", "start", "select", "R2", "L2", "F1", "F2",
        "A", "B", "X", "Y", "up", "right", "down", "left")  # fmt: skip
#: What `RobotState.body` has where.
BODY = {
    "quaternion": slice(0, 4),
    "gyroscope": slice(4, 7),
    "accelerometer": slice(7, 10),
    "position": slice(10, 13),
    "velocity": slice(13, 16),
}
STICKS = ("lx", "ly", "rx", "ry")
_LOW_FREQUENCY, _REMOTE_EVERY = 25, 5
#: The motion switcher: check (no controller of the robot's own runs), select, release, silent.
_SWITCHER = {1001: '{"form":"0","name":""}', 1002: "", 1003: "", 1004: "", 1005: ""}
_VERSION_API, _NOT_IMPLEMENTED = 1, 3203
SERVICES = ("motion_switcher", "sport", "loco", "robot_state")


def remote_bytes(keys: int, lx: float, ly: float, rx: float, ry: float) -> bytes:
    """The 40 bytes of the remote control in a state message."""
    head = b"\0\0" + int(keys).to_bytes(2, "little")
    sticks = np.array([lx, rx, ry, 0.0, ly], dtype="<f4").tobytes()
    return (head + sticks).ljust(40, b"\0")


class UnitreeWire:
    """Encodes states and decodes commands.

    Settings: `package`, `used` (indices with a joint), `linked` (those whose joints linkages move),
    `mode_machine`, `check_crc`, `reader`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        package = str(settings["package"])
        self._is_go = package == "unitree_go"
        self._used = np.array(settings["used"], dtype=np.intp)
        self._check_crc = bool(settings["check_crc"])
        self._cmd, self._state = codec(f"{package}.LowCmd_"), codec(f"{package}.LowState_")
        self._sport = codec("unitree_go.SportModeState_")
        self._remote = codec("unitree_go.WirelessController_")
        self._record = self._state.record()
        self._record["motor_state"]["mode"][self._used] = 1
        if self._is_go:
            self._record["head"] = (0xFE, 0xEF)
            self._record["level_flag"] = 0xFF
            self._record["power_v"], self._record["bms_state"]["soc"] = 29.0, 100
        else:
            self._record["mode_machine"] = int(settings["mode_machine"])
        #: Which of the motors in use are joints of linkages.
        self._linked = np.flatnonzero(np.isin(self._used, settings["linked"]))
        self._last_linked: FloatArray | None = None
        self._is_said = False
        self.notes: list[str] = []
        self._sent = 0
        self._reader: RobotState = settings["reader"]
        self.state_size = self._reader.size
        self.command_size = TARGETS_AT + len(ROWS) * len(self._used)
        self._gains, self._gains_number = b"", 0.0
        low = f"{package}.LowState_"
        self.publications: Mapping[str, Any] = {
            "rt/lowstate": low,
            "rt/lf/lowstate": low,
            "rt/sportmodestate": "unitree_go.SportModeState_",
            "rt/wirelesscontroller": "unitree_go.WirelessController_",
            **{f"rt/api/{name}/response": "unitree_api.Response_" for name in SERVICES},
        }
        self.subscriptions: Mapping[str, Any] = {
            "rt/lowcmd": f"{package}.LowCmd_",
            **{f"rt/api/{name}/request": "unitree_api.Request_" for name in SERVICES},
        }

    # Out ----------------------------------------------------------------------------------------

    def states(self, frame: FloatArray) -> Iterator[tuple[str, bytes]]:
        """Low state, sport mode state and remote control for a state of the world."""
        now, record = float(frame[0]), self._record
        motors = record["motor_state"]
        joints = self._reader.joints(frame)
        for name, values in zip(("q", "dq", "ddq", "tau_est"), joints, strict=True):
            motors[name][self._used] = values
        whole = self._reader.body(frame)
        body = {name: whole[part] for name, part in BODY.items()}
        remote_at = len(frame) - 1 - len(STICKS)
        keys, sticks = int(frame[remote_at]), frame[remote_at + 1 :].tolist()
        imu = record["imu_state"]
        for name in ("quaternion", "gyroscope", "accelerometer"):
            imu[name] = body[name]
        imu["rpy"] = roll_pitch_yaw(body["quaternion"])
        record["tick"] = (round(now * 1000.0) + 1) & 0xFFFFFFFF  # programs wait for one above 0
        remote = remote_bytes(keys, *sticks)
        record["wireless_remote"] = np.frombuffer(remote, dtype=np.uint8)
        low = self._state.encode(record)
        yield "rt/lowstate", low
        yield "rt/sportmodestate", self._sport_state(now, body)
        if self._sent % _LOW_FREQUENCY == 0:
            yield "rt/lf/lowstate", low
        if self._sent % _REMOTE_EVERY == 0:
            given = self._remote.record()
            for name, value in zip(STICKS, sticks, strict=True):
                given[name] = value
            given["keys"] = keys
            yield "rt/wirelesscontroller", self._remote.encode(given)
        self._sent += 1

    def _sport_state(self, now: float, body: Mapping[str, FloatArray]) -> bytes:
        record = self._sport.record()
        record["stamp"]["sec"] = int(now)
        record["stamp"]["nanosec"] = int((now - int(now)) * 1e9)
        for name in ("quaternion", "gyroscope", "accelerometer"):
            record["imu_state"][name] = body[name]
        record["imu_state"]["rpy"] = self._record["imu_state"]["rpy"]
        record["position"], record["velocity"] = body["position"], body["velocity"]
        record["body_height"], record["yaw_speed"] = body["position"][2], body["gyroscope"][2]
        return self._sport.encode(record)

    # In -----------------------------------------------------------------------------------------

    def command(self, topic: str, payload: bytes) -> FloatArray | None:
        """The number of its gains, then q, dq, tau, kp, kd of the motors in use, as they use them.

        Raises:
            ValueError: the message is not used; the text says why.
        """
        if topic != "rt/lowcmd":
            return None
        record = self._cmd.decode(payload)
        if self._check_crc and self._cmd.expected_crc(record) != int(record["crc"]):
            raise ValueError("its CRC is wrong")
        by_motor = not self._is_go and self._is_by_motor(int(record["mode_pr"]))
        motors = record["motor_cmd"]
        used = self._used
        values = np.zeros((len(ROWS), len(used)))
        with np.errstate(invalid="ignore"):
            for row, name in zip(values, ROWS, strict=True):
                row[:] = motors[name][used]
        if not np.isfinite(values).all():
            row, motor = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(f"{ROWS[row]} of motor {used[motor]} is {values[row, motor]}")
        q, dq, tau, kp, kd = values
        if (values[3:] < 0.0).any():
            row, motor = np.argwhere(values[3:] < 0.0)[0]
            raise ValueError(f"{ROWS[3 + row]} of motor {used[motor]} is negative")
        off = motors["mode"][used] == 0
        no_position, no_velocity = off | (q >= 0.99 * POSITION_STOP), off | (dq >= VELOCITY_STOP)
        kp[no_position], q[no_position] = 0.0, 0.0
        kd[no_velocity], dq[no_velocity] = 0.0, 0.0
        tau[off] = 0.0
        if (np.abs(values) > 1e6).any():
            row, motor = np.argwhere(np.abs(values) > 1e6)[0]
            raise ValueError(f"{ROWS[row]} of motor {used[motor]} is {values[row, motor]:g}")
        linked = values[:, self._linked]
        if by_motor:
            linked[:3] = self._held(linked)
            values[:, self._linked] = linked
        else:
            self._last_linked = linked
        q[kp == 0.0] = self._record["motor_state"]["q"][used][
            kp == 0.0
        ]  # it means nothing: show it
        gains = values[3:].tobytes()
        if gains != self._gains:  # by its time: also after a process was started again
            self._gains, self._gains_number = gains, float(time.monotonic_ns())
        return np.concatenate([[self._gains_number], values.reshape(-1)])

    def _is_by_motor(self, mode: int) -> bool:
        """Whether ankles and waist are commanded by the motors of their linkages."""
        if mode not in (0, 1):
            raise ValueError(f"mode_pr is {mode}; it must be 0 (PR) or 1 (AB)")
        if mode == 1 and not self._is_said and len(self._linked):
            self._is_said = True
            self.notes.append(
                "mode_pr is 1 (AB): the model has no linkages; the joints of ankles and waist hold"
            )
        return mode == 1

    def _held(self, given: FloatArray) -> FloatArray:
        """Targets of the joints of linkages: the last ones by joint, or where they are."""
        if self._last_linked is None:
            here = np.zeros_like(given)
            here[0] = self._record["motor_state"]["q"][self._used][self._linked]
            self._last_linked = here
        return self._last_linked[:3]

    def answers(self, topic: str, payload: bytes) -> Sequence[tuple[str, bytes]]:
        """The reply to a remote procedure call; JSON with the fields of both headers."""
        if not topic.endswith("/request"):
            return ()
        service = topic.split("/")[2]
        asked = json.loads(payload)
        code, data = reply_to(service, int(asked["api_id"]))
        if asked["noreply"]:
            return ()
        reply = {"id": asked["id"], "api_id": asked["api_id"], "code": code, "data": data}
        return ((f"rt/api/{service}/response", json.dumps(reply).encode()),)


def reply_to(service: str, api: int) -> tuple[int, str]:
    """Code and data of the answer to a remote procedure call."""
    if api == _VERSION_API:
        return 0, "1.0.0.1"
    if service == "motion_switcher" and api in _SWITCHER:
        return 0, _SWITCHER[api]
    return _NOT_IMPLEMENTED, ""


def roll_pitch_yaw(quaternion: FloatArray) -> tuple[float, float, float]:
    """Angles of a unit quaternion w x y z [rad]."""
    w, x, y, z = (float(v) for v in quaternion)
    pitch = math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return roll, pitch, yaw
