"""State: the memory of a pipeline in one place, changed in place."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

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
