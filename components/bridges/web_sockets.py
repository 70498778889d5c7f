"""WebSockets: clients of SocketBridge that speak WebSocket, each on a thread of its own."""

import contextlib
import socket
import threading
from typing import Any

from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK, decoded, encoded, is_json
from mjrig.components.bridges.web_origins import is_local_origin
from mjrig.errors import MissingExtraError, MjrigError

#: Longest time that closing may take, and the handshake of a client [s].
ENDING, HANDSHAKE = 2.0, 2.0


class AddressError(MjrigError, OSError):
    """An address cannot be listened on."""


class WebSockets:
    """A WebSocket server: text frames are JSON, binary ones msgpack; each connection has a thread.

    `{"op": "subscribe"}` is answered here: the connection then gets states until `unsubscribe`.
    """

    def __init__(self, context: Any, inside: str, host: str, port: int, label: str) -> None:
        try:
            from websockets.sync.server import serve
        except ImportError as error:
            raise MissingExtraError(f"{label}.websocket", "bridge", error) from error
        self._context, self._inside, self._host, self._label = context, inside, host, label
        self._connections: set[Any] = set()
        try:
            self._server = serve(
                self._serve,
                host,
                port,
                max_size=LARGEST,
                process_request=_refuse_foreign_pages,
                compression=None,
                open_timeout=HANDSHAKE,
                close_timeout=ENDING,
            )
        except OSError as error:
            raise AddressError(f"{label}: cannot listen on {host}:{port}: {error}") from None
        own = self._server.socket.getsockname()
        self._port = int(own[1])
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
        for connection in tuple(
            self._connections
        ):  # a client that does not answer must not hang us
            with contextlib.suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)
        # The package waits for every connection, without an end: it does so beside us.
        ending = threading.Thread(target=self._server.shutdown, daemon=True)
        ending.start()
        ending.join(ENDING)
        self._thread.join(ENDING)

    @property
    def is_alive(self) -> bool:
        """Whether it listens."""
        return self._thread.is_alive()

    def again(self) -> "WebSockets":
        """Another one at the same address.

        Raises:
            AddressError: it is taken meanwhile.
        """
        return WebSockets(self._context, self._inside, self._host, self._port, self._label)

    def _serve(self, connection: Any) -> None:
        import zmq
        from websockets.exceptions import ConnectionClosed

        asking = self._context.socket(zmq.REQ)
        asking.linger = 0
        pushing: Pushing | None = None
        self._connections.add(connection)
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
            self._connections.discard(connection)
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
            if not self._stopping.is_set():  # a client without states has to hear of it
                with contextlib.suppress(Exception):
                    self._connection.close()
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
