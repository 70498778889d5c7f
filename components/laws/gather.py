"""Gather: collects scattered entries into one buffer, prepared once and run every step."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

Operation = Callable[[], object]
Buffer = npt.NDArray[np.floating[Any]]


def as_slice(addresses: Sequence[int]) -> slice | None:
    """The slice equal to these addresses, or None if they are not consecutive."""
    if not len(addresses):
        return slice(0, 0)
    first = int(addresses[0])
    consecutive = list(addresses) == list(range(first, first + len(addresses)))
    return slice(first, first + len(addresses)) if consecutive else None


def gather(
    array: npt.NDArray[np.float64], addresses: Sequence[int], dtype: npt.DTypeLike
) -> tuple[Buffer, list[Operation]]:
    """A buffer that equals `array[addresses]` after the operations ran.

    Consecutive float64 entries need none: the buffer is a view.
    """
    where = as_slice(addresses)
    if where is not None and np.dtype(dtype) == np.float64:
        return array[where], []
    operations: list[Operation] = []
    if where is not None:
        found: Buffer = array[where]
    else:
        found = np.zeros(len(addresses))
        index = np.array(addresses, dtype=np.intp)
        operations.append(partial(array.take, index, None, found, "clip"))
    if np.dtype(dtype) != np.float64:
        narrow = np.zeros(len(addresses), dtype)
        operations.append(partial(np.copyto, narrow, found, casting="same_kind"))
        found = narrow
    return found, operations


def merge(
    parts: Sequence[tuple[npt.NDArray[np.intp], Buffer, list[Operation]]], size: int
) -> tuple[Buffer, list[Operation]]:
    """One buffer from several: `(places in it, source buffer, its operations)` each."""
    buffer = np.zeros(size, parts[0][1].dtype)
    operations: list[Operation] = []
    for places, source, own in parts:
        operations += [*own, partial(buffer.__setitem__, places, source)]
    return buffer, operations


def scaled(
    buffer: Buffer, operations: list[Operation], factor: Buffer, divide: bool = False
) -> tuple[Buffer, list[Operation]]:
    """The same times (or divided by) a factor; factors of one cost nothing."""
    if (factor == 1.0).all():
        return buffer, operations
    result = np.zeros_like(buffer)
    ufunc = np.divide if divide else np.multiply
    typed = factor.astype(buffer.dtype)
    return result, [*operations, partial(ufunc, buffer, typed, out=result)]
