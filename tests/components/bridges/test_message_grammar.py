"""Every message of the protocols with edge values in every field: none ends a server or a world.

The generators know the grammar of SocketBridge, of Unitree's messages and of ROS's: random bytes
are rejected by the first check that they meet, and find little.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges import lock_step
from mjrig.components.bridges.clients import Client as SocketClient
from mjrig.components.bridges.dds.link import LocalLink
from mjrig.components.bridges.dds.unitree_messages import SERVICES
from mjrig.components.bridges.protocol import GAINS, KEYS, ROWS
from mjrig.components.bridges.ros_bridge import RosBridge
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.data.robot_logs.cdr import CdrWriter
from tests.campaign import Tally
from tests.components.bridges.socket_programs import bridge_of, served
from tests.components.bridges.unitree_client import Client as UnitreeClient
from tests.places import SCENES

msgpack = pytest.importorskip("msgpack", reason="needs the extra 'bridge'")

TOKEN = "a token of 20 letters"
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.3, 1e-300, 5e-324, 1e9, -1e9, 1e10, 1.7e308, -1.7e308,
          float("nan"), float("inf"), float("-inf"), 2.146e9, 16000.0]  # fmt: skip
INTS = [0, 1, -1, 2, 255, 256, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1,
        -(2**63), 2**64 - 1, 2**64, 10**400, -(10**400)]  # fmt: skip
TEXTS = ["", "x", "\ud800", "a\udfffb", "\0", "\n", "é", "🤖", "FL_hip", ".*", ".*_hip", "(", "[",
         "a{99999}", "default", "home", "hme", "NaN", "__class__", "x" * 5000, TOKEN]  # fmt: skip


def deep(rng: random.Random, depth: int) -> Any:
    """Lists or maps inside each other."""
    value: Any = rng.choice([0, "x", []])
    for _ in range(depth):
        value = [value] if rng.random() < 0.7 else {"a": value}
    return value


def edge(rng: random.Random) -> Any:
    """A value that a field does not expect, or just expects."""
    elements = [0.1, *FLOATS, *INTS, None, "x", []]
    values: list[Callable[[], Any]] = [
        lambda: rng.choice(FLOATS),
        lambda: rng.choice(INTS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice([None, True, False, [], {}, [[]], [{}], {"": 0}]),
        lambda: deep(rng, rng.choice([1, 3, 30, 300])),
        lambda: [rng.choice(elements) for _ in range(rng.choice([1, 12]))],
        lambda: {rng.choice(TEXTS): rng.choice(elements) for _ in range(3)},
        lambda: [0.1 * k for k in range(rng.choice([0, 1, 11, 12, 13, 1000]))],
    ]
    return rng.choice(values)()


# SocketBridge -----------------------------------------------------------------------------------

OPS = ("describe", "get", "set", "step", "run", "pause", "cancel", "reset", "release",
       "subscribe", "unsubscribe")  # fmt: skip


def valid_value(rng: random.Random, key: str) -> Any:
    if key in (*ROWS, *GAINS):
        plain = [0.1, [0.1] * 12, {".*_hip": 0.2}]
        return rng.choice([*plain, {"default": 3.0}] if key in GAINS else plain)
    choices: dict[str, list[Any]] = {
        "n": [0, 1, 2, 5, 100_000],
        "sequence": [0, 1, 2, 10**6],
        "keyframe": ["home", None],
        "take": [True, True, True, False],
        "sensors": [True, False],
    }
    return rng.choice(choices[key])


def request(rng: random.Random) -> Any:
    """A request of the grammar; some fields have edge values, some are missing, some too many."""
    if rng.random() < 0.02:
        return edge(rng)
    op: Any = rng.choice(OPS)
    keys = [k for k in KEYS.get(op, ()) if rng.random() < (0.8 if k == "take" else 0.3)]
    message = {"op": op, **{key: valid_value(rng, key) for key in keys}}
    if op == "set":
        message.setdefault("position", 0.1)
    for key in list(message):
        if rng.random() < 0.1:
            message[key] = edge(rng)
    if rng.random() < 0.05:
        message[rng.choice([*TEXTS, "n", "kp", "keyframe"])] = edge(rng)
    if rng.random() < 0.5:
        message["token"] = rng.choice([TOKEN, TOKEN, TOKEN, edge(rng)])
    return message


def encoded(rng: random.Random, message: Any) -> bytes:
    """As JSON or msgpack, sometimes in an odd form, cut off or with something added."""
    raw = b""
    if rng.random() < 0.5:
        try:
            raw = msgpack.packb(message, unicode_errors="surrogatepass")
        except (OverflowError, ValueError):
            raw = b""
    if not raw:
        text = json.dumps(message, ensure_ascii=rng.random() < 0.9)
        raw = text.encode(rng.choice(["utf-8"] * 8 + ["utf-16", "utf-32"]), "surrogatepass")
    oddity = rng.random()
    if oddity < 0.03:
        return raw[: rng.randrange(len(raw) + 1)]
    if oddity < 0.05:
        return raw + rng.choice([b"\0", b" ", b"}", raw])
    if oddity < 0.06:
        depth = rng.choice([10, 900, 20_000])
        return rng.choice([b"[" * depth, b'{"a":' * depth, b"\x91" * depth, b"\x81\xa1a" * depth])
    if oddity < 0.07:
        return b'{"op":"set","position":' + b"9" * rng.choice([400, 4300, 10_000]) + b"}"
    if oddity < 0.08:
        return rng.choice(
            [b"", b"\xc7", b"\xd6\xff\0\0\0\0", b"\x81\xa2op\xd6\xff\0\0\0\0", b"\xef"]
        )
    return raw


class Webby(SocketClient):
    """A client whose connection carries states."""

    def subscribe(self, as_json: bool) -> bool:
        return True

    def unsubscribe(self) -> bool:
        return True


class Requests:
    """Sends messages of the grammar from several clients, and checks what came of them."""

    def __init__(self, serving: Serving, tally: Tally, *, token: bool) -> None:
        self.serving, self.bridge, self.tally = serving, bridge_of(serving), tally
        kinds: list[Callable[[str], SocketClient]] = [SocketClient, Webby, Webby]
        self.clients = [kind(f"client {n}") for n, kind in enumerate(kinds)]
        self.clients[1].keeps_token = token
        self.pending: dict[int, bytes] = {}
        self.sent = 0

    def send(self, rng: random.Random, message: bytes) -> None:
        client = rng.choice(self.clients)
        if rng.random() < 0.01:  # it leaves in the middle, and another one comes
            client.is_connected = False
            index = self.clients.index(client)
            client = self.clients[index] = type(client)(f"client {index}, {self.sent}")
        self.sent += 1
        number = self.sent
        self.pending[number] = message

        def reply(answer: bytes) -> None:
            self.check(self.pending.pop(number), answer)

        try:
            self.bridge.handle(message, client, reply)
            self.bridge.attend(0.0)
            self.serving.advance(1)
        except Exception as error:
            self.tally.found(f"{type(error).__name__}: {error}, after {message[:300]!r}")
        if not np.isfinite(self.serving.world["quadruped"].setpoints.values).all():
            self.tally.found(f"a setpoint that is not finite, after {message[:300]!r}")

    def check(self, message: bytes, answer: bytes) -> None:
        reply = json.loads(answer) if answer[:1] == b"{" else msgpack.unpackb(answer)
        error = reply.get("error", "")
        if reply["ok"] is bool(error) or len(error) > 1000:
            self.tally.found(f"{reply!r:.300} to {message[:300]!r}")
        if error.split(":")[0].endswith(("Error", "Exception")):
            self.tally.found(f"nobody expected {error!r:.200} from {message[:300]!r}")

    def finish(self) -> None:
        """Another client ends a running step: then every request has its reply."""
        message = json.dumps({"op": "run", "take": True, "token": TOKEN}).encode()
        self.bridge.handle(message, SocketClient("last"), lambda _: None)
        if self.pending:
            self.tally.found(f"no reply to {list(self.pending.values())[:3]!r:.500}")


@pytest.mark.campaign
@pytest.mark.parametrize("token", ["", TOKEN])
def test_no_request_ends_the_world(
    token: str, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_step, "SLICE_S", 0.0)  # a long step takes one step at a time
    name = "grammar of SocketBridge" + (" with a token" if token else "")
    with served(token=token, websocket=False) as serving:
        requests = Requests(serving, tally, token=bool(token))
        for rng in tally.cases(name, 500, 500_000):
            requests.send(rng, encoded(rng, request(rng)))
        requests.finish()
        traffic = bridge_of(serving).traffic
    assert traffic.rejected > 50 and traffic.accepted > 10


def test_the_grammar_knows_every_operation_and_key() -> None:
    assert set(SocketBridge()._ops) == set(OPS) and set(KEYS) <= set(OPS)
    rng = random.Random(0)
    for key in {key for keys in KEYS.values() for key in keys}:
        valid_value(rng, key)


# DDS --------------------------------------------------------------------------------------------


def checked(tally: Tally, link: LocalLink, topic: str, message: bytes) -> None:
    """Send a message as the DDS process receives it; only a ValueError may reject it."""
    wire = link._wire
    try:
        wire.command(topic, message)
        list(wire.answers(topic, message))
    except ValueError:
        pass
    except Exception as error:
        tally.found(f"{topic}: {type(error).__name__}: {error}, from {message.hex()[:400]}")
    link.say(topic, message)


@pytest.fixture(scope="module", params=["go2", "g1"])
def robot(request: pytest.FixtureRequest) -> Iterator[UnitreeClient]:
    scene = "quadruped.yaml" if request.param == "go2" else "humanoid.yaml"
    client = UnitreeClient(SCENES / scene, request.param)
    with client.serving:
        yield client


def fields_of(dtype: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all plain fields of a record."""
    if dtype.subdtype is not None:
        dtype = dtype.subdtype[0]
    if dtype.names is None:
        return [path]
    return [p for n in dtype.names for p in fields_of(dtype[n], (*path, n))]


def set_edge(rng: random.Random, record: Any, path: tuple[str, ...]) -> None:
    """Put an edge value into a field, or into one element of it."""
    values = record
    for name in path:
        values = values[name]
    if values.dtype.kind == "f":
        value: Any = rng.choice(FLOATS)
    else:
        limits = np.iinfo(values.dtype)
        value = rng.choice([0, 1, 2, limits.min, limits.max])
    with np.errstate(over="ignore"):
        if values.ndim and rng.random() < 0.7:
            values.flat[rng.randrange(values.size)] = value
        else:
            values[...] = value


@pytest.mark.campaign
def test_no_unitree_message_ends_the_world(robot: UnitreeClient, tally: Tally) -> None:
    paths = fields_of(robot.commands.dtype)
    for rng in tally.cases(f"grammar of {robot.bridge.kind} messages", 250, 250_000):
        if rng.random() < 0.2:
            asked = {"id": rng.choice(INTS), "api_id": rng.choice([*INTS, 1001]),
                     "noreply": rng.random() < 0.2, "parameter": rng.choice(TEXTS)}  # fmt: skip
            topic = f"rt/api/{rng.choice(SERVICES)}/request"
            checked(tally, robot.link, topic, json.dumps(asked).encode())
        else:
            record = robot.command(q=0.1, kp=40.0, kd=2.0)
            for _ in range(rng.randrange(4)):
                set_edge(rng, record, rng.choice(paths))
            message = robot.commands.encode(record)
            if rng.random() < 0.05:
                message = message[: rng.randrange(len(message))] + rng.choice([b"", b"\0" * 4])
            robot.link.sent.clear()
            checked(tally, robot.link, "rt/lowcmd", message)
        step_and_check(tally, robot.serving, robot.robot.setpoints.values)


def step_and_check(tally: Tally, serving: Serving, setpoints: Any) -> None:
    try:
        serving.advance(1)
    except Exception as error:
        tally.found(f"{type(error).__name__}: {error}")
    if not np.isfinite(setpoints).all():
        tally.found("a setpoint that is not finite")


@pytest.fixture(scope="module")
def node() -> Iterator[tuple[Serving, RosBridge, LocalLink]]:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.actors[0].add_component(RosBridge())
    world = mjrig.World(scene)
    bridge = world["quadruped"].components[-1]
    assert isinstance(bridge, RosBridge)
    link = LocalLink(bridge.make_wire())
    bridge.use_link(link)
    with Serving(world) as serving:
        yield serving, bridge, link


def ros_message(rng: random.Random, topic: str, joints: list[str]) -> bytes:
    """A command of ROS's types with edge values: numbers, names, counts, times."""
    words = [w for w in TEXTS if not any("\ud800" <= c <= "\udfff" for c in w)]

    def names() -> list[str]:
        chosen = rng.sample(joints, rng.choice([0, 1, 1, 3, 12]))
        return [*chosen, rng.choice(words)] if rng.random() < 0.1 else chosen

    def row(size: int) -> Any:
        size = size if rng.random() < 0.8 else rng.choice([0, 1, size + 1])
        return np.array([rng.choice(FLOATS) if rng.random() < 0.1 else 0.1] * size)

    out = CdrWriter()
    if topic.endswith("/commands"):
        dims = rng.choice([0, 0, 0, 1, 3])
        out.uint32(dims)
        for _ in range(dims):
            out.text(rng.choice(words)).uint32(rng.choice([0, 12, 2**32 - 1])).uint32(1)
        out.uint32(rng.choice([0, 0, 0, 1, 2**32 - 1])).sequence(row(len(joints)))
    else:
        out.int32(rng.choice([0, -1, 2**31 - 1])).uint32(0).text(rng.choice(words))
        named = names()
        out.texts(named)
        if topic.endswith("joint_trajectory"):
            points = rng.choice([0, 1, 2, 3, 201])
            out.uint32(points)
            for number in range(points):
                for size in (len(named), rng.choice([0, len(named)]), 0, 0):
                    out.sequence(row(size))
                late = rng.random() < 0.05
                out.int32(rng.choice([-(2**31), 0, 2**31 - 1]) if late else 0)
                out.uint32(rng.choice([0, 2**32 - 1]) if late else (number + 1) * 10**6)
        else:
            for _ in range(3):
                out.sequence(row(len(named)))
    raw = bytearray(out.message())
    if rng.random() < 0.1:  # a count or a letter that no writer would send
        at = rng.randrange(len(raw))
        raw[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xed\xa0\x80\xff"])
    return bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.05 else raw)


@pytest.mark.campaign
def test_no_ros_message_ends_the_world(
    node: tuple[Serving, RosBridge, LocalLink], tally: Tally
) -> None:
    serving, bridge, link = node
    joints = [b.joint for b in bridge.motors.bindings]
    topics = list(bridge.make_wire().subscriptions)
    accepted = bridge.traffic.accepted
    for rng in tally.cases("grammar of ROS messages", 300, 250_000):
        topic = rng.choice(topics)
        link.sent.clear()
        checked(tally, link, topic, ros_message(rng, topic, joints))
        step_and_check(tally, serving, bridge.robot.setpoints.values)
    assert bridge.traffic.accepted > accepted + 20 and bridge.traffic.rejected > 20


def test_an_error_where_a_command_is_applied_does_not_stop_the_world(
    node: tuple[Serving, RosBridge, LocalLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The boundary is also there, not only where a message is received."""
    serving, bridge, link = node
    joints = [b.joint for b in bridge.motors.bindings]
    message = CdrWriter().int32(0).uint32(0).text("").texts(joints[:1])
    for values in ([0.1], [], []):
        message.sequence(np.array(values))

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    rejected, steps = bridge.traffic.rejected, serving.world.steps
    with monkeypatch.context() as patch:
        patch.setattr(type(bridge), "use", fail)
        link.say("rt/joint_commands", message.message())
        serving.advance(1)
    with monkeypatch.context() as patch:
        patch.setattr(type(bridge), "_follow", fail)
        bridge._path = np.zeros((1, 13))
        serving.advance(1)
    assert bridge.traffic.rejected == rejected + 2 and serving.world.steps == steps + 2
    assert bridge.traffic.log[-1].reason == "ZeroDivisionError: a defect" and bridge._path is None


def test_the_dds_process_survives_samples_that_its_library_cannot_decode() -> None:
    pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")
    from mjrig.components.bridges.dds.dds_process import DdsProcess

    class Broken:
        def take(self, N: int) -> list[Any]:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    class Twice:
        """Lets the endless loop turn twice."""

        turns = 0

        def wait(self, timeout: int) -> None:
            self.turns += 1
            if self.turns > 2:
                raise SystemExit

    texts: list[bytes] = []
    process: Any = object.__new__(DdsProcess)
    process._readers, process._waiting = {"rt/lowcmd": Broken()}, Twice()
    process._tell = lambda kind, text="": texts.append(kind + text.encode())
    with pytest.raises(SystemExit):
        process._read_dds()
    assert len(texts) == 2 and texts[0].startswith(b"Xrt/lowcmd: cannot be read: 'utf-8'")


def test_a_state_that_is_not_finite_does_not_end_the_dds_process(
    node: tuple[Serving, RosBridge, LocalLink],
) -> None:
    from mjrig.components.bridges.dds.dds_process import DdsProcess

    _, bridge, _ = node
    texts: list[bytes] = []
    process: Any = object.__new__(DdsProcess)
    process._wire = bridge.make_wire()
    process._tell = lambda kind, text="": texts.append(kind + text.encode())
    process._publish(np.full(process._wire.state_size, np.nan))
    assert texts == [b"Na state cannot be sent: ValueError: cannot convert float NaN to integer"]
