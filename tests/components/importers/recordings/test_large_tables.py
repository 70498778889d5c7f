"""A large table of something else is not read by those who only look whether it is theirs."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mjrig.components.importers.recordings import motion_recordings, urlab_recordings


@pytest.mark.parametrize("seed", range(3))
def test_the_header_is_enough_to_refuse(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"position_joint_{k}" for k in range(int(rng.integers(3, 30)))]
    row = ",".join(f"{v:.6f}" for v in rng.normal(size=len(names) + 1))
    path = tmp_path / "log.csv"
    path.write_text("\n".join([",".join(["time", *names]), *[row] * (4_000_000 // len(row))]))
    for read in (urlab_recordings.read_csv, motion_recordings.read_motion_csv):
        tracemalloc.start()
        assert read(path, {}) is None
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 500_000
