"""Feedback laws: PD and PID."""

import math
from enum import StrEnum
from functools import partial

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.law import Law, Slopes, commit
from mjrig.components.laws.pipeline_arrays import Array, Operation, PipelineSpace, State, clip
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
        self._scratch = [space.zeros() for _ in range(3)]
        left_to_right = space.dtype == np.float32 or self.order is SumOrder.TEXTBOOK
        if left_to_right:
            self._take, self._sum = self._take_left_to_right, self._sum_left_to_right
        else:
            self._take, self._sum = self._take_as_engine, self._sum_as_engine
        self.load_gains(self.kp, self.kv, self.constant_effort)

    def load_gains(self, kp: Array, kv: Array, constant_effort: Array) -> None:
        """Set gains given in joint units; `command` must follow."""
        space = self._space
        assert space is not None
        self._revision += 1
        self._kp, self._kv = space.gain(kp), space.gain(kv)
        self._minus_kp, self._minus_kv = -self._kp, -self._kv
        self._constant = space.effort(constant_effort)
        self._needs = {
            **({"target_q": "kp"} if self._kp.any() else {}),
            **({"target_qd": "kv"} if self._kv.any() else {}),
        }

    def needs(self) -> dict[str, str]:
        return self._needs

    def command(self, target_q: Array, target_qd: Array, feedforward: Array) -> None:
        self._targets = (target_q, target_qd, feedforward)
        self._take()

    def program(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> list[Operation]:
        return self._sum(q, qd, out)

    # ((kp·q* + kv·v*) + (ff + const)) + ((−kp)·q + (−kv)·v): the first half is precomputed

    def _take_as_engine(self) -> None:
        target_q, target_qd, feedforward = self._targets
        commanded, b, _ = self._scratch
        np.multiply(self._kp, target_q, commanded)
        np.multiply(self._kv, target_qd, b)
        np.add(commanded, b, commanded)
        np.add(feedforward, self._constant, b)
        np.add(commanded, b, commanded)

    def _sum_as_engine(self, q: Array, qd: Array, out: Array) -> list[Operation]:
        commanded, b, c = self._scratch
        return [
            partial(np.multiply, self._minus_kp, q, b),
            partial(np.multiply, self._minus_kv, qd, c),
            partial(np.add, b, c, b),
            partial(np.add, commanded, b, out),
        ]

    # const + ff + kp·(q* − q) + kv·(v* − v), from left to right

    def _take_left_to_right(self) -> None:
        np.add(self._constant, self._targets[2], self._scratch[0])

    def _sum_left_to_right(self, q: Array, qd: Array, out: Array) -> list[Operation]:
        target_q, target_qd, _ = self._targets
        commanded, b, c = self._scratch
        return [
            partial(np.subtract, target_q, q, b),
            partial(np.multiply, self._kp, b, b),
            partial(np.add, commanded, b, b),
            partial(np.subtract, target_qd, qd, c),
            partial(np.multiply, self._kv, c, c),
            partial(np.add, b, c, out),
        ]

    def compute(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        state: State,
        dt: float,
        out: Array,
    ) -> None:
        self.command(target_q, target_qd, feedforward)
        self.respond(q, qd, state, dt, out)

    def slopes(self, state: State, dt: float) -> Slopes:
        return Slopes(-self._kp, -self._kv, self._kp.copy(), self._kv.copy())

    def why_not_compiled(self) -> str:
        return ""

    def why_not_native(self) -> str:
        textbook = self.order is SumOrder.TEXTBOOK
        return "order: textbook is not the order MuJoCo sums in" if textbook else ""


class PID(PD):
    """τ = const + ff + kp (q* − q) + ki ∫(q* − q) dt + kv (v* − v)  [N·m or N].

    The integral is advanced first and then used, `I ← clamp(I + e·dt, ±integral_max)`; the clamp of
    the integral is the anti-windup. `+ ki·I` follows the feedforward in the order of PD.
    """

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
        super().enter(space)
        self._integral = space.zeros()
        self._dtype = space.dtype
        self.load_integral(self.ki, self.integral_max)

    def load_integral(self, ki: Array, integral_max: Array) -> None:
        """Set the integral's parameters given in joint units."""
        space = self._space
        assert space is not None
        self._revision += 1
        self._ki = space.gain(ki)
        self._high = space.motion_size(integral_max)
        self._low = -self._high
        if self._ki.any():
            self._needs = {"target_q": "ki", **self._needs}

    def check_dt(self, dt: float | None) -> None:
        if dt is None or not (math.isfinite(dt) and dt >= 0.0):
            raise ValueError(f"PID needs dt, the time since its last step [s]; got {dt}")

    def remember(self, state: State, space: PipelineSpace) -> None:
        state.add("integral", space.zeros())

    def program(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> list[Operation]:
        integral, step = self._integral, np.full_like(self._integral, self._dtype(dt))
        bounded = bool(np.isfinite(self._high).any())
        return [
            partial(np.subtract, self._targets[0], q, integral),
            partial(np.multiply, integral, step, integral),
            partial(np.add, state.integral, integral, integral),
            *([partial(clip, integral, self._low, self._high, integral)] if bounded else []),
            *self._sum(q, qd, out),
        ]

    # (((kp·q* + kv·v*) + (ff + const)) + ki·I) + ((−kp)·q + (−kv)·v)

    def _sum_as_engine(self, q: Array, qd: Array, out: Array) -> list[Operation]:
        commanded, b, c = self._scratch
        return [
            partial(np.multiply, self._ki, self._integral, out),
            partial(np.add, commanded, out, out),
            partial(np.multiply, self._minus_kp, q, b),
            partial(np.multiply, self._minus_kv, qd, c),
            partial(np.add, b, c, b),
            partial(np.add, out, b, out),
        ]

    # const + ff + kp·(q* − q) + ki·I + kv·(v* − v), from left to right

    def _sum_left_to_right(self, q: Array, qd: Array, out: Array) -> list[Operation]:
        target_q, target_qd, _ = self._targets
        commanded, b, c = self._scratch
        return [
            partial(np.subtract, target_q, q, b),
            partial(np.multiply, self._kp, b, b),
            partial(np.add, commanded, b, b),
            partial(np.multiply, self._ki, self._integral, c),
            partial(np.add, b, c, b),
            partial(np.subtract, target_qd, qd, c),
            partial(np.multiply, self._kv, c, c),
            partial(np.add, b, c, out),
        ]

    def advance(self, state: State, good: npt.NDArray[np.bool_] | None = None) -> None:
        commit(state.integral, self._integral, good)

    def slopes(self, state: State, dt: float) -> Slopes:
        # The integral moves with the error unless its bound holds it.
        free = (self._integral > self._low) & (self._integral < self._high)
        through = self._ki * dt * free
        return Slopes(-self._kp - through, -self._kv, self._kp + through, self._kv.copy())
