"""PDController and PIDController: feedback with feedforward and a torque limit."""

import math
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.laws.feedback import PD, PID, SumOrder
from mjrig.components.laws.law import Law
from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.control.execution import Support
from mjrig.core.control.lowering import NativeForm
from mjrig.core.errors import PropertyError
from mjrig.core.properties.actions import action
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import Choice, Float

# Pd controller ------------------------------------------------------------------------------------
# PDController: position and velocity feedback with feedforward and a torque limit.


Values = Annotated[npt.ArrayLike, "one value per actuator"]


class PDController(PipelineController):
    """τ = ff + kp (q* − q) + kv (v* − v), clamped to ±torque_limit  [N·m or N]."""

    own_gains: ClassVar[tuple[str, ...]] = ("kp", "kv", "default_kp", "default_kv", "order")

    default_kp = Float(
        100.0,
        min=0.0,
        soft_max=500.0,
        unit="N·m/rad",
        category="Gains",
        doc="Stiffness of actuators that kp does not name.",
    )
    default_kv = Float(
        5.0,
        min=0.0,
        soft_max=50.0,
        unit="N·m·s/rad",
        category="Gains",
        doc="Damping of actuators that kv does not name.",
    )
    kp = PerActuator(
        fallback="default_kp",
        min=0.0,
        soft_max=500.0,
        finite=True,
        unit="N·m/rad",
        category="Gains",
        doc="Stiffness per actuator.",
    )
    kv = PerActuator(
        fallback="default_kv",
        min=0.0,
        soft_max=50.0,
        finite=True,
        unit="N·m·s/rad",
        category="Gains",
        doc="Damping per actuator.",
    )
    order = Choice(
        SumOrder.ENGINE,
        structural=True,
        category="Numerics",
        doc="Order of the sum; textbook: left to right, as training stacks do, never native.",
    )

    @action
    def set_gains(self, kp: Values, kv: Values, torque_limits: Values) -> None:
        """Set all gains explicitly: arrays with one value per binding, or scalars for all.

        Raises:
            ValueError: another length, or a value that is negative or not a number.
        """
        size = self.num_bindings
        given = {"kp": kp, "kv": kv, "torque_limit": torque_limits}
        with self.changes():
            for name, values in given.items():
                try:
                    array = np.asarray(values, dtype=np.float64)
                except (TypeError, ValueError):
                    raise PropertyError(
                        f"{self.label}.{name}: must be a number or a list of numbers, "
                        f"got {values!r}"
                    ) from None
                if array.ndim and array.shape != (size,):
                    raise PropertyError(
                        f"{self.label}.{name}: must have {size} values, one per actuator, "
                        f"got {array.shape[0] if array.ndim == 1 else array.shape}"
                    )
                spread = np.broadcast_to(array, (size,)) if self.is_bound else array
                self.property_named(name).assign(self, spread)

    # Gains from outside -------------------------------------------------------------------------

    def prepare(self) -> None:
        super().prepare()
        self._outside: dict[str, FloatArray] = {}
        self._outside_holder = ""

    def use_gains(self, kp: npt.ArrayLike, kv: npt.ArrayLike, holder: str) -> None:
        """Run the law with a client's gains; what was authored stays, and is what is saved.

        They are in force until `return_gains`, or until an edit of the same gains. Cheap enough
        for every step. One value per binding, joint units.

        Args:
            holder: who sends them, for tables.

        Raises:
            ValueError: another length, or a value that is negative or not finite.
        """
        given = {"kp": frozen(kp), "kv": frozen(kv)}
        for name, values in given.items():
            if values.shape != (self.num_bindings,):
                raise PropertyError(
                    f"{self.label}.{name}: must have {self.num_bindings} values, one per actuator, "
                    f"got shape {values.shape}"
                )
            if not (np.isfinite(values).all() and (values >= 0.0).all()):
                raise PropertyError(f"{self.label}.{name}: must be finite and >= 0, got {values}")
        self.__dict__.update(given)
        self._outside, self._outside_holder = given, holder
        self._gains_swapped()

    def return_gains(self) -> None:
        """Run the law with the authored gains again."""
        if self._outside:
            self._outside = {}
            self._resolve(("kp", "kv"))
            self._gains_swapped()

    def sender_of(self, gain: str) -> str:
        """Who sends a gain that is in force; empty: it is the authored one."""
        given = self._outside.get(gain)
        return self._outside_holder if given is not None and self.__dict__[gain] is given else ""

    def _gains_swapped(self) -> None:
        ran_as = self._execution
        self._reload()
        if self._execution is not ran_as and self._parent is not None:
            self._parent._child_changed(self)  # it left its execution: other calls in a step
        self._notify(())

    def make_law(self) -> Law:
        return PD.from_data({} if self.order is SumOrder.ENGINE else {"order": str(self.order)})

    def load_law(self, law: Any) -> None:
        law.load_gains(self.kp, self.kv, np.zeros(1))


# Pid controller -----------------------------------------------------------------------------------
# PIDController: PD with an integral.


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

    def load_law(self, law: Any) -> None:
        super().load_law(law)
        law.load_integral(self.ki, self.integral_max)
