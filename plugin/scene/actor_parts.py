"""What the description of an actor consists of: attachment, velocities, keyframes, copies."""

import re
from enum import StrEnum

from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Vector
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table, numbers
from mjrig.properties.per_actuator import PatternMap
from mjrig.properties.scalar_kinds import Bool, Text
from mjrig.scene.pose import PLACE, Transform

#: Copies of one actor.
MAX_COPIES = 10_000
#: What actors, frames and groups may be called.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")


class Base(StrEnum):
    """How the root of an actor is held."""

    MODEL = "model"
    FREE = "free"
    FIXED = "fixed"


class Attachment(HasProperties):
    """What an actor is fixed to."""

    to = Text(
        "world",
        structural=True,
        refers=PLACE,
        doc="actor/body or actor/site, an actor (its root body), a frame of the scene, or world.",
    )
    child = Text(
        "",
        structural=True,
        refers=("body", "site"),
        doc="Body or site of this actor that is put there; empty: the model's origin.",
    )


class Velocity(HasProperties):
    """How fast a free body starts."""

    linear = Vector([0.0, 0.0, 0.0], unit="m/s", structural=True, doc="In the world.")
    angular = Vector([0.0, 0.0, 0.0], unit="rad/s", structural=True, doc="In the body's own frame.")


class FreeBody(Transform):
    """Where a free body of a model starts, in the actor's own frame; what is not given stays."""

    body = Text("", structural=True, refers=("body",), doc="Name of a body with a free joint.")
    linear = Vector([0.0, 0.0, 0.0], unit="m/s", structural=True, doc="Velocity, in the world.")
    angular = Vector(
        [0.0, 0.0, 0.0], unit="rad/s", structural=True, doc="Velocity, in the body's own frame."
    )


class Dynamics(HasProperties):
    """Joint parameters written over the model's, by joint name pattern."""

    armature = PatternMap(min=0.0, structural=True, unit="kg·m² or kg", doc="Rotor inertia.")
    damping = PatternMap(min=0.0, structural=True, unit="N·m·s/rad or N·s/m", doc="Damping.")
    frictionloss = PatternMap(min=0.0, structural=True, unit="N·m or N", doc="Dry friction.")
    stiffness = PatternMap(min=0.0, structural=True, unit="N·m/rad or N/m", doc="Spring.")


class Keyframe(HasProperties):
    """A state of one actor, kept in the scene; what is not given is as the model starts."""

    name = Text("", structural=True, doc="Name; one of the model's own of that name is replaced.")
    joints = Table(
        numbers,
        structural=True,
        refers=("joint",),
        doc="Positions by joint: one number, four for a ball (w, x, y, z), seven for a free joint "
        "(position and quaternion in the actor's own frame).",
    )
    velocities = Table(
        numbers, structural=True, refers=("joint",), doc="Velocities by joint: one, three or six."
    )
    activations = Table(
        numbers, structural=True, refers=("actuator",), doc="Activations by actuator."
    )
    controls = Table(numbers, structural=True, refers=("actuator",), doc="Controls by actuator.")
    absolute = Bool(
        False,
        structural=True,
        doc="Free joints are given in the world, not in the actor's own frame.",
    )

    def _own_validate(self) -> None:
        if "name" in self._authored and not self.name:
            raise PropertyError(f"{self.label}.name: must not be empty", ("name",))


class Replicate(HasProperties):
    """Copies of an actor on a grid: `dog_0`, `dog_1`, …; what is attached to it is copied too."""

    count = Vector(
        [1, 1, 1], min=1, partial=True, structural=True, doc="How many along x, y and z."
    )
    spacing = Vector(
        [1.0, 1.0, 1.0],
        unit="m",
        partial=True,
        structural=True,
        doc="Distances along x, y and z.",
    )

    def _own_validate(self) -> None:
        for i, value in enumerate(self.count):
            if value != int(value):
                problem = f"{self.label}.count: must be whole numbers, got {value:g}"
                raise PropertyError(problem, ("count",), at=(i,))
        total = self.count.prod()
        if total > MAX_COPIES:
            problem = f"{self.label}.count: must be at most {MAX_COPIES} copies, got {total:g}"
            raise PropertyError(problem, ("count",))
