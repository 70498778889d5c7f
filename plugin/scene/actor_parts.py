"""Parts of an actor's description: attachment, velocities, keyframes, copies."""

import re
from enum import StrEnum

from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Vector
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table, numbers
from mjrig.properties.per_actuator import PatternMap
from mjrig.properties.scalar_kinds import Bool, Text
from mjrig.scene.pose import PLACE, Transform

#: Most copies of actors in a scene.
MAX_COPIES = 2_000
#: The largest position and velocity that MuJoCo takes for a stable simulation (mjMAXVAL).
MAX_VALUE = 1e10
#: Valid names of actors, frames and groups.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")


class Base(StrEnum):
    """How the root body of an actor moves."""

    MODEL = "model"
    FREE = "free"
    FIXED = "fixed"


class Units(StrEnum):
    """Units that angles are written in."""

    RADIANS = "radians"
    DEGREES = "degrees"


class Attachment(HasProperties):
    """What an actor is attached to."""

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
        doc="Body or site of this actor that is placed there; empty: the model's origin.",
    )


class Velocity(HasProperties):
    """Initial velocity of a free body."""

    linear = Vector(
        [0.0, 0.0, 0.0],
        unit="m/s",
        structural=True,
        doc="Linear velocity of the base, world frame.",
    )
    angular = Vector(
        [0.0, 0.0, 0.0],
        unit="rad/s",
        structural=True,
        doc="Angular velocity of the base, body frame.",
    )


class FreeBody(Transform):
    """Initial state of a free body of a model, in the actor's frame; what is not given stays."""

    body = Text("", structural=True, refers=("body",), doc="Name of a body with a free joint.")
    linear = Vector(
        [0.0, 0.0, 0.0],
        unit="m/s",
        structural=True,
        doc="Linear velocity of the body, world frame.",
    )
    angular = Vector(
        [0.0, 0.0, 0.0],
        unit="rad/s",
        structural=True,
        doc="Angular velocity of the body, body frame.",
    )


class MocapBody(Transform):
    """Initial pose of a mocap body of a model, in the actor's frame; what is not given stays."""

    body = Text("", structural=True, refers=("body",), doc="Name of a mocap body.")


class Dynamics(HasProperties):
    """Joint parameters that override the model's, by joint name pattern."""

    armature = PatternMap(
        min=0.0, structural=True, unit="kg·m² or kg", doc="Armature (rotor inertia)."
    )
    damping = PatternMap(min=0.0, structural=True, unit="N·m·s/rad or N·s/m", doc="Joint damping.")
    frictionloss = PatternMap(min=0.0, structural=True, unit="N·m or N", doc="Dry friction.")
    stiffness = PatternMap(
        min=0.0, structural=True, unit="N·m/rad or N/m", doc="Joint spring stiffness."
    )


class Keyframe(HasProperties):
    """A state of one actor, kept in the scene; what is not given is the model's default."""

    name = Text("", structural=True, doc="Name; replaces a keyframe of that name in the model.")
    joints = Table(
        numbers,
        structural=True,
        refers=("joint",),
        doc="Positions by joint: one number, four for a ball (w, x, y, z), seven for a free joint "
        "(position and quaternion in the actor's frame).",
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
        doc="Free joints are given in the world frame, not in the actor's frame.",
    )

    def _own_validate(self) -> None:
        if "name" in self._authored and not self.name:
            raise PropertyError(f"{self.label}.name: must not be empty", ("name",))


class Replicate(HasProperties):
    """Copies of an actor on a grid: `dog_0`, `dog_1`, …; what is attached to it is copied too."""

    count = Vector(
        [1, 1, 1], min=1, partial=True, structural=True, doc="Number of copies along x, y and z."
    )
    spacing = Vector(
        [1.0, 1.0, 1.0],
        unit="m",
        partial=True,
        structural=True,
        doc="Spacing along x, y and z.",
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
