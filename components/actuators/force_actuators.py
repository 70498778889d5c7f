"""Force actuators: motors, dampers, cylinders, muscles, adhesion."""

from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar

import mujoco

from mjrig.core.model.actuator_checks import span
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.scalar_kinds import Float, OptionalFloat
from mjrig.core.scene.actuator import Actuator, Problem


class GeneralActuator(Actuator):
    """An actuator whose gain, bias and dynamics are given one by one."""

    element: ClassVar[str] = "general"
    targets: ClassVar[tuple[str, ...]] = ("joint", "body", "site", "tendon", "cranksite")

    def shape(self, made: Any) -> None:
        made.set_to_motor()  # the same table
        made.type = mujoco.mjtActuator.mjACTUATOR_GENERAL


class MotorActuator(Actuator):
    """f = u."""

    element: ClassVar[str] = "motor"
    command: ClassVar[str] = "force"

    def shape(self, made: Any) -> None:
        made.set_to_motor()


class _UnipolarActuator(Actuator, ABC):
    """An actuator whose control cannot be negative."""

    ctrlrange = Vector(
        [0.0, 1.0], structural=True, category="Limits", doc="Control input range; not negative."
    )

    def problems(self) -> Iterator[Problem]:
        low, high = self.ctrlrange
        if low < 0 or not low < high:
            yield "ctrlrange", f"must be 0 <= low < high, got {span(low, high)}"
        if self.ctrllimited is False:
            yield "ctrllimited", "cannot be false: a negative control would reverse the force"


class DamperActuator(_UnipolarActuator):
    """f = −kv l' u: a damper whose strength is the control."""

    element: ClassVar[str] = "damper"
    command: ClassVar[str] = "damping"

    kv = Float(
        1.0, min=0.0, unit="N·s/m or N·m·s/rad", structural=True, category="Law", doc="Damping."
    )

    def shape(self, made: Any) -> None:
        made.set_to_damper(kv=self.kv)


class AdhesionActuator(_UnipolarActuator):
    """Adhesion of a body to what it touches: a force of gain · u, shared by its contacts."""

    element: ClassVar[str] = "adhesion"
    targets: ClassVar[tuple[str, ...]] = ("body",)
    command: ClassVar[str] = "adhesion"

    gain = Float(1.0, min=0.0, unit="N", structural=True, category="Law", doc="Force at u = 1.")

    def shape(self, made: Any) -> None:
        made.set_to_adhesion(gain=self.gain)


class CylinderActuator(Actuator):
    """A pneumatic or hydraulic cylinder: the pressure follows the control, f = area · w + bias."""

    element: ClassVar[str] = "cylinder"
    command: ClassVar[str] = "pressure"
    dynamics: ClassVar[str] = "filter"

    timeconst = Float(
        1.0,
        min=0.0,
        unit="s",
        structural=True,
        category="Law",
        doc="Time constant of the pressure.",
    )
    area = Float(1.0, min=0.0, unit="m²", structural=True, category="Law", doc="Piston area.")
    diameter = OptionalFloat(
        None,
        min=0.0,
        unit="m",
        structural=True,
        category="Law",
        doc="Piston diameter; overrides the area.",
    )
    bias = Vector(
        [0.0, 0.0, 0.0],
        partial=True,
        structural=True,
        category="Law",
        doc="Force without pressure: constant, by length, by velocity.",
    )

    def shape(self, made: Any) -> None:
        diameter = -1.0 if self.diameter is None else self.diameter
        made.set_to_cylinder(
            timeconst=self.timeconst, bias=float(self.bias[0]), area=self.area, diameter=diameter
        )
        made.biasprm[:3] = self.bias  # NOTE: the call takes only the first of the three


class MuscleActuator(Actuator):
    """A muscle: activation dynamics, force-length-velocity curve and passive force.

    `force` is the authored peak force; the force applied now is `applied_force`.
    """

    element: ClassVar[str] = "muscle"
    command: ClassVar[str] = "excitation"
    dynamics: ClassVar[str] = "muscle"

    timeconst = Vector(
        [0.01, 0.04],
        min=0.0,
        unit="s",
        structural=True,
        category="Law",
        doc="Time constants of activation and deactivation.",
    )
    tausmooth = Float(
        0.0,
        min=0.0,
        structural=True,
        category="Law",
        doc="Smoothing width between the time constants.",
    )
    range = Vector(
        [0.75, 1.05], min=0.0, structural=True, category="Law", doc="Operating lengths, in L0."
    )
    force = Float(  # pyrefly: ignore[bad-override]
        -1.0,
        unit="N",
        structural=True,
        category="Law",
        doc="Peak active force at rest; negative: scale / acceleration of a unit force.",
    )
    scale = Float(
        200.0,
        min=0.0,
        structural=True,
        category="Law",
        doc="Peak force scale, used where force is negative.",
    )
    lmin = Float(0.5, min=0.0, structural=True, category="Law", doc="Shortest length, in L0.")
    lmax = Float(1.6, min=0.0, structural=True, category="Law", doc="Longest length, in L0.")
    vmax = Float(
        1.5,
        min=0.0,
        structural=True,
        category="Law",
        doc="Shortening speed at zero force, in L0/s.",
    )
    fpmax = Float(
        1.3,
        min=0.0,
        structural=True,
        category="Law",
        doc="Passive force at lmax, as a fraction of the peak.",
    )
    fvmax = Float(
        1.2,
        min=0.0,
        structural=True,
        category="Law",
        doc="Force when lengthening, as a fraction of the peak.",
    )

    def problems(self) -> Iterator[Problem]:
        low, high = self.range
        if not low < high:
            yield "range", f"must be low < high, got {span(low, high)}"
        if not self.lmin < self.lmax:
            yield "lmax", f"must be > lmin ({self.lmin:g}), got {self.lmax:g}"

    def shape(self, made: Any) -> None:
        made.set_to_muscle(
            timeconst=self.timeconst,
            tausmooth=self.tausmooth,
            range=self.range,
            force=self.force,
            scale=self.scale,
            lmin=self.lmin,
            lmax=self.lmax,
            vmax=self.vmax,
            fpmax=self.fpmax,
            fvmax=self.fvmax,
        )
