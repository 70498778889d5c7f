"""Values per joint as a file states them: a number, a list, a mapping of patterns; edited in place.

A repair changes the values it names. What a file says of the others stays as it is written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import Slots, literal
from mjrig.pattern_budget import pattern_budget
from mjrig.properties.per_actuator import DEFAULT
from mjrig.sim2sim.compare.finding import RepairEdit

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
