"""Exchange: numbers that two processes hand each other through shared memory.

A system call in every step would cost more than all else a bridge does there; a glance at a counter
costs nothing.
"""

import mmap
import os
import tempfile
from collections.abc import Iterator
from typing import Any

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
