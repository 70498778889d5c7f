"""TorqueSpeedCurve: a clamp with the driving and the braking limits of a geared motor."""

import math
from functools import partial

import numpy as np

from mjrig.components.laws.clamp import Bounds, Clamp
from mjrig.components.laws.space import Array, PipelineSpace
from mjrig.errors import PropertyError
from mjrig.properties.per_actuator import PerActuator, PerActuatorInput


class TorqueSpeedCurve(Clamp):
    """|τ| ≤ y1 while it drives (τ·v > 0), y2 while it brakes; both fade to 0 from x1 to x2.

    Up to the speed x1 the limits are whole; from there on y·(1 − (|v| − x1)/(x2 − x1)), and 0
    beyond x2: unlike `DCMotor`, a motor that is turned faster than x2 can neither drive nor brake.
    """

    any_space = True

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

    def _own_validate(self) -> None:
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

    def _own_enter(self, space: PipelineSpace) -> None:
        super()._own_enter(space)
        self._own_validate()
        self._x1 = space.motion_size(self.x1)
        self._driving = space.effort_size(self.y1)
        self._braking = space.effort_size(np.where(np.isnan(self.y2), self.y1, self.y2))
        with np.errstate(invalid="ignore"):  # inf − inf: no width
            width = space.motion_size(self.x2) - self._x1
        self._driving_slope, self._braking_slope = (
            self._slope(limit, width) for limit in (self._driving, self._braking)
        )
        self._over, self._drive, self._brake = (space.zeros() for _ in range(3))
        self._low, self._high = space.zeros(), space.zeros()
        self._zero = space.zeros()
        self._forward, self._backward = (np.zeros(space.shape, np.bool_) for _ in range(2))

    @staticmethod
    def _slope(limit: Array, width: Array) -> Array:
        """Change of a limit with the speed beyond x1; a limit that never fades has none."""
        fades = np.isfinite(width) & np.isfinite(limit)
        return np.where(fades, -limit / np.where(fades, width, 1.0), 0.0).astype(limit.dtype)

    def prepare_bounds(self, q: Array, qd: Array) -> Bounds:
        over, drive, brake, zero = self._over, self._drive, self._brake, self._zero
        low, high = self._low, self._high
        return (
            [
                partial(np.absolute, qd, over),
                partial(np.subtract, over, self._x1, over),
                partial(np.maximum, over, zero, out=over),
                partial(np.multiply, self._driving_slope, over, drive),
                partial(np.add, drive, self._driving, drive),
                partial(np.maximum, drive, zero, out=drive),
                partial(np.multiply, self._braking_slope, over, brake),
                partial(np.add, brake, self._braking, brake),
                partial(np.maximum, brake, zero, out=brake),
                partial(np.greater, qd, zero, self._forward),
                partial(np.less, qd, zero, self._backward),
                partial(np.copyto, high, brake),
                partial(np.copyto, high, drive, where=self._forward),
                partial(np.copyto, low, brake),
                partial(np.copyto, low, drive, where=self._backward),
                partial(np.negative, low, low),
            ],
            low,
            high,
        )

    def bound_slopes(self, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        low, high = self.bounds(q, qd)
        zero, sign = np.zeros_like(q), np.sign(qd)
        fading = np.abs(qd) > self._x1
        on_high = np.where(qd > 0.0, self._driving_slope, self._braking_slope) * sign
        on_low = -np.where(qd < 0.0, self._driving_slope, self._braking_slope) * sign
        return (
            zero,
            np.where(fading & (low < 0.0), on_low, 0.0),
            zero,
            np.where(fading & (high > 0.0), on_high, 0.0),
        )

    def why_not_compiled(self) -> str:
        return ""

    def why_not_native(self) -> str:
        return (
            "MuJoCo has no actuator limit that differs between driving and braking, "
            "as TorqueSpeedCurve's does"
        )
