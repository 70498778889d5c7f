"""DdsLink: the process of a DDS bridge as the world sees it: started, watched, started again."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from mjrig.arrays import FloatArray
from mjrig.components.bridges.dds.wire import FAILED, NOTE, READY, state_frame
from mjrig.errors import MjrigError

#: Longest time to wait until the process listens [s].
STARTING = 20.0
#: How often it is started again, and how long it must have run for that to count as success [s].
RESTARTS, STABLE = 5, 10.0


class LinkError(MjrigError, OSError):
    """The process of a bridge cannot run."""


class DdsLink:
    """Frames to and from the process; never waits but in the constructor.

    Args:
        settings: what the process needs to know, plain data.
        label: of the bridge, for messages.

    Raises:
        LinkError: the process cannot listen.
    """

    def __init__(self, settings: Mapping[str, Any], label: str) -> None:
        self._settings, self._label = json.dumps(settings), label
        self._failures = 0
        self._start()
        self._await_ready()

    def _start(self) -> None:
        # Datagrams in order, with an end: neither side reads half a frame or waits for a dead one.
        kind = getattr(socket, "SOCK_SEQPACKET", None) if sys.platform == "linux" else None
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind or socket.SOCK_DGRAM)
        with theirs:
            module = "mjrig.components.bridges.dds.dds_process"
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), self._settings],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        ours.setblocking(False)
        self._socket: socket.socket | None = ours
        self._began = time.monotonic()

    def _await_ready(self) -> None:
        assert self._socket is not None
        self._socket.settimeout(STARTING)
        try:
            frame = self._socket.recv(1 << 16)
        except OSError as error:
            frame = FAILED + str(error).encode()
        if frame[:1] != READY:
            self.close()
            why = frame[1:].decode(errors="replace") or "its process ended"
            raise LinkError(f"{self._label}: cannot use DDS: {why}")
        self._socket.setblocking(False)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def send(self, state: FloatArray) -> bool:
        """Send a state; False: the process is busy or gone, and this one is left out."""
        if self._socket is None:
            return False
        try:
            self._socket.send(state_frame(state))
        except OSError:
            return False
        return True

    def receive(self) -> bytes | None:
        """The next frame of the process; None: there is none."""
        if self._socket is None:
            return None
        try:
            frame = self._socket.recv(1 << 16)
        except BlockingIOError:
            return None
        except OSError:
            frame = b""
        return frame or self._restarted()

    def _restarted(self) -> bytes:
        """The process has ended: start it again, unless it does so over and over."""
        self._drop()
        code = self._process.poll()
        ran = time.monotonic() - self._began
        self._failures = 1 if ran > STABLE else self._failures + 1
        what = f"the DDS process ended ({'killed' if code is None else f'exit code {code}'})"
        if self._failures > RESTARTS:
            return NOTE + f"{what} {self._failures} times; it is not started again".encode()
        self._start()
        return NOTE + f"{what}; it was started again".encode()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """End the process."""
        self._drop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class LocalLink:
    """The same without a process and without DDS: a client in this one.

    Args:
        wire: of the bridge; `sent` collects what it would publish.
    """

    def __init__(self, wire: Any) -> None:
        self._wire = wire
        self._frames: list[bytes] = []
        self.sent: list[tuple[str, bytes]] = []

    def say(self, topic: str, payload: bytes) -> None:
        """A message of a client."""
        from mjrig.components.bridges.dds.wire import REJECTED, command_frame

        try:
            values = self._wire.command(topic, payload)
            if values is not None:
                self._frames.append(command_frame(time.monotonic(), values))
            self.sent += self._wire.answers(topic, payload)
        except Exception as error:  # as in the process
            self._frames.append(REJECTED + f"{topic}: {error}".encode())

    def send(self, state: FloatArray) -> bool:
        """Publish a state."""
        self.sent += self._wire.states(state)
        return True

    def receive(self) -> bytes | None:
        """The next frame."""
        return self._frames.pop(0) if self._frames else None

    def close(self) -> None:
        """Nothing to end."""
