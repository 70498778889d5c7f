"""Pickled motions and recordings: recognised and refused, with the alternative."""

import zipfile
from pathlib import Path
from typing import NoReturn

from mjrig.components.importers.recordings.samples import Hints
from mjrig.errors import RecordingError

_SUFFIXES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")
_PROTOCOLS = tuple(bytes([0x80, version]) for version in range(2, 6))


def read(path: Path, hints: Hints) -> None:
    """Always refuse.

    Raises:
        RecordingError: it is a pickle.
    """
    del hints
    try:
        with path.open("rb") as file:
            head = file.read(2)
    except OSError:
        return
    if path.suffix in _SUFFIXES or head in _PROTOCOLS or _is_torch(path):
        _refuse(path)


def _is_torch(path: Path) -> bool:
    if path.suffix == ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("data.pkl") for name in archive.namelist())


def _refuse(path: Path) -> NoReturn:
    raise RecordingError(
        f"{path.name}: is a pickle, which can run any code when it is loaded and is not read; "
        "where you trust it, load it yourself and save what it holds with numpy.savez as a motion: "
        "fps, joint_pos, joint_vel, body_pos_w, body_quat_w (wxyz)"
    )
