"""Tunnel: another port of a server, which holds back what the server sends."""

import socket
import threading


class Tunnel:
    """Forwards connections to a port; while it holds, nothing comes back.

    Args:
        port: where the server listens.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = []
        self._is_open = threading.Event()
        self._is_open.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Stop forwarding what the server sends."""
        self._is_open.clear()

    def release(self) -> None:
        """Forward it again, with what has piled up."""
        self._is_open.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            self._sockets += [near, far]
            for source, target, gate in ((near, far, None), (far, near, self._is_open)):
                arguments = source, target, gate
                threading.Thread(target=_forward, args=arguments, daemon=True).start()

    def cut(self) -> None:
        """Break all connections, as a tunnel that dies."""
        for line in self._sockets:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            line.close()
        self._sockets.clear()
        self.release()

    def close(self) -> None:
        """End it."""
        self._listener.close()
        self.cut()


def _forward(source: socket.socket, target: socket.socket, gate: threading.Event | None) -> None:
    try:
        while data := source.recv(65536):
            if gate is not None:
                gate.wait()
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
