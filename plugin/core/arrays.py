"""Arrays: types, read-only copies, and large arrays in temporary files.

Small arrays are in memory. A large array is part of an unnamed temporary file, which the
system deletes with the last array in it. `let_go` frees the memory of its pages; the next
access reads them again.
"""

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.core.errors import RecordingError

# Arrays -------------------------------------------------------------------------------------------
# Array types that every room uses, and read-only copies.


FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
D = TypeVar("D", bound=np.generic)


def frozen(values: object) -> FloatArray:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def read_only(array: npt.NDArray[D]) -> npt.NDArray[D]:
    """A read-only view: a write to a copy would have no effect."""
    view = array.view()
    view.setflags(write=False)
    return view


def copy_into(target: npt.NDArray[Any], values: npt.ArrayLike, label: str) -> None:
    """Copy numbers into an array that they fit or can be broadcast to.

    Raises:
        ValueError: another shape, or not numbers; nothing was changed.
    """
    try:
        target[...] = np.broadcast_to(np.asarray(values, dtype=target.dtype), target.shape)
    except (TypeError, ValueError):
        shape = np.shape(values) if isinstance(values, np.ndarray | list | tuple) else ()
        raise ValueError(
            f"{label} takes numbers of shape {target.shape}, got "
            f"{f'shape {shape}' if shape else repr(values)}"
        ) from None


def as_slice(indices: npt.NDArray[np.intp]) -> slice | npt.NDArray[np.intp]:
    """Indices that follow each other as a slice, which selects without a copy; others unchanged."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices


# Large arrays -------------------------------------------------------------------------------------
# Arrays in temporary files, for recordings that would fill the memory.
#
# Small arrays are in memory as usual. A large one is a part of a temporary file that has no name
# and goes with the last array in it; `let_go` gives the memory of its pages back, and the next
# access reads them from the file again.


#: Arrays of more bytes are in files, which have this size at least.
LEAST, FILE = 1 << 20, 512 << 20
#: Rows that are worked on at once.
BLOCK = 1 << 16


class _Files:
    """The temporary files; arrays follow each other, each on pages of its own.

    They are known by their descriptors, which are open as long as the file is mapped.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[mmap.mmap, int] = weakref.WeakKeyDictionary()
        self._last: weakref.ref[mmap.mmap] | None = None
        self._used = 0

    def room(self, size: int) -> tuple[mmap.mmap, int]:
        """A file with so many bytes, and where they begin.

        Raises:
            RecordingError: the disk is full.
        """
        last = None if self._last is None else self._last()
        if last is None or self._used + size > len(last):
            last, self._used = self._file(max(size, FILE)), 0
            self._last = weakref.ref(last)
        start = self._used
        self._used += -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            if hasattr(os, "posix_fallocate"):  # a full disk would end the process later on
                os.posix_fallocate(self._known[last], start, size)
        except OSError as error:
            raise RecordingError(
                f"{tempfile.gettempdir()}: has no room for {size / 1e6:.0f} MB of a recording that "
                f"is too large for the memory: {error.strerror}; TMPDIR names another folder"
            ) from error
        return last, start

    def _file(self, size: int) -> mmap.mmap:
        with tempfile.TemporaryFile(prefix="mjrig-") as stream:
            stream.truncate(size)
            made = mmap.mmap(stream.fileno(), size)
            self._known[made] = descriptor = os.dup(stream.fileno())
        weakref.finalize(made, os.close, descriptor)
        return made

    def let_go(self) -> None:
        if hasattr(mmap, "MADV_DONTNEED"):
            for file in self._known:
                file.madvise(mmap.MADV_DONTNEED)


_files = _Files()


def large_empty(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Any:
    """An array of any content; the columns of a table are contiguous, as they come one by one."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    if size <= LEAST:
        return np.empty(shape, kind, order="F")
    file, start = _files.room(size)
    return np.ndarray(shape, kind, buffer=file, offset=start, order="F")


def large_rows(values: Any, rows: Any) -> Any:
    """Some rows of a table, or of a column, as a new array."""
    found = large_empty((len(rows), *values.shape[1:]), values.dtype)
    for own, column in zip(columns_of(found), columns_of(values), strict=True):
        own[:] = column[rows]
    return found


def columns_of(values: Any) -> Iterator[Any]:
    """The columns of a table; an array without columns is one.

    The memory of large arrays is given back between the columns of a large table.
    """
    for column in values.T if values.ndim > 1 else [values]:
        yield column
        if values.nbytes > LEAST:
            let_go()


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """So many rows, some thousand at a time; the memory of large arrays is given back between."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
        let_go()


def let_go() -> None:
    """Give the memory of all large arrays back; their content stays."""
    _files.let_go()
