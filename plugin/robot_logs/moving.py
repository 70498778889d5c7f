"""Whether anything moves in a log."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mjrig.control.plant import at_joint
from mjrig.errors import RecordingError
from mjrig.large_arrays import columns_of
from mjrig.robot_logs.quantities import JointTable

#: Joints that all stay within this did not move [rad or m].
STILL = 2e-4


def check_moves(path: Path, positions: Sequence[JointTable], kinds: Mapping[str, str]) -> None:
    """Refuse a log whose joints all stand still; `kinds` are those of the joints.

    Raises:
        RecordingError: they do.
    """
    moved: dict[str, float] = {"rad": 0.0, "m": 0.0}
    for table in positions:
        for name, column in zip(table.joints, columns_of(table.values), strict=True):
            unit = at_joint("rad", slides=kinds[name] == "slide")
            moved[unit] = max(moved[unit], float(np.nanmax(column) - np.nanmin(column)))
    if max(moved.values()) > STILL:
        return
    units = {at_joint("rad", slides=kinds[n] == "slide") for t in positions for n in t.joints}
    within = " and ".join(f"{moved[unit]:.2g} {unit}" for unit in moved if unit in units)
    raise RecordingError(f"{path}: no joint moves: the positions stay within {within}")
