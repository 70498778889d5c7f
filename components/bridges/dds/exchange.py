"""Exchange between the world and the process of a DDS bridge.

They run in two processes: a message that ends a DDS library must not end the world, and
encoding must not cost its steps. States and commands are numbers in shared memory: a system
call in every step would cost more than all else a bridge does there. Texts travel by socket,
after a byte that says what they are.
"""

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mjrig.core.arrays import FloatArray

# Exchange -----------------------------------------------------------------------------------------
# Exchange: numbers that two processes hand each other through shared memory.
#
# A system call in every step would cost more than all else a bridge does there; a glance at a
# counter costs nothing.


#: Frames that a ring keeps; a reader that is further behind misses some.
KEPT = 16
_HEAD = 64  # bytes: counters of states and commands


class FrameRing:
    """Frames of numbers, one writer and one reader; neither ever waits.

    A frame is written before it is counted, so that a reader never sees half of one; it lasts until
    the writer is `KEPT` frames further.

    Args:
        counter: how many frames were written, one number of shared memory.
        memory: for `KEPT` rows of a length and the numbers.
    """

    def __init__(self, counter: "memoryview[int]", memory: "memoryview[float]") -> None:
        self._counter, self._memory = counter, memory
        self._width = len(memory) // KEPT
        self.capacity = self._width - 1
        self._seen = counter[0]

    def write(self, values: "memoryview[float]") -> None:
        """Append a frame.

        Raises:
            ValueError: it has more numbers than fit.
        """
        n, counter, memory = len(values), self._counter, self._memory
        if n > self.capacity:
            raise ValueError(f"it has {n} numbers; {self.capacity} fit")
        count = counter[0]
        at = count % KEPT * self._width
        memory[at] = n
        memory[at + 1 : at + 1 + n] = values
        counter[0] = count + 1

    def has_news(self) -> bool:
        """Whether there are frames that were not read."""
        return self._counter[0] != self._seen

    def unread(self) -> "Iterator[memoryview[float]]":
        """The frames that were not read, the oldest first; to be used at once, or copied."""
        count, width = self._counter[0], self._width
        first, self._seen = max(self._seen, count - KEPT + 1), count
        for index in range(first, count):
            at = index % KEPT * width
            found = self._memory[at + 1 : at + 1 + int(self._memory[at])]
            if index > self._counter[0] - KEPT:  # else the writer may be in the middle of it
                yield found


class Exchange:
    """States one way, commands the other.

    Args:
        file: descriptor of the shared memory; None makes one.
        state: most numbers of a state.
        command: most numbers of a command.
    """

    def __init__(self, state: int, command: int, file: int | None = None) -> None:
        sizes = [KEPT * (n + 1) for n in (state, command)]
        total = _HEAD + 8 * sum(sizes)
        own = _anonymous_file(total) if file is None else None
        self._file = own
        memory = mmap.mmap(file if own is None else own, total)  # type: ignore[arg-type]
        counters: Any = memoryview(memory)[:_HEAD].cast("q")
        numbers: Any = memoryview(memory)[_HEAD:].cast("d")
        self.states = FrameRing(counters[0:1], numbers[: sizes[0]])
        self.commands = FrameRing(counters[1:2], numbers[sizes[0] :])

    @property
    def file(self) -> int:
        """Descriptor for the other process."""
        assert self._file is not None
        return self._file

    def release_file(self) -> None:
        """Close the descriptor; the memory stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _anonymous_file(size: int) -> int:
    """The descriptor of a file without a name, in memory where there is such a thing."""
    if hasattr(os, "memfd_create"):
        found = os.memfd_create("mjrig-bridge")
    else:
        with tempfile.TemporaryFile() as file:
            found = os.dup(file.fileno())
    os.ftruncate(found, size)
    return found


# Wire ---------------------------------------------------------------------------------------------
# Wire: what a DDS bridge writes and reads, without DDS; and the frames that carry it.
#
# The world and DDS run in two processes: a message that ends a DDS library must not end the world,
# and encoding must not cost its steps. States and commands are numbers in shared memory; texts
# travel by socket, after a byte that says what they are.


#: DDS → world: why a message was rejected; something worth an event; it listens; it cannot.
REJECTED, NOTE, READY, FAILED = b"X", b"N", b"H", b"F"


class Wire(Protocol):
    """One kind of bridge on the side of DDS."""

    #: What may be on the wire: types by topic.
    publications: Mapping[str, Any]
    subscriptions: Mapping[str, Any]
    #: Most numbers of a state and of a command.
    state_size: int
    command_size: int
    #: What it has to say about messages that it used; whoever reports it empties the list.
    notes: list[str]

    def states(self, frame: FloatArray) -> Iterable[tuple[str, bytes]]:
        """Messages by topic for a state."""

    def command(self, topic: str, payload: bytes) -> FloatArray | None:
        """The numbers of a command; None: the message is none.

        Raises:
            ValueError: it is not used; the text says why.
        """

    def answers(self, topic: str, payload: bytes) -> Sequence[tuple[str, bytes]]:
        """Messages that answer one, by topic."""


def command_frame(arrived: float, values: FloatArray) -> FloatArray:
    """A command for the world, with its arrival by `time.monotonic` first."""
    return np.concatenate([[arrived], values])


def memory_of(values: FloatArray) -> "memoryview[float]":
    """The numbers of an array where they are."""
    found: Any = values.data
    return found  # type: ignore[no-any-return]


# Rhythm -------------------------------------------------------------------------------------------
# Rhythm: when to look for the next of something that comes at a steady rate.


#: Time between two looks for what is due, and between two while nothing comes [s].
SOON, IDLE = 0.0001, 0.002
#: After so long without anything nothing is expected any more [s].
SILENCE = 0.05
#: How long before it is due the looking begins, as a part of the period.
_EARLY = 0.3
#: How fast a period that seems too short, and a time that seems too early, are given up.
_LENGTHENED, _DELAYED = 0.02, 0.1


class Rhythm:
    """Sleeps through most of the time between two states; nobody has to wake the reader.

    A state that is found late says nothing about the next one: the world's clock goes on. So
    lateness moves the next look only a little, or one delay would make the following states late
    as well.
    """

    def __init__(self) -> None:
        self._found = -1e9
        #: When the last state came, as far as that can be told, and the time between two [s].
        self._came, self._period = -1e9, 0.0

    def found(self, now: float) -> None:
        """A state was there."""
        is_first, self._found = now - self._found > SILENCE, now
        if is_first or not self._period:
            self._period = 0.0 if is_first else now - self._came
            self._came = now
            return
        self._period += min(now - self._came - self._period, _LENGTHENED * self._period)
        due = self._came + self._period
        self._came = min(now, due + _DELAYED * (now - due))

    def nap(self, now: float) -> float:
        """How long to sleep before the next look."""
        if now - self._found > SILENCE:
            return IDLE
        return max(self._came + (1.0 - _EARLY) * self._period - now, SOON)
