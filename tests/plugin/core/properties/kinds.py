"""One property of each kind, for the tests of them."""

from enum import StrEnum
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Samples, Vector
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
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

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time


class Frame(StrEnum):
    WORLD = "world"
    BASE = "base"


class Part(HasProperties):
    width = Float(1.0, unit="m")


class Thing(HasProperties):
    on = Bool(True)
    size = Float(1.0, min=0.0, max=10.0, soft_min=1.0, soft_max=5.0, unit="m")
    mass = Float(1.0, min=0.0, above=True, unit="kg")
    free = Float(0.0)
    share = Float(0.5, min=0.0, max=1.0)
    delay = OptionalFloat(None, min=0.0, unit="s")
    count = Int(3, min=1, max=2**20)
    whole = Int(0)
    name = Text("thing")
    owns = Patterns((".*",))
    frame = Choice(Frame.WORLD)
    table = FilePath(suffixes=(".csv", ".npz"))
    anything = FilePath()
    offset = Vector([0.0, 0.0, 1.0], min=-1.0, max=1.0, unit="m")
    curve = Samples([], min=-1.0, max=1.0, unit="N·m")
    piece = Nested(Part)
    parts = NestedList(Part, polymorphic=False)
    tool = Nested(ActorComponent, polymorphic=True)
    tools = NestedList(ActorComponent)


def refusal(name: str, value: object) -> str:
    """The message of a refused value, after a look that nothing changed."""
    thing = Thing()
    before = dict(vars(thing))
    with pytest.raises(PropertyError) as caught:
        thing.assign({name: value})
    assert vars(thing) == before
    prefix = f"Thing.{name}: "
    assert str(caught.value).startswith(prefix)
    return str(caught.value).removeprefix(prefix)


def taken(name: str, value: object) -> tuple[Any, object]:
    """The value as it is read, and as it would be saved; the file gives the same thing back."""
    thing = Thing.from_data({name: value})
    again = Thing.from_data(thing.to_data())
    assert again.to_data() == thing.to_data()
    return vars(thing)[name], thing.to_data()[name]


BAD = st.sampled_from(
    [
        ("on", 1),
        ("size", -1),
        ("size", "x"),
        ("mass", 0),
        ("delay", -1),
        ("count", 0.5),
        ("name", 3),
        ("owns", "("),
        ("frame", "moon"),
        ("table", "a.txt"),
        ("offset", [1]),
        ("curve", [0, [1]]),
        ("piece", 3),
        ("parts", [{"width": "wide"}]),
        ("tool", {"type": "Nothing"}),
        ("tools", 3),
        ("nothing", 3),
    ]
)
