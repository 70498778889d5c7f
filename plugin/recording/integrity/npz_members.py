"""Arrays of an `.npz` that may be larger than the memory: rows are read as they are wanted."""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.files.decoding import decoding, reason
from mjrig.large_arrays import blocks, large_empty
from mjrig.recording.integrity.limits import NUMBER, check_size
from mjrig.recording.integrity.npz_arrays import (
    PICKLED,
    SUFFIX,
    PickledError,
    entries_of,
    header_of,
)

#: Bytes that are unpacked at once.
_PIECE = 8 << 20
#: Gives the next so many rows of an array.
NextRows = Callable[[int], npt.NDArray[Any]]


@dataclass(frozen=True)
class NpzMember:
    """One array: what its header says, and where its numbers begin.

    Attributes:
        in_columns: its numbers follow each other column by column.
    """

    path: Path
    name: str
    entry: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    in_columns: bool
    start: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    def turned(self) -> "NpzMember":
        """The same table with its rows as columns."""
        return replace(self, shape=self.shape[::-1], in_columns=not self.in_columns)

    def whole(self, archive: zipfile.ZipFile) -> npt.NDArray[Any]:
        """All of it; in a temporary file if it is large.

        Raises:
            RecordingError: it is damaged.
        """
        flat = large_empty(self.size, self.dtype)
        with self._opened(archive) as stream:
            for part in blocks(self.size, max(1, _PIECE // max(1, self.dtype.itemsize))):
                flat[part] = self._next(stream, part.stop - part.start)
        return flat.reshape(self.shape[::-1]).T if self.in_columns else flat.reshape(self.shape)

    @contextmanager
    def rows(self, archive: zipfile.ZipFile) -> Iterator[NextRows]:
        """Its rows from the first on; a table that is stored by columns is unpacked first.

        Raises:
            RecordingError: it is damaged; also when rows are asked for.
        """
        if self.in_columns and len(self.shape) > 1:
            yield _following(self.whole(archive))
            return
        rest = self.shape[1:]
        width = math.prod(rest)
        with self._opened(archive) as stream:
            yield lambda count: self._next(stream, count * width).reshape(count, *rest)

    def _opened(self, archive: zipfile.ZipFile) -> IO[bytes]:
        with decoding(self.path, self.name):
            stream = archive.open(self.entry)
            stream.read(self.start)
        return stream

    def _next(self, stream: IO[bytes], count: int) -> npt.NDArray[Any]:
        """So many numbers; the checksum is compared after the last."""
        wanted = count * self.dtype.itemsize
        with decoding(self.path, self.name):
            content = stream.read(wanted)
            if len(content) != wanted:
                raise EOFError("it ends before its last number")
        return np.frombuffer(content, self.dtype, count)


def npz_members(path: Path) -> tuple[list[NpzMember], list[str]] | None:
    """The arrays by their headers, and notes on those that cannot be read; None: it is no zip file.

    Raises:
        RecordingError: no array can be read, or they are too large.
    """
    members: list[NpzMember] = []
    notes: list[str] = []
    with decoding(path):
        if not zipfile.is_zipfile(path):
            return None
        with zipfile.ZipFile(path) as archive:
            for entry in entries_of(path, archive):
                name = entry.filename.removesuffix(SUFFIX)
                try:
                    members.append(_member(path, archive, entry))
                except PickledError:
                    notes.append(f"{name} is skipped: it {PICKLED}")
                except RecordingError as error:
                    notes.append(f"{name} is skipped: {reason(error.__cause__ or error)}")
    if notes and not members:
        raise RecordingError(f"{path}: no array can be read: {'; '.join(notes[:3])}")
    return members, notes


def _member(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NpzMember:
    name = entry.filename.removesuffix(SUFFIX)
    with decoding(path, name):
        with archive.open(entry) as stream:
            shape, in_columns, dtype = header_of(stream)
            start = stream.tell()
        numbers = math.prod(shape)
        if entry.file_size - start != numbers * dtype.itemsize:
            raise ValueError(f"{entry.file_size - start} bytes do not make {dtype} {shape}")
        check_size(path, numbers * max(dtype.itemsize, NUMBER))
    return NpzMember(path, name, entry.filename, shape, dtype, in_columns, start)


def _following(table: npt.NDArray[Any]) -> NextRows:
    given = 0

    def following(count: int) -> npt.NDArray[Any]:
        nonlocal given
        given += count
        return table[given - count : given]

    return following
