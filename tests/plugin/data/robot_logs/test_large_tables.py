"""What is done column by column for large logs gives what whole tables would."""

from typing import Any

import numpy as np
import pytest

from mjrig.core import arrays
from mjrig.data.robot_logs.command_setpoints import _with_next
from mjrig.data.robot_logs.command_times import changes
from mjrig.data.robot_logs.resampling import sampled_steps


@pytest.mark.parametrize("seed", range(200))
def test_steps_of_commands_and_those_after(seed: int) -> None:
    rng = np.random.default_rng(seed)
    last = int(rng.integers(1, 20))
    begin = np.sort(rng.integers(-5, last + 5, rng.integers(0, 12))).astype(np.int64)
    every = np.unique(np.concatenate([[0], begin, begin + 1]))
    expected = every[(every >= 0) & (every <= last)]
    np.testing.assert_array_equal(_with_next(begin, last), expected)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_change(seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(arrays, "LEAST", 64)
    rng = np.random.default_rng(seed)
    values = arrays.large_empty((200, 3))
    values[:] = rng.integers(0, 2, values.shape)
    values[rng.integers(0, 200, 5), 1] = np.nan
    expected = [True, *(np.diff(values, axis=0) != 0.0).any(axis=1)]
    np.testing.assert_array_equal(changes(values), expected)


@pytest.mark.parametrize("seed", range(20))
def test_steps_next_to_samples_are_there_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.uniform(0.0003, 0.003, 300))
    steps, begins = sampled_steps(time, [], 0.001)
    near = np.floor(time / 0.001 + 0.501).astype(np.int64)
    assert len(begins) == 1 and (np.diff(steps) > 0).all()
    assert set(steps.tolist()) <= set(near.tolist())
    assert set(near[1:-1].tolist()) <= set(steps.tolist())
