"""Clamps: effort limits of real motors by speed, position or a maximum, in any order."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.equations import (
    CurveLimit,
    LineLimit,
    Segment,
    motor_curve,
    motor_line,
    table_limit,
)
from mjrig.components.laws.law import PipelinePart
from mjrig.components.laws.pipeline_arrays import Array, Operation, PipelineSpace, clip
from mjrig.components.laws.tracing import Symbol, TracedProgram, UpdateStage, derivatives, looked_up
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Samples
from mjrig.core.properties.component import Component
from mjrig.core.properties.hooks import check_filled, fills, required
from mjrig.core.properties.per_actuator import PerActuator, PerActuatorInput

# Clamp --------------------------------------------------------------------------------------------
# Clamps: effort limits of real motors, stackable in any order.


T = TypeVar("T", bound=Component)


def twin(part: T) -> T:
    """A copy of a part with its resolved values, unaffected by later changes."""
    made = object.__new__(type(part))
    made.__dict__.update(part.__dict__)  # values are replaced when they change, never written into
    return made


class Clamp(PipelinePart):
    """Base class of clamps: properties, and an `equation`, `bounds` or `apply`."""

    _computing = ("equation", "bounds", "apply", "program")

    def prepare(self) -> None:
        super().prepare()
        #: The bounds as symbols, and their calls, of the parameters of a revision.
        self._traced: tuple[int, tuple[tuple[Any, Any], TracedProgram]] | None = None

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        """Hook: the lowest and the highest effort as expressions of position and velocity.

        It is evaluated with arrays, and once for all steps: with operators and functions of numpy,
        without branches on what changes.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bounds(q, qd)")

    def _trace(self) -> tuple[tuple[Any, Any], TracedProgram]:
        if self._traced is None or self._traced[0] != self._revision:
            space = self._space
            assert space is not None
            low, high = self.equation(
                *(Symbol(space.shape, space.dtype, name=name) for name in ("q", "qd"))
            )
            self._traced = self._revision, ((low, high), TracedProgram([low, high]))
        return self._traced[1]

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Lowest and highest effort at this state."""
        return self.equation(q, qd)

    @required("equation", "bounds")
    @fills("out")
    def apply(self, effort: Array, q: Array, qd: Array, out: Array) -> None:
        """Write the clamped effort to `out`, which may be `effort` itself."""
        bounds = self.bounds(q, qd)
        try:
            clip(effort, *bounds, out)
        except (TypeError, ValueError):
            self._check_bounds(bounds, out)
            raise

    def _check_bounds(self, bounds: object, effort: Array) -> None:
        """Reject what `bounds` returned if it is not a lowest and a highest effort.

        Raises:
            PropertyError: it is something else, of another shape, or the two are swapped.
        """
        problem = ""
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            problem = f"returned {bounds!r:.60}"
        else:
            try:
                low, high = (np.broadcast_to(np.asarray(b, float), effort.shape) for b in bounds)
            except (TypeError, ValueError):
                shapes = " and ".join(str(np.shape(b)) for b in bounds)
                problem = f"returned values of shape {shapes} for efforts of shape {effort.shape}"
            else:
                if swapped := np.flatnonzero(low > high).tolist():
                    problem = f"returned a lowest effort above the highest, at index {swapped[0]}"
        if problem:
            raise PropertyError(
                f"{self.label}: {type(self).__name__}.bounds {problem}; return (lowest, highest) "
                "effort, each a number or one value per actuator"
            )

    def program(self, effort: Array, q: Array, qd: Array, out: Array) -> list[Operation]:
        """`apply` as calls that hold these very arrays, until a parameter changes."""
        if type(self).apply is not Clamp.apply or type(self).bounds is not Clamp.bounds:
            if type(self).apply is Clamp.apply:  # swapped bounds would clamp without an error
                self._check_bounds(self.bounds(q, qd), effort)
            return [partial(apply_clamp, self, effort, q, qd, out)]
        calls, (low, high) = self._trace()[1].bind({"q": q, "qd": qd})
        return [*calls[UpdateStage.STEP], partial(clip, effort, low, high, out)]

    def over_rows(self, rows: int) -> Self:
        """A copy that applies to arrays (rows, n)."""
        made = twin(self)
        assert self._space is not None
        made.use_space(replace(self._space, batch=rows))
        return made

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        """∂low/∂q, ∂low/∂qd, ∂high/∂q, ∂high/∂qd.

        Raises:
            NotImplementedError: the clamp has none.
        """
        if type(self).apply is not Clamp.apply or type(self).bounds is not Clamp.bounds:
            raise NotImplementedError(f"{type(self).__name__} has no derivative")
        bounds, inputs = self._trace()[0], {"q": q, "qd": qd}
        (low_q, high_q), (low_qd, high_qd) = (derivatives(bounds, inputs, n) for n in inputs)
        return low_q, low_qd, high_q, high_qd

    def why_not_compiled(self) -> str:
        """Why the clamp has no compiled form; empty if it has."""
        has_form = self._has_form("compiled")
        return (
            "" if has_form else f"{type(self).__name__} is a Python clamp without a compiled form"
        )

    def why_not_native(self) -> str:
        """Why the clamp has no MuJoCo form; empty if it has."""
        name, has_form = type(self).__name__, self._has_form("native")
        return "" if has_form else f"MuJoCo has no actuator limit that does what {name} does"


def apply_clamp(clamp: Clamp, effort: Array, q: Array, qd: Array, out: Array) -> None:
    """Let a clamp write the clamped effort to `out`, which may be `effort` itself.

    Raises:
        PropertyError: it returned the effort instead.
    """
    result = clamp.apply(effort, q, qd, out)
    if result is not None:
        check_filled(clamp, "apply", result, out)


def acted_counter(
    raw: Array, before: Array, after: Array, count: npt.NDArray[np.int64]
) -> Operation:
    """Count the actuators a clamp acted on; comparing bytes is the cheapest way to see none."""

    def look() -> None:
        if before.tobytes() != after.tobytes():
            count_acted(raw, before, after, count)

    return look


def count_acted(raw: Array, before: Array, after: Array, count: npt.NDArray[np.int64]) -> None:
    """Count where a clamp acted; a raw effort that is not finite is held back instead."""
    np.add(count, (before != after) & np.isfinite(raw), count)


class MaxEffort(Clamp):
    """min_effort ≤ τ ≤ max_effort; without min_effort the range is symmetric."""

    any_space = True
    _forms = ("compiled", "native")

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

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
        self.load_limits(np.where(np.isnan(self.min_effort), -self.max_effort, self.min_effort),
                         self.max_effort)  # fmt: skip

    def load_limits(self, low: Array, high: Array) -> None:
        """Take limits given in joint units."""
        space = self._space
        assert space is not None
        self._revision += 1
        a, b = space.effort(low), space.effort(high)
        self._low, self._high = np.minimum(a, b), np.maximum(a, b)

    def narrow(self, size: float) -> None:
        """Allow no more than ±size, in the units of the space."""
        self._low, self._high = np.maximum(self._low, -size), np.minimum(self._high, size)

    def over_rows(self, rows: int) -> Self:
        return self  # its limits are (n,) whatever they are applied to

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        return self._low, self._high


class DCMotor(Clamp):
    """Torque-speed curve: hi = min(sat (1 − v/vlim), max), lo = max(−sat (1 + v/vlim), −max).

    The speed saturates at the corner speed vlim (1 + max/sat).
    """

    any_space = True
    _forms = ("compiled", "native")

    saturation_effort = PerActuator(
        constant=math.inf, min=0.0, unit="N·m", category="Motor", doc="Stall effort."
    )
    velocity_limit = PerActuator(
        constant=math.inf,
        min=0.0,
        above=True,
        unit="rad/s",
        category="Motor",
        doc="No-load speed.",
    )
    max_effort = PerActuator(
        constant=math.inf, min=0.0, unit="N·m", category="Motor", doc="Continuous effort limit."
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

    def validate(self) -> None:
        if self._slots is not None:
            bad = np.isinf(self.saturation_effort) & np.isfinite(self.velocity_limit)
            if bad.any():
                name = self._slots.names[int(bad.argmax())]
                raise PropertyError(
                    f"{self.label}.saturation_effort: must be finite where velocity_limit is, "
                    f"got inf for {name!r}",
                    ("saturation_effort",),
                )

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
        DCMotor.validate(self)
        saturation, most = (space.effort_size(v) for v in (self.saturation_effort, self.max_effort))
        limit = space.motion_size(self.velocity_limit)
        one = np.ones(1, space.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = most / saturation
            corner = limit * (one + ratio)
        plain = (saturation > 0.0) & ~np.isnan(ratio)
        #: The upper end of the range.
        self._line = LineLimit(
            one, -np.inf, most, saturation, limit, np.where(plain, corner, limit)
        )
        # One call for both ends: arrays (2, …, n), the upper end first.
        unbounded, ones = np.full_like(most, np.inf), [1] * (len(space.shape) - 1)
        self._ends = self._line._replace(
            sign=np.array([1, -1], space.dtype).reshape(2, *ones, 1),
            least=np.stack([-unbounded, -most]).reshape(2, *ones, space.size),
            most=np.stack([most, unbounded]).reshape(2, *ones, space.size),
        )

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        ends = motor_line(self._ends, qd)
        return ends[1], ends[0]


# Torque speed curve -------------------------------------------------------------------------------
# TorqueSpeedCurve: a clamp with the driving and the braking limits of a geared motor.


class TorqueSpeedCurve(Clamp):
    """|τ| ≤ y1 while it drives (τ·v > 0), y2 while it brakes; both fade to 0 from x1 to x2.

    Up to the speed x1 the limits are whole; from there on y·(1 − (|v| − x1)/(x2 − x1)), and 0
    beyond x2: unlike `DCMotor`, a motor that is turned faster than x2 can neither drive nor brake.
    """

    any_space = True
    _forms = ("compiled",)

    x1 = PerActuator(
        constant=math.inf,
        min=0.0,
        unit="rad/s",
        category="Motor",
        doc="Highest speed at full effort; not given: at any speed.",
    )
    x2 = PerActuator(
        constant=math.inf, min=0.0, unit="rad/s", category="Motor", doc="Speed without effort."
    )
    y1 = PerActuator(
        constant=math.inf,
        min=0.0,
        unit="N·m",
        category="Motor",
        doc="Largest effort in the direction of motion.",
    )
    y2 = PerActuator(
        constant=math.nan,
        min=0.0,
        unit="N·m",
        category="Motor",
        doc="Largest effort against the motion, and at rest; not given: y1.",
    )

    def __init__(
        self,
        x1: PerActuatorInput = math.inf,
        x2: PerActuatorInput = math.inf,
        y1: PerActuatorInput = math.inf,
        y2: PerActuatorInput = None,
    ) -> None:
        super().__init__(x1=x1, x2=x2, y1=y1)
        if y2 is not None:
            self.assign({"y2": y2})

    def validate(self) -> None:
        if self._slots is None:
            return
        fades = np.isfinite(self.x2)
        for name, bad, wanted in (
            ("x2", (self.x1 >= self.x2) & (fades | np.isfinite(self.x1)), "must be above x1"),
            ("y1", fades & np.isinf(self.y1), "must be finite where x2 is"),
        ):
            if bad.any():
                i = int(bad.argmax())
                value = self.__dict__[name][i]
                raise PropertyError(
                    f"{self.label}.{name}: {wanted}, got {value:g} for {self._slots.names[i]!r}",
                    (name,),
                )

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
        TorqueSpeedCurve.validate(self)
        x1, driving = space.motion_size(self.x1), space.effort_size(self.y1)
        braking = space.effort_size(np.where(np.isnan(self.y2), self.y1, self.y2))
        with np.errstate(invalid="ignore"):  # inf − inf: no width
            width = space.motion_size(self.x2) - x1
        fading = (self._slope(limit, width) for limit in (driving, braking))
        self._curve = CurveLimit(x1, driving, braking, *fading)

    @staticmethod
    def _slope(limit: Array, width: Array) -> Array:
        """Change of a limit with the speed beyond x1; a limit that never fades has none."""
        fades = np.isfinite(width) & np.isfinite(limit)
        return np.where(fades, -limit / np.where(fades, width, 1.0), 0.0).astype(limit.dtype)

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        return motor_curve(self._curve, qd)

    def why_not_native(self) -> str:
        return (
            "MuJoCo has no actuator limit that differs between driving and braking, "
            "as TorqueSpeedCurve's does"
        )


# Position table -----------------------------------------------------------------------------------
# PositionTable: effort limits that depend on the joint position.


class PositionTable(Clamp):
    """|τ| ≤ L(q), piecewise linear in the joint position, constant beyond the ends.

    One table for all actuators, or one each. At a repeated position the left value applies.
    """

    any_space = True
    _forms = ("compiled",)

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

    def validate(self) -> None:
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

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
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
                np.hstack([wide, width, wide]),
                np.hstack([y[:, :1], y]),
                np.hstack([level, np.diff(y, axis=1), level]),
            ]
        ).astype(space.dtype)
        first, last = x[:, :1], x[:, -1:]
        # The last point has its own limit: it counts as passed at the point, not only beyond it.
        passed = (x == last) & (last > first)
        self._points = np.where(passed, np.nextafter(last, -np.inf, dtype=x.dtype), x)
        self._shared = len(x) > 0 and bool((self._segments == self._segments[:, :1]).all())

    def _look_up(self, arguments: Sequence[Array], out: Array) -> list[Operation]:
        """Calls that write the columns of the segment of each position to `out`."""
        (q,) = arguments
        count = np.zeros(q.shape, np.intp)
        if self._shared:
            points = self._points[0]
            return [
                lambda: count.__setitem__(..., points.searchsorted(q)),
                partial(self._segments[:, 0].copy().take, count, 1, out, "clip"),
            ]
        below = np.zeros((*q.shape, self._points.shape[1]), np.bool_)
        first = np.arange(len(self._points)) * self._segments.shape[2]
        return [
            partial(np.less, self._points, q[..., None], below),
            lambda: np.add.reduce(below, -1, np.intp, out=count),
            partial(np.add, count, first, count),
            partial(self._segments.reshape(4, -1).take, count, 1, out, "clip"),
        ]

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        columns = looked_up(self._look_up, (4, *q.shape), q.dtype, q)
        limit = table_limit(Segment(*(columns[k] for k in range(4))), q)
        return -limit, limit

    def limit(self, q: Array) -> Array:
        """L(q)."""
        high: Array = self.equation(q, q)[1]
        return high
