"""Wire: what a DDS bridge writes and reads, without DDS; and the frames that carry it.

The world and DDS run in two processes: a message that ends a DDS library must not end the world,
and encoding must not cost its steps. States and commands are numbers in shared memory; texts travel
by socket, after a byte that says what they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mjrig.arrays import FloatArray

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
