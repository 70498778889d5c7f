"""The kinds of property: what each accepts, refuses and keeps."""

import math
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.components import PDController, TrotGait
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Samples, Vector
from mjrig.properties.bounds import number, plain
from mjrig.properties.component import ActorComponent, Component
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.scalar_kinds import (
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


# Numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (2.5, 2.5),
        ("1e-3", 0.001),
        ("-2", -2.0),
        (".5", 0.5),
        ("5.", 5.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", math.inf),
        (np.float32(0.5), 0.5),
        (np.int8(7), 7.0),
    ],
)
def test_a_number_is_a_number_or_its_text(value: object, expected: float) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    "value", [True, np.bool_(True), None, "", "fast", "1e", "0x10", "1_000", " 1", 1j, [1], 10**400]
)
def test_anything_else_is_no_number(value: object) -> None:
    assert number(value) is None


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN", "nan"])
def test_nan_is_read_from_its_yaml_text(text: str) -> None:
    assert math.isnan(number(text) or 0.0)


@FIXED
@given(st.floats(allow_nan=False))
def test_any_number_is_read_from_its_own_text(value: float) -> None:
    assert number(repr(value)) == value


def test_plain_keeps_integers() -> None:
    assert [plain(3), plain(np.int32(3)), plain(3.0), plain(np.float64(3))] == [3, 3, 3.0, 3.0]
    assert [type(plain(v)) for v in (3, np.int32(3), 3.0, "3")] == [int, int, float, float]


# Float ------------------------------------------------------------------------------------------


def test_a_float_keeps_an_integer_as_written() -> None:
    value, saved = taken("size", 3)
    assert (value, type(value), saved, type(saved)) == (3.0, float, 3, int)


def test_a_float_takes_the_text_yaml_makes_of_an_exponent() -> None:
    assert taken("size", "1e-3") == (0.001, 0.001)


def test_a_float_saves_numpy_numbers_as_plain_ones() -> None:
    assert [type(taken("size", v)[1]) for v in (np.float32(2), np.int64(2))] == [float, int]


@pytest.mark.parametrize("value", [0, 10, 0.0, 10.0, 7])
def test_a_hard_range_includes_its_ends_and_ignores_the_soft_one(value: float) -> None:
    assert taken("size", value) == (value, value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("size", -1, "must be >= 0 m, got -1"),
        ("size", 10.5, "must be <= 10 m, got 10.5"),
        ("size", math.inf, "must be <= 10 m, got inf"),
        ("size", math.nan, "must be a number, got nan"),
        ("size", ".nan", "must be a number, got nan"),
        ("size", True, "must be a number, got True"),
        ("size", np.bool_(False), "must be a number, got np.False_"),
        ("size", "fast", "must be a number, got 'fast'"),
        ("size", None, "must be a number, got None"),
        ("size", [1.0], "must be a number, got [1.0]"),
        ("size", 1j, "must be a number, got 1j"),
        ("mass", 0, "must be > 0 kg, got 0"),
        ("share", 1.0000001, "must be <= 1, got 1.0000001"),
        ("share", -1e-9, "must be >= 0, got -1e-09"),
        ("delay", -0.5, "must be >= 0 s, got -0.5"),
        ("delay", "soon", "must be a number, got 'soon'"),
    ],
)
def test_a_float_says_what_is_wrong(name: str, value: object, problem: str) -> None:
    assert refusal(name, value) == problem


def test_an_unbounded_float_takes_infinity() -> None:
    assert taken("free", ".inf") == (math.inf, math.inf)


def test_a_number_beyond_any_float_is_refused() -> None:
    assert refusal("free", 10**400) == f"must be a number, got {10**400}"


def test_the_soft_range_is_the_hard_one_unless_given() -> None:
    soft = Thing.size.bounds.soft_low, Thing.size.bounds.soft_high
    hard = Thing.share.bounds.soft_low, Thing.share.bounds.soft_high
    assert (soft, hard) == ((1.0, 5.0), (0.0, 1.0))


def test_a_range_reads_in_words() -> None:
    names = ("size", "mass", "free", "delay", "name")
    assert [Thing.property_named(n).range_text() for n in names] == [
        ">= 0 m, <= 10 m",
        "> 0 kg",
        "",
        ">= 0 s",
        "",
    ]


def test_an_optional_float_may_be_nothing() -> None:
    assert taken("delay", None) == (None, None)
    assert taken("delay", 2) == (2.0, 2)


@FIXED
@given(st.floats(0.0, 10.0) | st.integers(0, 10))
def test_any_number_inside_the_range_reads_back_as_authored(value: float) -> None:
    thing = Thing(size=value)
    assert thing.authored("size") == value
    assert type(thing.authored("size")) is type(value)


# Int --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [5, 5.0, "5", np.int16(5), np.float64(5)])
def test_an_int_is_whole_however_it_is_written(value: object) -> None:
    read, saved = taken("count", value)
    assert (read, saved, type(read), type(saved)) == (5, 5, int, int)


def test_an_int_is_exact_beyond_what_a_float_holds() -> None:
    assert taken("whole", 2**53 + 1) == (2**53 + 1, 2**53 + 1)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (2.5, "must be a whole number, got 2.5"),
        ("1e-3", "must be >= 1, got 0.001"),
        (0, "must be >= 1, got 0"),
        (2**20 + 1, "must be <= 1048576, got 1048577"),
        (True, "must be a number, got True"),
        ("many", "must be a number, got 'many'"),
        (math.nan, "must be a number, got nan"),
    ],
)
def test_an_int_says_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("count", value) == problem


def test_infinity_is_not_whole() -> None:
    assert refusal("whole", math.inf) == "must be a whole number, got inf"


# Bool, Text, Choice, FilePath, Patterns ---------------------------------------------------------


def test_a_bool_takes_true_and_false_alone() -> None:
    assert taken("on", False) == (False, False)
    assert taken("on", np.bool_(False)) == (False, False)


@pytest.mark.parametrize("value", [1, 0, "true", "yes", None])
def test_a_bool_refuses_what_only_looks_true(value: object) -> None:
    assert refusal("on", value) == f"must be true or false, got {value!r}"


def test_a_text_is_taken_as_it_is() -> None:
    assert taken("name", " täxt ") == (" täxt ", " täxt ")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (12, "must be text, got 12; quote it"),
        (True, "must be text, got True; quote it"),
        (None, "must be text, got None"),
        (["a"], "must be text, got ['a']"),
    ],
)
def test_a_text_says_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("name", value) == problem


def test_a_choice_is_read_as_a_member_and_saved_as_text() -> None:
    for value in ("base", Frame.BASE):
        read, saved = taken("frame", value)
        assert (read, saved, type(saved)) == (Frame.BASE, "base", str)


@pytest.mark.parametrize("value", ["moon", "World", 1, None, ["base"]])
def test_a_choice_names_what_there_is(value: object) -> None:
    assert refusal("frame", value) == f"must be one of world, base; got {value!r}"


def test_a_path_is_kept_as_written() -> None:
    assert taken("table", "../a//b.CSV") == (Path("../a/b.CSV"), "../a//b.CSV")
    assert taken("table", Path("a.npz")) == (Path("a.npz"), "a.npz")
    assert taken("anything", "package:mjrig/x") == (Path("package:mjrig/x"), "package:mjrig/x")


def test_a_path_may_be_nothing() -> None:
    assert taken("table", None) == (None, None)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a.txt", "must end in .csv or .npz, got 'a.txt'"),
        ("", "must be a file name, got ''"),
        (3, "must be a file name, got 3"),
    ],
)
def test_a_path_says_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("table", value) == problem


def test_patterns_are_one_or_a_list_and_kept_as_written() -> None:
    assert taken("owns", "FL_.*") == (("FL_.*",), "FL_.*")
    assert taken("owns", ["a", "b.*"]) == (("a", "b.*"), ["a", "b.*"])
    assert taken("owns", ("a",)) == (("a",), ["a"])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("FL_(", "'FL_(' is not a valid pattern: missing ), unterminated subpattern at position 3"),
        (["a", 3], "must be a pattern, got 3; quote it"),
        ([], "must be a pattern or a list of patterns, got []"),
        (3, "must be a pattern or a list of patterns, got 3"),
        (None, "must be a pattern or a list of patterns, got None"),
        ({"a": 1}, "must be a pattern or a list of patterns, got {'a': 1}"),
    ],
)
def test_patterns_say_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("owns", value) == problem


def test_a_pattern_error_points_at_the_item() -> None:
    with pytest.raises(PropertyError) as caught:
        Thing(owns=["a", "("])
    assert (caught.value.keys, caught.value.at) == (("owns",), (1,))


# Vector -----------------------------------------------------------------------------------------


def test_a_vector_is_read_as_an_array_and_saved_as_written() -> None:
    read, saved = taken("offset", [1, 0.5, "1e-3"])
    assert read.tolist() == [1.0, 0.5, 0.001]
    assert saved == [1, 0.5, 0.001]
    assert isinstance(saved, list)
    assert type(saved[0]) is int


def test_a_vector_cannot_be_written_in_place() -> None:
    for thing in (Thing(), Thing(offset=[0, 0, 0])):
        with pytest.raises(ValueError, match="read-only"):
            thing.offset[0] = 1.0


def test_a_vector_copies_what_it_is_given() -> None:
    values = np.array([0.0, 0.0, 0.5])
    listed = [0.0, 0.0, 0.5]
    first, second = Thing(offset=values), Thing(offset=listed)
    values[0] = listed[0] = 1.0
    for thing in (first, second):
        assert thing.offset.tolist() == [0.0, 0.0, 0.5]
        assert thing.authored("offset") == [0.0, 0.0, 0.5]


def test_a_vector_equal_to_its_default_is_not_modified() -> None:
    assert not Thing(offset=[0, 0, 1]).is_modified("offset")
    assert Thing(offset=[0, 0, 0]).is_modified("offset")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([0, 0], "must have 3 values, got 2"),
        (3, "must be a list of 3 numbers, got 3"),
        ("abc", "must be a list of 3 numbers, got 'abc'"),
        ([0, "up", 0], "must be numbers, got 'up'"),
        ([0, True, 0], "must be numbers, got True"),
        ([0, [1], 0], "must be numbers, got [1]"),
        ([0, 2, 0], "must be <= 1 m, got 2"),
        ([0, math.nan, 0], "must be a number, got nan"),
        ([0, -math.inf, 0], "must be >= -1 m, got -inf"),
    ],
)
def test_a_vector_says_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("offset", value) == problem


def test_an_unbounded_vector_is_finite_all_the_same() -> None:
    class Arrow(HasProperties):
        tip = Vector([0.0])

    with pytest.raises(PropertyError) as caught:
        Arrow(tip=[math.inf])
    assert str(caught.value) == "Arrow.tip: must be finite, got inf"
    assert caught.value.at == (0,)


@FIXED
@given(st.lists(st.floats(-1.0, 1.0) | st.integers(-1, 1), min_size=3, max_size=3))
def test_any_vector_inside_the_range_reads_back(values: list[float]) -> None:
    thing = Thing(offset=values)
    assert thing.authored("offset") == values
    assert thing.offset.tolist() == values


# Samples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [[], [1], [0, 0.5, -1], [[0, 1], [1, 0.5]]])
def test_samples_are_lists_of_any_length_kept_as_written(written: list[Any]) -> None:
    read, saved = taken("curve", written)
    assert read.tolist() == written
    assert repr(saved) == repr(written)
    assert not read.flags.writeable


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "must be a list of numbers, got 3"),
        ([0, "up"], "must be finite numbers, got 'up'"),
        ([0, math.inf], "must be finite numbers, got inf"),
        ([0, math.nan], "must be a number, got nan"),
        ([0, 2], "must be <= 1 N·m, got 2"),
        ([[0, 1], [0]], "must be lists of one length"),
        ([0, [1]], "must be lists of one length"),
        ([[0], 1], "must be lists of one length"),
    ],
)
def test_samples_say_what_is_wrong(value: object, problem: str) -> None:
    assert refusal("curve", value) == problem


# Families ---------------------------------------------------------------------------------------


def test_a_family_member_is_named_by_its_type() -> None:
    thing = Thing.from_data({"tool": {"type": "PDController", "kp": 3}})
    assert isinstance(thing.tool, PDController)
    assert thing.to_data() == {"tool": {"type": "PDController", "kp": 3}}


def test_a_list_of_a_family_keeps_its_order() -> None:
    data = [{"type": "TrotGait", "lift": 0.1}, {"type": "PDController"}]
    thing = Thing.from_data({"tools": data})
    assert [type(t) for t in thing.tools] == [TrotGait, PDController]
    assert thing.to_data() == {"tools": data}


def test_the_callers_mapping_is_left_alone() -> None:
    data: dict[str, object] = {"type": "PDController", "kp": [1, 2]}
    thing = Thing.from_data({"tool": data})
    data["kp"] = 0
    assert thing.to_data() == {"tool": {"type": "PDController", "kp": [1, 2]}}


def test_a_mapping_without_a_type_is_told_the_types() -> None:
    problem = refusal("tool", {"kp": 1})
    assert problem.startswith("needs a 'type', one of ")
    assert {"PDController", "PassthroughController", "TrotGait"} <= set(
        problem.removeprefix("needs a 'type', one of ").split(", ")
    )


def test_an_unknown_type_names_the_nearest_and_points_at_it() -> None:
    with pytest.raises(PropertyError) as caught:
        Thing.from_data({"tools": [{"type": "PDControler"}]})
    assert str(caught.value) == (
        "Thing.tools[0]: there is no component type 'PDControler'; did you mean 'PDController'?"
    )
    assert (caught.value.keys, caught.value.at) == (("tools", 0), ("type",))


def test_a_type_that_is_not_text_is_refused() -> None:
    assert refusal("tool", {"type": 3}).startswith("there is no component type '3'; available: ")


def test_an_instance_of_another_class_is_refused() -> None:
    assert refusal("tool", Part()) == "must be a mapping, got Part()"


def test_a_copy_needs_no_registered_type() -> None:
    class Homemade(ActorComponent):
        level = Float(1.0)

    thing = Thing(tools=[Homemade(level=2)])
    twin = thing.copy()
    assert isinstance(twin.tools[0], Homemade)
    assert twin.tools[0].level == 2.0
    assert twin.tools[0] is not thing.tools[0]


def test_a_component_says_its_type() -> None:
    class Homemade(Component):
        level = Float(1.0)

    data = Homemade(level=2).to_data()
    assert data == {"type": "Homemade", "level": 2}
    assert Homemade.from_data(data).level == 2.0
    assert repr(Homemade(level=2)) == "Homemade(level=2)"


# Descriptions -----------------------------------------------------------------------------------


def test_a_default_reads_in_words() -> None:
    assert {p.name: p.default_text() for p in Thing.properties()} == {
        "on": "True",
        "size": "1",
        "mass": "1",
        "free": "0",
        "share": "0.5",
        "delay": "none",
        "count": "3",
        "whole": "0",
        "name": "'thing'",
        "owns": "'.*'",
        "frame": "world",
        "table": "none",
        "anything": "none",
        "offset": "[0.0, 0.0, 1.0]",
        "curve": "[]",
        "piece": "none",
        "parts": "[]",
        "tool": "none",
        "tools": "[]",
    }


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


@FIXED
@given(BAD, st.floats(0.0, 10.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_any_bad_value_changes_nothing(
    bad: tuple[str, object], size: float, offset: list[float]
) -> None:
    thing = Thing(name="before", piece={"width": 2})
    before = dict(vars(thing))
    with pytest.raises(PropertyError):
        thing.assign({"size": size, "offset": offset, "piece": {}, **dict([bad])})
    assert vars(thing) == before
    assert thing.piece is not None
    assert thing.piece.label == "Thing.piece"
