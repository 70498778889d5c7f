"""Parts of a scene besides actors and includes: frames, collision groups, randomisation."""

from enum import StrEnum

from mjrig.errors import PropertyError
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Numbers
from mjrig.properties.scalar_kinds import Choice, Patterns, Text
from mjrig.scene.pose import PLACE, Transform


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

    def _own_validate(self) -> None:
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
