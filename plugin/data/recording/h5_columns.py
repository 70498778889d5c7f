"""Columns of an HDF5 file: all inside the file, of bounded size, with damage named by its rows."""

import json
import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import MissingExtraError, RecordingError
from mjrig.core.files.decoding import decoding, reason
from mjrig.data.recording.file_limits import NUMBER, check_size

#: Begin of a heap of texts, its version included; then its size.
_HEAP, _HEAP_HEAD = b"GCOL\1\0\0\0", struct.Struct("<8sQ")
#: An entry of such a heap: its number, 0 for free space, and its size.
_HEAP_ENTRY = struct.Struct("<H6xQ")
#: Attribute of a group with the checksum of all its other attributes.
CHECKSUM = "crc32"


def h5py_package() -> Any:
    """h5py, imported when it is needed.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("h5py")
    except ImportError as error:
        raise MissingExtraError("a recording in HDF5", "record", error) from error


def open_h5(path: Path, stream: Any = None) -> Any:
    """The open file.

    Args:
        path: of the file.
        stream: what is read in place of the file.

    Raises:
        RecordingError: it cannot be opened.
        MissingExtraError: h5py is not installed.
    """
    h5py = h5py_package()
    with decoding(path):
        _check_heaps(path)
        return h5py.File(path if stream is None else stream, "r")


def _check_heaps(path: Path) -> None:
    """Refuse a file in which HDF5 would search for texts forever.

    HDF5 reads a heap entry by entry. An entry of free space that has no size is the next entry of
    itself.

    Raises:
        RecordingError: there is such an entry; names its place.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        heap = data.find(_HEAP)
        while heap >= 0:
            at = heap + _HEAP_HEAD.size
            if at > len(data):
                return
            end = min(len(data), heap + _HEAP_HEAD.unpack_from(data, heap)[1])
            while at + _HEAP_ENTRY.size <= end:
                number, size = _HEAP_ENTRY.unpack_from(data, at)
                if number == 0 and size < _HEAP_ENTRY.size:
                    raise RecordingError(f"{path}: is damaged: the heap at byte {heap}")
                at += size if number == 0 else _HEAP_ENTRY.size + -(-size // 8) * 8
            heap = data.find(_HEAP, heap + 1)


class H5Columns(Mapping[str, "H5Column"]):
    """The datasets of an open file by name.

    Raises:
        RecordingError: something in it lies outside of the file, or is too large.
    """

    def __init__(self, path: Path, file: Any) -> None:
        self._found: dict[str, H5Column] = {}
        #: Groups by name, the file itself under the empty name.
        self.groups: dict[str, Any] = {}
        self._path = path
        with decoding(path):
            self._walk("", file, set())
        check_size(path, sum(column.size for column in self._found.values()))

    def _walk(self, name: str, group: Any, seen: set[Any]) -> None:
        h5py = h5py_package()
        self.groups[name] = group
        for key in group:
            inside = f"{name}/{key}" if name else key
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise RecordingError(
                    f"{self._path}: {inside}: is a link; only what is in the file itself is read"
                )
            item = group[key]
            place = h5py.h5o.get_info(item.id).addr
            if place in seen:
                raise RecordingError(f"{self._path}: {inside}: is in the file under two names")
            seen.add(place)
            if isinstance(item, h5py.Group):
                self._walk(inside, item, seen)
            elif isinstance(item, h5py.Dataset):
                self._found[inside] = H5Column(self._path, inside, item)

    def __getitem__(self, name: str) -> "H5Column":
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def damaged_groups(self) -> list[str]:
        """The groups whose attributes do not have the checksum that was stored with them."""
        with decoding(self._path, "attributes"):
            return [name for name, group in self.groups.items() if not attributes_are_whole(group)]


class H5Column:
    """One dataset; reading damaged rows is an error that names them.

    Raises:
        RecordingError: it is stored outside of the file.
    """

    def __init__(self, path: Path, name: str, dataset: Any) -> None:
        self._path, self._name, self._dataset = path, name, dataset
        if dataset.external or dataset.is_virtual:
            raise RecordingError(
                f"{path}: {name}: is stored in another file; only what is in the file itself is "
                "read"
            )
        chunk = int(np.prod(dataset.chunks or (0,), dtype=object))
        #: Bytes that reading it takes.
        self.size = max(int(dataset.size or 0), chunk) * max(NUMBER, dataset.dtype.itemsize)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and numbers per row."""
        return tuple(self._dataset.shape or ())

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def has_checksums(self) -> bool:
        """Whether damage would be noticed."""
        return bool(self._dataset.fletcher32)

    def __len__(self) -> int:
        if not self.shape:
            raise RecordingError(f"{self._path}: {self._name}: must have rows")
        return self.shape[0]

    def content(self) -> Any:
        """All of it, also a single value."""
        return self[:] if self.shape else self._read(())

    def __getitem__(self, rows: slice) -> Any:
        return self._read(rows)

    def _read(self, rows: Any) -> Any:
        try:
            return self._dataset[rows]
        except Exception as error:  # h5py raises OSError, RuntimeError, ValueError and others
            start, stop, _ = rows.indices(len(self)) if rows else (0, 1, 1)
            bad = [(a, b) for a, b in self.damaged_rows() if a < stop and b > start]
            where = f" in {said_rows(bad)}" if bad else ""
            raise RecordingError(
                f"{self._path}: {self._name}: is damaged{where}: {reason(error)}"
            ) from error

    def damaged_rows(self) -> list[tuple[int, int]]:
        """First row and the row after the last of every damaged stretch; reads everything."""
        step = (self._dataset.chunks or (max(1, len(self)),))[0]
        bad: list[tuple[int, int]] = []
        for start in range(0, len(self), step):
            stop = min(start + step, len(self))
            try:
                self._dataset[start:stop]
            except Exception:  # likewise
                joined = bool(bad) and bad[-1][1] == start
                bad.append((bad.pop()[0] if joined else start, stop))
        return bad


def said_rows(stretches: list[tuple[int, int]]) -> str:
    """`rows 0 to 99, 300 to 399`."""
    return "rows " + ", ".join(f"{a} to {b - 1}" for a, b in stretches)


def attributes_checksum(values: Mapping[str, Any]) -> int:
    """The checksum of the attributes of a group."""
    plain = {name: _plain(value) for name, value in values.items() if name != CHECKSUM}
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


def attributes_are_whole(group: Any) -> bool:
    """Whether attributes have the checksum that was stored with them, if there is one."""
    stored = group.attrs.get(CHECKSUM)
    return stored is None or bool(stored == attributes_checksum(dict(group.attrs)))


def _plain(value: Any) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else repr(value)
