"""Repairs: the edits of a finding, made in the scene and in the policy file.

Values per joint are edited as the file states them: a number, a list, or a mapping of patterns.
A repair changes only the values it names; the others stay as they are written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.findings import Finding, RepairEdit
from mjrig.core.names import how_many, listed, literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import path_of
from mjrig.lab.findings.remedies import apply, plain
from mjrig.lab.replay.finding import repair
from mjrig.lab.replay.result import Replay

# Authored -----------------------------------------------------------------------------------------
# Values per joint as a file states them: a number, a list, a mapping of patterns; edited in place.
#
# A repair changes the values it names. What a file says of the others stays as it is written.


#: Changes that one line lists.
SHOWN = 6
#: Names that a place lists.
NAMED = 4


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
    return repair(file, path, value, ", ".join(changed[:SHOWN]) + more)


def some(names: Sequence[str]) -> str:
    """Up to four names, or how many joints they are."""
    return listed(names) if len(names) <= NAMED else how_many(len(names), "joint")


def one_or_each(new: Mapping[str, Any], old: Mapping[str, Any]) -> tuple[Any, Any]:
    """New and old values by name; one of each where all are the same."""
    if len(set(new.values())) == len(set(old.values())) == 1:
        return next(iter(new.values())), next(iter(old.values()))
    return new, old


# Fixing -------------------------------------------------------------------------------------------


def repairable(result: Replay) -> Finding | None:
    """The first finding that is claimed as a cause and can be repaired by an edit."""
    return next((f for f in result.diagnosis if f.is_cause and f.edits), None)


def fix(finding: Finding, scene: Scene | None, policy: Path | None) -> list[str]:
    """Make the edits of a finding and save; returns what was changed, one line each.

    Either all files are written or none that comes later: every edit is tried before the first
    file is replaced.

    Raises:
        MjrigError: a file is missing or cannot be written, or a value does not fit.
    """
    if scene is not None and scene.path is None:
        scene = None
    applied = apply([finding], scene, policy)
    if scene is not None and any(edit.file == "scene" for edit in finding.edits):
        scene.save()
    if policy is not None and applied.policy_text:
        write_atomically(policy, applied.policy_text)
    return applied.lines


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


def about(result: Replay) -> str:
    """Why there is nothing to repair."""
    if not result.diagnosis:
        return "nothing to fix: the diagnosis has no finding"
    names = listed(f.kind for f in result.diagnosis[:3])
    return f"nothing to fix: no finding is both certain and repaired by one edit ({names})"
