"""PipelineSpace: number of actuators, precision and units of a pipeline."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

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
