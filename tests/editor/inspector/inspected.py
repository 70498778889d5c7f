"""A component with a property of every kind, as another package would bring it."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pytest

from mjrig.core.properties import registry
from mjrig.core.properties.actions import action
from mjrig.core.properties.collection_kinds import Numbers, Samples, Table, Vector, a_name, anything
from mjrig.core.properties.component import ActorComponent, Component
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PatternMap, PerActuator
from mjrig.core.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Patterns,
    Text,
)


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    GREEN = "green"


class Pair(Property[tuple[str, str]]):
    """A kind the editor has never heard of: two names."""

    kind = "pair"

    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[str, str]]:
        if not isinstance(value, list) or len(value) != 2:
            raise self.error(obj, f"must be two names, got {value!r}")
        return list(value), (str(value[0]), str(value[1]))


class Knob(Component):
    """A family of one."""

    turn = Float(0.5, min=0.0, max=1.0, doc="How far it is turned.")


class Bench(HasProperties):
    """A part that can only be of one class."""

    height = Float(1.0, min=0.0, unit="m", doc="How high it is.")
    name = Text("", doc="What it is called.")


class Everything(ActorComponent):
    """One property of every kind.

    The second paragraph is for the tooltip.
    """

    on = Bool(False, doc="A switch.")
    count = Int(3, min=0, max=10, doc="How many.")
    big = Int(0, doc="A whole number without end.")
    gain = Float(10.0, min=0.0, soft_max=100.0, unit="N", category="Numbers", doc="Slides.")
    free = Float(1.0, min=0.5, max=4.0, above=True, category="Numbers", doc="Drags.")
    angle = Float(0.0, unit="rad", display="deg", category="Numbers", doc="Shown in degrees.")
    maybe = OptionalFloat(None, min=0.0, category="Numbers", doc="A number, or none.")
    where = Vector([0.0, 0.0, 0.0], unit="m", category="Numbers", doc="A point.")
    low = Numbers(0.0, category="Numbers", doc="One or several.")
    curve = Samples([], category="Numbers", doc="A list.")
    note = Text("", doc="A line.")
    which = Patterns((".*",), doc="Patterns.")
    colour = Choice(Colour.RED, doc="A choice.")
    shade = Float(0.0, edit_if="colour=green", doc="Only green has shades.")
    file = FilePath(suffixes=(".csv",), doc="A file.")
    alias = Table(a_name, doc="Names by name.")
    extra = Table(anything, doc="Anything by name.")
    weights = PatternMap(min=0.0, doc="Numbers by pattern.")
    each = PerActuator(constant=2.0, min=0.0, unit="N", doc="Per actuator.")
    pair = Pair(("a", "b"), doc="Of an unknown kind.")
    knob = Nested(Knob, polymorphic=True, category="Parts", doc="One of a family.")
    bench = Nested(Bench, category="Parts", doc="One of a class.")
    knobs = NestedList(Knob, category="Parts", doc="Several of a family.")
    benches = NestedList(Bench, polymorphic=False, category="Parts", doc="Several of a class.")
    seen = Float(0.0, read_only=True, doc="Set by the component alone.")
    hidden = Float(0.0, shown=False, doc="Never shown.")

    @action
    def twist(self, amount: float, word: str = "none") -> str:
        """Turn it."""
        self.gain = amount
        return f"{word} {amount:g}"


SCENE = """mjrig: 1
actors:
  - name: one
    model: package:tests.editor/pendulum.xml
    components:
      - type: Everything
        gain: 60
        where: [1, 2, 3]
  - name: two
    model: package:tests.editor/pendulum.xml
    pose: {position: [0, 2, 0]}
    components:
      - type: Everything
        gain: 80
        where: [4, 5, 6]
"""


@contextmanager
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the classes of this module known, as an installed package would."""
    ours = list(entry_points(group=registry.GROUP))
    points = [EntryPoint(n, f"{__name__}:{n}", registry.GROUP) for n in ("Everything", "Knob")]

    def found(group: str) -> list[Any]:
        return [*ours, *points]

    monkeypatch.setattr(registry, "entry_points", found)
    registry.refresh()
    try:
        yield
    finally:
        monkeypatch.undo()
        registry.refresh()
