"""PIDController: PD with an integral."""

import math
from dataclasses import replace
from enum import StrEnum
from typing import Any

from mjrig.components.controllers.pd_controller import PDController
from mjrig.components.laws.feedback import PID
from mjrig.components.laws.law import Law
from mjrig.control.execution import Support
from mjrig.control.lowering import NativeForm
from mjrig.properties.per_actuator import PerActuator
from mjrig.properties.scalar_kinds import Choice, Float


class Integration(StrEnum):
    """How the integral is advanced."""

    STEP = "step"
    INTEGRATOR = "integrator"


class PIDController(PDController):
    """τ = ff + kp (q* − q) + ki ∫(q* − q) dt + kv (v* − v), clamped  [N·m or N].

    `integration: step` adds error · dt once per tick and clamps the integral; `integrator` makes
    the integral an activation that MuJoCo's integrator evolves together with the joints.
    """

    own_gains = (*PDController.own_gains, "ki", "integral_max", "default_ki", "integration")

    default_ki = Float(
        0.0,
        min=0.0,
        soft_max=100.0,
        unit="N·m/(rad·s)",
        category="Gains",
        doc="Integral gain of actuators that ki does not name.",
    )
    ki = PerActuator(
        fallback="default_ki",
        min=0.0,
        soft_max=100.0,
        finite=True,
        unit="N·m/(rad·s)",
        category="Gains",
        doc="Integral gain per actuator.",
    )
    integral_max = PerActuator(
        constant=math.inf,
        min=0.0,
        unit="rad·s",
        category="Gains",
        doc="Limit of the integral per actuator (anti-windup).",
    )
    integration = Choice(
        Integration.STEP,
        structural=True,
        category="Numerics",
        doc="step: once per tick; integrator: evolved by MuJoCo's integrator.",
    )

    def make_law(self) -> Law:
        return PID(order=self.order)

    def supports(self) -> dict[str, Support]:
        found = super().supports()
        if self.integration is Integration.INTEGRATOR:
            only = Support(False, "integration: integrator needs MuJoCo's integrator")
            found |= {"python": only, "compiled": only}
        return found

    def native_form(self) -> NativeForm:
        early = self.integration is Integration.STEP
        return replace(super().native_form(), early=early)

    def _own_load_law(self, law: Any) -> None:
        super()._own_load_law(law)
        law.load_integral(self.ki, self.integral_max)
