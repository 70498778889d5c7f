"""DdsLink: the process of a DDS bridge as the world sees it: started, watched, started again."""

import contextlib
import math
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mjrig.components.bridges.dds.exchange import (
    FAILED,
    NOTE,
    READY,
    REJECTED,
    Exchange,
    Wire,
    command_frame,
    memory_of,
)
from mjrig.components.bridges.dds.writers import Writers
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.processes.realtime_priority import Priority, as_usual, is_realtime

#: Longest time to wait until the process listens [s].
STARTING = 60.0
#: How often it is started again, and how long it must have run for that to count as success [s].
RESTARTS, STABLE = 5, 10.0
#: Time that the process has to end by itself [s].
ENDING = 2.0
#: The same for one that has closed its end already; the world waits for it.
GOING = 0.05
#: Most texts that wait to be read; a client that floods the bridge loses the rest.
_WAITING = 1000


class LinkError(MjrigError, OSError):
    """The process of a bridge cannot run."""


class DdsLink:
    """States to the process, commands and texts from it; never waits but in the constructor.

    Args:
        settings: what the process needs to know.
        label: of the bridge, for messages.
        wire: how large its states and commands are.

    Raises:
        LinkError: the process cannot listen.
    """

    def __init__(self, settings: Mapping[str, Any], label: str, wire: Wire) -> None:
        self._settings, self._label = dict(settings), label
        self._failures = 0
        self._exchange = Exchange(wire.state_size, wire.command_size)
        self._commands = self._exchange.commands
        #: Hands over a state.
        self.send = self._exchange.states.write
        #: Whether commands came in; a call so cheap that every step can make it.
        self.has_commands = self._commands.has_news
        #: What the process said; an empty text is its end.
        self.texts: deque[bytes] = deque(maxlen=_WAITING)
        self._start()
        self._await_ready()

    def _start(self) -> None:
        # Datagrams in order, with an end: neither side reads half a text or waits for a dead one.
        kind = getattr(socket, "SOCK_SEQPACKET", None) if sys.platform == "linux" else None
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind or socket.SOCK_DGRAM)
        memory = self._exchange.file
        priority = Priority.REALTIME if is_realtime() else Priority.NORMAL
        with theirs, as_usual():
            module = "mjrig.components.bridges.dds.dds_process"
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), str(memory)],
                pass_fds=[theirs.fileno(), memory],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        ours.send(pickle.dumps({**self._settings, "priority": priority}))
        self._socket: socket.socket | None = ours
        self._began = time.monotonic()

    def _listen(self) -> None:
        """Hear what the process says, on a thread: it sleeps, and costs the steps nothing."""
        link, texts = self._socket, self.texts
        assert link is not None
        link.settimeout(None)

        def hear() -> None:
            frame = b"."
            while frame:
                try:
                    frame = link.recv(1 << 16)
                except OSError:
                    frame = b""
                texts.append(frame)

        threading.Thread(target=hear, name="mjrig-dds-texts", daemon=True).start()

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
        self._listen()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def commands(self) -> "Iterator[memoryview[float]]":
        """Commands that came in, the oldest first; to be used at once."""
        return self._commands.unread()

    def text(self) -> bytes:
        """The oldest of `texts`; where it says that the process ended, it is started again."""
        return self.texts.popleft() or self._restarted()

    def _restarted(self) -> bytes:
        """The process has ended: start it again, unless it does so over and over."""
        self._drop()
        code = self._reaped(GOING)
        ran = time.monotonic() - self._began
        self._failures = 1 if ran > STABLE else self._failures + 1
        how = "killed" if code is None or code < 0 else f"exit code {code}"
        what = f"the DDS process ended ({how})"
        if self._failures > RESTARTS:
            return NOTE + f"{what} {self._failures} times; it is not started again".encode()
        self._start()
        self._listen()
        return NOTE + f"{what}; it was started again".encode()

    def _drop(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """End the process; closing twice is fine."""
        self._drop()
        self._exchange.release_file()
        self._reaped(ENDING)

    def _reaped(self, patience: float) -> int | None:
        """The exit code of the process, which is killed if it takes longer; None: it still runs."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING)
        return self._process.returncode


class LocalLink:
    """The same without a process and without DDS: a client in this one.

    Args:
        wire: of the bridge; `sent` collects what it would publish.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._writers = Writers(math.inf, name_of=lambda writer: f"writer {writer}")
        self._commands: list[FloatArray] = []
        self.texts: deque[bytes] = deque()
        self.sent: list[tuple[str, bytes]] = []

    def say(self, topic: str, payload: bytes, writer: int = 1) -> None:
        """A message of a client; `writer` tells clients apart."""
        try:
            values = self._wire.command(topic, payload)
            if values is not None:
                self._commands.append(command_frame(time.monotonic(), values))
                self._writers.commanded(writer, topic, self._writers.now())
            self.sent += self._wire.answers(topic, payload)
        except Exception as error:  # as in the process
            self.texts.append(REJECTED + f"{topic}: {error}".encode(errors="backslashreplace"))
        for notes in (self._wire.notes, self._writers.notes):
            while notes:
                self.texts.append(NOTE + notes.pop(0).encode(errors="backslashreplace"))

    def send(self, state: "memoryview[float]") -> None:
        """Publish a state."""
        self.sent += self._wire.states(np.array(state))

    def has_commands(self) -> bool:
        """Whether commands came in."""
        return bool(self._commands)

    def commands(self) -> "Iterator[memoryview[float]]":
        """Commands that came in, the oldest first."""
        found, self._commands = self._commands, []
        return iter([memory_of(command) for command in found])

    def text(self) -> bytes:
        """The oldest of `texts`."""
        return self.texts.popleft()

    def close(self) -> None:
        """Nothing to end."""
