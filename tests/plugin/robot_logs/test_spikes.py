"""Wrong samples in positions: found where they were put, never where a robot moved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.robot_logs.mapping.spikes import spikes
from tests.plugin.robot_logs import simulated as sim

RNG = np.random.default_rng


def _motion(seed: int, rate: float) -> Any:
    """Sweeps, rests and fast moves, with noise or in an encoder's steps."""
    rng = RNG(seed)
    time = np.arange(4000) / rate
    kind = seed % 4
    q = rng.uniform(0.1, 2.0) * np.sin(rng.uniform(1.0, 8.0) * time + rng.uniform(0.0, 6.0))
    if kind == 1:  # at rest, with a fast move in the middle
        q = 0.6 * np.tanh(20.0 * (time - time.mean()))
    if kind == 2:  # an encoder that flickers at rest
        q = 0.0015 * rng.integers(0, 2, len(time)) + 0.0 * q
    if kind == 3:  # an angle that is wrapped
        q = np.angle(np.exp(1j * 4.0 * time))
    return q + (kind != 2) * rng.uniform(0.0, 2e-3) * rng.standard_normal(len(time))


@pytest.mark.parametrize("rate", [50.0, 500.0, 1000.0])
@pytest.mark.parametrize("seed", range(12))
def test_motions_have_none_and_wrong_samples_are_all_found(seed: int, rate: float) -> None:
    q = _motion(seed, rate)
    assert not len(spikes(q))
    rng = RNG(100 + seed)
    largest = np.percentile(np.abs(np.diff(q)), 99)
    rows = np.sort(rng.choice(np.arange(1, 390), 3, replace=False)) * 10
    rows = [*rows[:2], *range(rows[2], rows[2] + 1 + seed % 3)]  # the last is up to 3 samples long
    q[rows[:2]] += rng.choice([-1.0, 1.0], 2) * (1.0 + 40.0 * largest) * 10.0 ** rng.uniform(0, 6)
    q[rows[2:]] += 1.0 + 40.0 * largest
    assert spikes(q).tolist() == rows


def test_a_log_says_what_was_wrong_and_is_read_as_without(tmp_path: Path) -> None:
    run = sim.simulated(1.5)
    whole = mjrig.read_recording(sim.write_csv(tmp_path / "whole.csv", run))
    run.q[300, 1] = 1000.0
    read = mjrig.read_recording(sim.write_csv(tmp_path / "spike.csv", run))
    assert [n for n in read.notes if n.startswith("wrist: 1000 at 0.6 s: no motion between")]
    (a,), (b,) = whole.actors.values(), read.actors.values()
    np.testing.assert_allclose(b.qpos, a.qpos, atol=1e-3)
