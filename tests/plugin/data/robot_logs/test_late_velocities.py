"""Velocities are called late only where they are: by as many samples, not by correlated noise."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig

SAID = re.compile(r"velocities of (.*) are up to (\d+) samples later")


def _write(path: Path, columns: dict[str, Any]) -> Path:
    table = np.stack(list(columns.values()), axis=1)
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    return path


def _notes(path: Path) -> list[tuple[str, int]]:
    hits = [SAID.match(note) for note in mjrig.read_recording(path).notes]
    return [(hit.group(1), int(hit.group(2))) for hit in hits if hit]


@pytest.mark.parametrize("seed", range(12))
def test_noise_is_not_late(tmp_path: Path, seed: int) -> None:
    """Joints that do not move, and those of which the velocity column is noise."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(60, 1500))
    columns: dict[str, Any] = {"t": np.arange(count) * 0.01}
    for name in "abcdef":
        columns[f"q_{name}"] = 0.3 + 10.0 ** rng.uniform(-3.5, -2.0) * rng.standard_normal(count)
        columns[f"dq_{name}"] = 10.0 ** rng.uniform(-3.0, -1.0) * rng.standard_normal(count)
    columns["q_g"] = np.sin(3.0 * columns["t"])
    columns["dq_g"] = rng.standard_normal(count)
    assert _notes(_write(tmp_path / "a.csv", columns)) == []


@pytest.mark.parametrize("seed", range(12))
def test_late_velocities_are_late_by_what_is_said(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    late = int(rng.integers(0, 25))
    time = np.arange(1200) * 0.01
    rates, phases = rng.uniform(0.5, 12.0, (5, 2)), rng.uniform(0.0, 6.0, (5, 2))

    def summed(wave: Any, at: Any, size: Any) -> Any:
        return sum(
            s * wave(np.outer(at, r) + p) for s, r, p in zip(size, rates, phases, strict=True)
        )

    noise = rng.choice([0.0, 2e-4])
    q = summed(np.sin, time, 0.1 * np.ones_like(rates)) + noise * rng.standard_normal((1200, 2))
    dq = summed(np.cos, time - 0.01 * late, 0.1 * rates)
    columns = {"t": time, "q_a": q[:, 0], "dq_a": dq[:, 0], "q_b": q[:, 1], "dq_b": dq[:, 1]}
    said = _notes(_write(tmp_path / "a.csv", columns))
    if late <= 2:
        assert said == []
    elif late > 4:
        assert len(said) == 1 and abs(said[0][1] - late) <= 1
    for _, samples in said:
        assert abs(samples - late) <= 1


@pytest.mark.parametrize("seed", range(24))
def test_a_gait_is_not_late_by_its_period(tmp_path: Path, seed: int) -> None:
    """It begins with a jerk that is shorter than the rows are apart."""
    rng = np.random.default_rng(seed)
    period, count = int(rng.integers(12, 25)), int(rng.integers(100, 200))
    fine = np.arange(-5.0, count, 0.02)
    order, phases, sizes = np.arange(1, 13), rng.uniform(0.0, 6.0, 12), rng.uniform(0.3, 1.0, 12)
    waves = np.cos(np.outer(fine, 2.0 * np.pi * order / period) + phases) @ (sizes / order**2)
    jerk = np.exp(-np.maximum(fine, 0.0) / 2.0) * np.cos(3.0 * fine) * (fine >= 0.0)
    speed = waves + 2.0 * rng.choice([-1.0, 1.0]) * jerk
    position = np.cumsum(speed) * 0.02 * 0.02
    rows = np.searchsorted(fine, np.arange(count) - 1e-9)
    columns = {"t": np.arange(count) * 0.02, "q_a": position[rows], "dq_a": speed[rows]}
    assert _notes(_write(tmp_path / "a.csv", columns)) == []
