"""Arrays of a pipeline: its size, precision and units, its memory, and calls prepared once.

`gather` collects scattered entries into one buffer. `clip` is min(max(x, low), high) as one
call into a given array: `np.clip` is a Python function around a ufunc that numpy does not
export, and its wrapper costs more than the work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt

# Space --------------------------------------------------------------------------------------------
# PipelineSpace: number of actuators, precision and units of a pipeline.


#: float64 or float32.
Array = npt.NDArray[Any]


class Precision(StrEnum):
    """The floating-point type something is computed in."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


@dataclass(frozen=True)
class PipelineSpace:
    """Number of actuators, precision and units.

    `factor` is g in joint effort = g · value; with ones the pipeline runs in joint space. In
    actuator space positions and velocities are times g, gains divided by g², efforts by g.
    """

    size: int
    batch: int | None = None
    dtype: Any = np.float64
    factor: Array = field(default_factory=lambda: np.ones(1))

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,) or (batch, n)."""
        return (self.size,) if self.batch is None else (self.batch, self.size)

    def zeros(self) -> Array:
        """A buffer of the pipeline's shape."""
        return np.zeros(self.shape, self.dtype)

    def gain(self, values: Array) -> Array:
        """A feedback gain [effort / position] in this space."""
        return self._typed(values / (self.factor * self.factor))

    def effort(self, values: Array) -> Array:
        """An effort, with its sign."""
        return self._typed(values / self.factor)

    def effort_size(self, values: Array) -> Array:
        """The magnitude of an effort."""
        return self._typed(values / np.abs(self.factor))

    def motion_size(self, values: Array) -> Array:
        """The magnitude of a position or velocity."""
        return self._typed(values * np.abs(self.factor))

    def _typed(self, values: Array) -> Array:
        typed: Array = np.empty(self.size, self.dtype)
        typed[:] = values
        return typed


# State --------------------------------------------------------------------------------------------
# State: the memory of a pipeline in one place, changed in place.


Mask = npt.NDArray[np.bool_]


class State:
    """Named arrays; a mask over the actuators can reset some of each.

    `state.integral`, `state.hidden`, … are the live arrays.
    """

    def __init__(self, size: int, batch: int | None) -> None:
        self._size, self._batch = size, batch
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._rows: dict[str, int | None] = {}
        #: Makes a saved memory fit one that has grown since.
        self.fit: Callable[[Mapping[str, npt.NDArray[Any]]], Mapping[str, npt.NDArray[Any]]] | None
        self.fit = None
        #: Incremented whenever something other than a step changed the memory.
        self.version = 0
        self._kept: set[str] = set()

    def add(
        self, name: str, array: npt.NDArray[Any], *, rows: int | None = None, kept: bool = False
    ) -> npt.NDArray[Any]:
        """Register an array whose last axes are those of the pipeline.

        Args:
            name: attribute it is read by.
            array: the live memory, starting at zero.
            rows: instead, the one axis that worlds and actuators are flattened along.
            kept: a reset leaves it alone.
        """
        self._arrays[name], self._rows[name] = array, rows
        self.__dict__[name] = array  # read in every step
        if kept:
            self._kept.add(name)
        return array

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        arrays: dict[str, npt.NDArray[Any]] = self.__dict__.get("_arrays", {})
        if name not in arrays:
            raise AttributeError(f"this pipeline has no {name!r}; it has: {', '.join(arrays)}")
        return arrays[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the registered arrays."""
        return tuple(self._arrays)

    def mask(self, mask: npt.ArrayLike | None) -> Mask:
        """A mask as one bool per actuator (and world).

        Raises:
            ValueError: it is not bool or has another shape.
        """
        full = (self._size,) if self._batch is None else (self._batch, self._size)
        if mask is None:
            return np.ones(full, np.bool_)
        array = np.asarray(mask)
        if array.dtype != np.bool_ or array.shape not in ((self._size,), full):
            raise ValueError(
                f"mask must be bool of shape {(self._size,)}, got {array.dtype} of {array.shape}"
            )
        return np.broadcast_to(array, full)

    def reset(self, mask: npt.ArrayLike | None = None) -> None:
        """Reset everything, or the actuators of a mask."""
        self.version += 1
        forgotten = {n: a for n, a in self._arrays.items() if n not in self._kept}
        if mask is None:
            for array in forgotten.values():
                array.fill(0)
            return
        chosen = self.mask(mask)
        for name, array in forgotten.items():
            axis = self._rows[name]
            if axis is not None:
                np.moveaxis(array, axis, 0)[chosen.reshape(-1)] = 0
            else:
                array[..., chosen] = 0

    def memory(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of every array."""
        return {name: array.copy() for name, array in self._arrays.items()}

    save = memory  # its name in earlier versions

    def restore(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore what `memory` returned.

        Raises:
            ValueError: it is the state of another kind of pipeline.
        """
        if self.fit is not None:
            saved = self.fit(saved)
        shapes = {n: a.shape for n, a in self._arrays.items()}
        other = {n: a.shape for n, a in saved.items()}
        if shapes != other:
            raise ValueError(f"the state is of another pipeline: {other}, this one has {shapes}")
        self.version += 1
        for name, array in saved.items():
            self._arrays[name][...] = array

    def assign(self, other: "State") -> None:
        """Copy another state into this one.

        Raises:
            ValueError: it is the state of another kind of pipeline.
        """
        self.restore(other._arrays)

    def copy(self) -> Self:
        """An independent copy."""
        made = type(self)(self._size, self._batch)
        for name, array in self._arrays.items():
            made.add(name, array.copy(), rows=self._rows[name], kept=name in self._kept)
        return made

    def __repr__(self) -> str:
        inner = ", ".join(f"{n}{list(a.shape)}" for n, a in self._arrays.items())
        return f"State({inner})"


# Gather -------------------------------------------------------------------------------------------
# Gather: collects scattered entries into one buffer, prepared once and run every step.


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


# Clip ---------------------------------------------------------------------------------------------
# Clip: min(max(x, low), high) as one call into a given array.
#
# `np.clip` is a Python function around a ufunc that numpy does not export; a law calls it at every
# step, where the wrapper costs more than the work.


def _in_two_calls(values: Array, low: Array, high: Array, out: Array) -> Array:
    np.maximum(values, low, out=out)
    np.minimum(out, high, out=out)
    return out


def _ufunc() -> Any:
    """The ufunc behind `np.clip`, wherever this numpy keeps it; two calls do the same."""
    for module in ("numpy._core.umath", "numpy.core.umath"):
        try:
            return import_module(module).clip
        except (ImportError, AttributeError):
            continue
    return _in_two_calls


#: clip(values, low, high, out); the upper bound wins, NaN stays NaN.
clip = _ufunc()
