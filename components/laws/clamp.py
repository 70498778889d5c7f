"""Clamps: effort limits of real motors, stackable in any order."""

import math
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.clip import clip
from mjrig.components.laws.gather import Operation
from mjrig.components.laws.space import Array, PipelineSpace
from mjrig.errors import PropertyError
from mjrig.properties.component import Component
from mjrig.properties.hooks import check_filled, fills, required
from mjrig.properties.per_actuator import PerActuator, PerActuatorInput

T = TypeVar("T", bound=Component)
#: Calls that compute bounds, and the arrays that hold the lowest and highest effort afterwards.
Bounds = tuple[list[Operation], Array, Array]


def twin(part: T) -> T:
    """A copy of a part with its resolved values, unaffected by later changes."""
    made = object.__new__(type(part))
    made.__dict__.update(part.__dict__)  # values are replaced when they change, never written into
    return made


class Clamp(Component):
    """Base class of clamps: properties and `apply`, or `bounds`.

    A clamp that scales its parameters in `enter` sets `any_space`; one with only
    `apply` runs in joint units with its resolved properties.
    """

    any_space: ClassVar[bool] = False

    def _own_prepare(self) -> None:
        self._space: PipelineSpace | None = None
        #: Incremented with every change of the parameters: earlier programs are stale.
        self._revision = 0

    def use_space(self, space: PipelineSpace) -> None:
        """Scale the resolved parameters into a space; called again after every change of them."""
        self._space = space
        self._revision += 1
        self._own_enter(space)
        self.enter(space)

    def enter(self, space: PipelineSpace) -> None:
        """Hook: scale the resolved parameters into a space, and make arrays of its shape."""

    def _own_enter(self, space: PipelineSpace) -> None:
        """The base classes' own part of `enter`."""

    def _own_on_change(self, names: tuple[str, ...]) -> None:
        if self._space is not None and self._slots is not None:
            self.use_space(self._space)

    def prepare_bounds(self, q: Array, qd: Array) -> Bounds | None:
        """Hook: the bounds as calls on these very arrays; None: only `bounds` is implemented."""
        return None

    def bounds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Lowest and highest effort at this state."""
        prepared = self.prepare_bounds(q, qd)
        if prepared is None:
            raise NotImplementedError(f"{type(self).__name__} has no bounds(q, qd)")
        operations, low, high = prepared
        for operation in operations:
            operation()
        return low, high

    @required("bounds", "prepare_bounds")
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
        prepared = self.prepare_bounds(q, qd)
        overridden = type(self).apply is not Clamp.apply or type(self).bounds is not Clamp.bounds
        if prepared is None or overridden:
            if type(self).apply is Clamp.apply:  # swapped bounds would clamp without an error
                self._check_bounds(self.bounds(q, qd), effort)
            return [partial(apply_clamp, self, effort, q, qd, out)]
        operations, low, high = prepared
        return [*operations, partial(clip, effort, low, high, out)]

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
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def why_not_compiled(self) -> str:
        """Why the clamp has no compiled form; empty if it has."""
        return f"{type(self).__name__} is a Python clamp without a compiled form"

    def why_not_native(self) -> str:
        """Why the clamp has no MuJoCo form; empty if it has."""
        return f"MuJoCo has no actuator limit that does what {type(self).__name__} does"


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

    def _own_enter(self, space: PipelineSpace) -> None:
        super()._own_enter(space)
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

    def prepare_bounds(self, q: Array, qd: Array) -> Bounds:
        return [], self._low, self._high

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        zero = np.zeros_like(q)
        return zero, zero, zero, zero

    def why_not_compiled(self) -> str:
        return ""

    def why_not_native(self) -> str:
        return ""


class DCMotor(Clamp):
    """Torque-speed curve: hi = min(sat (1 − v/vlim), max), lo = max(−sat (1 + v/vlim), −max).

    The speed saturates at the corner speed vlim (1 + max/sat).
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

    def _own_enter(self, space: PipelineSpace) -> None:
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
        self._speed = space.zeros()
        # Both ends of the curve at once: 1 − v/vlim above, −1 − v/vlim below.
        self._ends = np.zeros((2, *space.shape), space.dtype)
        unbounded = np.full_like(self._max, np.inf)
        self._least = np.stack([-unbounded, self._minus_max]).reshape(2, *self._row(space))
        self._most = np.stack([self._max, unbounded]).reshape(2, *self._row(space))
        self._signs = np.array([1, -1], space.dtype).reshape(2, *(1 for _ in space.shape))

    @staticmethod
    def _row(space: PipelineSpace) -> tuple[int, ...]:
        """The shape of one value per actuator that fits arrays of the pipeline's shape."""
        return (*(1 for _ in space.shape[1:]), space.size)

    def prepare_bounds(self, q: Array, qd: Array) -> Bounds:
        speed, ends = self._speed, self._ends
        high, low = ends
        return (
            [
                partial(clip, qd, self._minus_corner, self._corner, speed),
                partial(np.divide, speed, self._limit, speed),
                partial(np.subtract, self._signs, speed, ends),
                partial(np.multiply, self._saturation, ends, ends),
                partial(clip, ends, self._least, self._most, ends),
            ],
            low,
            high,
        )

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
