"""What is said to be unused is what the mapping in use does not name."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.cli.recording_summary import log_summary
from mjrig.data.robot_logs.log_reader import open_log

#: Quantity → the array that a user may take for it; no name says what they are.
ARRAYS = {"velocity": "aa", "effort": "bb", "command": "cc", "command_velocity": "dd"}
CHOICES = [own for count in range(5) for own in combinations(ARRAYS, count)]


@pytest.mark.parametrize("chosen", CHOICES, ids="-".join)
@pytest.mark.parametrize("named", [True, False], ids=["names", "indices"])
def test_a_corrected_mapping_has_its_own_list(
    tmp_path: Path, chosen: tuple[str, ...], named: bool
) -> None:
    """The list that a file still has from the first guess has no effect."""
    time = np.arange(100) * 0.01
    table = np.sin(3.0 * time)[:, None] * [1.0, 0.5]
    arrays: dict[str, Any] = dict.fromkeys(ARRAYS.values(), table)
    names: dict[str, Any] = {"names": np.array(["pan", "tilt"])} if named else {}
    path = tmp_path / "log.npz"
    np.savez(path, time=time, pos=table, **arrays, **names)
    labels = ["pan", "tilt"] if named else ["0", "1"]
    lines = [f'{q}: {{from: log, field: "{ARRAYS[q]}[{{}}]"}}' for q in chosen]
    listed = ", ".join(f'"{a}[{n}]"' for a in ARRAYS.values() for n in labels)
    (tmp_path / "log.npz.log.yaml").write_text(
        f"mjrig_log: 1\njoints: {{pan: {labels[0]}, tilt: {labels[1]}}}\n"
        'position: {from: log, field: "pos[{}]"}\n' + "\n".join(lines) + "\n"
        "time:\n  log: {stamp: time, unit: s}\n"
        f"unused:\n  log: [{listed}]\n"
    )
    log = open_log(path, None)
    assert log is not None
    said = [line for line in log_summary(log, {}).splitlines() if "unused of" in line]
    left = [array for quantity, array in ARRAYS.items() if quantity not in chosen]
    assert len(said) == bool(left)
    for array in ARRAYS.values():
        assert (f"{array}[" in " ".join(said)) == (array in left)
