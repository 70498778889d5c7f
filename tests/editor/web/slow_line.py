"""SlowLine: a tunnel with another port, few bytes a second, and a long way."""

import socket
import threading
import time
from collections import deque


class SlowLine:
    """Forwards connections to a port; what comes back is slow and late.

    Args:
        port: where the server listens.
        rate: bytes a second that come back.
        delay: how long each of them is under way [s].
    """

    def __init__(self, port: int, rate: float, delay: float) -> None:
        self._port, self._rate, self._delay = port, rate, delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port), 5.0)
            # Small buffers: what waits, waits at the server, as on a real line.
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            for line in (near, far):
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pairs += [near, far]
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            threading.Thread(target=self._come_back, args=(far, near), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _come_back(self, source: socket.socket, target: socket.socket) -> None:
        waiting: deque[tuple[float, bytes]] = deque()
        source.setblocking(False)
        free = time.monotonic()
        while True:
            now = time.monotonic()
            try:
                if free <= now + 0.01:
                    data = source.recv(4096)
                    if not data:
                        break
                    free = max(free, now) + len(data) / self._rate
                    waiting.append((free + self._delay, data))
                    continue
            except BlockingIOError:
                pass
            except OSError:
                break
            try:
                while waiting and waiting[0][0] <= now:
                    target.sendall(waiting.popleft()[1])
            except OSError:
                break
            time.sleep(0.002)
        target.close()

    def cut(self) -> None:
        """Break all connections, as a tunnel that dies."""
        for line in self._pairs:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            line.close()
        self._pairs.clear()

    def close(self) -> None:
        """End it."""
        self._listener.close()
        self.cut()
