"""Damaged files of every kind: loaded, or rejected with an error that names the file."""

import json
import random
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.campaign import Tally
from tests.patience import PATIENCE
from tests.places import ROOT

for package in ("h5py", "msgpack", "mcap", "rosbags", "pyarrow", "onnx", "onnxruntime", "lz4"):
    pytest.importorskip(package)

#: Waiting for one case [s]: its CPU limit, and time that other programs take.


class Reader:
    """Reads damaged files in another process, and starts a new one if that crashes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._starts = folder, 0
        self._process = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        self._starts += 1
        folder = self._folder / str(self._starts)
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.damage.worker", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=ROOT,
        )  # fmt: skip
        assert process.stdout is not None
        self.kinds: list[str] = json.loads(process.stdout.readline())
        return process

    def read(self, seed: str, kind: str) -> dict[str, Any]:
        """The outcome of one case."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{seed} {kind}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        process.kill()
        process.communicate()
        code = process.returncode
        self._process = self._started()
        ended = f"the process ended with {code}" if ready else f"no answer in {PATIENCE:g} s"
        return {"loaded": False, "problem": ended}

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=PATIENCE)


@pytest.mark.campaign
def test_damaged_files_are_loaded_or_rejected(tmp_path: Path, tally: Tally) -> None:
    reader = Reader(tmp_path)
    kinds = reader.kinds
    loaded = 0
    for rng in tally.cases("damaged files", 5 * len(kinds), 100_000, minutes=60):
        kind = kinds[tally.tried % len(kinds)]
        seed = str(random.Random(rng.random()).getrandbits(64))
        outcome = reader.read(seed, kind)
        loaded += outcome["loaded"]
        if outcome["problem"]:
            tally.found(f"{seed} {kind}: {outcome['problem']}")
    reader.close()
    assert 0 < loaded < tally.tried  # some changes are harmless, and some are not
