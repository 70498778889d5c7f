"""Edits of gains: of one row, its mirror image, all rows or a preset, as one undo entry."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties.has_properties import HasProperties
from mjrig.editor.session.session import Session
from mjrig.editor.text import tr
from mjrig.lab.gains.assignment import damping_for, damping_ratio, stiffness_for
from mjrig.lab.gains.gain_presets import PresetFit, fit, read_preset
from mjrig.lab.gains.gain_rows import LIMIT, Change, GainRow, rounded
from mjrig.lab.gains.gain_rows import set_gains as write_gains

# Gain edits ---------------------------------------------------------------------------------------


@pattern_budget()
def filtered(rows: Sequence[GainRow], text: str) -> list[GainRow]:
    """The rows whose actor, controller, actuator or joint name the text is found in.

    Raises:
        BindingError: it is not a valid pattern.
    """
    occurs_in = compile_pattern(text, ignore_case=True).occurs_in
    return [r for r in rows if occurs_in(r.key) or occurs_in(r.joint)]


# ω and ζ ----------------------------------------------------------------------------------------


def with_frequency(row: GainRow, hertz: float, inertia: float) -> dict[str, float]:
    """Gains with another natural frequency; the damping ratio stays where there is one."""
    before, damping, g2 = row.stiffness or 0.0, row.damping or 0.0, row.gear**2
    new = stiffness_for(hertz, inertia)
    ratio = damping_ratio(before, damping, inertia)
    gains = {"kp": new / g2}
    if "dampratio" in row.values or not math.isfinite(ratio):  # MuJoCo keeps its own ratio
        return gains
    return gains | {"kv": damping_for(ratio, new, inertia) / g2}


def with_damping(row: GainRow, ratio: float, inertia: float) -> dict[str, float]:
    """Gains with another damping ratio; the stiffness stays."""
    return {"kv": damping_for(ratio, row.stiffness or 0.0, inertia) / row.gear**2}


# Left and right ---------------------------------------------------------------------------------

_SWAPS = (
    *("left right", "l r", "fl fr", "rl rr", "bl br", "hl hr", "ml mr"),
    *("lf rf", "lh rh", "lr rr", "lb rb", "lm rm"),
)
_PAIRS = [tuple(pair.split()) for pair in _SWAPS]
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def mirrored(name: str, names: Sequence[str]) -> str | None:
    """The same thing on the other side: `FL_hip` → `FR_hip`, `left_knee` → `right_knee`.

    Only one of `names` is ever given; None where there is none.
    """
    tokens = _TOKEN.findall(name)
    for i, token in enumerate(tokens):
        for other in _other_side(token):
            candidate = "".join([*tokens[:i], other, *tokens[i + 1 :]])
            if candidate in names and candidate != name:
                return candidate
    return None


def _other_side(token: str) -> Iterator[str]:
    low = token.lower()
    for other in [b for a, b in _PAIRS if a == low] + [a for a, b in _PAIRS if b == low]:
        yield other.upper() if token.isupper() else other.title() if token.istitle() else other
    if token[:1] in "LR" and token[1:].isupper():  # LHipPitch is read as L + Hip; LKP stays whole
        yield {"L": "R", "R": "L"}[token[0]] + token[1:]


def mirror_row(row: GainRow, rows: Sequence[GainRow]) -> GainRow | None:
    """The row of the same actuator on the other side of the same actor."""
    others = {r.actuator: r for r in rows if r.actor == row.actor}
    name = mirrored(row.actuator, list(others))
    return others[name] if name else None


# Edits --------------------------------------------------------------------------------------------


def changes_for(
    row: GainRow,
    rows: Sequence[GainRow],
    gains: Callable[[GainRow], Mapping[str, float] | None],
    *,
    mirror: bool = False,
    every: bool = False,
) -> list[Change]:
    """What an edit of one row changes: it, its mirror image too, or every row.

    Args:
        row: the edited one.
        rows: all that could change.
        gains: the new gains of a row; None: it cannot have them.
        mirror: the other side follows.
        every: all rows follow.
    """
    targets = list(rows) if every else [row]
    if mirror:
        others = [mirror_row(r, rows) for r in targets]
        targets += [o for o in others if o is not None]
    found: dict[str, Change] = {}
    for target in targets:
        values = None if target.locked else gains(target)
        own = {n: rounded(v) for n, v in (values or {}).items() if n in target.paths}
        if own:
            found[target.key] = (target, own)
    return list(found.values())


def set_gains(
    session: Session,
    changes: Sequence[Change],
    *,
    title: str = "",
    group: str = "",
    merge: str | None = None,
) -> None:
    """Write gains into the scene, changing as little of its data as possible; one undo entry.

    Args:
        session: whose scene it is.
        changes: the new gains by row.
        title: its name in the undo list.
        group: what the rows were found by; written as a pattern where it means just them.
        merge: see `Session.edit`.

    Raises:
        MjrigError: a value was refused; nothing was changed.
    """
    with session.edit(title or _title(changes), merge=merge) as scene:
        write_gains(scene, changes, group=group)


def _title(changes: Sequence[Change]) -> str:
    row = changes[0][0]
    names = ", ".join(dict.fromkeys(n for _, g in changes for n in g))
    if len(changes) == 1:
        return tr("Set {key} {names}", key=row.key, names=names)
    return tr("Set {names} of {count} actuators", names=names, count=len(changes))


class Switches:
    """Actuators on and off: off is an effort limit of 0, so that gains stay as they are."""

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}

    def limit_before(self, row: GainRow, live: HasProperties | None = None) -> float:
        """The limit that switching on brings back: the one before, else what is the default."""
        if row.key in self._limits:
            return self._limits[row.key]
        default = getattr(live, f"default_{LIMIT}", 0.0)
        return float(default) or math.inf

    def change(self, row: GainRow, live: HasProperties | None = None) -> dict[str, float]:
        """The gains that switch a row to the other state."""
        if row.is_on:
            self._limits[row.key] = row.values[LIMIT]
            return {LIMIT: 0.0}
        return {LIMIT: self.limit_before(row, live)}


# Gain presets -------------------------------------------------------------------------------------
# Loading a gain preset onto an actor as an edit that can be undone.


def load_preset(session: Session, path: Path, rows: Sequence[GainRow]) -> PresetFit:
    """Put a preset onto an actor, all or nothing, as one undo entry.

    Raises:
        MjrigError: it cannot be read, does not fit, or a value was refused; nothing was changed.
    """
    locked = next((r.locked for r in rows if r.locked), "")
    if locked:
        raise BindingError(f"{rows[0].actor}: {locked}")
    found = fit(read_preset(path), rows)
    set_gains(
        session,
        found.changes,
        title=tr("Load {name} onto {actor}", name=path.name, actor=rows[0].actor),
    )
    return found
