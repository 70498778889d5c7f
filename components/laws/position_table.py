"""PositionTable: effort limits that depend on the joint position."""

from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.clamp import Bounds, Clamp
from mjrig.components.laws.gather import Operation
from mjrig.components.laws.space import Array, PipelineSpace
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Samples


class PositionTable(Clamp):
    """|τ| ≤ L(q), piecewise linear in the joint position, constant beyond the ends.

    One table for all actuators, or one each. At a repeated position the left value applies.
    """

    any_space = True

    positions = Samples(
        [],
        unit="rad",
        category="Table",
        doc="Joint positions, not decreasing; one row per actuator.",
    )
    efforts = Samples(
        [], min=0.0, unit="N·m", category="Table", doc="Largest effort at these positions."
    )

    def __init__(self, positions: npt.ArrayLike = (), efforts: npt.ArrayLike = ()) -> None:
        super().__init__()
        if np.size(positions) or np.size(efforts):
            self.assign({"positions": positions, "efforts": efforts})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a table from a text file: two columns, comma or blank, `#` comments.

        Raises:
            ValueError: it cannot be read, or is not such a table.
        """
        try:
            text = Path(path).read_text(encoding="utf-8").replace(",", " ")
            table = np.loadtxt(text.splitlines(), ndmin=2)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: not a table of positions and efforts: {error}") from error
        if table.shape[1:] != (2,):
            raise ValueError(f"{path}: must have two columns, got {table.shape[1]}")
        return cls(table[:, 0], table[:, 1])

    def _own_validate(self) -> None:
        x, y = self.positions, self.efforts
        if not self.is_authored("positions") or not self.is_authored("efforts"):
            return
        if x.shape != y.shape:
            raise PropertyError(
                f"{self.label}.efforts: must have the shape of positions {x.shape}, got {y.shape}",
                ("efforts",),
            )
        if x.shape[-1] < 2:
            raise PropertyError(
                f"{self.label}.positions: must have at least 2 values, got {x.shape[-1]}",
                ("positions",),
            )
        if (np.diff(x, axis=-1) < 0.0).any():
            raise PropertyError(f"{self.label}.positions: must not decrease", ("positions",))

    def _own_enter(self, space: PipelineSpace) -> None:
        super()._own_enter(space)
        x, y = self.positions, self.efforts
        if not x.size or not y.size:
            raise PropertyError(f"{self.label}: needs positions and efforts", ("positions",))
        if x.ndim == 2 and x.shape[0] != space.size:
            raise PropertyError(
                f"{self.label}.positions: must have {space.size} rows, one per actuator, "
                f"got {x.shape[0]}",
                ("positions",),
            )
        rows = np.broadcast_to(x, (space.size, x.shape[-1]))
        limits = np.broadcast_to(y, rows.shape)
        factor = np.broadcast_to(space.factor, (space.size,))[:, None]
        # A negative gear reverses the table.
        self._x = np.where(factor < 0.0, (rows * factor)[:, ::-1], rows * factor).astype(
            space.dtype
        )
        scaled = limits / np.abs(factor)
        self._y = np.where(factor < 0.0, scaled[:, ::-1], scaled).astype(space.dtype)
        self._prepare_lookup(space)

    def _prepare_lookup(self, space: PipelineSpace) -> None:
        """Lookup table by segment: c points lie below a position, segment c has its limit.

        Columns of a segment: where it begins, its width, its limit there and its rise. Segment 0 is
        before the first point and the last one from the last point on: both are constant.
        """
        x, y = self._x, self._y
        width, level = np.diff(x, axis=1), np.zeros((len(x), 1), x.dtype)
        wide = np.full_like(level, np.inf)  # no share of it is ever taken
        self._segments = np.stack(
            [
                np.hstack([x[:, :1], x]),
                np.hstack([wide, np.where(width > 0.0, width, np.inf), wide]),
                np.hstack([y[:, :1], y]),
                np.hstack([level, np.diff(y, axis=1), level]),
            ]
        ).astype(space.dtype)
        first, last = x[:, :1], x[:, -1:]
        # The last point has its own limit: it counts as passed at the point, not only beyond it.
        passed = (x == last) & (last > first)
        self._points = np.where(passed, np.nextafter(last, -np.inf, dtype=x.dtype), x)
        self._shared = len(x) > 0 and bool((self._segments == self._segments[:, :1]).all())
        self._count = np.zeros(space.shape, np.intp)
        self._below = np.zeros((*space.shape, x.shape[1]), np.bool_)
        self._first = np.arange(space.size) * (x.shape[1] + 1)
        self._found = np.zeros((4, *space.shape), space.dtype)
        self._negative = space.zeros()

    def _count_points(self, q: Array) -> list[Operation]:
        """Calls that write the segment index of each position to `_count`."""
        count = self._count
        if self._shared:
            points = self._points[0].copy()
            return [lambda: count.__setitem__(..., points.searchsorted(q))]
        return [
            partial(np.less, self._points, q[..., None], self._below),
            lambda: np.add.reduce(self._below, -1, np.intp, out=count),
            partial(np.add, count, self._first, count),
        ]

    def prepare_bounds(self, q: Array, qd: Array) -> Bounds:
        segments = self._segments[:, 0] if self._shared else self._segments.reshape(4, -1)
        begin, width, limit, rise = found = self._found
        return (
            [
                *self._count_points(q),
                partial(segments.copy().take, self._count, 1, found, "clip"),
                partial(np.subtract, q, begin, begin),
                partial(np.divide, begin, width, begin),
                partial(np.multiply, begin, rise, rise),
                partial(np.add, limit, rise, limit),
                partial(np.negative, limit, self._negative),
            ],
            self._negative,
            limit,
        )

    def limit(self, q: Array) -> Array:
        """L(q)."""
        return self.bounds(q, q)[1].copy()

    def _segment(self, q: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Index of the segment left of each position, its width and its rise."""
        rows = np.arange(len(self._x))
        k = np.clip((self._x < q[..., None]).sum(axis=-1) - 1, 0, self._x.shape[1] - 2)
        width = self._x[rows, k + 1] - self._x[rows, k]
        rise = self._y[rows, k + 1] - self._y[rows, k]
        return k, width, rise

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        _, width, rise = self._segment(q)
        inside = (q > self._x[:, 0]) & (q < self._x[:, -1]) & (width > 0.0)
        slope = np.where(inside, rise / np.where(width > 0.0, width, 1.0), 0.0)
        zero = np.zeros_like(slope)
        return -slope, zero, slope, zero

    def why_not_compiled(self) -> str:
        return ""
