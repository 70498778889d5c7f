"""Plain data, copies and pickles of what was authored."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from mjrig.core.arrays import frozen
from mjrig.core.errors import PropertyError
from mjrig.core.properties.has_properties import HasProperties
from tests.plugin.core.properties.declared_classes import Clamp, Motor, Owner, reports
from tests.wording import matches


def test_to_data_leaves_out_what_is_not_stored() -> None:
    assert Motor(note="mine", speed=2).to_data() == {"speed": 2}


def test_to_data_descends_into_nested_components() -> None:
    data = {"lag": {"steps": 3, "clamp": {"limit": 2}}, "clamps": [{}, {"limit": 1}]}
    assert Owner.from_data(data).to_data() == data


def test_to_data_is_a_copy() -> None:
    motor = Motor(axis=[1, 0, 0])
    data: Any = motor.to_data()
    data["axis"][0] = 9
    assert motor.to_data() == {"axis": [1, 0, 0]}


def test_from_data_names_an_unknown_key() -> None:
    with pytest.raises(PropertyError) as caught:
        Motor.from_data({"sped": 1})
    assert matches(str(caught.value), "Motor has no property 'sped'; did … 'speed'?")


def test_a_repr_reads_like_the_constructor() -> None:
    assert repr(Motor(speed=2, gear=3)) == "Motor(speed=2, gear=3)"


def roundtripped(obj: HasProperties) -> Any:
    return pickle.loads(pickle.dumps(obj))


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_is_equal_and_independent(duplicate: Callable[[Owner], Owner]) -> None:
    owner = Owner(size=2, lag={"steps": 3, "clamp": {"limit": 2}}, clamps=[{"limit": 4}, {}])
    twin = duplicate(owner)
    assert twin.to_data() == owner.to_data()
    twin.clamps[0].limit = 5.0
    assert owner.clamps[0].limit == 4.0
    assert twin.clamps[0].label == "Owner.clamps[0]"
    assert twin.clamps[0]._parent is twin


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_the_arrays_of_a_copy_are_read_only(duplicate: Callable[[Motor], Motor]) -> None:
    twin = duplicate(Motor(axis=[1, 0, 0]))
    assert twin.axis.tolist() == [1.0, 0.0, 0.0]
    assert not twin.axis.flags.writeable


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_keeps_what_a_file_would_not(duplicate: Callable[[Motor], Motor]) -> None:
    assert duplicate(Motor(note="mine")).note == "mine"


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_is_neither_watched_nor_nested(duplicate: Callable[[Clamp], Clamp]) -> None:
    owner = Owner(clamps=[{}])
    seen, above = reports(owner.clamps[0]), reports(owner)
    twin = duplicate(owner.clamps[0])
    twin.limit = 3.0
    assert (seen, above, twin.label) == ([], [], "Clamp")


def test_frozen_is_a_read_only_copy() -> None:
    values = np.array([1.0, 2.0])
    array = frozen(values)
    values[0] = 9.0
    assert array.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 9.0
