"""Arrays in temporary files: the numbers are those of arrays in memory."""

import errno
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core import arrays as large_arrays
from mjrig.core.arrays import blocks, columns_of, large_empty, large_rows, let_go
from mjrig.core.errors import RecordingError
from mjrig.data.recording.named_arrays import arrays_of, meta_of
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import regex

pytest.importorskip("h5py", reason="the extra record is not installed")


def test_arrays_of_any_shape_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_arrays, "LEAST", 1000)
    monkeypatch.setattr(large_arrays, "FILE", 1 << 16)
    random = np.random.default_rng(0)
    pairs: list[tuple[Any, Any]] = []
    gc.freeze()  # what other tests left alive is not searched in every collection
    for k in range(90):
        shape = tuple(random.integers(0, 90, random.integers(1, 3)).tolist())
        truth = (100 * random.normal(size=shape)).astype([np.float64, np.float32, np.int64][k % 3])
        made = large_empty(shape, truth.dtype)
        for own, column in zip(columns_of(made), columns_of(truth), strict=True):
            own[:] = column
        pairs.append((made, truth))
        if k % 5 == 4:  # files come and go with their arrays
            pairs.pop(int(random.integers(len(pairs))))
            gc.collect()
        let_go()
        for found, wanted in pairs[-20:]:
            np.testing.assert_array_equal(found, wanted)
    for found, wanted in pairs:
        np.testing.assert_array_equal(found, wanted)
        rows = random.integers(0, len(wanted), 5) if len(wanted) else np.zeros(0, np.intp)
        np.testing.assert_array_equal(large_rows(found, rows), wanted[rows])
    gc.unfreeze()


@pytest.mark.parametrize(("count", "size"), [(0, 3), (1, 3), (3, 3), (10, 3), (12, 4)])
def test_blocks_are_all_rows_once(count: int, size: int) -> None:
    rows = [k for part in blocks(count, size) for k in range(part.start, part.stop)]
    assert rows == list(range(count))


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(large_arrays.os, "posix_fallocate", full, raising=False)
    with pytest.raises(RecordingError, match=regex("has no room for 8 MB … TMPDIR …")):
        large_empty(1_000_000)


def test_a_log_read_through_files_is_the_same_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every container, and every format that it is written to, bit for bit."""
    for path in sim.all_logs(tmp_path, sim.simulated(0.6)):
        monkeypatch.setattr(large_arrays, "LEAST", 1 << 40)
        wanted = mjrig.read_recording(path)
        monkeypatch.setattr(large_arrays, "LEAST", 0)
        found = mjrig.read_recording(path)
        _check_same(found, wanted)
        if path.suffix in (".bag", ".db3"):
            for suffix in (".mcap", ".h5", ".npz"):
                output = tmp_path / f"{path.stem}_out{suffix}"
                assert main(["convert", str(path), str(output)]) == 0
                _check_same(mjrig.read_recording(output), wanted)


def _check_same(found: mjrig.Recording, wanted: mjrig.Recording) -> None:
    arrays, truth = arrays_of(found), arrays_of(wanted)
    assert list(arrays) == list(truth)
    for name, values in truth.items():
        np.testing.assert_array_equal(arrays[name], values, err_msg=name, strict=True)
    changed = {"source", "attributes"}
    one, two = ({k: v for k, v in meta_of(r).items() if k not in changed} for r in (found, wanted))
    assert one == two
