"""Logs as tables: CSV with any header, read by a mapping of columns to joints.

The mapping is the hint `columns`: `time` is a column; `position`, `velocity`, `effort` and
`command` are each a mapping from joints to columns, or a pattern with {joint} in it; `units` are
those of time (s, ms, us, ns), position, velocity and command (rad, deg).
"""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.components.importers.recordings.recorded_file import (
    Hints,
    RecordedFile,
    position_commands,
)
from mjrig.components.importers.recordings.urlab_recordings import is_urlab
from mjrig.core.arrays import FloatArray
from mjrig.core.names import listed, suggestion
from mjrig.data.recording.recording import Efforts, Recording

JOINT = "{joint}"
#: Units → how many of the SI unit they are, by quantity.
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_ANGLES = {"rad": 1.0, "deg": math.pi / 180.0}
_UNITS = {"time": _TIME_UNITS, "position": _ANGLES, "velocity": _ANGLES, "command": _ANGLES}


def read(path: Path, hints: Hints) -> Recording | None:
    """A table with a header, by the hint `columns`.

    Raises:
        RecordingError: the hint does not fit.
    """
    if "columns" not in hints:
        return None
    rows = _rows(path)
    if len(rows) < 1 or not _is_header(rows[0]) or is_urlab(rows[0], rows[1:]):
        return None
    header = [name.strip() for name in rows[0]]
    return _Table(path, hints, header, rows[1:]).read(hints["columns"])


def _rows(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
    lines = text.splitlines()
    if not lines or "\0" in text:
        return []
    separator = max(",;\t", key=lines[0].count)
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return []


def _is_header(row: Sequence[str]) -> bool:
    """Names, not numbers, and not mjrig's own."""
    if not any(row) or row[0].startswith("# mjrig"):
        return False
    return not any(_is_number(name) for name in row if name.strip())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _matching(pattern: str, header: Sequence[str]) -> dict[str, str]:
    """Joint → column, by a pattern."""
    before, _, after = pattern.partition(JOINT)
    made = re.compile(rf"{re.escape(before)}(.+){re.escape(after)}")
    found = {}
    for name in header:
        hit = made.fullmatch(name)
        if hit:
            found[hit.group(1)] = name
    return found


# Reading ----------------------------------------------------------------------------------------


class _Table(RecordedFile):
    """The rows of a table, and where its columns are."""

    def __init__(
        self, path: Path, hints: Hints, header: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(path, hints)
        self._header = header
        for i, row in enumerate(rows):
            if len(row) != len(header):
                raise self.error(f"row {i} has {len(row)} columns, the header {len(header)}")
        self._rows = rows

    def read(self, columns: object) -> Recording:
        """The recording by a mapping of its columns."""
        if not isinstance(columns, Mapping):
            wanted = f'{{time: {self._header[0]}, position: "q_{JOINT}"}}'
            raise self.error(f"the hint columns must be a mapping, as in {wanted}; got {columns!r}")
        known = ("time", "position", "velocity", "effort", "command", "units")
        for what in columns:
            if what not in known:
                raise self.error(f"the hint columns has {what!r}; {suggestion(str(what), known)}")
        time = columns.get("time")
        names = [n for n in self._header if n != time]
        places = {w: self._places(w, columns[w], names) for w in known[1:-1] if w in columns}
        self._factors = self._units(columns.get("units", {}))
        if not places.get("position"):
            raise self.error("the hint columns names no position of a joint")
        return self._made(time, places)

    def _places(self, what: str, choice: object, names: Sequence[str]) -> dict[str, str]:
        """Joint → column of one quantity."""
        if isinstance(choice, str):
            if JOINT not in choice:
                raise self.error(f"the hint columns.{what} must have {JOINT} in it, got {choice!r}")
            found = _matching(choice, names)
        elif isinstance(choice, Mapping):
            found = {str(joint): str(column) for joint, column in choice.items()}
        else:
            raise self.error(
                f"the hint columns.{what} must be a pattern or a mapping, got {choice!r}"
            )
        for column in found.values():
            if column not in self._header:
                hint = suggestion(column, self._header)
                raise self.error(f"the hint columns.{what}: there is no column {column!r}; {hint}")
        if len(set(found.values())) != len(found):
            raise self.error(f"the hint columns.{what} names a column twice")
        return found

    def _units(self, units: object) -> dict[str, float]:
        """How many of the SI unit the numbers of each quantity are."""
        found = {}
        pairs = units.items() if isinstance(units, Mapping) else [("", units)]
        for what, unit in ((str(a), str(b)) for a, b in pairs):
            if unit not in _UNITS.get(what, {}):
                known = "; ".join(f"{w}: {', '.join(units)}" for w, units in _UNITS.items())
                raise self.error(f"the hint columns.units has {what}: {unit}; known are {known}")
            found[what] = _UNITS[what][unit]
        return found

    def _column(self, name: str) -> FloatArray:
        place = self._header.index(name)
        values = [row[place] for row in self._rows]
        return self.finite(f"the column {name!r}", values, (None,))

    def _table(self, what: str, places: Mapping[str, str], joints: Sequence[str]) -> FloatArray:
        table = np.stack([self._column(places[joint]) for joint in joints], axis=1)
        return np.asarray(table * self._factors.get(what, 1.0))

    def _made(self, time: object, places: Mapping[str, Mapping[str, str]]) -> Recording:
        joints = list(places["position"])
        if not self._rows:
            raise self.error("has no rows")
        for what, found in places.items():
            strange = [joint for joint in found if joint not in joints]
            if strange:
                text = f"columns.{what} has joints without a position: {listed(strange)}"
                raise self.error(f"the hint {text}")
        at = self._times(time)
        usual = float(np.median(np.diff(at))) if len(at) > 1 else 0.002
        timestep = self.number_hint("timestep", round(usual, 9) or None)
        steps = self.steps(at, timestep)
        velocity = places.get("velocity", {})
        full = set(velocity) == set(joints)
        speeds = self._table("velocity", velocity, joints) if full else None
        used = {c for found in places.values() for c in found.values()} | {str(time)}
        unused = [name for name in self._header if name and name not in used]
        notes = [f"columns that nothing was made of: {listed(unused)}"] if unused else []
        notes += [] if full else ["it has no velocities of all joints"]
        actor = self.actor(
            [(joint, "hinge") for joint in joints],
            steps,
            at - at[0],
            self._table("position", places["position"], joints),
            speeds,
            **self._driven(places, steps),
        )
        return self.recording("table", timestep, [actor], notes)

    def _times(self, time: object) -> FloatArray:
        if time is None:
            step = self.number_hint("timestep")
            return np.asarray(np.arange(len(self._rows)) * step, dtype=np.float64)
        if time not in self._header:
            hint = suggestion(str(time), self._header)
            raise self.error(f"the hint columns.time: there is no column {time!r}; {hint}")
        return self._column(str(time)) * self._factors.get("time", 1.0)

    def _driven(self, places: Mapping[str, Mapping[str, str]], steps: Any) -> dict[str, Any]:
        """Commands and efforts: those of the same joints."""
        commands, efforts = places.get("command", {}), places.get("effort", {})
        driven = list(commands or efforts)
        if not driven:
            return {}
        found: dict[str, Any] = {"driven": tuple(driven)}
        if commands:
            found["commands"] = position_commands(steps, self._table("command", commands, driven))
        if efforts and set(efforts) >= set(driven):
            found["efforts"] = Efforts(steps, self._table("effort", efforts, driven))
        return found
