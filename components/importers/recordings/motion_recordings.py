"""Motions: npz of BeyondMimic and mjlab, npz of LocoMuJoCo, and CSV without a header.

Pickled motions and recordings are recognised and refused, with the alternative.
"""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mjrig.components.importers.recordings.recorded_file import (
    BASE,
    Hints,
    RecordedFile,
    into_base,
)
from mjrig.core.errors import RecordingError
from mjrig.data.recording.npz_arrays import npz_arrays, npz_names
from mjrig.data.recording.recording import Recording

_MOTION = {"fps", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w"}
#: What LocoMuJoCo calls the slides of a base, and the array of its clips' ends.
_TRANSLATIONS, _SPLITS = ("_tx", "_ty", "_tz"), "split_points"
_TIMES = {"t", "time", "timestamp", "stamp"}
_VELOCITIES = ("body_lin_vel_w", "body_ang_vel_w")
#: The order of the 29 motors of Unitree's G1 in its own software.
_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
        "wrist_yaw")  # fmt: skip
G1 = (
    *(f"{side}_{part}_joint" for side in ("left", "right") for part in _LEG),
    *(f"waist_{part}_joint" for part in ("yaw", "roll", "pitch")),
    *(f"{side}_{part}_joint" for side in ("left", "right") for part in _ARM),
)
#: The fewest columns that hold a base and a joint.
_FEWEST = 8


def read_motion_npz(path: Path, hints: Hints) -> Recording | None:
    """A motion with `fps`, joints and bodies; joint names come as a hint.

    Raises:
        RecordingError: it has this format, but is damaged, or the names are missing.
    """
    arrays = npz_arrays(path, needs=_MOTION) if path.suffix == ".npz" else None
    if arrays is None:
        return None
    file = RecordedFile(path, hints)
    joint_pos = file.finite("joint_pos", arrays["joint_pos"], (None, None))
    frames, count = joint_pos.shape
    names = file.joint_hint(count)
    rates = file.finite("fps", np.ravel(arrays["fps"]), (1,))
    fps = file.number_hint("fps", float(rates[0]))
    position = file.finite("body_pos_w", arrays["body_pos_w"], (frames, None, 3))[:, 0]
    turned = file.finite("body_quat_w", arrays["body_quat_w"], (frames, None, 4))[:, 0]
    quaternion = file.quaternions(turned, "wxyz")
    joint_vel = file.finite("joint_vel", arrays["joint_vel"], (frames, count))
    qvel, notes = None, ["the first body is taken to be the floating base"]
    if all(name in arrays for name in _VELOCITIES):
        linear, angular = (
            file.finite(name, arrays[name], (frames, None, 3))[:, 0] for name in _VELOCITIES
        )
        qvel = np.hstack([linear, into_base(angular, quaternion), joint_vel])
    else:
        notes.append("it has no velocities of bodies")
    joints = [(BASE, "free"), *((name, "hinge") for name in names)]
    qpos = np.hstack([position, quaternion, joint_pos])
    return file.motion("motion npz", fps, joints, qpos, qvel, notes)


def read_loco_mujoco(path: Path, hints: Hints) -> Recording | None:
    """A LocoMuJoCo 0.x file: one array `q_<joint>` and `dq_<joint>` each; `fps` comes as a hint.

    Raises:
        RecordingError: it has this format, but is damaged, or the rate is missing.
    """
    held = npz_names(path) if path.suffix == ".npz" else None
    names = [name.removeprefix("q_") for name in held or () if name.startswith("q_")]
    if not _is_loco_mujoco(set(held or ()), names):
        return None
    arrays = npz_arrays(path)
    if arrays is None:
        return None
    file = RecordedFile(path, hints)
    fps = file.number_hint("fps")
    frames = len(np.ravel(arrays[f"q_{names[0]}"]))
    qpos = np.column_stack([file.finite(f"q_{n}", arrays[f"q_{n}"], (frames,)) for n in names])
    qvel = np.column_stack([file.finite(f"dq_{n}", arrays[f"dq_{n}"], (frames,)) for n in names])
    joints = [(n, "slide" if n.endswith(_TRANSLATIONS) else "hinge") for n in names]
    notes = ["its base is three slides and three hinges, not a free joint"]
    if _SPLITS in arrays:
        notes.append(f"it holds several clips one after the other: {arrays[_SPLITS]}")
    return file.motion("LocoMuJoCo", fps, joints, qpos, qvel, notes)


def _is_loco_mujoco(held: set[str], joints: list[str]) -> bool:
    """By what only LocoMuJoCo writes; any logger may call its columns `q_` and `dq_`."""
    if not joints or not all(f"dq_{name}" in held for name in joints):
        return False
    is_theirs = _SPLITS in held or any(name.endswith(_TRANSLATIONS) for name in joints)
    return is_theirs and not {name.lower() for name in held} & _TIMES


def read_motion_csv(path: Path, hints: Hints) -> Recording | None:
    """Columns without a header: base position, quaternion xyzw, joints; `fps` comes as a hint.

    29 joints are taken to be those of Unitree's G1 unless the hint `joints` overrides it.

    Raises:
        RecordingError: it has this format, but is damaged, or the rate is missing.
    """
    if path.suffix != ".csv":
        return None
    file = RecordedFile(path, hints)
    rows = _numbers(file)
    if rows is None:
        return None
    table = file.finite("the table", rows, (None, None))
    fps = file.number_hint("fps")
    count = table.shape[1] - 7
    known = G1 if count == len(G1) else None
    names = file.joint_hint(count, known)
    notes = ["the file has no velocities, and no rate of its own"]
    if "joints" not in hints:
        notes.append("29 joints are taken to be those of Unitree's G1 in the order of its motors")
    qpos = np.hstack([table[:, :3], file.quaternions(table[:, 3:7], "xyzw"), table[:, 7:]])
    joints = [(BASE, "free"), *((name, "hinge") for name in names)]
    return file.motion("motion CSV", fps, joints, qpos, None, notes)


def _numbers(file: RecordedFile) -> list[list[float]] | None:
    """Rows of numbers; None: there is a header, or it is not a table of a base and joints."""
    try:
        with file.path.open(encoding="utf-8") as stream:
            rows = _rows(file, filter(None, map(str.strip, stream)))
    except (OSError, UnicodeDecodeError):
        return None
    return rows if rows and len(rows[0]) >= _FEWEST else None


def _rows(file: RecordedFile, lines: Iterable[str]) -> list[list[float]] | None:
    """Line by line: a large table with a header is none after the first."""
    rows: list[list[float]] = []
    for i, line in enumerate(lines):
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError:
            if i == 0:
                return None
            raise file.error(f"row {i} is not numbers: {line[:60]!r}") from None
        if len(rows[i]) != len(rows[0]):
            raise file.error(f"row {i} has {len(rows[i])} columns, the first {len(rows[0])}")
    return rows


# Pickled ------------------------------------------------------------------------------------------
# Pickled motions and recordings: recognised and refused, with the alternative.

_SUFFIXES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")
_PROTOCOLS = tuple(bytes([0x80, version]) for version in range(2, 6))


def read_pickled(path: Path, hints: Hints) -> None:
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
        raise RecordingError(
            f"{path.name}: is a pickle, which can run any code when it is loaded and is not read; "
            "where you trust it, load it yourself and save what it holds with numpy.savez as a "
            "motion: fps, joint_pos, joint_vel, body_pos_w, body_quat_w (wxyz)"
        )


def _is_torch(path: Path) -> bool:
    if path.suffix == ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("data.pkl") for name in archive.namelist())
