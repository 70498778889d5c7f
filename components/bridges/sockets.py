"""Sockets: the ZMQ and WebSocket side of SocketBridge. Everything waits here but the world."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from mjrig.components.bridges.protocol import LARGEST, decoded, encoded, is_json
from mjrig.components.bridges.web_origins import is_local_origin
from mjrig.errors import MissingExtraError, MjrigError

JSON, MSGPACK = b"json", b"msgpack"


class AddressError(MjrigError, OSError):
    """An address cannot be listened on."""


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
        self._context.destroy(linger=0)


class WebSockets:
    """A WebSocket server: text frames are JSON, binary ones msgpack; each connection has a thread.

    `{"op": "subscribe"}` is answered here: the connection then gets states until `unsubscribe`.
    """

    def __init__(self, context: Any, inside: str, host: str, port: int, label: str) -> None:
        try:
            from websockets.sync.server import serve
        except ImportError as error:
            raise MissingExtraError(f"{label}.websocket", "bridge", error) from error
        self._context, self._inside = context, inside
        try:
            self._server = serve(
                self._serve,
                host,
                port,
                max_size=LARGEST,
                process_request=_refuse_foreign_pages,
                compression=None,
            )
        except OSError as error:
            raise AddressError(f"{label}: cannot listen on {host}:{port}: {error}") from None
        own = self._server.socket.getsockname()
        name = f"[{own[0]}]" if ":" in own[0] else own[0]
        self.address = f"ws://{name}:{own[1]}"
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="mjrig-websocket", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening and end the connections."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join(2.0)

    def _serve(self, connection: Any) -> None:
        import zmq
        from websockets.exceptions import ConnectionClosed

        asking = self._context.socket(zmq.REQ)
        asking.linger = 0
        pushing: Pushing | None = None
        try:
            asking.connect(f"{self._inside}/request")
            for frame in connection:
                as_text = isinstance(frame, str)
                message = frame.encode() if isinstance(frame, str) else bytes(frame)
                op = _subscription(message)
                if op is not None:
                    if pushing is not None:
                        pushing.stop()
                    pushing = None
                    if op == "subscribe":
                        pushing = Pushing(
                            self._context, f"{self._inside}/state", connection, as_text
                        )
                    reply = encoded({"ok": True}, is_json(message))
                else:
                    asking.send(message)
                    while not asking.poll(100):
                        if self._closing.is_set():
                            return
                    reply = asking.recv()
                connection.send(reply.decode() if is_json(message) else reply)
        except (ConnectionClosed, zmq.ZMQError, OSError):
            pass  # the client or the server has left
        finally:
            if pushing is not None:
                pushing.stop()
            with contextlib.suppress(zmq.ZMQError):
                asking.close()


class Pushing:
    """Sends the states to one WebSocket connection, on a thread of its own."""

    def __init__(self, context: Any, address: str, connection: Any, as_text: bool) -> None:
        self._context, self._address, self._connection = context, address, connection
        self._topic = JSON if as_text else MSGPACK
        self._stopping = threading.Event()
        threading.Thread(target=self._run, name="mjrig-states", daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._stopping.set()

    def _run(self) -> None:
        import zmq
        from websockets.exceptions import ConnectionClosed

        states = None
        try:
            states = self._context.socket(zmq.SUB)
            states.linger, states.rcvhwm = 0, 2
            states.subscribe(self._topic)
            states.connect(self._address)
            while not self._stopping.is_set():
                if states.poll(100):
                    topic, state = states.recv_multipart()
                    self._connection.send(state.decode() if topic == JSON else state)
        except (ConnectionClosed, zmq.ZMQError, OSError):
            pass
        finally:
            if states is not None:
                with contextlib.suppress(zmq.ZMQError):
                    states.close()


def _subscription(message: bytes) -> str | None:
    """`subscribe` or `unsubscribe`, if the message is that."""
    if b"subscribe" not in message:
        return None
    try:
        op = decoded(message).get("op")
    except MjrigError:
        return None
    return op if op in ("subscribe", "unsubscribe") else None


def _refuse_foreign_pages(connection: Any, request: Any) -> Any:
    """A page of another site must not command a robot through the visitor's browser."""
    if is_local_origin(request.headers.get("Origin")):
        return None
    return connection.respond(403, "pages of other sites may not connect\n")
