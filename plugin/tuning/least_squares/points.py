"""Points of a search: unknowns, their values, and residuals with derivatives around one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.simulated.plant import INERTIAL, PAYLOAD, Lags


@dataclass(frozen=True)
class Unknown:
    """An unknown: a parameter of one joint, its bounds and its scale.

    `place` is the joint; of bodies, one of the numbers of `inertial`. `prior` is the standard
    deviation around the scene's value, or `centre`, that is assumed beforehand; inf: nothing is.
    It counts `counted` times, as residuals do that are not independent of each other.
    """

    parameter: str
    place: int
    low: float
    high: float
    scale: float
    prior: float = np.inf
    centre: float | None = None
    counted: float = 1.0

    @property
    def is_of_joint(self) -> bool:
        """Whether it belongs to a joint, not to a body."""
        return self.parameter not in (INERTIAL, PAYLOAD)


@dataclass(frozen=True)
class Point:
    """Parameters (name → (n,)), delays (n,) and the initial state of every window."""

    values: dict[str, FloatArray]
    lags: Lags
    moves: FloatArray

    def get(self, unknowns: Sequence[Unknown]) -> FloatArray:
        """The values of some unknowns."""
        return np.array([self.values[u.parameter][u.place] for u in unknowns])

    def put(self, unknowns: Sequence[Unknown], values: FloatArray) -> "Point":
        """The same with unknowns at these values, clipped to their bounds."""
        changed = {name: array.copy() for name, array in self.values.items()}
        for unknown, value in zip(unknowns, values, strict=True):
            inside = min(max(float(value), unknown.low), unknown.high)
            changed[unknown.parameter][unknown.place] = inside
        return replace(self, values=changed)


@dataclass(frozen=True)
class Linearised:
    """Residuals around a point: r, dr/dθ and dr/dx0 of every window, in physical units.

    Shapes (samples, columns), (samples, columns, unknowns), (samples, columns, 2 dofs).
    """

    point: Point
    residuals: list[FloatArray]
    by_unknown: list[FloatArray]
    by_start: list[FloatArray]
