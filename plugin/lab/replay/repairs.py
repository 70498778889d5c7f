"""Repairs: the edits of a finding, made in the scene and in the policy file.

Values per joint are edited as the file states them: a number, a list, or a mapping of patterns.
A repair changes only the values it names; the others stay as they are written.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import MjrigError, PolicyError
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.names import Slots, listed, literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_paths import existing, path_of
from mjrig.core.yaml_text.yaml_document import Document
from mjrig.core.yaml_text.yaml_edit import updated_text
from mjrig.lab.replay.finding import RepairEdit, ReplayFinding
from mjrig.lab.replay.result import Replay

# Authored -----------------------------------------------------------------------------------------
# Values per joint as a file states them: a number, a list, a mapping of patterns; edited in place.
#
# A repair changes the values it names. What a file says of the others stays as it is written.


#: Changes that one line lists.
SHOWN = 6


def joint_slots(joints: Sequence[str]) -> Slots:
    """The joints of a policy, as its file names them."""
    return Slots([(j,) for j in joints], "", "joint")


def resolved(authored: Any, slots: Slots, otherwise: float) -> FloatArray:
    """One value per slot; `otherwise` where nothing is said.

    Raises:
        BindingError: patterns that match nothing or disagree.
    """
    if authored is None:
        return np.full(len(slots), float(otherwise))
    if isinstance(authored, Mapping):
        rest = float(authored.get(DEFAULT, otherwise))
        chosen = slots.spread({p: v for p, v in authored.items() if p != DEFAULT})
        return np.array([float(chosen[i][1]) if i in chosen else rest for i in range(len(slots))])
    return np.broadcast_to(np.asarray(authored, dtype=np.float64), (len(slots),)).copy()


def edited(authored: Any, slots: Slots, wanted: Mapping[int, object]) -> Any:
    """What a file should say so that some slots have other values, and the rest keep theirs.

    A list stays a list; one number for all stays one if all get the same; everything else becomes
    or stays a mapping in which only the keys that cover these slots change.

    Raises:
        BindingError: a pattern matches nothing.
    """
    if isinstance(authored, list | tuple):
        return [wanted.get(i, v) for i, v in enumerate(authored)]
    values = list(wanted.values())
    whole = len(wanted) == len(slots) and all(v == values[0] for v in values)
    if not isinstance(authored, Mapping):
        if whole:
            return values[0]
        rest = {} if authored is None or len(wanted) == len(slots) else {DEFAULT: authored}
        return {**rest, **{literal(slots.names[i]): v for i, v in wanted.items()}}
    found: dict[str, object] = {}
    left = dict(wanted)
    for pattern, covered in _covered(authored, slots).items():
        value, news = authored[pattern], [wanted[i] for i in covered if i in wanted]
        if not news:
            found[pattern] = value
        elif len(news) == len(covered) and all(v == news[0] for v in news):
            found[pattern] = news[0]
        elif pattern == DEFAULT:
            found[pattern] = value
            continue
        else:
            found |= {literal(slots.names[i]): wanted.get(i, value) for i in covered}
        for i in covered:
            left.pop(i, None)
    return found | {literal(slots.names[i]): v for i, v in left.items()}


@pattern_budget()
def _covered(authored: Mapping[str, object], slots: Slots) -> dict[str, list[int]]:
    """The slots that each key of a mapping gives a value."""
    found = {pattern: slots.match(pattern) for pattern in authored if pattern != DEFAULT}
    if DEFAULT in authored:
        taken = {i for covered in found.values() for i in covered}
        found[DEFAULT] = [i for i in range(len(slots)) if i not in taken]
    return {pattern: found[pattern] for pattern in authored}


def values_edit(
    file: str,
    path: str,
    authored: Any,
    slots: Slots,
    wanted: Mapping[int, Any],
    here: Mapping[int, Any],
) -> RepairEdit:
    """The edit that gives some slots other values.

    Args:
        file: `scene` or `policy`.
        path: of the value in it.
        authored: what it says now.
        slots: what the values belong to.
        wanted: slot → new value.
        here: slot → value now.

    Raises:
        BindingError: a pattern matches nothing.
    """
    value = edited(authored, slots, wanted)
    pairs = {i: (here.get(i), v) for i, v in wanted.items()}
    changed = [f"{slots.names[i]} {plain(a)} → {plain(b)}" for i, (a, b) in pairs.items()]
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    alike = {(plain(a), plain(b)) for a, b in pairs.values()}
    if len(wanted) == len(slots) and len(alike) == 1:
        old, new = alike.pop()
        every = "all " if isinstance(value, Mapping | list) and len(slots) > 1 else ""
        changed, more = [f"{every}{old} → {new}"], ""
    return RepairEdit(file, path, value, ", ".join(changed[:SHOWN]) + more)


def change_text(before: Any, edit: RepairEdit) -> str:
    """What an edit changes, old → new."""
    return edit.changed or f"{plain(before)} → {plain(edit.value)}"


def plain(value: Any) -> str:
    """A value on one line; None: `not given`."""
    if value is None:
        return "not given"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k}: {plain(v)}' for k, v in value.items())}}}"
    return str(value)


# Fixing -------------------------------------------------------------------------------------------


_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def repairable(result: Replay) -> ReplayFinding | None:
    """The first finding that is claimed as a cause and can be repaired by an edit."""
    return next((f for f in result.diagnosis if f.confident and f.fix), None)


def fix(finding: ReplayFinding, scene: Scene | None, policy: Path | None) -> list[str]:
    """Make the edits of a finding and save; returns what was changed, one line each.

    Either all files are written or none that comes later: every edit is tried before the first
    file is replaced.

    Raises:
        MjrigError: a file is missing or cannot be written, or a value does not fit.
    """
    mine = [e for e in finding.fix if e.file == "scene"]
    theirs = [e for e in finding.fix if e.file == "policy"]
    if mine and (scene is None or scene.path is None):
        raise MjrigError(f"{finding.what} is repaired in the scene: give its file, --scene SCENE")
    if theirs and policy is None:
        raise MjrigError(f"{finding.what} is repaired in the policy file, and there is none")
    said: list[str] = []
    text = ""
    if policy is not None and theirs:
        text, said = edited_policy(policy, theirs)
    if scene is not None and mine:
        said += set_in_scene(scene, mine, f"{scene.path}: ")
        scene.save()
    if policy is not None and theirs:
        write_atomically(policy, text)
    return said


def set_in_scene(scene: Scene, edits: Sequence[RepairEdit], file: str = "") -> list[str]:
    """Make edits in a scene; returns what changed, one line each, beginning with `file`.

    Raises:
        MjrigError: a value does not fit.
    """
    said = []
    for edit in edits:
        owner, _, name = edit.path.rpartition(".")
        holder = existing(scene, owner)
        before = None if holder is None or name not in holder._authored else holder.authored(name)
        scene.set(edit.path, edit.value)
        said.append(f"{file}{edit.path}: {change_text(before, edit)}")
    return said


def policy_file(scene: Scene, robot: str = "") -> Path | None:
    """The file of the only policy of a scene, or of one of its actors; None: there is no such."""
    found = _policy(scene, robot)
    return None if found is None else found.find_file(found.__dict__["file"])


def policy_path(scene: Scene, robot: str = "") -> str:
    """The path of that policy in the scene: `dog.Policy`."""
    found = _policy(scene, robot)
    return "" if found is None else path_of(found)


def _policy(scene: Scene, robot: str) -> PolicyComponent | None:
    found = [
        component
        for actor in scene.actors
        for component in actor.components
        if isinstance(component, PolicyComponent)
        and component.__dict__.get("file") is not None
        and robot in ("", actor.name)
    ]
    return found[0] if len(found) == 1 else None


def edited_policy(path: Path, edits: Sequence[RepairEdit]) -> tuple[str, list[str]]:
    """The text of a policy file after edits, and what changes, one line each.

    Raises:
        PolicyError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: cannot be read: {error}") from error
    document = Document(text, str(path))
    data, said = _copied(document.data), []
    for edit in edits:
        before = _put(data, edit.path, edit.value)
        said.append(f"{path}: {edit.path}: {change_text(before, edit)}")
    return updated_text(document, data), said


def _copied(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _copied(v) for k, v in data.items()}
    return [_copied(v) for v in data] if isinstance(data, list) else data


def _put(data: Any, path: str, value: object) -> object:
    """Set a value by path; returns the one before, None if there was none."""
    keys: list[Any] = [name or int(place) for name, place in _PART.findall(path)]
    *parents, last = keys
    for key in parents:
        if isinstance(data, dict) and data.get(key) is None:
            data[key] = {}
        data = data[key]
    before = data.get(last) if isinstance(data, dict) else data[last]
    data[last] = value
    return before


def about(result: Replay) -> str:
    """Why there is nothing to repair."""
    if not result.diagnosis:
        return "nothing to fix: the diagnosis has no finding"
    names = listed(f.what for f in result.diagnosis[:3])
    return f"nothing to fix: no finding is both certain and repaired by one edit ({names})"
