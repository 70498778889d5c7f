"""Clients of SocketBridge: identity, lease, clock, limits, tokens, and what they cannot break."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges import websocket_server
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.clients import is_loopback, is_token, required_token
from mjrig.components.bridges.lock_step import StepJob
from mjrig.components.bridges.serving import Serving
from tests.components.bridges.socket_programs import (
    PROGRAMS,
    Program,
    WebProgram,
    ZmqProgram,
    bridge_of,
    deaf_subscriber,
    events,
    run_until,
    run_until_event,
    served,
)
from tests.patience import PATIENCE

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


# Who commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [("zmq", "zmq"), ("zmq", "websocket"), ("websocket", "zmq")])
def test_the_second_program_is_refused_until_it_takes_over(
    stack: ExitStack, kinds: tuple[str, str]
) -> None:
    serving = stack.enter_context(served(timeout=60.0))
    first, second = (open_program(stack, serving, kind) for kind in kinds)
    targets = serving.world["quadruped"].setpoints.position
    assert first.ask("set", position=0.1) == {"ok": True}
    refused = second.ask("set", position=0.5)["error"]
    assert refused.startswith(f"set: {first.name} commands this robot, not {second.name};")
    assert "take" in refused and np.all(targets == 0.1) and refused in events(serving)
    assert first.name in second.ask("release")["error"]
    assert first.name in second.ask("reset")["error"]
    assert second.ask("describe")["commander"] == first.name
    assert second.ask("set", position=0.5, take=True) == {"ok": True}
    assert np.all(targets == 0.5)
    assert f"{second.name} commands instead of {first.name}" in events(serving)
    assert second.name in first.ask("set", position=0.1)["error"]
    assert second.ask("release") == {"ok": True}
    assert first.ask("set", position=0.1) == {"ok": True}


@pytest.mark.parametrize("kind", ["zmq", "websocket"])
def test_a_program_that_leaves_frees_the_robot(stack: ExitStack, kind: str) -> None:
    serving = stack.enter_context(served(timeout=60.0))
    first, second = (open_program(stack, serving, kind) for _ in range(2))
    assert first.ask("set", position=0.1)["ok"]
    assert not second.ask("set", position=0.5)["ok"]
    first.close()
    run_until(serving, lambda: second.ask("set", position=0.5)["ok"])
    assert f"{second.name} commands after the end of {first.name}" in events(serving)


def test_a_program_that_stops_commanding_loses_the_right(stack: ExitStack) -> None:
    serving = stack.enter_context(served(timeout=0.05))
    first, second = (open_program(stack, serving, "zmq") for _ in range(2))
    assert first.ask("set", position=0.1)["ok"]
    run_until_event(serving, "no command for 0.05 s")
    assert second.ask("set", position=0.5)["ok"]


# The clock --------------------------------------------------------------------------------------


def test_only_the_client_in_lock_step_has_the_clock(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    first, second = (open_program(stack, serving, "zmq") for _ in range(2))
    assert first.ask("step")["ok"]
    for op in ("run", "step", "pause", "reset"):
        error = second.ask(op)["error"]
        assert error.startswith(f"{op}: {first.name} has the clock (lock step), not {second.name};")
    assert second.ask("describe")["clock"] == first.name and second.ask("get")["ok"]
    assert bridge_of(serving).is_in_lock_step
    assert second.ask("run", take=True)["ok"]
    assert not bridge_of(serving).is_in_lock_step
    assert f"{second.name} takes the clock from {first.name}" in events(serving)


@pytest.mark.parametrize("reaction", ["run", "pause"])
def test_a_client_that_dies_in_lock_step_does_not_stop_the_world_for_good(
    stack: ExitStack, reaction: str
) -> None:
    serving = stack.enter_context(served(lock_timeout=0.3, on_lock_timeout=reaction))
    first, second = (open_program(stack, serving, "zmq") for _ in range(2))
    assert first.ask("step")["ok"]
    first.close()
    run_until_event(serving, f"{first.name} left in lock step; the world waits 0.3 s")
    run_until_event(serving, f"{first.name}: no request for 0.3 s in lock step (lock_timeout)")
    before = serving.world.steps
    serving.run(0.1)
    assert (serving.world.steps > before) is (reaction == "run")
    assert second.ask("step")["ok"] and second.ask("run")["ok"]
    serving.run(0.1)
    assert serving.world.steps > before


def test_a_silent_client_learns_that_lock_step_has_ended(stack: ExitStack) -> None:
    serving = stack.enter_context(served(lock_timeout=0.1))
    program = open_program(stack, serving, "zmq")
    assert "warning" not in program.ask("step")
    run_until_event(serving, "(lock_timeout)")
    assert "no request for 0.1 s in lock step" in program.ask("step")["warning"]
    assert "warning" not in program.ask("step")


def test_the_client_that_steps_for_long_is_not_silent(stack: ExitStack) -> None:
    serving = stack.enter_context(served(lock_timeout=0.3))
    program = open_program(stack, serving, "zmq")
    steps = program.ask("step", n=30_000)["step"]
    assert steps >= 30_000 and "lock_timeout" not in events(serving)
    assert bridge_of(serving).attend(0.0)  # the time begins when the step has ended


def test_a_running_step_is_cancelled_and_replies_come_in_order(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    program = open_program(stack, serving, "websocket")
    program.send("step", n=100_000)
    program.send("get")
    program.send("cancel")
    error = program.receive()["error"]
    assert error.startswith("step: cancelled after ") and error.endswith(" of 100000 steps")
    state = program.receive()
    assert state["ok"] and state["step"] < 100_000
    cancelled = program.receive()
    assert cancelled["ok"] and cancelled["cancelled"] and cancelled["steps"] < 100_000
    assert program.ask("cancel") == {"ok": True, "cancelled": False}
    assert program.ask("step", n=3)["step"] == state["step"] + 3


def test_a_running_step_lets_others_read_and_take_over(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    first, second = (open_program(stack, serving, "zmq") for _ in range(2))
    first.send("step", n=100_000)
    run_until(serving, lambda: bridge_of(serving)._lock.job)
    assert second.ask("get")["step"] < 100_000
    assert first.name in second.ask("cancel")["error"]
    reply = second.ask("cancel", take=True)
    assert reply["ok"] and reply["cancelled"] and reply["steps"] < 100_000
    assert first.receive()["error"].startswith(f"step: ended by {second.name} after ")
    assert second.ask("run")["ok"]


def test_steps_that_wait_do_not_begin_after_another_client_took_over(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    first, second = open_program(stack, serving, "websocket"), open_program(stack, serving, "zmq")
    for _ in range(3):
        first.send("step", n=100_000)
    run_until(serving, lambda: (job := bridge_of(serving)._lock.job) and len(job.waiting) == 2)
    assert second.ask("run", take=True)["ok"]
    assert first.receive()["error"].startswith(f"step: ended by {second.name} after ")
    for _ in range(2):
        assert first.receive()["error"].startswith(f"step: {second.name} has the clock")
    assert bridge_of(serving)._lock.job is None and not bridge_of(serving).is_in_lock_step


def test_a_client_that_dies_during_its_step_ends_it(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    program = open_program(stack, serving, "zmq")
    program.send("step", n=100_000)
    run_until(serving, lambda: bridge_of(serving)._lock.job)
    program.close()
    run_until_event(serving, f"step: {program.name} left after ")


def test_requests_that_wait_for_a_step_are_limited() -> None:
    job = StepJob(client=None, total=1)  # type: ignore[arg-type]
    for _ in range(64):
        job.queue(lambda: None, cancel=False)
    with pytest.raises(mjrig.MjrigError, match="64 requests already wait for the running step"):
        job.queue(lambda: None, cancel=False)


# Limits -----------------------------------------------------------------------------------------


def test_zmq_connections_are_limited(stack: ExitStack) -> None:
    serving = stack.enter_context(served(max_clients=2))
    first, second = (open_program(stack, serving, "zmq") for _ in range(2))
    third = stack.enter_context(closing(ZmqProgram(serving)))
    third.send("get")
    run_until_event(serving, "a ZMQ connection is refused: 2 are open (max_clients)")
    serving.run(0.1)
    assert third.poll() is None and first.ask("get")["ok"]
    third.close()
    second.close()
    sockets = bridge_of(serving)._sockets
    assert sockets is not None
    run_until(serving, lambda: len(sockets._connections._open) == 1)
    assert open_program(stack, serving, "zmq").ask("get")["ok"]


def test_websocket_connections_are_limited(stack: ExitStack) -> None:
    from websockets.exceptions import InvalidStatus

    serving = stack.enter_context(served(max_clients=2))
    first, second = (open_program(stack, serving, "websocket") for _ in range(2))
    with pytest.raises(InvalidStatus, match="503"):
        WebProgram(serving)
    run_until_event(serving, "a WebSocket connection is refused: 2 are open (max_clients)")
    second.close()
    sockets = bridge_of(serving)._sockets
    assert sockets is not None and sockets._web is not None
    web = sockets._web
    run_until(serving, lambda: len(web._clients) == 1)
    assert open_program(stack, serving, "websocket").ask("get")["ok"] and first.ask("get")["ok"]


def test_one_thread_serves_all_subscribers(stack: ExitStack) -> None:
    serving = stack.enter_context(served())
    own_threads = [t for t in threading.enumerate() if t.name.startswith("mjrig-websocket")]
    assert len(own_threads) == 1
    programs = [open_program(stack, serving, "websocket") for _ in range(12)]
    for program in programs:
        program.send("get")
        assert program.ask("subscribe")["ok"] and program.receive() == {"ok": True}
    for program in programs:
        assert "ok" not in program.receive()  # states follow the reply
    # The others are those of the clients here: the library needs one for each.
    names = [t for t in threading.enumerate() if t.name.startswith("mjrig")]
    assert names == own_threads
    assert programs[0].ask("get")["time"] > 0.0  # a state or the reply
    programs[0].send("unsubscribe")
    while "ok" not in programs[0].receive():
        pass


def test_a_subscriber_that_does_not_read_is_disconnected(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_server, "SLOW_READER_S", 0.2)
    serving = stack.enter_context(served())
    reader = open_program(stack, serving, "websocket")
    assert reader.ask("subscribe")["ok"]
    stack.enter_context(closing(deaf_subscriber(serving)))
    run_until_event(serving, " is disconnected: it reads no states for 0.2 s")
    assert reader.receive()["time"] > 0.0


@pytest.mark.parametrize(("letters", "count"), [(0, 16), (300_000, 3), (1_000_000, 1)])
def test_requests_of_one_connection_wait_in_it_once_some_are_unanswered(
    stack: ExitStack, letters: int, count: int
) -> None:
    serving = stack.enter_context(served())
    program = open_program(stack, serving, "websocket")
    sockets = bridge_of(serving)._sockets
    assert sockets is not None and sockets._web is not None
    waiting = sockets._web._requests
    text = json.dumps({"op": "get"}) + " " * letters
    # Nobody attends to them. Sending waits once the connection is full.
    sending = threading.Thread(target=lambda: [program.send_text(text) for _ in range(20)])
    sending.start()
    end = time.monotonic() + PATIENCE
    while len(waiting) < count and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(waiting) == count
    assert all(program.receive()["ok"] for _ in range(20))
    sending.join()


def test_sending_states_leaves_the_interpreter_to_the_world(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 10 ms of sending no state is sent for 30 ms; short pauses add up."""
    serving = stack.enter_context(served())
    sockets = bridge_of(serving)._sockets
    assert sockets is not None and sockets._web is not None
    delays: list[float] = []
    monkeypatch.setattr(sockets._web._loop, "call_later", lambda delay, _: delays.append(delay))
    clock = [5.0, 5.01, 6.0, 6.0002, 7.0, 7.0002]
    monkeypatch.setattr(websocket_server.time, "perf_counter", lambda: clock.pop(0))
    for expected in ([0.03], [0.03], [0.03, 0.0012]):
        sockets._web._send({websocket_server.JSON: b"{}"})
        assert delays == pytest.approx(expected)


# Tokens -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.3.2.1", True), ("localhost", True), ("::1", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.4", False), ("robot.lan", False), ("*", False),
     ("", False)],
)  # fmt: skip
def test_a_token_is_needed_outside_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local
    assert (required_token(host, "") == "") is local
    assert required_token(host, "chosen") == "chosen"
    assert required_token("0.0.0.0", "") != required_token("0.0.0.0", "")


@pytest.mark.parametrize("candidate", [None, 7, "", "x" * 16, "é" * 16, "\ud800", ["t" * 16], b"t"])
def test_another_token_is_refused(candidate: object) -> None:
    assert not is_token(candidate, "t" * 16) and is_token("t" * 16, "t" * 16)


def test_a_short_token_is_refused() -> None:
    with pytest.raises(mjrig.MjrigError, match="token: needs at least 16 letters"):
        served(token="short")


def test_outside_loopback_every_request_needs_the_token(stack: ExitStack) -> None:
    token = "a token of 20 letters"
    serving = stack.enter_context(served(host="0.0.0.0", token=token))
    bridge = bridge_of(serving)
    (remark,) = bridge.remarks
    assert (remark.kind, remark.here) == ("open-network", "0.0.0.0")
    assert remark.text in events(serving)
    for use, address in bridge.endpoints.items():
        bridge._sockets.endpoints[use] = address.replace("0.0.0.0", "127.0.0.1")  # type: ignore[union-attr]
    plain, web = ZmqProgram(serving), WebProgram(serving)
    stack.callback(plain.close)
    stack.callback(web.close)
    for program in (plain, web):
        for op in ("describe", "get", "set", "run", "subscribe", "nonsense"):
            assert "token: missing or wrong" in program.ask(op)["error"]
        assert "token: missing" in program.ask("get", token="b token of 20 letters")["error"]
        assert program.ask("get", token=token)["ok"]
    assert "token: missing" in plain.ask("get")["error"]
    assert web.ask("get")["ok"]  # a connection over WebSocket is admitted until its end


def test_outside_loopback_states_need_the_token(stack: ExitStack) -> None:
    import zmq

    token = "a token of 20 letters"
    serving = stack.enter_context(served(host="0.0.0.0", token=token))
    address = bridge_of(serving).endpoints["state"].replace("0.0.0.0", "127.0.0.1")
    subscribers = {}
    for topic in ("", "json", f"json/{token}"):
        subscriber = zmq.Context.instance().socket(zmq.SUB)
        subscriber.linger = 0
        subscriber.subscribe(topic)
        subscriber.connect(address)
        stack.callback(subscriber.close)
        subscribers[topic] = subscriber
    for _ in range(100):
        serving.run(0.02)
        if subscribers[f"json/{token}"].poll(0):
            break
    assert [bool(s.poll(0)) for s in subscribers.values()] == [False, False, True]


def test_a_new_token_is_printed_with_the_address(stack: ExitStack) -> None:
    serving = stack.enter_context(served(host="0.0.0.0"))
    address = bridge_of(serving).address
    token = address.rsplit(", token ", 1)[1]
    assert len(token) >= 40
    with served(host="0.0.0.0") as other:
        assert token not in bridge_of(other).address
    with served() as local:
        assert "token" not in bridge_of(local).address and bridge_of(local).remarks == ()


# One boundary per connection --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["zmq", "websocket"])
def test_an_error_nobody_expected_ends_one_connection_and_nothing_else(
    stack: ExitStack, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from websockets.exceptions import ConnectionClosed

    serving = stack.enter_context(served(timeout=60.0))
    victim, other = (open_program(stack, serving, kind) for _ in range(2))
    assert victim.ask("set", position=0.1)["ok"]

    def fail(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError("a defect")

    with monkeypatch.context() as patch:
        patch.setitem(bridge_of(serving)._ops, "get", fail)
        assert victim.ask("get")["error"] == "ZeroDivisionError: a defect"
    assert "ZeroDivisionError: a defect" in events(serving)
    # The victim's lease ends with its connection.
    run_until(serving, lambda: other.ask("set", position=0.5)["ok"])
    if kind == "websocket":
        with pytest.raises(ConnectionClosed):
            victim.ask("get")
    else:
        assert victim.ask("describe")["client"] != victim.name  # libzmq has connected again


@pytest.mark.parametrize("method", ["attend", "notes", "publish"])
def test_sockets_that_fail_do_not_stop_the_world(
    stack: ExitStack, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = stack.enter_context(served())

    def fail(*_: object, **__: object) -> None:
        raise OSError("no more files")

    monkeypatch.setattr(bridge_of(serving)._sockets, method, fail)
    before = serving.world.steps
    run_until_event(serving, "OSError: no more files")
    run_until(serving, lambda: serving.world.steps > before + 10)


def test_a_step_that_fails_is_answered(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    serving = stack.enter_context(served())
    program = open_program(stack, serving, "zmq")
    program.send("step", n=100_000)
    run_until(serving, lambda: bridge_of(serving)._lock.job)

    def fail(steps: int) -> int:
        raise FloatingPointError("diverged")

    with monkeypatch.context() as patch:
        patch.setattr(serving, "advance", fail)
        assert program.receive()["error"] == "step: FloatingPointError: diverged"
    assert program.ask("step")["ok"] and bridge_of(serving).phase is BridgePhase.WAITING


def test_subscribers_of_states_do_not_end_each_other(stack: ExitStack) -> None:
    import zmq

    serving = stack.enter_context(served())
    address = bridge_of(serving).endpoints["state"]

    def subscriber(topic: bytes) -> Any:
        raw = zmq.Context.instance().socket(zmq.XSUB)
        raw.linger = 0
        raw.connect(address)
        raw.send(b"\1" + topic)
        stack.callback(raw.close)
        return raw

    plain, greedy, odd = subscriber(b"json"), subscriber(b""), subscriber(b"msgpack")
    for waiting in (plain, greedy, odd):
        run_until(serving, lambda waiting=waiting: waiting.poll(0))
    for message in (b"", b"\0", b"\2", b"\0json", b"hello", b"\1" * 1000):
        odd.send(message)
    greedy.send(b"\0")
    serving.run(0.05)
    while plain.poll(0):
        plain.recv_multipart()
    run_until(serving, lambda: plain.poll(0))
    assert plain.recv_multipart()[0] == b"json"


GARBAGE = [
    b"",
    b"\0" * 100,
    b"\xff" * 3000,
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n" + b"x: y\r\n" * 10_000,
    b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + b"\0" * 48,
    b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + b"\0" * 48 + b"\4\x05\5READY" + b"\xff" * 40,
]
#: Frames of WebSocket after the handshake: text that is not UTF-8, reserved bits, a length of
#: 2**63, a fragment without a beginning, an unknown opcode, a message over the limit.
FRAMES = [
    b"\x81\x82\0\0\0\0\xff\xff",
    b"\xf1\x80\0\0\0\0",
    b"\x81\xff" + b"\x80" + b"\0" * 11,
    b"\x80\x80\0\0\0\0",
    b"\x8f\x80\0\0\0\0",
    b"\x82\xff" + (2 << 20).to_bytes(8, "big") + b"\0" * 1000,
    b"\x81\x05hello",
]


def test_no_bytes_at_a_port_end_it(stack: ExitStack, capfd: pytest.CaptureFixture[str]) -> None:
    serving = stack.enter_context(served())
    programs = [open_program(stack, serving, kind) for kind in PROGRAMS]
    ports = [address.rsplit(":", 1)[1] for address in bridge_of(serving).endpoints.values()]
    for port in ports:
        for data in GARBAGE:
            with socket.create_connection(("127.0.0.1", int(port)), timeout=5.0) as connection:
                connection.sendall(data)
                serving.run(0.005)
    for data in FRAMES:
        with closing(deaf_subscriber(serving)) as connection:
            connection.sendall(data)
            serving.run(0.02)
    for program in programs:
        assert program.ask("get")["ok"]
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err + events(serving)
