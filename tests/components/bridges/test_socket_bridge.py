"""SocketBridge: the protocol, lock step, what is refused, and the clients of the docs."""

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.clients import is_local_origin
from mjrig.components.bridges.serving import NothingToServe, Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.core.control.setpoints import Source
from tests.campaign import Tally
from tests.patience import PATIENCE
from tests.places import DOCS, SCENES

pytest.importorskip("zmq", reason="needs the extra 'bridge'")
msgpack = pytest.importorskip("msgpack")


def served_world() -> mjrig.World:
    scene = mjrig.Scene.load(SCENES / "quadruped_served.yaml")
    for port in ("port", "state_port", "websocket_port"):
        scene.set(f"quadruped.SocketBridge.{port}", 0)
    scene.set("quadruped.UnitreeBridge.enabled", False)
    return mjrig.World(scene)


def bridge_of(world: mjrig.World) -> SocketBridge:
    found = world["quadruped"].components[1]
    assert isinstance(found, SocketBridge)
    return found


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with Serving(served_world()) as found:
        yield found


def ask(serving: Serving, op: str, **more: Any) -> dict[str, Any]:
    """One request, without a socket in between."""
    message: bytes = msgpack.packb({"op": op, **more})
    reply: dict[str, Any] = msgpack.unpackb(bridge_of(serving.world).answer(message))
    return reply


def test_nothing_listens_in_a_world_that_is_merely_built() -> None:
    bridge = bridge_of(served_world())
    assert bridge.phase is BridgePhase.CLOSED and bridge.address == "" and bridge.endpoints == {}


def test_by_default_it_listens_on_this_machine_only(serving: Serving) -> None:
    for address in bridge_of(serving.world).endpoints.values():
        assert address.split("://")[1].startswith("127.0.0.1:")


def test_a_scene_without_a_bridge_is_refused() -> None:
    world = served_world()
    world["quadruped"].remove_component(bridge_of(world))
    with pytest.raises(NothingToServe, match="no actor has a bridge; add a SocketBridge"):
        Serving(world)


def test_an_address_that_is_taken_is_said_and_nothing_listens(serving: Serving) -> None:
    taken = int(bridge_of(serving.world).endpoints["request"].rsplit(":", 1)[1])
    world = served_world()
    bridge_of(world).port = taken
    with pytest.raises(mjrig.MjrigError, match=r"quadruped.SocketBridge: cannot listen on 127"):
        Serving(world)
    assert bridge_of(world).phase is BridgePhase.CLOSED


@pytest.mark.parametrize("pack", [json.dumps, msgpack.packb])
def test_lock_step_gives_the_bits_of_the_same_loop_in_python(pack: Any) -> None:
    world = served_world()
    with Serving(world):
        bridge = bridge_of(world)
        rng = np.random.default_rng(3)
        moves = rng.normal(0.0, 0.1, (30, 12))
        gains = rng.uniform(20.0, 200.0, (30, 12))
        states = []
        start = np.array(world["quadruped"].setpoints.position)
        for move, kp in zip(moves, gains, strict=True):
            request = {"op": "step", "n": 7, "position": (start + move).tolist(),
                       "kp": kp.tolist(), "kv": 3.0}  # fmt: skip
            message = pack(request)
            reply = bridge.answer(message.encode() if isinstance(message, str) else message)
            read = json.loads if isinstance(message, str) else msgpack.unpackb
            states.append(read(reply)["position"])
    same = mjrig.World(SCENES / "quadruped_served.yaml")
    robot, expected = same["quadruped"], []
    controller: Any = robot.controllers[0]
    for move, kp in zip(moves, gains, strict=True):
        robot.set_targets(start + move)
        controller.set_gains(kp, np.full(12, 3.0), controller.torque_limit)
        same.step(7)
        expected.append(robot.position.tolist())
    assert states == expected
    assert np.array_equal(same.data.qpos, world.data.qpos)


@pytest.mark.parametrize("given", [
    {".*_hip": 77.0, "default": 31.0}, {"default": 12}, {"FL_.*": 5.0, "RR_calf": 6, "default": 0},
])  # fmt: skip
def test_gains_by_pattern_mean_what_they_mean_in_a_scene(
    serving: Serving, given: dict[str, float]
) -> None:
    controller: Any = serving.world["quadruped"].controllers[0]
    own = type(controller)(kp=given)
    own.spread_over(controller.bindings.slots("quadruped"))
    assert ask(serving, "set", kp=given)["ok"]
    assert controller.kp.tolist() == own.kp.tolist()
    told = ask(serving, "set", kp={"default": "soft"})
    assert not told["ok"] and "kp: default must be a number, got 'soft'" in str(told)
    assert ask(serving, "release")["ok"]


def test_gains_from_outside_act_are_shown_and_are_never_saved(serving: Serving) -> None:
    controller: Any = serving.world["quadruped"].controllers[0]
    before, written = controller.kp, controller.to_data()
    assert ask(serving, "set", kp={".*_hip": 77.0})["ok"]
    assert controller.kp[0] == 77.0 and controller.sender_of("kp") == "quadruped.SocketBridge"
    assert controller.to_data() == written
    controller.default_kp = 90.0  # an edit of something else: theirs are no longer in force
    assert ask(serving, "set", kp={".*_hip": 77.0})["ok"]
    assert controller.kp[0] == 77.0
    assert ask(serving, "release")["ok"]
    assert np.array_equal(controller.kp, before) and controller.sender_of("kp") == ""


def test_the_bridge_holds_the_lease_and_respects_others(serving: Serving) -> None:
    robot = serving.world["quadruped"]
    with robot.take(Source.UI, holder="hand"):
        reply = ask(serving, "set", position=0.0)
        assert not reply["ok"] and "is held by 'hand'" in reply["error"]
    assert ask(serving, "set", feedforward=0.0)["ok"]
    assert robot.setpoints.source is Source.NETWORK
    with pytest.raises(mjrig.LeaseError, match=r"quadruped\.SocketBridge"):
        robot.set_targets(0.0)
    assert ask(serving, "release")["ok"]
    robot.set_targets(robot.setpoints.position.copy())


def test_without_commands_the_motors_damp_and_a_new_one_takes_over() -> None:
    world = served_world()
    with Serving(world) as serving:
        bridge = bridge_of(world)
        controller: Any = world["quadruped"].controllers[0]
        ask(serving, "set", position=world["quadruped"].setpoints.position.tolist(), kp=90.0)
        serving.advance(499)
        assert bridge.phase is BridgePhase.COMMANDED
        serving.advance(5)
        assert str(bridge.phase) == BridgePhase.LOST
        assert not np.any(controller.kp) and np.all(controller.kv == bridge.damping)
        assert "no command for 0.5 s; the motors damp" in world.events[-1].message
        assert ask(serving, "set", kp=80.0)["ok"]
        assert bridge.phase is BridgePhase.COMMANDED and np.all(controller.kp == 80.0)
        assert np.all(controller.kv == 5.0)
    assert np.all(controller.kp[:2] == 150.0)


BAD = [
    (b"", "cannot be read"),
    (b"{", "cannot be read"),
    (b"[1]", "must be a map"),
    (b"\xc1", "cannot be read"),
    (b"{" * 100_000, "cannot be read"),
    (b'{"op": "stpe"}', "op: 'stpe' is not known; did you mean 'step'"),
    (b'{"op": "set", "position": 0.1, "kpp": 500}', "set: unknown key 'kpp'; did you mean 'kp'"),
    (b'{"op": "step", "n": 1, "postion": 0.3}', "unknown key 'postion'; did you mean 'position'"),
    (b'{"op": "get", "sensor": true}', "unknown key 'sensor'; did you mean 'sensors'"),
    (b'{"op": "pause", "n": 1}', "pause: unknown key 'n'; available: take"),
    (b'{"op": {"a": 1}}', "is not known; one of describe"),
    (b'{"op": "set"}', "set: needs one of position"),
    (b'{"op": "set", "position": NaN}', "position: must be finite"),
    (b'{"op": "set", "position": {"FL_hip": Infinity}}', "position: must be finite"),
    (b'{"op": "set", "position": [1, 2]}', "position: quadruped: targets must have 12 values"),
    (b'{"op": "set", "position": "x"}', "must be numbers or numbers by pattern"),
    (b'{"op": "set", "position": {"FL_hpi": 0}}', "did you mean 'FL_hip'"),
    (b'{"op": "set", "kp": -1}', "kp: must be >= 0"),
    (b'{"op": "set", "position": 0.1, "kv": NaN}', "kv: must be finite"),
    (b'{"op": "step", "n": -1}', "n: must be a whole number"),
    (b'{"op": "step", "n": true}', "n: must be a whole number"),
    (b'{"op": "reset", "keyframe": "hme"}', "did you mean 'home'"),
    (b'{"op": "reset", "keyframe": []}', "keyframe: must be a name"),
]


@pytest.mark.parametrize(("message", "problem"), BAD)
def test_bad_requests_are_answered_and_move_nothing(
    serving: Serving, message: bytes, problem: str
) -> None:
    bridge, robot = bridge_of(serving.world), serving.world["quadruped"]
    before = robot.setpoints.values.copy(), robot.controllers[0].gains()["kp"].copy()
    rejected = bridge.traffic.rejected
    reply = bridge.answer(message)
    found = json.loads(reply) if reply[:1] == b"{" else msgpack.unpackb(reply)
    assert found["ok"] is False and problem in found["error"]
    assert bridge.traffic.rejected == rejected + 1
    assert np.array_equal(robot.setpoints.values, before[0])
    assert np.array_equal(robot.controllers[0].gains()["kp"], before[1])


@pytest.mark.campaign
def test_no_message_stops_the_world_or_makes_it_not_finite(serving: Serving, tally: Tally) -> None:
    bridge, world = bridge_of(serving.world), serving.world
    good: list[dict[str, Any]] = [
        {"op": "set", "position": [0.0] * 12, "kp": 50.0},
        {"op": "step", "n": 2},
        {"op": "get", "sensors": True},
        {"op": "describe"},
        {"op": "run"},
    ]
    for rng in tally.cases("socket requests", 200, 50_000):
        request = dict(rng.choice(good))
        if rng.random() < 0.5:
            odd = [None, [], {}, "x", -1, 1e300, float("nan"), True, [[0]], {"a": "b"}, 2**70]
            keys = [*request, "n", "position", "kp", "sequence", "keyframe", "velocity"]
            request[rng.choice(keys)] = rng.choice(odd)
            request["n"] = 1 if request.get("n") in (1e300, 2**70) else request.get("n", 1)
        try:
            message = json.dumps(request).encode() if rng.random() < 0.5 else msgpack.packb(request)
        except OverflowError:
            message = json.dumps(request).encode()
        if rng.random() < 0.3:
            raw = bytearray(message)
            raw[rng.randrange(len(raw))] = rng.randrange(256)
            message = bytes(raw[: rng.randint(1, len(raw))])
        bridge.answer(message)
        serving.advance(1)
        assert np.isfinite(world.data.qpos).all()
        if not np.isfinite(world["quadruped"].setpoints.values).all():
            tally.found("a setpoint that is not finite")
    ask(serving, "run")


def test_a_repeated_or_older_sequence_moves_nothing(serving: Serving) -> None:
    robot = serving.world["quadruped"]
    assert ask(serving, "set", position=0.1, sequence=2_000_000)["ok"]
    for old in (2_000_000, 7):
        reply = ask(serving, "set", position=0.5, sequence=old)
        assert reply["error"] == f"sequence: {old} is not after 2000000"
    assert np.all(robot.setpoints.position == 0.1)
    ask(serving, "release")


@pytest.mark.parametrize("last", [0, 7, 2_000_000])
@pytest.mark.parametrize("how", ["dies", "lets go", "is asked for"])
def test_the_next_program_counts_from_the_beginning_or_on(last: int, how: str) -> None:
    with Serving(served_world()) as serving:
        assert ask(serving, "set", position=0.1, sequence=last)["ok"]
        if how == "dies":
            serving.advance(600)
        elif how == "lets go":
            ask(serving, "release")
        first = ask(serving, "describe")["sequence"] + 1 if how == "is asked for" else 0
        assert ask(serving, "set", position=0.2, sequence=first)["ok"]
        again = ask(serving, "set", position=0.5, sequence=first)
        assert again["error"] == f"sequence: {first} is not after {first}"
        assert np.all(serving.world["quadruped"].setpoints.position == 0.2)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [(None, True), ("http://localhost:8000", True), ("https://127.0.0.1", True), ("null", False),
     ("https://example.com", False), ("http://localhost.example.com", False), ("http://[", False)],
)  # fmt: skip
def test_pages_of_other_sites_may_not_connect(origin: str | None, allowed: bool) -> None:
    assert is_local_origin(origin) is allowed


def test_a_websocket_server_that_ends_is_started_again_and_that_is_said() -> None:
    client = pytest.importorskip("websockets.sync.client", reason="needs the extra 'bridge'")
    world = served_world()
    with Serving(world) as serving:
        bridge = bridge_of(world)
        address, sockets = bridge.endpoints["websocket"], bridge._sockets
        assert sockets is not None and sockets._web is not None
        sockets._web.call(sockets._web._stopping.set)
        sockets._web._thread.join(10.0)
        for _ in range(20):
            serving.run(0.05)
            if any("WebSocket server ended; it was started" in e.message for e in world.events):
                break
        said: list[str] = []

        def ask_it() -> None:
            with client.connect(address) as connection:
                connection.send(json.dumps({"op": "get"}))
                said.append(connection.recv(timeout=PATIENCE))

        asking = threading.Thread(target=ask_it)
        asking.start()
        while asking.is_alive():
            serving.run(0.05)
        assert json.loads(said[0])["ok"]


def test_clients_that_hang_do_not_keep_it_from_closing() -> None:
    client = pytest.importorskip("websockets.sync.client", reason="needs the extra 'bridge'")
    world = served_world()
    before = set(threading.enumerate())
    with ExitStack() as clients, Serving(world) as serving:
        address = bridge_of(world).endpoints["websocket"]
        name, port = address.removeprefix("ws://").split(":")
        clients.enter_context(socket.create_connection((name, int(port))))  # no handshake
        idle = clients.enter_context(client.connect(address, close_timeout=0.1))
        idle.send(json.dumps({"op": "subscribe"}))
        serving.run(0.1)
        asking = clients.enter_context(client.connect(address, close_timeout=0.1))
        asking.send(json.dumps({"op": "get"}))  # closed before it is answered
    left = {t for t in set(threading.enumerate()) - before if not t.daemon}
    for thread in left:
        thread.join(10.0)
    assert not any(thread.is_alive() for thread in left)


def clients() -> dict[str, str]:
    text = (DOCS / "serving.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- client: (\w+) -->\n```\w+\n(.*?)```", text, re.DOTALL))


def run_client(serving: Serving, command: list[str]) -> str:
    """Run a program while the world is served, for as long as it takes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out: list[str] = []
    reading = threading.Thread(target=lambda: out.append(process.communicate(timeout=PATIENCE)[0]))
    reading.start()
    while reading.is_alive():
        serving.run(0.05)
    assert process.returncode == 0, out
    return out[0]


@pytest.mark.slow
@pytest.mark.skipif(not DOCS.is_dir(), reason="there is no checkout beside the tests")
def test_the_python_client_of_the_docs_runs(serving: Serving, tmp_path: Path) -> None:
    file = tmp_path / "client.py"
    file.write_text(clients()["python"], encoding="utf-8")
    address = bridge_of(serving.world).endpoints["request"]
    said = run_client(serving, [sys.executable, str(file), address])
    assert "quadruped with 12 actuators\nlock step: t=1.000 s\nfree run: t=1.0" in said


@pytest.mark.slow
def test_the_javascript_client_of_the_docs_runs(serving: Serving, tmp_path: Path) -> None:
    pytest.importorskip("websockets", reason="needs the extra 'bridge'")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    major = int(version.stdout.strip().lstrip("v").split(".")[0])
    if major < 20:
        pytest.skip(f"node {major} has no WebSocket")
    file = tmp_path / "client.mjs"
    file.write_text(clients()["javascript"], encoding="utf-8")
    address = bridge_of(serving.world).endpoints["websocket"]
    flags = ["--experimental-websocket"] if major < 22 else []
    said = run_client(serving, [node, *flags, str(file), address])
    assert said.endswith("quadruped with 12 actuators\nlock step: t=0.500 s\nstates arrive\n")
