"""Clamps: what a motor can really give. Stackable in any order."""

import math
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.space import Array, Space
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Samples
from mjrig.properties.component import Component
from mjrig.properties.per_actuator import PerActuator, PerActuatorInput

T = TypeVar("T", bound=Component)


def twin(part: T) -> T:
    """A part as it is now, resolved values included, which later changes do not reach."""
    made = object.__new__(type(part))
    made.__dict__.update(part.__dict__)  # values are replaced when they change, never written into
    return made


class Clamp(Component):
    """The base of clamps: one class with properties and `apply`, or with `bounds`.

    A clamp that scales its parameters in `enter` says so with `any_space`; one that is nothing but
    `apply` runs in joint units with its resolved properties.
    """

    any_space: ClassVar[bool] = False

    def _own_prepare(self) -> None:
        self._space: Space | None = None

    def use_space(self, space: Space) -> None:
        """Take the resolved parameters into a space; called again after every change of them."""
        self._space = space
        self._own_enter(space)
        self.enter(space)

    def enter(self, space: Space) -> None:
        """Hook: scale the resolved parameters into a space, and make arrays of its shape."""

    def _own_enter(self, space: Space) -> None:
        """The base classes' own part of `enter`."""

    def _own_on_change(self, names: tuple[str, ...]) -> None:
        if self._space is not None and self._slots is not None:
            self.use_space(self._space)

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Lowest and highest effort at this state."""
        raise NotImplementedError

    def apply(self, effort: Array, q: Array, qd: Array, out: Array) -> None:
        """Write the effort that is left to `out`, which may be `effort` itself."""
        low, high = self.bounds(q, qd)
        np.maximum(effort, low, out=out)
        np.minimum(out, high, out=out)

    def over_rows(self, rows: int) -> Self:
        """A twin that applies to arrays (rows, n)."""
        made = twin(self)
        assert self._space is not None
        made.use_space(replace(self._space, batch=rows))
        return made

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        """∂low/∂q, ∂low/∂qd, ∂high/∂q, ∂high/∂qd.

        Raises:
            NotImplementedError: the clamp has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def why_not_compiled(self) -> str:
        """Why the clamp has no compiled form; empty if it has."""
        return f"{type(self).__name__} is a Python clamp without a compiled form"

    def why_not_native(self) -> str:
        """Why the clamp has no MuJoCo form; empty if it has."""
        return f"MuJoCo has no actuator limit that does what {type(self).__name__} does"


class MaxEffort(Clamp):
    """min_effort ≤ τ ≤ max_effort; without min_effort the range is symmetric."""

    any_space = True

    max_effort = PerActuator(
        constant=math.inf, min=0.0, unit="N·m", category="Limits", doc="Largest effort."
    )
    min_effort = PerActuator(
        constant=math.nan,
        max=0.0,
        unit="N·m",
        category="Limits",
        doc="Smallest effort, negative; not given: −max_effort.",
    )

    def __init__(
        self, max_effort: PerActuatorInput = math.inf, min_effort: PerActuatorInput = None
    ) -> None:
        super().__init__(max_effort=max_effort)
        if min_effort is not None:
            self.assign({"min_effort": min_effort})

    def _own_enter(self, space: Space) -> None:
        super()._own_enter(space)
        self.load_limits(np.where(np.isnan(self.min_effort), -self.max_effort, self.min_effort),
                         self.max_effort)  # fmt: skip

    def load_limits(self, low: Array, high: Array) -> None:
        """Take limits given in joint units."""
        space = self._space
        assert space is not None
        a, b = space.effort(low), space.effort(high)
        self._low, self._high = np.minimum(a, b), np.maximum(a, b)

    def over_rows(self, rows: int) -> Self:
        return self  # its limits are (n,) whatever they are applied to

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        return self._low, self._high

    def apply(self, effort: Array, q: Array, qd: Array, out: Array) -> None:
        np.maximum(effort, self._low, out=out)
        np.minimum(out, self._high, out=out)

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        zero = np.zeros_like(q)
        return zero, zero, zero, zero

    def why_not_compiled(self) -> str:
        return ""

    def why_not_native(self) -> str:
        return ""


class DCMotor(Clamp):
    """Torque-speed curve: hi = min(sat (1 − v/vlim), max), lo = max(−sat (1 + v/vlim), −max).

    Beyond the corner speed vlim (1 + max/sat) the speed counts as the corner speed.
    """

    any_space = True

    saturation_effort = PerActuator(
        constant=math.inf, min=0.0, unit="N·m", category="Motor", doc="Stall effort."
    )
    velocity_limit = PerActuator(
        constant=math.inf,
        min=0.0,
        above=True,
        unit="rad/s",
        category="Motor",
        doc="Speed without load.",
    )
    max_effort = PerActuator(
        constant=math.inf, min=0.0, unit="N·m", category="Motor", doc="Largest effort."
    )

    def __init__(
        self,
        saturation_effort: PerActuatorInput = math.inf,
        velocity_limit: PerActuatorInput = math.inf,
        max_effort: PerActuatorInput = math.inf,
    ) -> None:
        super().__init__(
            saturation_effort=saturation_effort,
            velocity_limit=velocity_limit,
            max_effort=max_effort,
        )

    def _own_validate(self) -> None:
        if self._slots is not None:
            bad = np.isinf(self.saturation_effort) & np.isfinite(self.velocity_limit)
            if bad.any():
                name = self._slots.names[int(bad.argmax())]
                raise PropertyError(
                    f"{self.label}.saturation_effort: must be finite where velocity_limit is, "
                    f"got inf for {name!r}",
                    ("saturation_effort",),
                )

    def _own_enter(self, space: Space) -> None:
        super()._own_enter(space)
        self._own_validate()
        self._saturation = space.effort_size(self.saturation_effort)
        self._limit = space.motion_size(self.velocity_limit)
        self._max = space.effort_size(self.max_effort)
        one = np.ones(1, space.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self._max / self._saturation
            corner = self._limit * (one + ratio)
        plain = (self._saturation > 0.0) & ~np.isnan(ratio)
        self._corner = np.where(plain, corner, self._limit)
        self._minus_corner, self._minus_max = -self._corner, -self._max
        self._speed, self._low, self._high = (space.zeros() for _ in range(3))

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        speed, low, high = self._speed, self._low, self._high
        np.maximum(qd, self._minus_corner, out=speed)
        np.minimum(speed, self._corner, out=speed)
        np.divide(speed, self._limit, out=speed)
        np.subtract(1, speed, out=high)
        np.multiply(self._saturation, high, out=high)
        np.minimum(high, self._max, out=high)
        np.subtract(-1, speed, out=low)
        np.multiply(self._saturation, low, out=low)
        np.maximum(low, self._minus_max, out=low)
        return low, high

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        low, high = self.bounds(q, qd)
        zero = np.zeros_like(q)
        inside = np.abs(qd) < self._corner
        slope = np.where(inside, -self._saturation / self._limit, 0.0)
        slope = np.where(np.isnan(slope), 0.0, slope)
        on_low, on_high = low > self._minus_max, high < self._max
        return zero, np.where(on_low, slope, 0.0), zero, np.where(on_high, slope, 0.0)

    def why_not_compiled(self) -> str:
        return ""

    def why_not_native(self) -> str:
        return ""


class PositionTable(Clamp):
    """|τ| ≤ L(q), piecewise linear in the joint position, constant beyond the ends.

    One table for all actuators, or one each. At a position that stands twice the left value counts.
    """

    any_space = True

    positions = Samples(
        [], unit="rad", category="Table", doc="Joint positions, not decreasing; one row each."
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
            ValueError: it cannot be read, or is no such table.
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

    def _own_enter(self, space: Space) -> None:
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
        # A negative gear turns the table round.
        self._x = np.where(factor < 0.0, (rows * factor)[:, ::-1], rows * factor).astype(
            space.dtype
        )
        scaled = limits / np.abs(factor)
        self._y = np.where(factor < 0.0, scaled[:, ::-1], scaled).astype(space.dtype)
        self._rows = np.arange(space.size)

    def _segment(self, q: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Index of the segment left of each position, its width and its rise."""
        k = np.clip((self._x < q[..., None]).sum(axis=-1) - 1, 0, self._x.shape[1] - 2)
        width = self._x[self._rows, k + 1] - self._x[self._rows, k]
        rise = self._y[self._rows, k + 1] - self._y[self._rows, k]
        return k, width, rise

    def limit(self, q: Array) -> Array:
        """L(q)."""
        k, width, rise = self._segment(q)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(width > 0.0, (q - self._x[self._rows, k]) / width, 0.0)
            inside = self._y[self._rows, k] + share.astype(q.dtype) * rise
        last = q >= self._x[:, -1]
        found: Array = np.where(
            q <= self._x[:, 0], self._y[:, 0], np.where(last, self._y[:, -1], inside)
        )
        return found

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        limit = self.limit(q)
        return -limit, limit

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        _, width, rise = self._segment(q)
        inside = (q > self._x[:, 0]) & (q < self._x[:, -1]) & (width > 0.0)
        slope = np.where(inside, rise / np.where(width > 0.0, width, 1.0), 0.0)
        zero = np.zeros_like(slope)
        return -slope, zero, slope, zero

    def why_not_compiled(self) -> str:
        return ""
