"""The kernel's table look-up against the numpy one."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.components import PositionTable
from mjrig.components.laws.feedback import PD
from mjrig.components.laws.pipeline import Pipeline

pytest.importorskip("numba")
Array = npt.NDArray[np.float64]


def numpy_limits(x: Array, y: Array, q: Array) -> Array:
    """L(q) as PositionTable has it."""
    table = PositionTable(x, y)
    Pipeline(PD(), clamps=[table], size=len(q))
    return np.asarray(table.limit(q), np.float64)


def kernel_limits(x: Array, y: Array, q: Array) -> Array:
    """L(q) as the kernel has it."""
    from mjrig.components.executions.kernel import look_up

    return np.array([look_up(x, y, value) for value in q])


def points(low: float, high: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(low, high), min_size=2, max_size=9)


@settings(max_examples=200, deadline=None)
@given(x=points(-3, 3), y=st.lists(st.floats(0, 50), min_size=9, max_size=9), more=points(-4, 4))
def test_any_table_is_looked_up_bit_for_bit(
    x: list[float], y: list[float], more: list[float]
) -> None:
    positions, efforts = np.sort(x), np.array(y[: len(x)])
    middles = (positions[1:] + positions[:-1]) / 2
    beside = np.concatenate([np.nextafter(positions, -9), np.nextafter(positions, 9)])
    q = np.concatenate([positions, middles, beside, more])
    expected = numpy_limits(positions, efforts, q)
    assert np.array_equal(kernel_limits(positions, efforts, q), expected)


def test_at_a_position_that_stands_twice_the_left_value_counts() -> None:
    x, y = np.array([0.0, 1.0, 1.0, 2.0]), np.array([4.0, 3.0, 1.0, 1.0])
    q = np.array([1.0, np.nextafter(1.0, 2.0), 1.5])
    assert kernel_limits(x, y, q).tolist() == [3.0, 1.0, 1.0]
    assert numpy_limits(x, y, q).tolist() == [3.0, 1.0, 1.0]


def test_a_table_that_repeats_its_last_point_is_the_same_table() -> None:
    x, y = np.array([-1.0, 0.5, 2.0]), np.array([5.0, 1.0, 3.0])
    longer_x, longer_y = np.append(x, [2.0, 2.0]), np.append(y, [3.0, 3.0])
    q = np.linspace(-2, 3, 101)
    assert np.array_equal(kernel_limits(longer_x, longer_y, q), kernel_limits(x, y, q))
    assert np.array_equal(kernel_limits(x, y, q), numpy_limits(x, y, q))
