"""Classes with properties that the tests of this room share."""

from collections.abc import Callable
from enum import StrEnum

import pytest
from hypothesis import settings

from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Int, Text

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time


class Mode(StrEnum):
    STEP = "step"
    INTEGRATOR = "integrator"


class Motor(HasProperties):
    on = Bool(True, doc="Whether it runs.")
    mode = Choice(Mode.STEP)
    speed = Float(1.0, min=0.0, max=10.0, unit="rad/s", edit_if="on")
    window = Float(0.5, edit_if="mode=step")
    axis = Vector([0.0, 0.0, 1.0])
    heat = Float(20.0, read_only=True)
    note = Text("", stored=False)
    secret = Int(0, shown=False)
    gear = Int(1, structural=True)

    def prepare(self) -> None:
        self._seen: list[tuple[str, ...]] = []
        self._double = 2.0

    def validate(self) -> None:
        if self.speed == 7.0:
            raise PropertyError(f"{self.label}: seven is unlucky")

    def on_change(self, names: tuple[str, ...]) -> None:
        self._double = 2.0 * self.speed
        if self.speed == 9.0:
            raise PropertyError(f"{self.label}: nine is too loud")


class Clamp(HasProperties):
    limit = Float(1.0, min=0.0, unit="N·m")
    gain = PerActuator(constant=1.0, min=0.0)


class Lag(HasProperties):
    steps = Int(0, min=0)
    clamp = Nested(Clamp)


class Owner(HasProperties):
    size = Int(1)
    lag = Nested(Lag)
    spare = Nested(Lag)
    clamps = NestedList(Clamp, polymorphic=False)

    def prepare(self) -> None:
        self._changes: list[tuple[str, ...]] = []

    def validate(self) -> None:
        if sum(c.limit for c in self.clamps) > 100.0:
            raise PropertyError(f"{self.label}: the clamps allow more than 100 N·m together")

    def on_change(self, names: tuple[str, ...]) -> None:
        self._changes.append(names)


def refused(obj: HasProperties, change: Callable[[], object]) -> PropertyError:
    """The error of a change that must leave the object, and all that is in it, as it was."""
    before = [(member, dict(vars(member))) for member in obj._family()]
    with pytest.raises(PropertyError) as caught:
        change()
    assert [(member, vars(member)) for member in obj._family()] == before
    return caught.value


def reports(obj: HasProperties) -> list[tuple[str, ...]]:
    """A list that grows with every notification."""
    seen: list[tuple[str, ...]] = []
    obj.watch(lambda _, names: seen.append(names))
    return seen
