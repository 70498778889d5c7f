"""Arrays of an `.npz`, checked for size and damage; large arrays are read by rows."""

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import blocks, large_empty
from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding, reason
from mjrig.core.names import listed
from mjrig.data.recording.file_limits import NUMBER, check_size

# Npz arrays ---------------------------------------------------------------------------------------
# The arrays of an `.npz`: sizes are checked before anything is unpacked, checksums while it is.


SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Why an array of Python objects is skipped.
PICKLED = "holds Python objects, which only pickle loads, and pickle runs code; save it as numbers"


class PickledError(RecordingError):
    """An array that holds Python objects."""


class NpzArrays(dict[str, npt.NDArray[Any]]):
    """The arrays of a file by name.

    Attributes:
        skipped: arrays that are not read, and why: those of Python objects.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.skipped: dict[str, str] = {}

    def __missing__(self, name: str) -> npt.NDArray[Any]:
        if name in self.skipped:
            raise RecordingError(f"{self._path}: {name}: {self.skipped[name]}")
        raise KeyError(name)

    def notes(self) -> list[str]:
        """What was skipped, for a user."""
        return [f"{name} is skipped: it {why}" for name, why in self.skipped.items()]


def npz_names(path: Path) -> list[str] | None:
    """The names of the arrays; None: it is not a zip file.

    Raises:
        RecordingError: its list of entries is damaged.
    """
    with decoding(path):
        if not zipfile.is_zipfile(path):
            return None
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(SUFFIX) for name in archive.namelist()]


def npz_arrays(path: Path, *, needs: Iterable[str] = ()) -> NpzArrays | None:
    """Every array of numbers or texts; None: it is not a zip file, or lacks one that it needs.

    Python objects are never loaded: such arrays are in `skipped`.

    Raises:
        RecordingError: it is damaged, or one that it needs holds objects; names the array.
    """
    names, needed = npz_names(path), set(needs)
    if names is None or not needed <= set(names):
        return None
    arrays = NpzArrays(path)
    with decoding(path), zipfile.ZipFile(path) as archive:
        for entry in entries_of(path, archive):
            name = entry.filename.removesuffix(SUFFIX)
            try:
                arrays[name] = _array(path, archive, entry)
            except PickledError:
                arrays.skipped[name] = PICKLED
    for name in needed & set(arrays.skipped):
        arrays[name]  # raises
    return arrays


def damaged_arrays(path: Path) -> dict[str, str]:
    """What is wrong with each array that cannot be read.

    Raises:
        RecordingError: not even the list of arrays can be read.
    """
    problems = {}
    with decoding(path), zipfile.ZipFile(path) as archive:
        for entry in entries_of(path, archive):
            name = entry.filename.removesuffix(SUFFIX)
            try:
                _array(path, archive, entry)
            except PickledError:  # as it was written
                continue
            except RecordingError as error:
                problems[name] = reason(error.__cause__ or error)
    return problems


def entries_of(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The entries of an archive that numpy may have written.

    Raises:
        RecordingError: an entry is there twice, encrypted, or all of them are too large.
    """
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 5000 else []
    if twice or len(names) != len(set(names)):
        raise RecordingError(f"{path}: is damaged: {listed(twice)}: is there twice")
    check_size(path, sum(entry.file_size for entry in entries))
    odd = next((e for e in entries if e.compress_type not in _METHODS or e.flag_bits & 1), None)
    if odd is not None:
        raise RecordingError(
            f"{path}: {odd.filename}: is encrypted, or compressed in a way that numpy does not"
        )
    return entries


def _array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; the whole entry is read, since its checksum is of all of it."""
    with decoding(path, entry.filename.removesuffix(SUFFIX)):
        content = archive.read(entry)
        stream = BytesIO(content)
        shape, in_columns, dtype = header_of(stream)
        numbers = math.prod(shape)
        start = stream.tell()
        if len(content) - start != numbers * dtype.itemsize:
            raise ValueError(f"{len(content) - start} bytes do not make {dtype} {shape}")
        check_size(path, numbers * max(dtype.itemsize, NUMBER))
        flat = np.frombuffer(content, dtype, numbers, start)
        return flat.reshape(shape[::-1]).T if in_columns else flat.reshape(shape)


def header_of(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns are contiguous, and kind of the numbers of an array.

    Raises:
        ValueError: it is none that is read.
        PickledError: it holds Python objects.
    """
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"has version {version} of numpy's format")
    shape, in_columns, dtype = read(stream)
    if dtype.hasobject:
        raise PickledError(PICKLED)
    if min(shape, default=0) < 0:
        raise ValueError(f"has the shape {shape}")
    return shape, in_columns, dtype


# Npz members --------------------------------------------------------------------------------------
# Arrays of an `.npz` that may be larger than the memory: rows are read as they are wanted.


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
