"""ZmqConnections: the TCP connections of a ZMQ socket, counted, limited and named."""

import contextlib
import os
import socket
from collections import deque
from typing import Any

from mjrig.components.bridges.clients import MAX_NOTES, Client


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
