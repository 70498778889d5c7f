"""Sections of actors and scenes: attachments, keyframes, copies, frames, collision groups."""

import re
from enum import StrEnum

from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Numbers, Table, Vector, numbers
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PatternLists, PatternMap
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, OptionalFloat, Patterns, Text
from mjrig.core.scene.pose import PLACE, Transform

# Actor parts --------------------------------------------------------------------------------------


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
    range = PatternLists(
        (2, 2),
        ordered=True,
        structural=True,
        unit="rad or m",
        doc="Joint limits, as [low, high]; of a ball joint [0, largest angle].",
    )
    actuatorfrcrange = PatternLists(
        (2, 2),
        ordered=True,
        structural=True,
        unit="N·m or N",
        doc="Limits of the total actuator effort on a hinge or slide joint, as [low, high].",
    )


class BodyInertias(HasProperties):
    """Masses, centres of mass and inertias that override the model's, by body name pattern.

    A mass alone changes the inertia in proportion, as another density does; a centre alone leaves
    the inertia about it as it is.
    """

    mass = PatternMap(
        min=0.0, above=True, structural=True, refers=("body",), unit="kg", doc="Mass of the body."
    )
    centre = PatternLists(
        (3, 3),
        structural=True,
        refers=("body",),
        unit="m",
        doc="Centre of mass in the frame of the body, as [x, y, z].",
    )
    inertia = PatternLists(
        (6, 6),
        structural=True,
        refers=("body",),
        unit="kg·m²",
        doc="Inertia about the centre of mass along the axes of the body, as "
        "[xx, yy, zz, xy, xz, yz].",
    )


_ON = ("actuator", "joint")


class NativeGains(HasProperties):
    """Gains and limits of the model's own actuators, by actuator or joint name pattern.

    Each kind of actuator has its own: kp, kv and dampratio of position and intvelocity, kv of
    velocity and damper, kp, kv, ki and dampratio of pid, kp, kv and ki of a dcmotor with a
    controller. What is not given stays as the model has it.
    """

    kp = PatternMap(min=0.0, structural=True, refers=_ON, unit="N·m/rad or N/m", doc="Stiffness.")
    kv = PatternMap(min=0.0, structural=True, refers=_ON, unit="N·m·s/rad or N·s/m", doc="Damping.")
    ki = PatternMap(
        min=0.0, structural=True, refers=_ON, unit="N·m/(rad·s) or N/(m·s)", doc="Integral gain."
    )
    dampratio = PatternMap(
        min=0.0,
        structural=True,
        refers=_ON,
        doc="Damping ratio instead of kv; 1 is critical at the effective mass of the pose.",
    )
    forcerange = PatternLists(
        (2, 2), ordered=True, structural=True, refers=_ON, doc="Force limits as [low, high]."
    )
    ctrlrange = PatternLists(
        (2, 2), ordered=True, structural=True, refers=_ON, doc="Control limits as [low, high]."
    )
    gear = PatternLists((1, 6), structural=True, refers=_ON, doc="Gear: one number, or up to six.")


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

    def validate(self) -> None:
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

    def validate(self) -> None:
        for i, value in enumerate(self.count):
            if value != int(value):
                problem = f"{self.label}.count: must be whole numbers, got {value:g}"
                raise PropertyError(problem, ("count",), at=(i,))
        total = self.count.prod()
        if total > MAX_COPIES:
            problem = f"{self.label}.count: must be at most {MAX_COPIES} copies, got {total:g}"
            raise PropertyError(problem, ("count",))


class GainTests(HasProperties):
    """Signals and thresholds of `mjrig tune test`; a threshold that is null is not judged."""

    amplitude = Float(
        0.1,
        min=0.0,
        above=True,
        unit="rad or m",
        category="Signals",
        doc="Of steps and sines; less where the joint's range leaves less room.",
    )
    frequency = Float(
        1.0, min=0.0, above=True, unit="Hz", category="Signals", doc="Frequency of the sine."
    )
    payload = PatternMap(
        min=0.0,
        unit="kg",
        refers=("body",),
        category="Signals",
        doc="Mass to hold besides the robot's own, at the centre of mass of bodies, by name "
        "pattern.",
    )
    rise_time = OptionalFloat(
        None,
        min=0.0,
        unit="s",
        category="Steps",
        doc="Most time from 10 to 90 % of a step; null: not judged.",
    )
    overshoot = OptionalFloat(
        0.2, min=0.0, category="Steps", doc="Most overshoot, as a share of the step."
    )
    settling_time = OptionalFloat(
        1.0,
        min=0.0,
        unit="s",
        category="Steps",
        doc="Most time until a step response stays within 2 % of its final value.",
    )
    saturation = OptionalFloat(
        0.25,
        min=0.0,
        max=1.0,
        category="Steps",
        doc="Largest share of the first second after a step spent at an effort limit.",
    )
    angle_error = OptionalFloat(
        0.05,
        min=0.0,
        unit="rad",
        category="Errors",
        doc="Largest steady-state error of hinges: after a step, at a limit, under load.",
    )
    distance_error = OptionalFloat(
        0.005, min=0.0, unit="m", category="Errors", doc="Largest steady-state error of slides."
    )
    static_effort = OptionalFloat(
        0.5,
        min=0.0,
        category="Errors",
        doc="Largest share of the effort limit that holding the pose may take.",
    )
    limit_time = OptionalFloat(
        3.0,
        min=0.0,
        unit="s",
        category="Limits",
        doc="Most time to settle at an end of the range.",
    )
    limit_overshoot = OptionalFloat(
        0.02,
        min=0.0,
        category="Limits",
        doc="Farthest beyond an end of the range, as a share of the range.",
    )
    limit_saturation = OptionalFloat(
        None,
        min=0.0,
        max=1.0,
        category="Limits",
        doc="Largest share of the first second of the way to a limit spent at an effort limit; "
        "null: not judged.",
    )
    gain_error = OptionalFloat(
        0.1,
        min=0.0,
        category="Sine",
        doc="Largest deviation of the amplitude ratio position / target from 1.",
    )
    phase_lag = OptionalFloat(
        45.0, min=0.0, unit="°", category="Sine", doc="Largest phase lag behind the target."
    )
    tracking_error = OptionalFloat(
        None,
        min=0.0,
        category="Sine",
        doc="Largest RMS tracking error, as a share of the amplitude; null: not judged.",
    )
    timestep_change = OptionalFloat(
        0.1,
        min=0.0,
        category="Timestep",
        doc="Largest difference between the step responses at half or twice the timestep and at "
        "the scene's own, as a share of the step.",
    )


# Scene parts --------------------------------------------------------------------------------------
# Parts of a scene besides actors and includes: frames, collision groups, randomisation.


class Frame(Transform):
    """A named frame: in the world, or fixed to a body or site of an actor."""

    name = Text("", structural=True, doc="Name; the compiled model has a site of that name.")
    on = Text(
        "world",
        structural=True,
        refers=PLACE,
        doc="world, another frame, actor/body or actor/site.",
    )


class CollisionGroup(HasProperties):
    """Bodies that do not collide with the bodies of some groups."""

    name = Text("", structural=True, doc="Name of the group.")
    members = Patterns((), structural=True, refers=PLACE, doc="Actors, or actor/body, as patterns.")
    groups = Patterns(
        (), structural=True, refers=("group",), doc="Other groups whose members are included."
    )
    ignores = Patterns(
        (),
        structural=True,
        refers=("group",),
        doc="Groups it does not collide with; its own name: no collisions among its members.",
    )


class Operation(StrEnum):
    """How a drawn value is applied."""

    ADD = "add"
    SCALE = "scale"
    SET = "set"


class Distribution(StrEnum):
    """Distribution a value is drawn from."""

    UNIFORM = "uniform"
    NORMAL = "normal"


class Randomise(HasProperties):
    """A property that differs from world to world, drawn when the world is built."""

    path = Text(
        "",
        structural=True,
        doc="actor.part.property; the actor is a name pattern: `dog_.*.PDController.kp`.",
    )
    operation = Choice(Operation.ADD, structural=True, doc="Add to, scale or set the value.")
    distribution = Choice(
        Distribution.UNIFORM, structural=True, doc="Distribution of the drawn value."
    )
    low = Numbers(0.0, structural=True, edit_if="distribution=uniform", doc="Lower bound.")
    high = Numbers(0.0, structural=True, edit_if="distribution=uniform", doc="Upper bound.")
    mean = Numbers(0.0, structural=True, edit_if="distribution=normal", doc="Mean.")
    deviation = Numbers(
        0.0, structural=True, edit_if="distribution=normal", doc="Standard deviation."
    )

    def validate(self) -> None:
        for low, high in (("low", "high"), ("mean", "deviation")):
            sizes = getattr(self, low).size, getattr(self, high).size
            if 1 not in sizes and sizes[0] != sizes[1]:
                raise PropertyError(
                    f"{self.label}: {low} has {sizes[0]} values and {high} has {sizes[1]}", (high,)
                )
        if (self.low > self.high).any():
            raise PropertyError(f"{self.label}: low is above high", ("low",))
        if (self.deviation < 0.0).any():
            raise PropertyError(f"{self.label}.deviation: must be >= 0", ("deviation",))
