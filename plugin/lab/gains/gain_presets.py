"""Gain presets: the gains of an actor's controllers in a separate file.

    mjrig_gains: 1
    PDController:
      kp: {FL_hip: 150, FL_thigh: 150}

Controllers are named as in paths, gains by actuator or joint name; patterns work too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.core.errors import BindingError, PropertyError, SceneError
from mjrig.core.files.atomic_writes import why_not_written, write_atomically
from mjrig.core.names import listed, literal, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.declaration import number
from mjrig.core.properties.synonyms import near_names
from mjrig.core.yaml_text.formatting import format_block
from mjrig.core.yaml_text.yaml_document import Document
from mjrig.lab.gains.gain_rows import Change, GainRow

MARK = "mjrig_gains"
FORMAT = 1
_BOTH = ("kv", True)
Gains = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class PresetFit:
    """A preset matched to gain rows.

    `missing` are actuators without an entry in the preset, `extra` its names that match none.
    """

    changes: tuple[Change, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{len(self.changes)} actuators set"
        if self.missing:
            text += f"; not in the preset: {listed(self.missing)}"
        if self.extra:
            text += f"; not on the actor: {listed(self.extra)}"
        return text


def preset_of(rows: Sequence[GainRow]) -> Gains:
    """The gains in force, as a preset holds them.

    Raises:
        PropertyError: the rows are of several actors, or there are none.
    """
    actors = dict.fromkeys(r.actor for r in rows)
    if len(actors) != 1:
        raise PropertyError(f"a preset holds the gains of one actor; these are of {listed(actors)}")
    found: Gains = {}
    for row in rows:
        for name, value in row.values.items():
            if row.is_native and (math.isinf(value) or (name, "dampratio" in row.values) == _BOTH):
                continue  # no limit of its own; a damping that follows from its ratio
            by_name = found.setdefault(row.component, {}).setdefault(name, {})
            by_name[literal(row.actuator)] = int(value) if value.is_integer() else value
    return found


def save_preset(path: Path, rows: Sequence[GainRow]) -> None:
    """Write the gains in force to a file.

    Raises:
        PropertyError: the rows are of several actors.
        SceneError: the file cannot be written.
    """
    text = format_block({MARK: FORMAT, **preset_of(rows)}, 0) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise SceneError(why_not_written(path, error)) from error


def read_preset(path: Path) -> Gains:
    """Read a preset.

    Raises:
        SceneError: it cannot be read or is not a preset; the message has the line.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneError(f"{path}:1:1: cannot be read: {reason}") from error
    document = Document(text, str(path))
    data = document.data
    if not isinstance(data, Mapping) or MARK not in data:
        raise document.error((), f"is not a gain preset; the first line must be `{MARK}: {FORMAT}`")
    if data[MARK] != FORMAT:
        text = f"unknown version {data[MARK]}; this mjrig reads {FORMAT}"
        raise document.error((MARK,), text)
    return {
        role: _controller(document, role, gains) for role, gains in data.items() if role != MARK
    }


def _controller(document: Document, role: str, gains: Any) -> dict[str, dict[str, float]]:
    if not isinstance(gains, Mapping):
        raise document.error((role,), f"must be a mapping of gains, got {gains!r}")
    for name, values in gains.items():
        if not isinstance(values, Mapping):
            raise document.error((role, name), f"must be a mapping by actuator, got {values!r}")
        for actuator, value in values.items():
            if number(value) is None:
                raise document.error((role, name, actuator), f"must be a number, got {value!r}")
    return {n: {a: float(v) for a, v in values.items()} for n, values in gains.items()}


def fit(preset: Mapping[str, Any], rows: Sequence[GainRow]) -> PresetFit:
    """Match a preset to the rows of one actor, by controller and actuator name.

    Raises:
        BindingError: a controller or a gain is not there, or no name matches.
    """
    roles = list(dict.fromkeys(r.component for r in rows))
    gains: dict[str, dict[str, float]] = {}
    extra: dict[str, None] = {}
    for role, by_gain in preset.items():
        own = [r for r in rows if r.component == _role(role, list(preset), roles)]
        slots = Slots([[r.actuator, r.joint] if r.joint else [r.actuator] for r in own])
        for name, values in by_gain.items():
            has = [name in r.values or (r.is_native and name in r.paths) for r in own]
            if not any(has):
                near = near_names(name, own[0].values)
                raise BindingError(f"{own[0].component} has no gain {name!r}; {near}")
            known = {p: v for p, v in values.items() if _matches(slots, p)}
            extra |= dict.fromkeys(p for p in values if p not in known)
            for i, (_, value) in slots.spread(known).items():
                if not has[i]:
                    continue
                gains.setdefault(own[i].key, {})[name] = value
    changes = tuple((r, gains[r.key]) for r in rows if r.key in gains)
    if not changes:
        names = listed(r.actuator for r in rows)
        raise BindingError(f"no name in the preset matches; the actor has {names}")
    missing = tuple(r.actuator for r in rows if r.key not in gains)
    return PresetFit(changes, missing, tuple(extra))


def _role(role: str, given: list[str], roles: list[str]) -> str:
    """The controller for an entry of a preset: the one of that name, or the only one."""
    if role in roles:
        return role
    if len(given) == len(roles) == 1:
        return roles[0]
    raise BindingError(f"the actor has no controller {role!r}; {suggestion(role, roles)}")


def _matches(slots: Slots, pattern: str) -> bool:
    try:
        return bool(slots.match(pattern))
    except BindingError:
        return False
