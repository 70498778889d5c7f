"""Numbers as people write them, and their ranges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjrig.core.properties.declaration import number, plain
from tests.plugin.core.properties.kinds import FIXED, taken


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


def test_a_float_keeps_an_integer_as_written() -> None:
    value, saved = taken("size", 3)
    assert (value, type(value), saved, type(saved)) == (3.0, float, 3, int)
