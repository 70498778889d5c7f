"""Sockets: the ZMQ and WebSocket side of SocketBridge. Everything waits here but the world."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK, encoded
from mjrig.components.bridges.web_sockets import AddressError, WebSockets
from mjrig.errors import MissingExtraError

#: Longest time that closing may take [s].
ENDING = 2.0


class Sockets:
    """A REP socket for requests, a PUB socket for states, and a WebSocket server in front of both.

    Args:
        web_port: of the WebSocket server; None: none.

    Raises:
        AddressError: an address is taken or unknown; nothing listens then.
        MissingExtraError: a package is missing.
    """

    def __init__(
        self, host: str, port: int, state_port: int, web_port: int | None, label: str
    ) -> None:
        try:
            import zmq
        except ImportError as error:
            raise MissingExtraError(label, "bridge", error) from error
        self._zmq: Any = zmq
        self._context = zmq.Context()
        self._inside = f"inproc://{id(self)}"
        self.endpoints: dict[str, str] = {}
        self._web: WebSockets | None = None
        self._formats: set[bytes] = set()
        try:
            self._requests = self._listen(zmq.REP, host, port, "request")
            self._states = self._listen(zmq.XPUB, host, state_port, "state")
            if web_port is not None:
                self._web = WebSockets(self._context, self._inside, host, web_port, label)
                self.endpoints["websocket"] = self._web.address
        except zmq.ZMQError as error:
            self.close()
            raise AddressError(f"{label}: cannot listen on {host}: {error}") from None
        except BaseException:
            self.close()
            raise

    def _listen(self, kind: int, host: str, port: int, use: str) -> Any:
        socket = self._context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = LARGEST
        if use == "state":
            socket.sndhwm = 10  # a slow client misses states; it must not delay the world
        name = f"[{host}]" if ":" in host else host
        socket.ipv6 = ":" in host
        socket.bind(f"tcp://{name}:{port or '*'}")
        bound: Any = socket.last_endpoint
        self.endpoints[use] = bound.decode().rstrip("\0")
        socket.bind(f"{self._inside}/{use}")
        return socket

    @property
    def address(self) -> str:
        """All addresses, for people."""
        return ", ".join(f"{use} {where}" for use, where in self.endpoints.items())

    def attend(self, answer: Callable[[bytes], bytes], wait: float) -> None:
        """Answer what was asked; wait this long for the first request [s]."""
        requests, zmq = self._requests, self._zmq
        if wait and not requests.poll(wait * 1000.0):
            return
        for _ in range(16):  # the world has to go on
            try:
                message = requests.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            if requests.getsockopt(zmq.RCVMORE):
                while requests.getsockopt(zmq.RCVMORE):
                    requests.recv(zmq.NOBLOCK)
                message = b""
            with contextlib.suppress(zmq.ZMQError):  # the client has left
                requests.send(answer(message), zmq.NOBLOCK)

    def publish(self, state: Callable[[], Mapping[str, Any]]) -> int:
        """Send a state to whoever subscribed, in the formats they asked for; how many formats."""
        zmq = self._zmq
        while True:
            try:
                change = self._states.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            wanted = {f for f in (JSON, MSGPACK) if f.startswith(change[1:])}
            self._formats = self._formats | wanted if change[:1] == b"\1" else (
                self._formats - wanted
            )  # fmt: skip
        if not self._formats:
            return 0
        now = state()
        for name in self._formats:
            with contextlib.suppress(zmq.Again):
                self._states.send_multipart([name, encoded(now, name == JSON)], zmq.NOBLOCK)
        return len(self._formats)

    def close(self) -> None:
        """Stop listening."""
        if self._web is not None:
            self._web.close()
        # It waits for every socket of the context; a thread that hangs must not hang this one.
        ending = threading.Thread(target=self._context.destroy, args=(0,), daemon=True)
        ending.start()
        ending.join(ENDING)

    def mend(self) -> str:
        """Start again what has ended by itself; what that was, or nothing."""
        web = self._web
        if web is None or web.is_alive:
            return ""
        web.close()
        try:
            self._web = web.again()
        except AddressError as error:
            self._web = None
            return f"the WebSocket server ended, and cannot be started again: {error}"
        return "the WebSocket server ended; it was started again"
