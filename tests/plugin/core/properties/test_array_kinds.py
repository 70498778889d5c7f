"""Property kinds of several reals."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjrig.components import PDController
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.has_properties import HasProperties
from tests.plugin.core.properties.kinds import FIXED, Thing, refusal, taken
from tests.wording import matches


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
        (3, "must be a list … 3 … 3"),
        ("abc", "must be a list … 3 … 'abc'"),
        ([0, "up", 0], "must be numbers, got 'up'"),
        ([0, True, 0], "must be numbers, got True"),
        ([0, [1], 0], "must be numbers, got [1]"),
        ([0, 2, 0], "must be <= 1 m, got 2"),
        ([0, math.nan, 0], "must be a number, … nan"),
        ([0, -math.inf, 0], "must be >= -1 m, got -inf"),
    ],
)
def test_a_vector_says_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("offset", value), problem)


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


@pytest.mark.parametrize("written", [[], [1], [0, 0.5, -1], [[0, 1], [1, 0.5]]])
def test_samples_are_lists_of_any_length_kept_as_written(written: list[Any]) -> None:
    read, saved = taken("curve", written)
    assert read.tolist() == written
    assert repr(saved) == repr(written)
    assert not read.flags.writeable


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "must be a list … 3"),
        ([0, "up"], "must be finite numbers, got 'up'"),
        ([0, math.inf], "must be finite numbers, … inf"),
        ([0, math.nan], "must be a number, … nan"),
        ([0, 2], "must be <= 1 N·m, got 2"),
        ([[0, 1], [0]], "must be lists of …"),
        ([0, [1]], "must be lists of …"),
        ([[0], 1], "must be lists of …"),
    ],
)
def test_samples_say_what_is_wrong(value: object, problem: str) -> None:
    assert matches(refusal("curve", value), problem)


def test_a_family_member_is_named_by_its_type() -> None:
    thing = Thing.from_data({"tool": {"type": "PDController", "kp": 3}})
    assert isinstance(thing.tool, PDController)
    assert thing.to_data() == {"tool": {"type": "PDController", "kp": 3}}
