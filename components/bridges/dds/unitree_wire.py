"""UnitreeWire: states and commands of a Unitree robot as messages, and its remote procedures."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.bridges.dds.robot_state import RobotState
from mjrig.components.bridges.dds.unitree_messages import codec

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
