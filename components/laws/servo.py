"""Servo laws: the position loops inside of hobby servos and drives."""

import math
from abc import ABC
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.components.laws.equations import clip, where
from mjrig.components.laws.law import Implicit, Law, LawInputs
from mjrig.components.laws.pipeline_arrays import PipelineSpace, State
from mjrig.core.properties.per_actuator import PerActuator, PerActuatorInput
from mjrig.core.properties.scalar_kinds import Choice


class LastLimit(StrEnum):
    """Which limit of a current drive holds where both cannot."""

    VOLTAGE = "voltage"
    CURRENT = "current"


class ServoLaw(Law, ABC):
    """What the servo laws share: a torque constant, and a position target as the only command."""

    kt = PerActuator(
        constant=1.0, min=0.0, above=True, finite=True, unit="N·m/A", category="Motor",
        doc="Torque constant, behind the gear.",
    )  # fmt: skip
    current_limit = PerActuator(
        constant=math.inf, min=0.0, unit="A", category="Motor", doc="Largest current."
    )

    def needs(self) -> dict[str, str]:
        return {"target_q": "gain"}

    def implicit(self) -> Implicit:
        return Implicit.NONE


class VoltageServo(ServoLaw):
    """duty = gain (q* − q) within ±duty_limit,  τ = kt V duty / R − kt² w / R  [N·m].

    A current limit keeps the duty within (kt w ± R Imax) / V, the duty limit comes last. With a
    slew rate q* moves by no more than slew_rate · dt per tick, from where the joint was first.
    Velocity and feedforward setpoints have no effect.
    """

    gain = PerActuator(
        min=0.0, finite=True, unit="1/rad", category="Gains", doc="Duty cycle per radian of error."
    )
    resistance = PerActuator(
        constant=1.0, min=0.0, above=True, finite=True, unit="Ω", category="Motor",
        doc="Winding resistance.",
    )  # fmt: skip
    voltage = PerActuator(
        constant=12.0, min=0.0, above=True, finite=True, unit="V", category="Motor",
        doc="Supply voltage.",
    )  # fmt: skip
    duty_limit = PerActuator(
        constant=1.0, min=0.0, max=1.0, category="Motor", doc="Largest duty cycle."
    )
    slew_rate = PerActuator(
        constant=math.inf, min=0.0, above=True, unit="rad/s", category="Motor",
        doc="Fastest change of the target.",
    )  # fmt: skip

    def __init__(
        self,
        gain: PerActuatorInput = 0.0,
        kt: PerActuatorInput = 1.0,
        resistance: PerActuatorInput = 1.0,
        voltage: PerActuatorInput = 12.0,
        duty_limit: PerActuatorInput = 1.0,
        current_limit: PerActuatorInput = math.inf,
        slew_rate: PerActuatorInput = math.inf,
    ) -> None:
        super().__init__(
            gain=gain,
            kt=kt,
            resistance=resistance,
            voltage=voltage,
            duty_limit=duty_limit,
            current_limit=current_limit,
            slew_rate=slew_rate,
        )

    def remember(self, state: State, space: PipelineSpace) -> None:
        state.add("slewed_target", space.zeros())
        state.add("slewing", space.zeros())

    def check_dt(self, dt: float | None) -> None:
        if np.isfinite(self.slew_rate).any() and dt is None:
            raise ValueError("VoltageServo with a slew rate needs dt, the time since its last step")

    def equation(self, x: LawInputs) -> Any:
        target = x.keep("slewed_target", self._slewed(x))
        x.keep("slewing", 1.0)
        back_emf, limit = self.kt * x.qd, self.resistance * self.current_limit
        duty = self.gain * (target - x.q)
        duty = clip(duty, (back_emf - limit) / self.voltage, (back_emf + limit) / self.voltage)
        duty = clip(duty, -self.duty_limit, self.duty_limit)
        driving = x.rounded(self.kt * (self.voltage * duty) / self.resistance)
        return driving - self.kt * back_emf / self.resistance

    def _slewed(self, x: LawInputs) -> Any:
        if np.isinf(self.slew_rate).all():
            return x.target_q
        step = self.slew_rate * x.dt
        before = where(x.memory("slewing") > 0.0, x.memory("slewed_target"), x.q)
        change = x.target_q - before
        # Where nothing limits it, the target itself: the sum may differ in the last bit.
        return where(abs(change) <= step, x.target_q, before + clip(change, -step, step))


class CurrentServo(ServoLaw):
    """I = gain (q* − q) − damping w within ±current_limit,  τ = kt I  [N·m].

    The supply keeps I within (±V − kt w) / R. Velocity and feedforward setpoints have no effect.
    """

    gain = PerActuator(
        min=0.0, finite=True, unit="A/rad", category="Gains", doc="Current per radian of error."
    )
    damping = PerActuator(
        min=0.0, finite=True, unit="A·s/rad", category="Gains", doc="Current per speed, against it."
    )
    resistance = PerActuator(
        constant=math.nan, min=0.0, above=True, finite=True, unit="Ω", category="Motor",
        doc="Winding resistance; not given: the voltage limits nothing.",
    )  # fmt: skip
    voltage = PerActuator(
        constant=math.inf, min=0.0, above=True, unit="V", category="Motor", doc="Supply voltage."
    )
    last_limit = Choice(
        LastLimit.VOLTAGE,
        structural=True,
        category="Motor",
        doc="Which limit holds where both cannot.",
    )

    def __init__(
        self,
        gain: PerActuatorInput = 0.0,
        damping: PerActuatorInput = 0.0,
        kt: PerActuatorInput = 1.0,
        current_limit: PerActuatorInput = math.inf,
        voltage: PerActuatorInput = math.inf,
        resistance: PerActuatorInput = None,
        last_limit: LastLimit | str = LastLimit.VOLTAGE,
    ) -> None:
        given = {} if resistance is None else {"resistance": resistance}
        given |= {} if last_limit == LastLimit.VOLTAGE else {"last_limit": str(last_limit)}
        super().__init__(
            gain=gain, damping=damping, kt=kt, current_limit=current_limit, voltage=voltage, **given
        )

    def equation(self, x: LawInputs) -> Any:
        known = ~np.isnan(self.resistance)
        voltage = np.where(known, self.voltage, math.inf)
        resistance = np.where(known, self.resistance, 1.0)
        back_emf = self.kt * x.qd
        limits = [
            (-self.current_limit, self.current_limit),
            ((-voltage - back_emf) / resistance, (voltage - back_emf) / resistance),
        ]
        current = x.rounded(self.gain * (x.target_q - x.q) - self.damping * x.qd)
        for low, high in limits if self.last_limit is LastLimit.VOLTAGE else limits[::-1]:
            current = x.rounded(clip(current, low, high))
        return current * self.kt
