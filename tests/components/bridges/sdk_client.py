"""A program for a Go2 on the SDK's own DDS version: python sdk_client.py DOMAIN SECONDS.

It shares no code with mjrig: messages are declared and encoded field by field, checksums are
computed bit by bit. It asks the motion switcher first, stands the robot up, and says what it saw.
"""

# pyrefly: ignore-errors
import json
import os
import struct
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct, types
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

U1, U2, I2, U4, I4, F = (
    types.uint8, types.uint16, types.int16, types.uint32, types.int32, types.float32,
)  # fmt: skip
HOME = [0.0, 0.7853, -1.6547] * 4


def struct_type(name, package="unitree_go", **fields):
    """A struct of the SDK."""
    made = type(IdlStruct)(name, (IdlStruct,), {"__annotations__": fields},
                           typename=f"{package}.msg.dds_.{name}")  # fmt: skip
    return annotate.final(annotate.autoid("sequential")(dataclass(made)))


MotorCmd = struct_type(
    "MotorCmd_", mode=U1, q=F, dq=F, tau=F, kp=F, kd=F, reserve=types.array[U4, 3]
)
BmsCmd = struct_type("BmsCmd_", off=U1, reserve=types.array[U1, 3])
HEAD = dict(head=types.array[U1, 2], level_flag=U1, frame_reserve=U1, sn=types.array[U4, 2],
            version=types.array[U4, 2], bandwidth=U2)  # fmt: skip
LowCmd = struct_type(
    "LowCmd_", **HEAD, motor_cmd=types.array[MotorCmd, 20], bms_cmd=BmsCmd,
    wireless_remote=types.array[U1, 40], led=types.array[U1, 12], fan=types.array[U1, 2], gpio=U1,
    reserve=U4, crc=U4,
)  # fmt: skip
Imu = struct_type(
    "IMUState_", quaternion=types.array[F, 4], gyroscope=types.array[F, 3],
    accelerometer=types.array[F, 3], rpy=types.array[F, 3], temperature=U1,
)  # fmt: skip
MotorState = struct_type(
    "MotorState_", mode=U1, q=F, dq=F, ddq=F, tau_est=F, q_raw=F, dq_raw=F, ddq_raw=F,
    temperature=U1, lost=U4, reserve=types.array[U4, 2],
)  # fmt: skip
BmsState = struct_type(
    "BmsState_", version_high=U1, version_low=U1, status=U1, soc=U1, current=I4, cycle=U2,
    bq_ntc=types.array[U1, 2], mcu_ntc=types.array[U1, 2], cell_vol=types.array[U2, 15],
)  # fmt: skip
LowState = struct_type(
    "LowState_", **HEAD, imu_state=Imu, motor_state=types.array[MotorState, 20], bms_state=BmsState,
    foot_force=types.array[I2, 4], foot_force_est=types.array[I2, 4], tick=U4,
    wireless_remote=types.array[U1, 40], bit_flag=U1, adc_reel=F, temperature_ntc1=U1,
    temperature_ntc2=U1, power_v=F, power_a=F, fan_frequency=types.array[U2, 4], reserve=U4, crc=U4,
)  # fmt: skip
API = "unitree_api"
Identity = struct_type("RequestIdentity_", API, id=types.int64, api_id=types.int64)
Lease = struct_type("RequestLease_", API, id=types.int64)
RequestPolicy = struct_type("RequestPolicy_", API, priority=I4, noreply=bool)
RequestHeader = struct_type("RequestHeader_", API, identity=Identity, lease=Lease,
                            policy=RequestPolicy)  # fmt: skip
Request = struct_type("Request_", API, header=RequestHeader, parameter=str,
                      binary=types.sequence[U1])  # fmt: skip
Status = struct_type("ResponseStatus_", API, code=I4)
ResponseHeader = struct_type("ResponseHeader_", API, identity=Identity, status=Status)
Response = struct_type("Response_", API, header=ResponseHeader, data=str,
                       binary=types.sequence[U1])  # fmt: skip


def crc(words):
    """The robot's checksum."""
    value = 0xFFFFFFFF
    for word in words:
        for bit in range(31, -1, -1):
            top = (value >> 31) ^ (word >> bit & 1)
            value = (value << 1) & 0xFFFFFFFF ^ (0x04C11DB7 if top else 0)
    return value


def crc_of(packed):
    return crc(struct.unpack(f"<{len(packed) // 4 - 1}I", packed[:-4]))


def command_crc(c):
    parts = [*c.head, c.level_flag, c.frame_reserve, *c.sn, *c.version, c.bandwidth]
    text = "<4B4IH2x"
    for m in c.motor_cmd:
        text += "B3x5f3I"
        parts += [m.mode, m.q, m.dq, m.tau, m.kp, m.kd, *m.reserve]
    parts += [c.bms_cmd.off, *c.bms_cmd.reserve, *c.wireless_remote, *c.led, *c.fan, c.gpio]
    parts += [c.reserve, 0]
    return crc_of(struct.pack(text + "4B55Bx2I", *parts))


def state_crc(s):
    imu, bms = s.imu_state, s.bms_state
    parts = [*s.head, s.level_flag, s.frame_reserve, *s.sn, *s.version, s.bandwidth]
    parts += [*imu.quaternion, *imu.gyroscope, *imu.accelerometer, *imu.rpy, imu.temperature]
    text = "<4B4IH2x13fB3x"
    for m in s.motor_state:
        text += "B3x7fB3x3I"
        parts += [m.mode, m.q, m.dq, m.ddq, m.tau_est, m.q_raw, m.dq_raw, m.ddq_raw]
        parts += [m.temperature, m.lost, *m.reserve]
    parts += [bms.version_high, bms.version_low, bms.status, bms.soc, bms.current, bms.cycle]
    parts += [*bms.bq_ntc, *bms.mcu_ntc, *bms.cell_vol, *s.foot_force, *s.foot_force_est, s.tick]
    parts += [*s.wireless_remote, s.bit_flag, s.adc_reel, s.temperature_ntc1, s.temperature_ntc2]
    parts += [s.power_v, s.power_a, *s.fan_frequency, s.reserve, 0]
    return crc_of(struct.pack(text + "4BiH4B15H8hI40BB3xf2B2x2f4H2I", *parts))


def ask_motion_switcher(participant):
    writer = DataWriter(participant, Topic(participant, "rt/api/motion_switcher/request", Request))
    reader = DataReader(
        participant, Topic(participant, "rt/api/motion_switcher/response", Response)
    )
    time.sleep(0.5)  # as the SDK does
    head = RequestHeader(Identity(77, 1001), Lease(0), RequestPolicy(0, False))
    writer.write(Request(head, "", []))
    end = time.monotonic() + 5.0
    while time.monotonic() < end:
        for reply in reader.take():
            if reply.header.identity.id == 77:
                return json.loads(reply.data)["name"]
        time.sleep(0.01)
    raise SystemExit("the motion switcher does not answer")


def main(number, seconds):
    config = (
        "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name='lo' priority='default' "
        "multicast='default'/></Interfaces></General></Domain></CycloneDDS>"
    )
    _domain = Domain(number, config)
    participant = DomainParticipant(number)
    print(f"controller {ask_motion_switcher(participant)!r}")
    writer = DataWriter(participant, Topic(participant, "rt/lowcmd", LowCmd))
    latest = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(1))
    reader = DataReader(participant, Topic(participant, "rt/lowstate", LowState), qos=latest)
    motors = [MotorCmd(1, 0.0, 0.0, 0.0, 140.0, 4.0, [0] * 3) for _ in range(20)]
    command = LowCmd([0xFE, 0xEF], 0xFF, 0, [0, 0], [0, 0], 0, motors, BmsCmd(0, [0] * 3), [0] * 40,
                     [0] * 12, [0, 0], 0, 0, 0)  # fmt: skip
    start, seen, good, began = None, 0, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        for state in reader.take():
            seen += 1
            good += state_crc(state) == state.crc and state.tick > 0
            if start is None:
                start, at = [m.q for m in state.motor_state], time.monotonic()
        if start is not None:
            share = min((time.monotonic() - at) / 1.5, 1.0)
            for k, target in enumerate(HOME):
                command.motor_cmd[k].q = start[k] + share * (target - start[k])
            command.crc = command_crc(command)
            writer.write(command)
        time.sleep(0.01)
    print(f"states {seen} good {good}", flush=True)
    os._exit(0)  # taking DDS down can wait for threads that wait for others


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
