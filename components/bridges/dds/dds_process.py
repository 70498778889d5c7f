"""The process of a DDS bridge: `python -m …dds.dds_process SOCKET MEMORY`, two file descriptors.

Its settings are the first message at the socket. It writes the states that it finds in shared
memory to DDS, and the other way round for commands.
"""

import gc
import os
import pickle
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from mjrig.components.bridges.dds.exchange import (
    FAILED,
    NOTE,
    READY,
    REJECTED,
    Exchange,
    Rhythm,
    Wire,
    command_frame,
    memory_of,
)
from mjrig.components.bridges.dds.fixed_records import idl_type, sample, sample_type
from mjrig.components.bridges.dds.loopback import LOOPBACK, keep_to_loopback
from mjrig.components.bridges.dds.ros_messages import FIELDS, RosWire, ros_type, type_hash
from mjrig.components.bridges.dds.unitree_messages import (
    LAYOUTS,
    UnitreeWire,
    dds_name,
    request_type,
    response_type,
)
from mjrig.components.bridges.dds.writers import Writers
from mjrig.core.arrays import FloatArray
from mjrig.core.processes.realtime_priority import TURN, Priority, Punctual

WIRES: Mapping[str, Callable[[Mapping[str, Any]], Wire]] = {
    "ros": RosWire,
    "unitree": UnitreeWire,
}

#: What the library writes into, message after message, for every thread that receives. Its own size
#: of 1 MiB takes discovery hours to fill, and memory seems to grow all the while. At least 128 KiB.
RECEIVE_BUFFER = "144 KiB"
#: Participants of a domain among which the sender of a command is looked up.
MAX_PARTICIPANTS = 200


def configuration(interface: str) -> str:
    """The domain's settings; programs on this machine find it with and without multicast."""
    kind = "address" if interface[:1].isdigit() else "name"
    network = f"<NetworkInterface {kind}={quoteattr(interface)}/>"
    peers = '<Peers><Peer address="localhost"/></Peers>' if interface in LOOPBACK else ""
    return (
        f"<CycloneDDS><Domain><General><Interfaces>{network}</Interfaces></General><Discovery>"
        f"<ParticipantIndex>auto</ParticipantIndex>{peers}</Discovery>"
        f"<Sizing><ReceiveBufferSize>{RECEIVE_BUFFER}</ReceiveBufferSize></Sizing>"
        "</Domain></CycloneDDS>"
    )


class DdsProcess:
    """One participant with the writers and readers of a wire."""

    def __init__(self, link: socket.socket, memory: int, settings: Mapping[str, Any]) -> None:
        from cyclonedds.core import (
            InstanceState,
            Policy,
            Qos,
            ReadCondition,
            SampleState,
            ViewState,
            WaitSet,
        )
        from cyclonedds.domain import Domain, DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        # Before DDS has threads: they get the same priority, and none keeps the others waiting.
        Punctual(Priority(settings["priority"]))
        sys.setswitchinterval(TURN)
        self._link = link
        self._wire = WIRES[settings["wire"]](settings)
        self._exchange = Exchange(self._wire.state_size, self._wire.command_size, memory)
        self._senders = Writers(
            float(settings["max_age"]),
            shared_clock=bool(settings["shared_clock"]),
            name_of=self._program,
        )
        number = int(settings["domain"])
        self._domain = Domain(number, configuration(str(settings["interface"])))
        participant = DomainParticipant(number)
        if settings["interface"] in LOOPBACK:
            keep_to_loopback()
        self._types: dict[str, Any] = {}
        depth = Policy.History.KeepLast(int(settings.get("depth", 1)))
        writing = (Policy.Reliability.Reliable(max_blocking_time=1_000_000), depth)
        reading = (Policy.Reliability.BestEffort, depth)

        def end(kind: Any, topic: str, name: str, policies: tuple[Any, ...]) -> Any:
            said = Policy.Userdata(data=user_data(name))
            described = Topic(participant, topic, self._type(name))
            return kind(participant, described, qos=Qos(*policies, said))

        self._names = dict(self._wire.publications)
        self._writers = {t: end(DataWriter, t, n, writing) for t, n in self._names.items()}
        self._readers = {
            t: end(DataReader, t, n, reading) for t, n in self._wire.subscriptions.items()
        }
        self._waiting = WaitSet(participant)
        anything = SampleState.Any | ViewState.Any | InstanceState.Any
        self._conditions = [ReadCondition(r, anything) for r in self._readers.values()]
        for condition in self._conditions:
            self._waiting.attach(condition)
        self._participant = participant

    def _type(self, name: str) -> Any:
        if name not in self._types:
            self._types[name] = dds_type(name)
        return self._types[name]

    def run(self) -> None:
        """Until the world's side of the link is closed."""
        self._tell(READY)
        threading.Thread(target=self._read_dds, daemon=True).start()
        gc.freeze()  # what was built stays: looking through it for garbage would delay a state
        states, rhythm = self._exchange.states, Rhythm()
        while not self._is_over(rhythm.nap(time.monotonic())):
            if states.has_news():
                rhythm.found(time.monotonic())
                for state in states.unread():
                    self._publish(np.array(state))

    def _publish(self, state: FloatArray) -> None:
        try:
            for topic, payload in self._wire.states(state):
                self._write(topic, payload)
        except Exception as error:  # a state that has no message, such as one that is not finite
            self._tell(NOTE, f"a state cannot be sent: {type(error).__name__}: {error}")

    def _is_over(self, wait: float) -> bool:
        """Whether the world is gone; waits, since nothing else is ever to be read there."""
        ready, _, _ = select.select([self._link], [], [], wait)
        return bool(ready)

    def _write(self, topic: str, payload: bytes) -> None:
        from cyclonedds.core import DDSException

        try:
            self._writers[topic].write(as_sample(self._types[self._names[topic]], payload))
        except DDSException:
            pass  # a reliable reader is slow: it misses this one

    def _read_dds(self) -> None:
        while True:
            self._waiting.wait(200_000_000)
            for topic, reader in self._readers.items():
                try:
                    samples = reader.take(N=16)
                except Exception as error:  # samples that the library cannot decode
                    self._tell(REJECTED, f"{topic}: cannot be read: {error}")
                    continue
                for received in samples:
                    if received.sample_info.valid_data:
                        self._received(topic, received)

    def _received(self, topic: str, received: Any) -> None:
        arrived, info, senders = time.monotonic(), received.sample_info, self._senders
        try:
            payload = payload_of(received)
            now = senders.now()
            senders.check(info.publication_handle, info.source_timestamp, now)
            values = self._wire.command(topic, payload)
            if values is not None:
                self._exchange.commands.write(memory_of(command_frame(arrived, values)))
                senders.commanded(info.publication_handle, topic, now)
            for reply, message in self._wire.answers(topic, payload):
                self._write(reply, message)
        except Exception as error:  # sent by somebody else: it must not end the bridge
            self._tell(REJECTED, f"{topic}: {error}")
        for notes in (self._wire.notes, senders.notes):
            while notes:
                self._tell(NOTE, notes.pop(0))

    def _program(self, handle: int) -> str:
        """The program that a writer belongs to, as far as it describes itself."""
        from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsParticipant

        try:
            readers = self._readers.values()
            data = (reader.get_matched_publication_data(handle) for reader in readers)
            endpoint = next(filter(None, data))
            directory = BuiltinDataReader(self._participant, BuiltinTopicDcpsParticipant)
            for participant in directory.read(N=MAX_PARTICIPANTS):
                if participant.key == endpoint.participant_key:
                    about = {p.key: p.value for p in participant.qos if hasattr(p, "value")}
                    if "__ProcessName" not in about:
                        break
                    return (
                        f"{about['__ProcessName']} (process {about['__Pid']} "
                        f"on {about['__Hostname']})"
                    )
            return f"participant {endpoint.participant_key}"  # one for all writers of a program
        except Exception:  # only a name: other libraries describe themselves differently
            return f"writer {handle & (1 << 64) - 1:x}"

    def _tell(self, kind: bytes, text: str = "") -> None:
        try:
            self._link.send(kind + text.encode(errors="backslashreplace")[:1000])
        except OSError:
            os._exit(0)  # the world is gone


def dds_type(name: str) -> Any:
    """The DDS type of a message type."""
    if name == "unitree_api.Request_":
        return request_type()
    if name == "unitree_api.Response_":
        return response_type()
    if name in LAYOUTS:
        return sample_type(idl_type(dds_name(name), LAYOUTS[name]))
    return sample_type(ros_type(name))


def user_data(name: str) -> bytes:
    """What an endpoint says about itself: ROS 2 looks there for the hash of the type."""
    return f"typehash={type_hash(name)};".encode() if name in FIELDS else b""


def as_sample(kind: Any, payload: bytes) -> Any:
    """What a writer takes."""
    made = getattr(kind, "from_payload", None)
    return sample(kind, payload) if made is None else made(payload)


def payload_of(received: Any) -> bytes:
    """The bytes of a sample."""
    found: bytes = received.payload
    return found


def main(arguments: list[str]) -> int:
    """Run until the link is closed."""
    link = socket.socket(fileno=int(arguments[0]))
    try:
        process = DdsProcess(link, int(arguments[1]), pickle.loads(link.recv(1 << 20)))
    except Exception as error:
        link.send(FAILED + f"{type(error).__name__}: {error}".encode()[:1000])
        return 1
    process.run()
    os._exit(0)  # threads that wait in DDS are not waited for


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
