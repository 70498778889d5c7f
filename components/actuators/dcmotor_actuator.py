"""DCMotorActuator: an electric motor with its windings, heat, friction and controller."""

from collections.abc import Iterator
from typing import Any, ClassVar

from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.scalar_kinds import Float
from mjrig.core.scene.actuator import Actuator, Inputs, Problem
from mjrig.core.scene.native_elements import INPUTS

_CONTROLLER_INPUTS = INPUTS["pos"] | INPUTS["vel"] | INPUTS["ff"]


class DCMotorActuator(Actuator):
    """A DC motor: voltage, or setpoints of its own controller, to torque."""

    element: ClassVar[str] = "dcmotor"
    ranges: ClassVar[tuple[str, ...]] = (*Actuator.ranges, "velrange", "ffrange")
    command: ClassVar[str] = "voltage"
    dynamics: ClassVar[str] = "dcmotor"

    motorconst = Vector(
        [0.0, 0.0],
        min=0.0,
        partial=True,
        unit="N·m/A",
        structural=True,
        category="Motor",
        doc="Torque constant and back-EMF constant; a single value is used for both.",
    )
    resistance = Float(
        0.0, min=0.0, unit="Ω", structural=True, category="Motor", doc="Winding resistance."
    )
    nominal = Vector(
        [0.0, 0.0, 0.0],
        min=0.0,
        structural=True,
        category="Motor",
        doc="Voltage, stall torque and no-load speed, instead of the constants.",
    )
    saturation = Vector(
        [0.0, 0.0, 0.0],
        min=0.0,
        partial=True,
        structural=True,
        category="Motor",
        doc="Largest torque, current, and rate of current; 0: none.",
    )
    inductance = Vector(
        [0.0, 0.0],
        min=0.0,
        partial=True,
        structural=True,
        category="Motor",
        doc="Inductance [H], or electrical time constant [s]; 0: none.",
    )
    cogging = Vector(
        [0.0, 0.0, 0.0],
        partial=True,
        structural=True,
        category="Motor",
        doc="Amplitude [N·m], number of poles and phase [rad] of the cogging torque.",
    )
    controller = Vector(
        [0.0] * 6,
        min=0.0,
        partial=True,
        structural=True,
        category="Motor",
        doc="kp, ki, kd, slewmax, Imax and Vmax of the onboard controller.",
    )
    thermal = Vector(
        [0.0] * 6,
        partial=True,
        structural=True,
        category="Motor",
        doc="Thermal resistance, capacity, time constant, coefficient, reference and ambient.",
    )
    lugre = Vector(
        [0.0] * 5,
        min=0.0,
        partial=True,
        structural=True,
        category="Motor",
        doc="Friction: stiffness, damping, Coulomb, static and Stribeck speed.",
    )
    ctrlspec = Inputs(
        structural=True,
        category="Law",
        doc="Inputs among pos, vel, ff and voltage, or none; not given: voltage.",
    )
    velrange = Vector(
        [0.0, 0.0],
        structural=True,
        category="Limits",
        doc="Velocity input range of the motor's controller.",
    )
    ffrange = Vector(
        [0.0, 0.0],
        structural=True,
        category="Limits",
        doc="Feedforward input range of the motor's controller.",
    )

    def problems(self) -> Iterator[Problem]:
        passive = bool(self.ctrlspec & INPUTS["none"])
        described = self.nominal.all() or (self.resistance and (self.motorconst.any() or passive))
        if not described:
            name = next(
                (n for n in ("resistance", "motorconst", "nominal") if self.is_authored(n)), "type"
            )
            yield name, "a motor is defined by resistance and motorconst, or by nominal"
        if self.controller[:3].any() and not self.ctrlspec & _CONTROLLER_INPUTS:
            yield "controller", "its gains need ctrlspec with pos, vel or ff"
        if self.controller[1] and not self.ctrlspec & INPUTS["pos"]:
            yield "controller", "the integral gain needs ctrlspec with pos"
        if self.saturation[:2].any() and self.forcerange.any():
            yield "forcerange", "saturation already gives the largest torque; give one of them"
        if self.is_authored("actearly") and not self.actearly:
            yield "actearly", "cannot be false for a DC motor"

    def shape(self, made: Any) -> None:
        made.set_to_dcmotor(
            motorconst=self.motorconst,
            resistance=self.resistance,
            nominal=self.nominal,
            saturation=self.saturation,
            inductance=self.inductance,
            cogging=self.cogging,
            controller=self.controller,
            thermal=self.thermal,
            lugre=self.lugre,
            ctrlspec=self.ctrlspec,
        )
        made.velrange, made.ffrange = self.velrange, self.ffrange
