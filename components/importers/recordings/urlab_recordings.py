"""URLab's recordings: CSV with a header of joints, or JSON with frames."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.components.importers.recordings.recorded_file import SIZES, Hints, Joints, RecordedFile
from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import Recording

#: The step URLab takes where a file has no times [s].
TIMESTEP = 0.002
_TIME = ("time", "timestamp")
_CAMERA = re.compile(r"cam_(x|y|z|pitch|yaw|roll)", re.IGNORECASE)
_PART = re.compile(r"(.+)\[(\d+)\]")
_KIND = {7: "free", 4: "ball", 1: "hinge"}
_LACKS = "URLab records no setpoints, gains or efforts"
#: Start of the header of mjrig's own CSV, which has another reader.
_OURS = "#"


def read_csv(path: Path, hints: Hints) -> Recording | None:
    """One column per joint, `name[0]` … for several numbers; free joints are xyz and wxyz.

    Raises:
        RecordingError: it has this format, but is damaged.
    """
    if path.suffix != ".csv":
        return None
    try:
        with path.open(newline="", encoding="utf-8") as opened:
            lines = filter(None, csv.reader(opened))
            header = [name.strip() for name in next(lines, [])]
            if not _has_camera(header) and not _poses(header):  # a large table of something else
                return None
            rows = list(lines)
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    named = [n for n in header if n.lower() not in _TIME and not _CAMERA.fullmatch(n)]
    if not named or not is_urlab(header, rows):
        return None
    file = RecordedFile(path, hints)
    joints = _joints(file, named)
    table = _table(file, rows, len(header))
    places = {name: i for i, name in enumerate(header)}
    times = [places[n] for n in header if n.lower() in _TIME]
    step = file.number_hint("timestep", TIMESTEP)
    rows_at = np.arange(len(table)) * step
    time = np.asarray(table[:, times[0]] if times else rows_at, dtype=np.float64)
    keep = np.concatenate([[True], np.diff(time) != 0.0])  # rows repeat while it is paused
    qpos = table[keep][:, [places[c] for cells in joints.values() for c in cells]]
    kinds = [(name, _KIND[len(cells)]) for name, cells in joints.items()]
    notes = [_LACKS, "it has no velocities"]
    if not times:
        notes.append(f"it has no times: one row per {step:g} s")
    return _recording(file, kinds, time[keep], qpos, None, notes)


def is_urlab(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table is URLab's: it has the camera, or a free joint as name[0] … name[6].

    Seven values of something else are no pose: their last four are no unit quaternion.
    """
    names = [name.strip() for name in header]
    if not names or names[0].startswith(_OURS) or any("/" in n for n in names):
        return False
    return _has_camera(names) or any(_is_pose(places, rows) for places in _poses(names))


def _has_camera(names: Sequence[str]) -> bool:
    return any(_CAMERA.fullmatch(name) for name in names)


def _poses(names: Sequence[str]) -> list[list[int]]:
    """Places of what has seven numbers."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        part = _PART.fullmatch(name)
        if part:
            groups.setdefault(part.group(1), []).append(i)
    return [places for places in groups.values() if len(places) == 7]


def _is_pose(places: Sequence[int], rows: Sequence[Sequence[str]]) -> bool:
    try:
        turns = np.array([[row[i] for i in places[3:]] for row in rows], dtype=np.float64)
    except (ValueError, IndexError):
        return True  # a damaged one, which says where
    return bool(np.all(np.abs(np.linalg.norm(turns, axis=1) - 1.0) < 0.01)) if len(turns) else True


def _joints(file: RecordedFile, named: Sequence[str]) -> dict[str, list[str]]:
    """Joint → its columns."""
    joints: dict[str, list[str]] = {}
    for name in named:
        part = _PART.fullmatch(name)
        joint = part.group(1) if part else name
        cells = joints.setdefault(joint, [])
        if (part and int(part.group(2)) != len(cells)) or (not part and cells):
            raise file.error(f"the column {name!r} is duplicated or out of order")
        cells.append(name)
    for joint, cells in joints.items():
        if len(cells) not in _KIND:
            raise file.error(f"{joint!r} has {len(cells)} columns; 1, 4 or 7 make a joint")
    return joints


def _table(file: RecordedFile, rows: Sequence[Sequence[str]], width: int) -> FloatArray:
    for i, row in enumerate(rows):
        if len(row) != width:
            raise file.error(f"row {i} has {len(row)} columns, the header {width}")
    if not rows:
        raise file.error("has no rows")
    return file.finite("the table", rows, (None, width))


def read_json(path: Path, hints: Hints) -> Recording | None:
    """`{"Frames": [{"timestamp": …, "jointStates": {name: {"qPos": […], "qVel": […]}}}]}`.

    Raises:
        RecordingError: it has this format, but is damaged.
    """
    if path.suffix != ".json":
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    frames = _get(data, "frames")
    if not isinstance(frames, list) or not frames or _get(frames[0], "jointStates") is None:
        return None
    file = RecordedFile(path, hints)
    try:
        return _frames(file, frames)
    except (TypeError, ValueError, AttributeError) as error:
        raise file.error(f"a frame differs from the others: {error}") from error


def _frames(file: RecordedFile, frames: list[Any]) -> Recording:
    kept, last = [], None
    for frame in frames:
        now = _get(frame, "timestamp")
        if now != last:  # rows repeat while it is paused
            kept.append(frame)
        last = now
    if not kept:
        raise file.error("has no frames")
    names = list(_get(kept[0], "jointStates"))
    rows, speeds, times = [], [], []
    for i, frame in enumerate(kept):
        states = _get(frame, "jointStates")
        if set(states) != set(names):
            raise file.error(f"frame {i} has other joints than the first")
        rows.append([v for n in names for v in _get(states[n], "qPos")])
        speeds.append([v for n in names for v in _get(states[n], "qVel") or []])
        times.append(float(_get(frame, "timestamp")))
    sizes = {n: len(_get(_get(kept[0], "jointStates")[n], "qPos")) for n in names}
    odd = next((n for n in names if sizes[n] not in _KIND), None)
    if odd is not None:
        raise file.error(f"{odd!r} has {sizes[odd]} positions; 1, 4 or 7 make a joint")
    if len({len(row) for row in rows}) > 1:
        raise file.error("the frames have different numbers of positions")
    dofs = sum(SIZES[_KIND[n]][1] for n in sizes.values())
    qpos = file.finite("qPos", rows, (len(kept), sum(sizes.values())))
    full = all(len(row) == dofs for row in speeds)
    qvel = file.finite("qVel", speeds, (len(kept), dofs)) if full else None
    kinds = [(name, _KIND[sizes[name]]) for name in names]
    notes = [_LACKS] if full else [_LACKS, "not all joints have velocities"]
    return _recording(file, kinds, np.array(times), qpos, qvel, notes)


def _get(data: Any, key: str) -> Any:
    """A value by a case-insensitive key; None: there is none."""
    if not isinstance(data, Mapping):
        return None
    return next((v for k, v in data.items() if str(k).lower() == key.lower()), None)


def _recording(
    file: RecordedFile,
    joints: Joints,
    time: FloatArray,
    qpos: FloatArray,
    qvel: FloatArray | None,
    notes: Sequence[str],
) -> Recording:
    start, qpos = 0, qpos.copy()
    for _, kind in joints:
        size, _ = SIZES[kind]
        if size > 1:
            turned = slice(start + size - 4, start + size)
            qpos[:, turned] = file.quaternions(qpos[:, turned], "wxyz")
        start += size
    usual = float(np.median(np.diff(time))) if len(time) > 1 else TIMESTEP
    timestep = file.number_hint("timestep", round(usual, 6) or TIMESTEP)
    actor = file.actor(joints, file.steps(time, timestep), time - time[0], qpos, qvel)
    return file.recording("urlab", timestep, [actor], notes)
