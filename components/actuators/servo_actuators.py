"""Servo actuators: position, velocity, integrated velocity, PID, orientation."""

from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar

from mjrig.core.model.actuator_checks import span
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.scalar_kinds import Float
from mjrig.core.scene.actuator import Actuator, Inputs, Problem
from mjrig.core.scene.native_elements import CHARTS, INPUTS

_UNSET = -1.0


class _ServoActuator(Actuator, ABC):
    """Position feedback with damping."""

    kp = Float(
        1.0, min=0.0, unit="N·m/rad or N/m", structural=True, category="Law", doc="Stiffness."
    )
    kv = Float(
        0.0, min=0.0, unit="N·m·s/rad or N·s/m", structural=True, category="Law", doc="Damping."
    )
    dampratio = Float(
        0.0,
        min=0.0,
        structural=True,
        category="Law",
        doc="Damping ratio instead of kv; 1 is critical at the effective mass of the pose.",
    )

    def problems(self) -> Iterator[Problem]:
        if self.kv and self.dampratio:
            yield "dampratio", f"cannot be combined with kv ({self.kv:g}); give one of them"

    def damping_arguments(self) -> dict[str, float]:
        """kv or dampratio, whichever is given."""
        return {
            "kv": _UNSET if self.dampratio else self.kv,
            "dampratio": self.dampratio or _UNSET,
        }


class _InheritrangeActuator(_ServoActuator, ABC):
    """A servo that can inherit the range of its target."""

    inherited: ClassVar[str] = "ctrlrange"

    inheritrange = Float(
        0.0,
        min=0.0,
        structural=True,
        category="Limits",
        doc="Inherit the target's range, scaled about its middle by this factor; 0: off.",
    )

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        low, high = self.__dict__[self.inherited]
        if self.inheritrange and (low or high):
            given = f"{self.inherited} {span(low, high)}"
            yield "inheritrange", f"cannot be combined with {given}; give one of them"
        for target in ("site", "cranksite"):
            if self.inheritrange and self.__dict__[target]:
                yield "inheritrange", f"needs a joint or tendon with a range, not a {target}"

    def inherit(self, made: Any) -> None:
        """Write the factor: MuJoCo's setters take only yes or no."""
        if self.is_authored("inheritrange"):
            made.inheritrange = self.inheritrange


class PositionActuator(_InheritrangeActuator):
    """f = kp (u − l) − kv l'."""

    element: ClassVar[str] = "position"
    command: ClassVar[str] = "position"

    timeconst = Float(
        0.0,
        min=0.0,
        unit="s",
        structural=True,
        category="Law",
        doc="Time constant of the control filter; 0: none.",
    )

    @property
    def dynamics(self) -> str:  # type: ignore[override]
        """Activation dynamics where `dyntype` is not given."""
        return "filterexact" if self.timeconst else "none"

    def shape(self, made: Any) -> None:
        kept = made.inheritrange
        timeconst = self.timeconst or _UNSET
        made.set_to_position(kp=self.kp, timeconst=timeconst, **self.damping_arguments())
        made.inheritrange = kept
        self.inherit(made)


class IntVelocityActuator(_InheritrangeActuator):
    """The control is integrated to a position: w' = u, f = kp (w − l) − kv l'."""

    element: ClassVar[str] = "intvelocity"
    command: ClassVar[str] = "velocity"
    dynamics: ClassVar[str] = "integrator"
    inherited: ClassVar[str] = "actrange"

    def shape(self, made: Any) -> None:
        made.set_to_intvelocity(kp=self.kp, **self.damping_arguments())
        self.inherit(made)


class VelocityActuator(Actuator):
    """f = kv (u − l')."""

    element: ClassVar[str] = "velocity"
    command: ClassVar[str] = "velocity"

    kv = Float(
        1.0, min=0.0, unit="N·m·s/rad or N·s/m", structural=True, category="Law", doc="Gain."
    )

    def shape(self, made: Any) -> None:
        made.set_to_velocity(kv=self.kv)


class PIDActuator(_InheritrangeActuator):
    """f = kp (q* − l) + kv (v* − l') + ki ∫(q* − l) + ff, over the inputs it has."""

    element: ClassVar[str] = "pid"
    ranges: ClassVar[tuple[str, ...]] = (*Actuator.ranges, "velrange", "ffrange")
    command: ClassVar[str] = "position"

    ki = Float(0.0, min=0.0, structural=True, category="Law", doc="Integral gain.")
    imax = Float(
        0.0, min=0.0, structural=True, category="Law", doc="Limit of the integral; 0: none."
    )
    slewmax = Float(
        0.0,
        min=0.0,
        structural=True,
        category="Law",
        doc="Slew rate limit of the setpoint; 0: none.",
    )
    velrange = Vector([0.0, 0.0], structural=True, category="Limits", doc="Velocity input range.")
    ffrange = Vector([0.0, 0.0], structural=True, category="Limits", doc="Feedforward input range.")
    ctrlspec = Inputs(
        structural=True, category="Law", doc="Inputs among pos, vel and ff; not given: pos vel."
    )

    @property
    def dynamics(self) -> str:  # type: ignore[override]
        """Activation dynamics where `dyntype` is not given."""
        return "pid" if self.ki or self.slewmax else "none"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        inputs = self.ctrlspec or INPUTS["pos"] | INPUTS["vel"]
        for name in ("ki", "slewmax"):
            if self.__dict__[name] and not inputs & INPUTS["pos"]:
                yield name, f"needs the input pos, got {self.__dict__[name]:g}"
        for name, bit in (("velrange", "vel"), ("ffrange", "ff")):
            if self.__dict__[name].any() and not inputs & INPUTS[bit]:
                yield name, f"needs the input {bit}"

    def shape(self, made: Any) -> None:
        kept = made.inheritrange
        made.set_to_pid(
            kp=self.kp,
            ki=self.ki,
            imax=self.imax,
            slewmax=self.slewmax,
            ctrlspec=self.ctrlspec,
            **self.damping_arguments(),
        )
        made.inheritrange = kept
        self.inherit(made)
        made.velrange, made.ffrange = self.velrange, self.ffrange


class OrientationActuator(_ServoActuator):
    """Servo for the orientation of a ball joint, or of a site relative to its refsite."""

    element: ClassVar[str] = "orientation"
    targets: ClassVar[tuple[str, ...]] = ("joint", "site")
    command: ClassVar[str] = "orientation"

    ctrlspec = Inputs(
        CHARTS,
        structural=True,
        category="Law",
        doc="expmap: a rotation vector, three inputs; quat: a quaternion, four.",
    )

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.site and not self.refsite:
            yield "refsite", "must be given with site"
        low, high = self.forcerange
        if low:
            yield "forcerange", f"limits a norm: low must be 0, got {span(low, high)}"

    def shape(self, made: Any) -> None:
        made.set_to_orientation(kp=self.kp, ctrlspec=self.ctrlspec, **self.damping_arguments())
