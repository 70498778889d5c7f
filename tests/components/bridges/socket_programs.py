"""Programs that talk to SocketBridge over real sockets, on the thread that steps the world."""

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import mjrig
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from tests.patience import PATIENCE
from tests.places import SCENES

#: Longest wait for a reply [s].


def served(**properties: Any) -> Serving:
    """The bundled quadruped at any free ports, with these properties of its SocketBridge."""
    scene = mjrig.Scene.load(SCENES / "quadruped_served.yaml")
    scene.set("quadruped.UnitreeBridge.enabled", False)
    ports = {"port": 0, "state_port": 0, "websocket_port": 0}
    for name, value in {**ports, **properties}.items():
        scene.set(f"quadruped.SocketBridge.{name}", value)
    return Serving(mjrig.World(scene))


def bridge_of(serving: Serving) -> SocketBridge:
    bridge = serving.bridges[0]
    assert isinstance(bridge, SocketBridge)
    return bridge


def events(serving: Serving) -> str:
    """All events, one per line."""
    return "\n".join(event.message for event in serving.world.events)


def run_until(serving: Serving, condition: Callable[[], object]) -> None:
    """Serve until something is true; fails if it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"it did not happen; events:\n{events(serving)}"
        serving.run(0.01)


def run_until_event(serving: Serving, text: str) -> None:
    run_until(serving, lambda: text in events(serving))


class Program:
    """A client with one connection."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.name: str = ""

    def send(self, op: str, **more: Any) -> None:
        self.send_text(json.dumps({"op": op, **more}))

    def send_text(self, text: str) -> None:
        raise NotImplementedError

    def poll(self) -> str | None:
        """A message that came, if any."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def receive(self) -> dict[str, Any]:
        """The next message; the world is served until it comes."""
        end = time.monotonic() + PATIENCE
        while (message := self.poll()) is None:
            assert time.monotonic() < end, "no reply"
            self.serving.run(0.002)
        reply: dict[str, Any] = json.loads(message)
        return reply

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        self.send(op, **more)
        return self.receive()


class ZmqProgram(Program):
    def __init__(self, serving: Serving) -> None:
        import zmq

        super().__init__(serving)
        self._zmq: Any = zmq
        self._socket = zmq.Context.instance().socket(zmq.REQ)
        self._socket.linger = 0
        self._socket.connect(bridge_of(serving).endpoints["request"])

    def send_text(self, text: str) -> None:
        self._socket.send(text.encode())

    def poll(self) -> str | None:
        return self._socket.recv().decode() if self._socket.poll(0) else None

    def close(self) -> None:
        self._socket.close()


class WebProgram(Program):
    def __init__(self, serving: Serving) -> None:
        from websockets.sync.client import connect

        super().__init__(serving)
        self._stack = ExitStack()
        opening = connect(bridge_of(serving).endpoints["websocket"], close_timeout=0.2)
        self.connection = self._stack.enter_context(opening)

    def send_text(self, text: str) -> None:
        self.connection.send(text)

    def poll(self) -> str | None:
        try:
            message = self.connection.recv(timeout=0)
        except TimeoutError:
            return None
        return message if isinstance(message, str) else message.decode()

    def close(self) -> None:
        self._stack.close()


def deaf_subscriber(serving: Serving) -> socket.socket:
    """A WebSocket connection that subscribes and then reads nothing."""
    host, port = bridge_of(serving).endpoints["websocket"].removeprefix("ws://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, int(port)))
    connection.sendall(
        f"GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    assert b"101" in connection.recv(4096)
    request = json.dumps({"op": "subscribe"}).encode()
    connection.sendall(bytes([0x81, 0x80 | len(request)]) + bytes(4) + request)
    return connection


PROGRAMS = {"zmq": ZmqProgram, "websocket": WebProgram}
