"""Feedback laws: PD and PID."""

import math
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.components.laws.equations import (
    Gains,
    advanced_integral,
    pd,
    pd_textbook,
    pid,
    pid_textbook,
)
from mjrig.components.laws.law import Law, LawInputs
from mjrig.components.laws.pipeline_arrays import Array, PipelineSpace, State
from mjrig.components.laws.tracing import Symbol, UpdateStage
from mjrig.core.properties.per_actuator import PerActuator, PerActuatorInput
from mjrig.core.properties.scalar_kinds import Choice


class SumOrder(StrEnum):
    """Summation order of a law in float64."""

    ENGINE = "engine"
    TEXTBOOK = "textbook"


class PD(Law):
    """τ = const + ff + kp (q* − q) + kv (v* − v)  [N·m or N].

    In float64 the sum is bracketed as in MuJoCo, so that a lowered controller is bit-identical:
    `((kp·q* + kv·v*) + (ff + const)) + ((−kp)·q + (−kv)·v)`. In float32 it is summed from left
    to right, as training stacks do: `const + ff + kp·(q*−q) + kv·(v*−v)`; with
    `order: textbook` in float64 too.
    """

    any_space = True
    _forms = ("compiled", "native")

    kp = PerActuator(min=0.0, finite=True, unit="N·m/rad", category="Gains", doc="Stiffness.")
    kv = PerActuator(min=0.0, finite=True, unit="N·m·s/rad", category="Gains", doc="Damping.")
    constant_effort = PerActuator(
        finite=True, unit="N·m", category="Gains", doc="Constant effort added to the law."
    )
    order = Choice(
        SumOrder.ENGINE,
        structural=True,
        category="Numerics",
        doc="textbook: sum from left to right, as training stacks do; never native.",
    )

    def __init__(
        self,
        kp: PerActuatorInput = 0.0,
        kv: PerActuatorInput = 0.0,
        constant_effort: PerActuatorInput = 0.0,
        order: SumOrder | str = SumOrder.ENGINE,
    ) -> None:
        given = {} if order == SumOrder.ENGINE else {"order": str(order)}
        super().__init__(kp=kp, kv=kv, constant_effort=constant_effort, **given)

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
        #: The gains that programs hold, so that new values need no new program.
        self._live = Gains(*(np.zeros(space.size, space.dtype) for _ in Gains._fields))
        self._is_textbook = space.dtype == np.float32 or self.order is SumOrder.TEXTBOOK
        self.load_gains(self.kp, self.kv, self.constant_effort)

    def load_gains(self, kp: Array, kv: Array, constant_effort: Array) -> None:
        """Set gains given in joint units; `command` must follow."""
        space = self._space
        assert space is not None
        constant, zero = space.effort(constant_effort), np.zeros(1)
        self._take(Gains(space.gain(kp), space.gain(kv), constant, zero, zero))

    def _take(self, gains: Gains) -> None:
        self._gains = gains
        for array, values in zip(self._live, gains, strict=True):
            array[:] = values

    def needs(self) -> dict[str, str]:
        gains = (("target_q", "ki"), ("target_q", "kp"), ("target_qd", "kv"))
        return {target: gain for target, gain in gains if getattr(self._gains, gain).any()}

    def equation(self, x: LawInputs) -> Any:
        return (pd_textbook if self._is_textbook else pd)(self._symbols(), x)

    def _symbols(self) -> Gains:
        return Gains(*(Symbol.of(array, UpdateStage.PARAMETERS) for array in self._live))

    def why_not_native(self) -> str:
        if self.order is SumOrder.TEXTBOOK:
            return "order: textbook is not the order MuJoCo sums in"
        return super().why_not_native()


class PID(PD):
    """τ = const + ff + kp (q* − q) + ki ∫(q* − q) dt + kv (v* − v)  [N·m or N].

    The integral is advanced first and then used, `I ← clamp(I + e·dt, ±integral_max)`; the clamp of
    the integral is the anti-windup. `+ ki·I` follows the feedforward in the order of PD.
    """

    _forms = ("compiled", "native")

    ki = PerActuator(
        min=0.0, finite=True, unit="N·m/(rad·s)", category="Gains", doc="Integral gain."
    )
    integral_max = PerActuator(
        constant=math.inf,
        min=0.0,
        unit="rad·s",
        category="Gains",
        doc="Limit of the integral (anti-windup).",
    )

    def __init__(
        self,
        kp: PerActuatorInput = 0.0,
        ki: PerActuatorInput = 0.0,
        kv: PerActuatorInput = 0.0,
        integral_max: PerActuatorInput = math.inf,
        constant_effort: PerActuatorInput = 0.0,
        order: SumOrder | str = SumOrder.ENGINE,
    ) -> None:
        super().__init__(kp, kv, constant_effort, order)
        self.assign({"ki": ki, "integral_max": integral_max})

    def enter(self, space: PipelineSpace) -> None:
        self._is_bounded = False
        super().enter(space)
        self.load_integral(self.ki, self.integral_max)

    def load_integral(self, ki: Array, integral_max: Array) -> None:
        """Set the integral's parameters given in joint units."""
        space = self._space
        assert space is not None
        high = space.motion_size(integral_max)
        self._take(self._gains._replace(ki=space.gain(ki), integral_max=high))
        if (is_bounded := bool(np.isfinite(high).any())) != self._is_bounded:
            self._is_bounded = is_bounded
            self._revision += 1

    def check_dt(self, dt: float | None) -> None:
        if dt is None or not (math.isfinite(dt) and dt >= 0.0):
            raise ValueError(f"PID needs dt, the time since its last step [s]; got {dt}")

    def remember(self, state: State, space: PipelineSpace) -> None:
        state.add("integral", space.zeros())

    def equation(self, x: LawInputs) -> Any:
        gains = self._symbols()
        if not self._is_bounded:  # one call less
            gains = gains._replace(integral_max=self._gains.integral_max)
        integral = x.keep("integral", advanced_integral(gains, x, x.memory("integral")))
        return (pid_textbook if self._is_textbook else pid)(gains, x, integral)
