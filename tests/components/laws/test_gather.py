"""Scattered entries in one buffer."""

from collections.abc import Iterable

import numpy as np
import pytest

from mjrig.components.laws.pipeline_arrays import Operation, as_slice, gather, merge, scaled


def run(operations: Iterable[Operation]) -> None:
    for operation in operations:
        operation()


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([], slice(0, 0)),
        ([4], slice(4, 5)),
        ([2, 3, 4], slice(2, 5)),
        ([2, 4], None),
        ([3, 2], None),
        ([2, 2], None),
    ],
)
def test_consecutive_addresses_are_a_slice(addresses: list[int], expected: slice | None) -> None:
    assert as_slice(addresses) == expected


def test_consecutive_float64_is_a_view_and_needs_no_work() -> None:
    array = np.arange(5.0)
    buffer, operations = gather(array, [1, 2, 3], np.float64)
    array[2] = 9.0
    assert operations == []
    assert buffer.tolist() == [1.0, 9.0, 3.0]


@pytest.mark.parametrize("addresses", [[1, 2, 3], [3, 0, 2], [4, 4], []])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_buffer_equals_the_entries_after_the_operations(
    addresses: list[int], dtype: type[np.float32] | type[np.float64]
) -> None:
    array = np.arange(5.0) / 3.0
    buffer, operations = gather(array, addresses, dtype)
    array *= 2.0
    run(operations)
    assert buffer.dtype == dtype
    assert np.array_equal(buffer, array[addresses].astype(dtype))


def test_parts_are_merged_at_their_places() -> None:
    left, right = np.arange(3.0), np.arange(10.0, 13.0)
    a, operations_a = gather(left, [2, 0], np.float64)
    b, operations_b = gather(right, [1], np.float64)
    parts = [(np.array([0, 2]), a, operations_a), (np.array([1]), b, operations_b)]
    buffer, operations = merge(parts, 3)
    right[1] = 20.0
    run(operations)
    assert buffer.tolist() == [2.0, 20.0, 0.0]


def test_a_factor_of_one_costs_nothing() -> None:
    buffer = np.ones(2)
    assert scaled(buffer, [], np.ones(2))[0] is buffer


@pytest.mark.parametrize(("divide", "expected"), [(False, [6.0, 2.0]), (True, [1.5, 8.0])])
def test_a_factor_scales(divide: bool, expected: list[float]) -> None:
    buffer = np.array([3.0, 4.0])
    result, operations = scaled(buffer, [], np.array([2.0, 0.5]), divide=divide)
    run(operations)
    assert result.tolist() == expected
    assert buffer.tolist() == [3.0, 4.0]


def test_scaling_follows_gathering() -> None:
    array = np.arange(5.0)
    buffer, operations = scaled(*gather(array, [4, 1], np.float32), np.array([0.5, 2.0]))
    array[4] = 8.0
    run(operations)
    assert buffer.dtype == np.float32
    assert buffer.tolist() == [4.0, 2.0]
