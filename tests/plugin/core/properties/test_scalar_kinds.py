"""Property kinds of one value."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjrig.core.errors import PropertyError
from tests.plugin.core.properties.kinds import FIXED, Frame, Thing, refusal, taken
from tests.wording import matches


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
        ("size", math.nan, "must be a number, … nan"),
        ("size", ".nan", "must be a number, … nan"),
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
    assert matches(refusal(name, value), problem)


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


@pytest.mark.parametrize("value", [5, 5.0, "5", np.int16(5), np.float64(5)])
def test_an_int_is_whole_however_it_is_written(value: object) -> None:
    read, saved = taken("count", value)
    assert (read, saved, type(read), type(saved)) == (5, 5, int, int)


def test_an_int_is_exact_beyond_what_a_float_holds() -> None:
    assert taken("whole", 2**53 + 1) == (2**53 + 1, 2**53 + 1)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (2.5, "must be a whole … 2.5"),
        ("1e-3", "must be >= 1, got 0.001"),
        (0, "must be >= 1, got 0"),
        (2**20 + 1, "must be <= 1048576, got 1048577"),
        (True, "must be a number, got True"),
        ("many", "must be a number, got 'many'"),
        (math.nan, "must be a number, … nan"),
    ],
)
def test_an_int_says_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("count", value), problem)


def test_infinity_is_not_whole() -> None:
    assert matches(refusal("whole", math.inf), "must be a whole … inf")


def test_a_bool_takes_true_and_false_alone() -> None:
    assert taken("on", False) == (False, False)
    assert taken("on", np.bool_(False)) == (False, False)


@pytest.mark.parametrize("value", [1, 0, "true", "yes", None])
def test_a_bool_refuses_what_only_looks_true(value: object) -> None:
    assert matches(refusal("on", value), f"must be true or … {value!r}")


def test_a_text_is_taken_as_it_is() -> None:
    assert taken("name", " täxt ") == (" täxt ", " täxt ")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (12, "must be text, got 12; …"),
        (True, "must be text, got True; …"),
        (None, "must be text, got None"),
        (["a"], "must be text, got ['a']"),
    ],
)
def test_a_text_says_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("name", value), problem)


def test_a_choice_is_read_as_a_member_and_saved_as_text() -> None:
    for value in ("base", Frame.BASE):
        read, saved = taken("frame", value)
        assert (read, saved, type(saved)) == (Frame.BASE, "base", str)


@pytest.mark.parametrize("value", ["moon", 1, None, ["base"]])
def test_a_choice_names_what_there_is(value: object) -> None:
    assert matches(refusal("frame", value), f"must be one of … {value!r}")


@pytest.mark.parametrize(
    ("value", "meant"), [("World", "world"), ("wrold", "world"), ("bse", "base")]
)
def test_a_mistyped_choice_names_the_one_that_is_meant(value: str, meant: str) -> None:
    said = f"must be one of world, base; got {value!r}; did you mean {meant!r}?"
    assert refusal("frame", value) == said


def test_a_path_is_kept_as_written() -> None:
    assert taken("table", "../a//b.CSV") == (Path("../a/b.CSV"), "../a//b.CSV")
    assert taken("table", Path("a.npz")) == (Path("a.npz"), "a.npz")
    assert taken("anything", "package:mjrig/x") == (Path("package:mjrig/x"), "package:mjrig/x")


def test_a_path_may_be_nothing() -> None:
    assert taken("table", None) == (None, None)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a.txt", "must end in .csv or .npz, … 'a.txt'"),
        ("", "must be a file … ''"),
        (3, "must be a file … 3"),
    ],
)
def test_a_path_says_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("table", value), problem)


def test_patterns_are_one_or_a_list_and_kept_as_written() -> None:
    assert taken("owns", "FL_.*") == (("FL_.*",), "FL_.*")
    assert taken("owns", ["a", "b.*"]) == (("a", "b.*"), ["a", "b.*"])
    assert taken("owns", ("a",)) == (("a",), ["a"])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("FL_(", "'FL_(' is not a valid … ), … 3"),
        (["a", 3], "must be a pattern, … 3; …"),
        ([], "must be a pattern … []"),
        (3, "must be a pattern … 3"),
        (None, "must be a pattern … None"),
        ({"a": 1}, "must be a pattern … {'a': 1}"),
    ],
)
def test_patterns_say_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("owns", value), problem)


def test_a_pattern_error_points_at_the_item() -> None:
    with pytest.raises(PropertyError) as caught:
        Thing(owns=["a", "("])
    assert (caught.value.keys, caught.value.at) == (("owns",), (1,))


def test_a_vector_is_read_as_an_array_and_saved_as_written() -> None:
    read, saved = taken("offset", [1, 0.5, "1e-3"])
    assert read.tolist() == [1.0, 0.5, 0.001]
    assert saved == [1, 0.5, 0.001]
    assert isinstance(saved, list)
    assert type(saved[0]) is int
