"""NativeJoint: what a scene's `dynamics` can change of a joint, as a spec has it."""

import math
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Self

import mujoco
import numpy as np

_SLIDE = mujoco.mjtJoint.mjJNT_SLIDE
_LIMITED = mujoco.mjtLimited.mjLIMITED_TRUE
#: What a scene gives one number for.
NUMBERS = ("armature", "damping", "frictionloss", "stiffness")
_WRITTEN = (*NUMBERS, "range", "limited", "actfrcrange", "actfrclimited")
_read = attrgetter(*_WRITTEN)


@dataclass(frozen=True)
class NativeJoint:
    """Limits, armature, friction and springs of a joint; MuJoCo's own names and units."""

    name: str
    type: Any
    #: Whether angles are in degrees.
    degree: bool
    armature: float
    #: Polynomials, as stiffness.
    damping: tuple[float, ...]
    frictionloss: float
    stiffness: tuple[float, ...]
    range: tuple[float, ...]
    limited: Any
    actfrcrange: tuple[float, ...]
    actfrclimited: Any
    #: Whether compiling computes stiffness and damping from a time constant.
    springdamper: bool

    @classmethod
    def of(cls, element: Any) -> Self:
        """What a spec's joint has."""
        values: dict[str, Any] = {}
        for name, value in zip(_WRITTEN, _read(element), strict=True):
            values[name] = tuple(value.tolist()) if isinstance(value, np.ndarray) else value
        return cls(
            element.name,
            element.type,
            bool(element.compiler.degree),
            springdamper=all(v > 0.0 for v in element.springdamper.tolist()),
            **values,
        )

    def write_to(self, element: Any) -> None:
        """Write it to a spec's joint."""
        for name in _WRITTEN:
            setattr(element, name, getattr(self, name))

    def differs_in(self, other: "NativeJoint") -> set[str]:
        """The names of what is not the same in both."""
        names = [f.name for f in fields(self)]
        return {n for n in names if getattr(self, n) != getattr(other, n)}

    def with_number(self, name: str, value: float) -> Self:
        """With another armature, damping, frictionloss or stiffness."""
        before = getattr(self, name)
        new: Any = value
        if isinstance(before, tuple):  # a polynomial: the linear part, and nothing else
            new = (value, *([0.0] * (len(before) - 1)))
        return replace(self, **{name: new})

    def with_range(self, low: float, high: float) -> Self:
        """With other limits, in rad or m."""
        scale = math.degrees(1.0) if self.degree and self.type != _SLIDE else 1.0
        return replace(self, limited=_LIMITED, range=(low * scale, high * scale))

    def with_effort_range(self, low: float, high: float) -> Self:
        """With other limits of the actuators' total effort."""
        return replace(self, actfrclimited=_LIMITED, actfrcrange=(low, high))


@dataclass(frozen=True)
class NativeJoints:
    """All joints of an actor as its spec has them, by local name."""

    #: As they are compiled, with what the scene gives them.
    now: dict[str, NativeJoint]
    #: As the model's file has them.
    model: dict[str, NativeJoint]

    @classmethod
    def nothing(cls) -> Self:
        """Of a model without a spec."""
        return cls({}, {})
