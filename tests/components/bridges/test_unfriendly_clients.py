"""Clients of SocketBridge that waste its time, flood, vanish or say nothing; others go on."""

import json
import logging
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import RobotView
from mjrig.components.bridges.websocket_server import MAX_SHAKING
from tests.campaign import Tally
from tests.components.bridges.socket_programs import (
    PROGRAMS,
    Program,
    bridge_of,
    events,
    run_until,
    run_until_event,
    served,
)
from tests.patience import PATIENCE
from tests.resource_limits import cpu_limit

pytest.importorskip("zmq", reason="needs the extra 'bridge'")
pytest.importorskip("websockets", reason="needs the extra 'bridge'")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def open_program(stack: ExitStack, serving: Serving, kind: str) -> Program:
    program: Program = stack.enter_context(closing(PROGRAMS[kind](serving)))
    program.name = program.ask("describe")["client"]
    return program


# Patterns -----------------------------------------------------------------------------------------


def expensive_targets(names: list[str]) -> dict[str, dict[str, float]]:
    """As many expensive patterns as one request may contain."""
    pattern = r"(.*)(.*)(.*)" + "(.{0,2})" * 10 + r"\1\2\3!"
    return {
        field: {f"{name}|{pattern}{'Z' * j}{'Y' * i}": 0.1 for i, name in enumerate(names)}
        for j, field in enumerate(("position", "velocity", "feedforward", "kp", "kv"))
    }


def test_patterns_of_one_request_share_a_limit(stack: ExitStack) -> None:
    serving = stack.enter_context(served(timeout=60.0))
    program = open_program(stack, serving, "zmq")
    targets = expensive_targets(program.ask("describe")["actuators"])
    with cpu_limit(3.0):  # 40 s without the limit
        refused = program.ask("set", **targets)["error"]
    assert "takes too many steps to match" in refused and "(.*)(.*)(.*)" in refused
    assert program.ask("set", position={".*_calf": 0.1, ".*_(hip|thigh)": 0.2})["ok"]


@pytest.mark.parametrize("op", ["set", "step"])
def test_patterns_of_clients_without_the_right_are_not_matched(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    serving = stack.enter_context(served(timeout=60.0))
    holder, other = (open_program(stack, serving, "zmq") for _ in range(2))
    assert holder.ask("set", position=0.1)["ok"]
    monkeypatch.setattr(RobotView, "targets", lambda *_: pytest.fail("they are resolved"))
    refused = other.ask(op, position={".*": 0.1})["error"]
    assert refused.startswith(f"{op}: {holder.name} commands this robot")


# Clients that vanish ------------------------------------------------------------------------------

PING = 9
TEXT = 1


def frame(opcode: int, payload: bytes) -> bytes:
    assert len(payload) < 126
    return bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload


def request(op: str, **more: Any) -> bytes:
    return frame(TEXT, json.dumps({"op": op, **more}).encode())


def raw_client(serving: Serving) -> socket.socket:
    """A WebSocket connection as bytes."""
    host, port = bridge_of(serving).endpoints["websocket"].removeprefix("ws://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(
        f"GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    assert b"101" in connection.recv(4096)
    return connection


def vanish(connection: socket.socket, *, by_reset: bool) -> None:
    """End a connection as a killed program does: with a reset if something was not read."""
    if by_reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("by_reset", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("pipelined", [1, 17, 60])
def test_a_client_that_vanishes_with_unanswered_steps_loses_the_clock(
    stack: ExitStack, pipelined: int, by_reset: bool
) -> None:
    serving = stack.enter_context(served(lock_timeout=0.3))
    other = open_program(stack, serving, "zmq")
    dead = raw_client(serving)
    dead.sendall(request("step", n=100_000) * pipelined)
    run_until(serving, lambda: bridge_of(serving).is_in_lock_step)
    vanish(dead, by_reset=by_reset)
    run_until_event(serving, "left in lock step")
    run_until_event(serving, "the world runs in real time")
    serving.run(0.1)
    assert other.ask("describe")["clock"] is None and other.ask("run")["ok"]


@pytest.mark.parametrize("kind", ["zmq", "websocket"])
def test_a_client_that_vanished_never_gets_the_clock_back(stack: ExitStack, kind: str) -> None:
    serving = stack.enter_context(served())
    other = open_program(stack, serving, kind)
    dead = raw_client(serving)
    dead.sendall(request("step", n=100_000) * 60)
    run_until(serving, lambda: bridge_of(serving).is_in_lock_step)
    assert other.ask("run", take=True)["ok"]
    vanish(dead, by_reset=True)
    for _ in range(20):
        serving.run(0.01)
        assert not bridge_of(serving).is_in_lock_step


def test_steps_sent_before_another_client_took_the_clock_do_not_take_it_back(
    stack: ExitStack,
) -> None:
    serving = stack.enter_context(served())
    first, second = (open_program(stack, serving, "websocket") for _ in range(2))
    for _ in range(40):
        first.send("step", n=100_000)
    run_until(serving, lambda: bridge_of(serving).is_in_lock_step)
    assert second.ask("run", take=True)["ok"]
    refused = [first.receive()["error"] for _ in range(40)]
    assert f"step: {second.name} took the clock from {first.name}" in refused[-1]
    assert 'add "take": true' in refused[-1] and not bridge_of(serving).is_in_lock_step
    assert first.ask("run")["ok"] and "took the clock" in first.ask("pause")["error"]
    assert first.ask("step", take=True)["ok"] and first.ask("step")["ok"]
    assert first.ask("run")["ok"] and second.ask("step")["ok"] and second.ask("run")["ok"]
    assert "took the clock" not in str(first.ask("step"))


def test_a_replaced_client_gets_the_clock_once_the_other_has_left(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    first, second = (open_program(stack, serving, "websocket") for _ in range(2))
    assert first.ask("step")["ok"] and second.ask("run", take=True)["ok"]
    assert not first.ask("step")["ok"]
    second.close()
    run_until(serving, lambda: first.ask("step")["ok"])


# Logs of libraries --------------------------------------------------------------------------------

FLOODS = {
    "requests": request("subscribe") + request("get") * 64,
    "pings": frame(PING, b"x" * 100) * 800,
    "steps": request("step", n=200, take=True) * 40,
}


@pytest.mark.parametrize("flood", FLOODS)
def test_connections_that_are_reset_leave_nothing_in_the_log(
    stack: ExitStack, caplog: pytest.LogCaptureFixture, flood: str
) -> None:
    serving = stack.enter_context(served())
    for number in range(60):
        connection = raw_client(serving)
        connection.sendall(FLOODS[flood])
        if number % 2:
            serving.run(0.002)
        vanish(connection, by_reset=True)
    serving.run(0.5)
    assert [r.getMessage() for r in caplog.records if r.name == "asyncio"] == []
    assert "socket.send()" not in events(serving)  # it is not written to at all
    assert open_program(stack, serving, "zmq").ask("get")["ok"]


def test_what_libraries_log_on_the_server_thread_is_an_event_with_a_limit(
    stack: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    serving = stack.enter_context(served())
    sockets = bridge_of(serving)._sockets
    assert sockets is not None and sockets._web is not None
    for number in range(100):
        for name in ("asyncio", "websockets.server"):
            sockets._web.call(logging.getLogger(name).warning, "line %d\nmore", number)
    run_until_event(serving, "line 5")
    assert caplog.records == [] and "more" not in events(serving)
    assert len([e for e in serving.world.events if "line" in e.message]) <= 20
    logging.getLogger("asyncio").warning("of the program around")
    assert "of the program around" in caplog.text


# Silence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["request", "websocket"])
def test_silent_connections_make_room(stack: ExitStack, use: str) -> None:
    serving = stack.enter_context(served(max_clients=4))
    program = open_program(stack, serving, "zmq" if use == "request" else "websocket")
    endpoint = bridge_of(serving).endpoints[use]
    host, port = endpoint.partition("://")[2].split(":")
    for _ in range(MAX_SHAKING + 40):
        stack.enter_context(closing(socket.create_connection((host, int(port)))))
    serving.run(0.05)
    newcomer = open_program(stack, serving, "zmq" if use == "request" else "websocket")
    assert newcomer.ask("get")["ok"] and program.ask("get")["ok"]
    kind = "silent ZMQ connection is closed" if use == "request" else "without a handshake"
    run_until_event(serving, kind)


def test_silent_connections_make_room_for_subscribers(stack: ExitStack) -> None:
    serving = stack.enter_context(served(max_clients=4))
    early = subscriber(stack, serving, b"json")
    run_until(serving, lambda: early.poll(0))
    host, port = bridge_of(serving).endpoints["state"].partition("://")[2].split(":")

    def is_reached() -> bool:
        for _ in range(5):  # as fast as the others time out
            stack.enter_context(closing(socket.create_connection((host, int(port)))))
        return bool(late.poll(0))

    late = subscriber(stack, serving, b"json")
    run_until(serving, is_reached)
    expect_state(serving, early)


# Subscribers --------------------------------------------------------------------------------------


def subscriber(stack: ExitStack, serving: Serving, topic: bytes) -> Any:
    import zmq

    reader = zmq.Context.instance().socket(zmq.SUB)
    reader.linger = 0
    reader.subscribe(topic)
    reader.connect(bridge_of(serving).endpoints["state"])
    stack.callback(reader.close)
    return reader


def expect_state(serving: Serving, reader: Any) -> None:
    """A new state comes, not one that waits."""
    while reader.poll(0):
        reader.recv_multipart()
    serving.run(0.01)
    while reader.poll(0):
        reader.recv_multipart()
    run_until(serving, lambda: reader.poll(0))


@pytest.mark.campaign
def test_subscribers_that_leave_do_not_silence_others(tally: Tally) -> None:
    for rng in tally.cases("subscribers that come and go", 4, 200):
        token = rng.choice(("", "0123456789abcdef"))
        with ExitStack() as stack:
            serving = stack.enter_context(served(token=token))
            present: list[Any] = []
            for _ in range(8):
                if len(present) < rng.randint(1, 3):
                    name = rng.choice(("json", "msgpack"))
                    topic = f"{name}/{token}" if token else name
                    present.append(subscriber(stack, serving, topic.encode()))
                    expect_state(serving, present[-1])
                elif rng.random() < 0.3:
                    present.pop(0).unsubscribe(topic.encode())
                else:
                    present.pop(rng.randrange(len(present))).close()
                end = time.monotonic() + 0.03
                while time.monotonic() < end:
                    serving.run(0.01)
                try:
                    for reader in present:
                        expect_state(serving, reader)
                except AssertionError:
                    tally.found(f"a subscriber gets no states (token: {bool(token)})")
