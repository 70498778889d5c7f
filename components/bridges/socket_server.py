"""Sockets of SocketBridge: the ZMQ server, and the WebSocket server beside it."""

import contextlib
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from mjrig.components.bridges.clients import MAX_NOTES, Client
from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK, encoded
from mjrig.components.bridges.websocket_server import HANDSHAKE_S, AddressError, WebSockets
from mjrig.core.errors import MissingExtraError

# Zmq connections ----------------------------------------------------------------------------------
# ZmqConnections: the TCP connections of a ZMQ socket, counted, limited and named.


class ZmqClient(Client):
    """A ZMQ connection."""

    def __init__(self, name: str, connections: "ZmqConnections", descriptor: int) -> None:
        super().__init__(name)
        self._connections, self._descriptor = connections, descriptor

    def close(self) -> None:
        self._connections.close(self._descriptor)


class ZmqConnections:
    """Follows connections by the events of libzmq, which reports the descriptor of each.

    Over the limit, the oldest connection that never sent anything is closed, else the new one.

    Args:
        watched: the socket that listens.
        limit: connections at once.
    """

    def __init__(self, watched: Any, limit: int) -> None:
        import zmq

        self._zmq: Any = zmq
        self._limit, self._number = limit, 0
        self._monitor = watched.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._monitor.linger = 0
        self._port = int(bytes(watched.last_endpoint).rstrip(b"\0").rsplit(b":", 1)[1])
        self._closing: set[int] = set()
        #: Connections over the limit, until libzmq notices their end.
        self._refused: set[int] = set()
        #: What happened to connections, for the log of the bridge.
        self.notes: deque[str] = deque(maxlen=MAX_NOTES)
        #: Clients by descriptor, each by the envelope of its messages.
        self._open: dict[int, dict[tuple[bytes, ...], Client]] = {}
        #: Connections that sent something; libzmq does not report which handshakes are complete.
        self._active: set[int] = set()

    def client(self, frame: Any, envelope: list[bytes]) -> Client | None:
        """The client that sent a frame; None: its connection was refused."""
        descriptor = self.mark_active(frame)
        if descriptor in self._refused:
            return None
        clients = self._open.get(descriptor)
        client = None if clients is None else clients.get(tuple(envelope))
        if client is None:
            self._number += 1
            name = f"ZMQ client {self._number} ({self._address(descriptor)})"
            client = ZmqClient(name, self, descriptor)
            client.is_connected = clients is not None  # else it left after it sent this
        if clients is not None and client.is_connected:
            if (
                len(clients) >= self._limit and tuple(envelope) not in clients
            ):  # one connection may carry many envelopes
                clients.pop(next(iter(clients))).is_connected = False
            clients[tuple(envelope)] = client
        return client

    def mark_active(self, frame: Any) -> int:
        """Note that the connection of a frame is not silent; returns its descriptor, -1: none."""
        try:
            descriptor = int(frame.get(self._zmq.SRCFD))
        except (self._zmq.ZMQError, TypeError, ValueError):
            descriptor = -1
        self.update(descriptor)  # one that took the place of a closed one is another client
        if descriptor in self._open:
            self._active.add(descriptor)
        return descriptor

    @property
    def is_empty(self) -> bool:
        """Whether there is no connection."""
        return not self._open

    def update(self, sender: int = -1) -> None:
        """Follow the connections that were opened and closed since the last call.

        Args:
            sender: a descriptor that sends right now.
        """
        from zmq.utils.monitor import parse_monitor_message

        while self._closing:
            self._shut(self._closing.pop())
        while self._monitor.getsockopt(self._zmq.EVENTS) & self._zmq.POLLIN:
            event = parse_monitor_message(self._monitor.recv_multipart(self._zmq.NOBLOCK))
            descriptor = int(event["value"])
            for client in self._open.pop(descriptor, {}).values():
                client.is_connected = False
            self._refused.discard(descriptor)
            self._active.discard(descriptor)
            if event["event"] == self._zmq.EVENT_ACCEPTED:
                self._open[descriptor] = {}
        while len(self._open) > self._limit:
            self._make_room(sender)

    def _make_room(self, sender: int) -> None:
        silent = (d for d in self._open if d not in self._active and d != sender)
        newest = next(reversed(self._open))
        descriptor = next(silent, newest)
        is_new = descriptor == newest
        for client in self._open.pop(descriptor).values():
            client.is_connected = False
        self._active.discard(descriptor)
        self._refused.add(descriptor)
        self._shut(descriptor)
        kind = "ZMQ connection is refused" if is_new else "silent ZMQ connection is closed"
        self.notes.append(f"a {kind}: {self._limit} are open (max_clients)")

    def close(self, descriptor: int) -> None:
        """End a connection at the next `update`, when its last reply has been sent."""
        self._closing.add(descriptor)

    def _address(self, descriptor: int) -> str:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as peer:
            return ":".join(str(part) for part in peer.getpeername()[:2])
        return "unknown address"

    def _shut(self, descriptor: int) -> None:
        """End a connection; libzmq sees that its peer has left."""
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as peer:
            if peer.getsockname()[1] == self._port:  # else the number means another file by now
                peer.shutdown(socket.SHUT_RDWR)


# Sockets ------------------------------------------------------------------------------------------
# Sockets: the ZMQ and WebSocket side of SocketBridge. Everything waits here but the world.


#: Longest time that closing may take [s].
ENDING = 2.0
#: Requests that are answered between two steps, and the time after which the rest waits [s]: the
#: world has to go on.
MOST_REQUESTS, ATTENDING = 16, 0.005
#: Requests of one connection that libzmq keeps, up to `LARGEST` each; REQ sockets send one.
_QUEUED = 2
#: Subscriptions that are followed before one state is sent; the others wait.
_MAX_CHANGES = 1000
#: First byte of what an XPUB socket receives.
_SUBSCRIBED, _UNSUBSCRIBED = b"\1", b"\0"
#: What handles a request: the message, its sender, and what sends the reply.
Handler = Callable[[bytes, Client, Callable[[bytes], None]], None]


class Sockets:
    """A ROUTER socket for requests, a PUB socket for states, and a WebSocket server next to both.

    Args:
        web_port: of the WebSocket server; None: none.
        max_clients: connections of each kind at once; further ones are closed.
        token: that subscriptions need; empty: none.

    Raises:
        AddressError: an address is taken or unknown; nothing listens then.
        MissingExtraError: a package is missing.
    """

    def __init__(
        self,
        host: str,
        port: int,
        state_port: int,
        web_port: int | None,
        label: str,
        *,
        max_clients: int = 64,
        token: str = "",
    ) -> None:
        try:
            import zmq
        except ImportError as error:
            raise MissingExtraError(label, "bridge", error) from error
        self._zmq: Any = zmq
        self._context = zmq.Context()
        self.endpoints: dict[str, str] = {}
        self._web: WebSockets | None = None
        #: Formats by the topics of states; topics and prefixes that somebody subscribed to.
        suffix = f"/{token}".encode() if token else b""
        self._topics = {JSON + suffix: JSON, MSGPACK + suffix: MSGPACK}
        self._is_guarded = bool(token)
        self._subscribed: set[bytes] = set()
        self._prefixes: set[bytes] = set()
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        try:
            self._requests = self._listen(zmq.ROUTER, host, port, "request")
            self._states = self._listen(zmq.XPUB, host, state_port, "state")
            self._connections = ZmqConnections(self._requests, max_clients)
            self._subscribers = ZmqConnections(self._states, max_clients)
            self._poller = zmq.Poller()
            self._poller.register(self._requests, zmq.POLLIN)
            self._poller.register(self._woken.fileno(), zmq.POLLIN)
            if web_port is not None:
                self._web = WebSockets(host, web_port, label, max_clients, self._rouse)
                self.endpoints["websocket"] = self._web.address
        except zmq.ZMQError as error:
            self.close()
            raise AddressError(f"{label}: cannot listen on {host}: {error}") from None
        except BaseException:
            self.close()
            raise

    def _listen(self, kind: int, host: str, port: int, use: str) -> Any:
        zmq = self._zmq
        listening = self._context.socket(kind)
        listening.linger = 0
        listening.maxmsgsize = LARGEST
        listening.rcvhwm = _QUEUED
        listening.handshake_ivl = round(
            HANDSHAKE_S * 1000.0
        )  # silent ones must not use up the limit
        listening.tcp_keepalive = 1
        if use == "state":
            listening.sndhwm = 10  # a slow client misses states; it must not delay the world
            # Every subscription is reported, not only the first: it shows who is not silent.
            listening.setsockopt(zmq.XPUB_MANUAL if self._is_guarded else zmq.XPUB_VERBOSE, 1)
        name = f"[{host}]" if ":" in host else host
        listening.ipv6 = ":" in host
        listening.bind(f"tcp://{name}:{port or '*'}")
        bound: Any = listening.last_endpoint
        self.endpoints[use] = bound.decode().rstrip("\0")
        return listening

    @property
    def address(self) -> str:
        """All addresses, for people."""
        return ", ".join(f"{use} {where}" for use, where in self.endpoints.items())

    # Requests -----------------------------------------------------------------------------------

    def attend(self, handle: Handler, wait: float) -> None:
        """Handle pending requests; wait this long for the first one [s]."""
        if wait:
            if not self._poller.poll(max(1, round(wait * 1000.0))):
                return
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
        end = time.monotonic() + ATTENDING
        for _ in range(MOST_REQUESTS):
            is_idle = not self._take_zmq(handle)
            is_idle = not (self._web is not None and self._web.take(handle)) and is_idle
            if is_idle or time.monotonic() > end:
                return

    def _take_zmq(self, handle: Handler) -> bool:
        """Handle one request; False: there is none."""
        zmq, requests = self._zmq, self._requests
        try:
            frames = requests.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return False
        parts = [bytes(frame.buffer) for frame in frames]
        # An envelope of routing identities ends with an empty frame, as REQ sockets send it.
        cut = parts.index(b"", 1) + 1 if b"" in parts[1:] else 1
        envelope, body = parts[:cut], parts[cut:]
        client = self._connections.client(frames[0], envelope)

        def reply(message: bytes) -> None:
            with contextlib.suppress(zmq.ZMQError):  # the client has left
                requests.send_multipart([*envelope, message], zmq.NOBLOCK)

        if client is not None:
            handle(body[0] if len(body) == 1 else b"", client, reply)
        return True

    def _rouse(self) -> None:
        """End a wait of `attend`; called by other threads."""
        with contextlib.suppress(OSError):
            self._wake.send(b".")

    def notes(self) -> list[str]:
        """What happened to connections since the last call, such as refused ones."""
        self._connections.update()
        self._subscribers.update()
        if self._is_guarded and self._subscribers.is_empty:
            self._prefixes.clear()
            self._subscribed = set()
        sources = [self._connections.notes, self._subscribers.notes]
        if self._web is not None:
            sources.append(self._web.notes)
        return [source.popleft() for source in sources for _ in range(len(source))]

    # States -------------------------------------------------------------------------------------

    def publish(self, state: Callable[[], Mapping[str, Any]]) -> int:
        """Send a state to all subscribers, in the formats they asked for; how many formats."""
        zmq, web = self._zmq, self._web
        self._update_subscriptions()
        formats = {self._topics[topic] for topic in self._subscribed}
        web_formats = web.formats if web is not None else ()
        if not formats and not web_formats:
            return 0
        now = state()
        encodings = {name: encoded(now, name == JSON) for name in formats.union(web_formats)}
        for topic in self._subscribed:
            with contextlib.suppress(zmq.Again):
                self._states.send_multipart([topic, encodings[self._topics[topic]]], zmq.NOBLOCK)
        if web is not None and web_formats:
            web.publish(encodings)
        return len(encodings)

    def _update_subscriptions(self) -> None:
        """Follow what ZMQ clients subscribe to; with a token, nothing else is granted."""
        zmq, states = self._zmq, self._states
        for _ in range(_MAX_CHANGES):
            try:
                frame = states.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            change = bytes(frame.buffer)
            self._subscribers.mark_active(frame)
            kind, prefix = change[:1], change[1:]
            topics = [t for t in self._topics if t.startswith(prefix)]
            if kind not in (_SUBSCRIBED, _UNSUBSCRIBED) or not topics:
                continue  # a message of an XSUB socket, or states that do not exist
            is_new = kind == _SUBSCRIBED
            if self._is_guarded:
                if prefix not in self._topics:
                    continue
                states.setsockopt(zmq.SUBSCRIBE if is_new else zmq.UNSUBSCRIBE, prefix)
            if is_new:
                self._prefixes.add(prefix)
            elif not self._is_guarded:  # then the last subscriber has left, not just one of them
                self._prefixes.discard(prefix)
            prefixes = tuple(self._prefixes)
            self._subscribed = {t for t in self._topics if t.startswith(prefixes)}

    # Life ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop listening."""
        if self._web is not None:
            self._web.close()
        # It waits for every socket of the context; a thread that hangs must not hang this one.
        ending = threading.Thread(target=self._context.destroy, args=(0,), daemon=True)
        ending.start()
        ending.join(ENDING)
        self._wake.close()
        self._woken.close()

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
