"""Checks shared by all readers of recordings; errors name file, column and row."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError
from mjrig.core.names import listed
from mjrig.data.recording.recording import ActorRecording, Recording

#: No count is larger: the largest whole number that a float64 holds.
MOST_STEPS = 2**53


def number_column(
    path: Path, name: str, values: Any, width: int | None, *, finite: bool = True
) -> FloatArray:
    """A column of numbers: (rows,) for width None, else (rows, width).

    Raises:
        RecordingError: wrong shape, not numeric, or not finite.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise RecordingError(f"{path}: {name}: must hold numbers, got {array.dtype}")
    wanted = "(rows,)" if width is None else f"(rows, {width})"
    if array.ndim != (1 if width is None else 2) or (width is not None and array.shape[1] != width):
        raise RecordingError(f"{path}: {name}: must have shape {wanted}, got {array.shape}")
    column = array.astype(np.float64, copy=False)
    if finite:
        check_finite(path, name, column)
    return column


def step_column(path: Path, name: str, values: Any) -> npt.NDArray[np.int64]:
    """A column of step numbers.

    Raises:
        RecordingError: one is not a whole number from 0 on.
    """
    column = number_column(path, name, values, None)
    bad = np.flatnonzero((column < 0) | (column > MOST_STEPS) | (column != np.floor(column)))
    if len(bad):
        raise RecordingError(
            f"{path}: {name}: must be whole numbers >= 0, row {bad[0]} is {column[bad[0]]:g}"
        )
    return column.astype(np.int64)


def check_finite(path: Path, name: str, column: FloatArray) -> None:
    """Refuse values that are not finite.

    Raises:
        RecordingError: names the first row that has one.
    """
    bad = ~np.isfinite(column)
    if bad.any():
        place = np.argwhere(bad)[0].tolist()
        at = "" if len(place) == 1 else f", column {place[1]}"
        raise RecordingError(f"{path}: {name}: row {place[0]}{at} is {column[tuple(place)]}")


def positive(path: Path, name: str, value: Any) -> float:
    """A number > 0.

    Raises:
        RecordingError: it is something else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise RecordingError(f"{path}: {name}: must be a number > 0, got {value!r:.60}")
    return number


def required(path: Path, columns: Mapping[str, Any], name: str) -> Any:
    """A required column.

    Raises:
        RecordingError: it is missing; lists the columns there are.
    """
    if name not in columns:
        if why := getattr(columns, "skipped", {}).get(name):
            raise RecordingError(f"{path}: {name}: {why}")
        raise RecordingError(f"{path}: {name}: is missing; has: {listed(columns)}")
    return columns[name]


def check_increasing(path: Path, name: str, steps: npt.NDArray[Any], most: float = np.inf) -> None:
    """Refuse step numbers that do not increase, or are not between 0 and `most`.

    Raises:
        RecordingError: names the first row.
    """
    bad = np.flatnonzero(steps[1:] <= steps[:-1])
    if len(bad):
        row = int(bad[0]) + 1
        raise RecordingError(
            f"{path}: {name}: must increase, but row {row} is {steps[row]} after {steps[row - 1]}"
        )
    if len(steps) and not 0 <= steps[0] <= steps[-1] <= most:
        wrong = steps[0] if steps[0] < 0 else steps[-1]
        raise RecordingError(f"{path}: {name}: must be steps from 0 to {most}, got {wrong}")


_TEXTS = ("execution", "requested_execution", "scene", "scene_file", "scene_folder", "model_hash")


def check_recording(recording: Recording) -> None:
    """Refuse metadata of another type than it is used with, whoever read it.

    Raises:
        RecordingError: names what is wrong.
    """

    def check(what: str, fine: bool, wanted: str, value: object) -> None:
        if not fine:
            raise RecordingError(
                f"{recording.path}: is damaged: {what}: must be {wanted}, got {value!r:.60}"
            )

    known, count = recording.attributes, recording.steps
    check("timestep", _is_number(recording.timestep), "a number", recording.timestep)
    check("steps", _is_step(count, MOST_STEPS), "a whole number >= 0", count)
    for begin in recording.segments:
        check("segments", _is_step(begin, count), f"steps up to {count}", begin)
    for note in recording.notes:
        check("notes", isinstance(note, str), "texts", note)
    for name in _TEXTS:
        check(name, isinstance(known.get(name, ""), str), "a text", known.get(name))
    check("seed", isinstance(known.get("seed", 0), int), "a whole number", known.get("seed"))
    versions = known.get("versions", {})
    check("versions", isinstance(versions, Mapping), "a mapping", versions)
    for name in ("segments", "edits"):
        entries = known.get(name, [])
        check(name, isinstance(entries, list | tuple), "a list", entries)
        for entry in entries:
            step = entry.get("step") if isinstance(entry, Mapping) else entry
            check(name, _is_step(step, MOST_STEPS), "entries with a step", entry)
    for entry in known.get("segments", ()):
        check("segments", isinstance(entry.get("segment"), str), "entries with a name", entry)
    gains = known.get("gains", {})
    check("gains", isinstance(gains, Mapping), "a mapping", gains)
    for actor, values in gains.items():
        check(f"gains of {actor}", _are_gains(values), "lists of numbers by name", values)
    for name, actor in recording.actors.items():
        _check_actor(name, actor, count, check)


def _check_actor(
    name: str, actor: ActorRecording, steps: int, check: Callable[[str, bool, str, object], None]
) -> None:
    texts = {
        "joints": tuple(joint.name for joint in actor.joints),
        "actuators": actor.actuators,
        "driven": actor.driven,
        "policy_joints": actor.policy.joints if actor.policy is not None else (),
    }
    for what, found in texts.items():
        check(f"{name}: {what}", all(isinstance(n, str) for n in found), "names", found)
    size = len(actor.actuators)
    check(f"{name}: driven", len(actor.driven) == size, f"{size} joints", actor.driven)
    rows = {"act": actor.act, "ctrl": actor.ctrl}
    if actor.commands is not None:
        rows |= {f"inputs of {n}": values for n, values in actor.commands.inputs.items()}
    for what, table in rows.items():
        fine = table is None or table.ndim == 2
        check(f"{name}: {what}", fine, "a table", None if table is None else table.shape)
    plant = actor.plant
    for what, mapping in (("plant", plant.overall), ("plant.enforced", plant.enforced)):
        check(f"{name}: {what}", isinstance(mapping, Mapping), "a mapping", mapping)
    for change in actor.gain_changes:
        check(f"{name}: gain_changes", _is_step(change.step, steps), "steps", change.step)
        for what, values in (change.gains or {}).items():
            wanted = f"{size} numbers"
            check(f"{name}: gain_changes: {what}", values.shape == (size,), wanted, values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.floating) and bool(np.isfinite(value))


def _is_step(value: object, most: int) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= int(value) <= most  # type: ignore[call-overload]


def _are_gains(values: object) -> bool:
    """Whether these are lists by name of numbers, or of their words in JSON."""
    return isinstance(values, Mapping) and all(
        isinstance(row, list | tuple)
        and all(v in (None, "inf", "-inf") or isinstance(v, int | float) for v in row)
        for row in values.values()
    )
