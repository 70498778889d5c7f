"""A program for a Go2, run by tests in a process of its own: stands up and says what it saw.

python dds_client.py DOMAIN SECONDS KP: reads states until the first, then commands the home pose.
"""

import os
import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from mjrig.components.bridges.dds.dds_process import as_sample, configuration, dds_type
from mjrig.components.bridges.dds.unitree_messages import codec

HOME = [0.0, 0.7853, -1.6547] * 4


def main(number: int, seconds: float, kp: float) -> None:
    """Command the home pose for some seconds of the clock."""
    _domain = Domain(number, configuration("lo"))
    participant = DomainParticipant(number)
    command_type, state_type = dds_type("unitree_go.LowCmd_"), dds_type("unitree_go.LowState_")
    commands, states = codec("unitree_go.LowCmd_"), codec("unitree_go.LowState_")
    writer = DataWriter(participant, Topic(participant, "rt/lowcmd", command_type))
    latest = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(1))
    reader = DataReader(participant, Topic(participant, "rt/lowstate", state_type), qos=latest)
    command, start, seen, good = commands.record(), None, 0, 0
    command["motor_cmd"]["mode"], command["motor_cmd"]["kp"] = 1, kp
    command["motor_cmd"]["kd"] = 4.0
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for sample in reader.take(N=4):
            state = states.decode(sample.payload)
            seen += 1
            good += states.expected_crc(state) == int(state["crc"]) and int(state["tick"]) > 0
            if start is None:
                start, at = state["motor_state"]["q"].copy(), time.monotonic()
        if start is not None:
            share = min((time.monotonic() - at) / 1.0, 1.0)
            command["motor_cmd"]["q"][:12] = start[:12] + share * (HOME - start[:12])
            writer.write(as_sample(command_type, commands.encode(command)))
        time.sleep(0.004)
    print(f"states {seen} good {good}", flush=True)
    os._exit(0)  # taking DDS down can wait for threads that wait for others


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
