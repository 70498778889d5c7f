"""What every log offers: its topics, and their numbers batch by batch, whatever the file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Stamps = npt.NDArray[np.int64]
#: Whether the numbers at (topic, path) are wanted; asked again for every batch. What is not wanted
#: once is not wanted in later batches either.
Wanted = Callable[[str, str], bool]
#: A batch holds so many messages, or so many bytes of them.
BATCH, BATCH_BYTES = 4096, 8 << 20


@dataclass(frozen=True)
class Topic:
    """One topic, or one table.

    Attributes:
        name: as in the file; the name of the file for a table.
        type: of its messages, as in `sensor_msgs/JointState`; `table` for a table.
        encoding: `cdr`, `ros1`, `json`, `table`; or one that is not read, as `protobuf`.
        count: messages or rows.
        problem: why its numbers cannot be read; empty: they can.
    """

    name: str
    type: str
    encoding: str
    count: int
    problem: str = ""


@dataclass(frozen=True)
class LogSamples:
    """Some messages of a topic that hold the same numbers.

    Attributes:
        log: when they were recorded [ns]; rows without a recorder's clock have none (empty).
        publish: when they were sent by the sender's clock [ns]; empty: unknown.
        columns: path → (messages,) numbers.
    """

    topic: str
    log: Stamps
    publish: Stamps
    columns: dict[str, npt.NDArray[Any]]
    count: int = field(init=False)

    def __post_init__(self) -> None:
        size = len(next(iter(self.columns.values()))) if self.columns else len(self.log)
        object.__setattr__(self, "count", size)

    def __len__(self) -> int:
        return self.count


class LogFile(ABC):
    """An opened log.

    Attributes:
        kind: what it is, in words.
        constants: single numbers and texts that hold for all of it.
        notes: what was found wrong with the file.
    """

    topics: tuple[Topic, ...]

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.constants: Mapping[str, Any] = {}
        self.notes: list[str] = []

    def note(self, *texts: str) -> None:
        """Add notes; a log is read several times, and each note counts once."""
        self.notes += [text for text in texts if text not in self.notes]

    @abstractmethod
    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics, in batches.

        Raises:
            RecordingError: the file is damaged.
        """
