"""The HDF5 file of a recording while it is written: growing columns, checksums, JSON lines.

Single-writer-multiple-reader mode from the first row on: flushed rows stay readable even if the
process dies. No dataset can be created in that mode, hence the log of JSON lines.

Chunks are written directly, with the checksum of HDF5's filter `fletcher32`: two sums of 16-bit
words, the plain one, and one that weights each word with its distance from the end. Both are
taken modulo 65535, where swapping the bytes of a word multiplies it by 256.
"""

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.errors import RecordingError, phrase
from mjrig.core.files.atomic_writes import replacing_file
from mjrig.data.recording.h5_columns import CHECKSUM, attributes_checksum, h5py_package, reason

# Fletcher -----------------------------------------------------------------------------------------
# The checksum of HDF5's filter `fletcher32`, for chunks that are written without its help.
#
# Two sums of 16-bit words: the plain one, and one that weights each word with its distance from the
# end. Both are taken modulo 65535, where swapping the bytes of a word multiplies it by 256.


#: Bytes that the filter adds to a chunk.
SIZE = 4
#: Words per row of a piece, and rows: sums of so many are exact in 32-bit floats, fast to add.
_ROW = _ROWS = 256
_PLACES = np.arange(256.0)


def fletcher32(block: npt.NDArray[Any]) -> bytes:
    """The checksum of an array of 8-byte numbers, as the filter stores it."""
    words = np.ascontiguousarray(block).reshape(-1).view(np.uint16)
    piece = np.empty((_ROWS, _ROW), np.float32)
    total = weighted = 0
    for first in range(0, len(words), _ROW * _ROWS):
        plain, by_place = _sums(words[first : first + _ROW * _ROWS], piece)
        total += plain
        weighted += by_place + first * plain
    return _encoded(len(words) * total - weighted, total)


def _sums(words: npt.NDArray[np.uint16], piece: npt.NDArray[np.float32]) -> tuple[int, int]:
    """The sum of some words, and the sum of each times its place; `piece` is room for them."""
    count = len(words)
    if count < piece.size:
        piece = piece[: -(-count // _ROW)]
        piece.reshape(-1)[count:] = 0
    piece.reshape(-1)[:count] = words
    rows = np.add.reduce(piece, 1).astype(np.float64)
    columns = np.add.reduce(piece, 0).astype(np.float64)
    return int(rows.sum()), _ROW * _weighted(rows) + _weighted(columns)


def _weighted(sums: npt.NDArray[np.float64]) -> int:
    return int((_PLACES[: len(sums)] * sums).sum())


def _encoded(second: int, first: int) -> bytes:
    high, low = (0 if not s else (256 * s - 1) % 65535 + 1 for s in (second, first))
    return (high << 16 | low).to_bytes(SIZE, "little")


# H5 file ------------------------------------------------------------------------------------------
# The HDF5 file of a recording while it is written: columns that grow, and a log of JSON lines.
#
# Single-writer-multiple-reader mode from the first row on: flushed rows stay readable even if the
# process dies. No dataset can be created in that mode, hence the log.


FORMAT, VERSION = "mjrig", 1
#: Bytes of one HDF5 chunk, about.
_CHUNK_BYTES = 1 << 17
#: Disk space reserved at a time, and the part kept for HDF5's own records [bytes].
_AHEAD, _OWN = 8 << 20, 1 << 20
#: Offsets in a superblock (version 2 or 3) of the address width and the end of the file.
_OFFSET_SIZE, _END = 9, 28
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@dataclass(frozen=True)
class Column:
    """A dataset that grows: its name in the file, numbers per row (None: a plain list), dtype.

    `rows` of one HDF5 chunk; None: whatever makes a good size.
    """

    name: str
    width: int | None
    dtype: npt.DTypeLike = np.float64
    rows: int | None = None


class H5File:
    """An open recording.

    Args:
        path: must not exist yet, unless `overwrite`.
        columns: everything that will ever be appended to; those without width are left out.
        attributes: group name → attributes, JSON texts or numbers.

    Raises:
        RecordingError: it exists, or cannot be written there.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[Column],
        attributes: Mapping[str, Mapping[str, object]],
        *,
        overwrite: bool = False,
    ) -> None:
        h5py = h5py_package()
        if path.exists() and not overwrite:
            raise RecordingError(f"{path}: exists already; " + phrase("overwrite"))
        self._path, self._reserved = path, 0
        self._lengths: dict[str, int] = {}
        self._stored: dict[str, npt.NDArray[np.uint8]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What is there already is replaced once there is a file with room for rows.
            with replacing_file(path) as beside:
                self._file = h5py.File(beside, "w", libver="latest")
                self.reserve(0)
                self._begin(columns, attributes)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {reason(error)}") from error

    def _begin(
        self, columns: Sequence[Column], attributes: Mapping[str, Mapping[str, object]]
    ) -> None:
        self._columns = {c.name: self._create(c) for c in columns if c.width != 0}
        for group, values in attributes.items():
            attrs = self._file.require_group(group).attrs if group else self._file.attrs
            for name, value in values.items():
                attrs[name] = value
            # HDF5 has checksums of everything but texts.
            attrs[CHECKSUM] = attributes_checksum(dict(attrs))
        self._file.swmr_mode = True
        self._file.flush()

    def reserve(self, size: int) -> None:
        """Reserve disk space for the given total size of the columns.

        HDF5 cannot even close a file after a write has failed, so that must not happen.

        Raises:
            OSError: the disk is full.
        """
        least = size + size // 16 + _OWN
        if least <= self._reserved or not hasattr(os, "posix_fallocate"):
            return
        handle = self._file.id.get_vfd_handle()
        for wanted in (least + _AHEAD, least):
            try:
                os.posix_fallocate(handle, 0, wanted)
            except OSError as error:
                if error.errno not in _FULL:
                    return  # this file system cannot reserve
                if wanted == least:
                    raise
            else:
                self._reserved = wanted
                return

    def _create(self, column: Column) -> Any:
        width = () if column.width is None else (column.width,)
        size = np.dtype(column.dtype).itemsize * (column.width or 1)
        rows = column.rows or max(16, min(4096, _CHUNK_BYTES // size))
        return self._file.create_dataset(
            column.name,
            shape=(0, *width),
            maxshape=(None, *width),
            chunks=(rows, *width),
            dtype=column.dtype,
            fletcher32=True,
        )

    def append(self, name: str, rows: npt.NDArray[Any]) -> None:
        """Add rows to a column; nothing happens for one without width."""
        dataset = self._columns.get(name)
        if dataset is None or not len(rows):
            return
        # Low-level calls: three times as fast as slicing, and the simulation waits meanwhile.
        h5s, rest = h5py_package().h5s, rows.shape[1:]
        start = self._lengths.get(name, 0)
        self._lengths[name] = end = start + len(rows)
        dataset.id.set_extent((end, *rest))
        place = h5s.create_simple((end, *rest))
        place.select_hyperslab((start, *(0 for _ in rest)), rows.shape)
        block = np.ascontiguousarray(rows, dtype=dataset.dtype)
        dataset.id.write(h5s.create_simple(rows.shape), place, block)

    def put_block(self, name: str, number: int, block: npt.NDArray[Any], filled: int) -> None:
        """Write one whole HDF5 chunk of 8-byte numbers, of whose rows the first `filled` count.

        Three times as fast as `append`: nothing is selected, cached or converted. The chunk has
        its checksum with it, in one write: a kill leaves both or neither.
        """
        dataset = self._columns.get(name)
        if dataset is None:
            return
        start = number * len(block)
        self._lengths[name] = start + filled
        dataset.id.set_extent((start + filled, *block.shape[1:]))
        place = (start, *(0 for _ in block.shape[1:]))
        dataset.id.write_direct_chunk(place, self._with_checksum(name, block))

    def _with_checksum(self, name: str, block: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """The bytes of a chunk as the file has them, in memory that is used again.

        Most setpoints and many controls are as they were in the chunk before: their checksum too.
        """
        stored = self._stored.get(name)
        is_new = stored is None
        if stored is None:
            stored = self._stored[name] = np.empty(block.nbytes + SIZE, np.uint8)
        numbers = stored[:-SIZE].view(block.dtype).reshape(block.shape)
        if is_new or not _is_same(numbers, block):
            numbers[...] = block
            stored[-SIZE:] = np.frombuffer(fletcher32(numbers), np.uint8)
        return stored

    def append_lines(self, lines: Sequence[bytes]) -> None:
        """Add lines to the log."""
        if lines:
            self.append("log", np.frombuffer(b"".join(lines), dtype=np.uint8))

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Finish the file; reserved disk space that was not needed is released."""
        self._file.close()
        with open(self._path, "r+b") as stream:
            head = stream.read(_END + 8)
            end = int.from_bytes(head[_END:], "little")
            if head[_OFFSET_SIZE] == 8 and 0 < end < os.fstat(stream.fileno()).st_size:
                stream.truncate(end)


def _is_same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether two blocks of 8-byte numbers have the same bits; soon known if they do not."""
    a, b = one.view(np.uint64), other.view(np.uint64)
    return bool((a[-1] == b[-1]).all()) and np.array_equal(a, b)


def line(entry: Mapping[str, object]) -> bytes:
    """An entry of the log."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
