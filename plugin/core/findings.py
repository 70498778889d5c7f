"""Findings: what is wrong, where, how severe, and the remedies as edits of the scene."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mjrig.core.names import Slots, how_many, literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.per_actuator import DEFAULT, PerActuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_paths import find
from mjrig.core.yaml_text.formatting import format_flow

# Remedy -------------------------------------------------------------------------------------------
# Remedy: what resolves a finding, as edits of the scene.


#: Names of actuators or joints, each with its aliases.
Names = tuple[tuple[str, ...], ...]


class How(StrEnum):
    """Ways to change a property."""

    SET = "set"
    ADD = "add"
    PATCH = "patch"


@dataclass(frozen=True)
class SceneEdit:
    """One change of a scene.

    Attributes:
        path: a property, as `Scene.set` takes it; `scene.actors` are the actors themselves.
        value: what it is set to; ADD: what is appended to the list; PATCH: values by name, merged
            into what is written.
        how: one of these.
        among: for PATCH all that have a value, so that patterns written before keep the others.
    """

    path: str
    value: Any
    how: How = How.SET
    among: Names = ()

    def __str__(self) -> str:
        said = format_flow(self.value)
        return f"{self.path}: {said}" if self.how is How.SET else f"{self.path}: {self.how} {said}"

    def apply(self, scene: Scene) -> None:
        """Make the change.

        Raises:
            PropertyError: the scene does not take it.
        """
        if self.how is How.SET:
            scene.set(self.path, self.value)
            return
        holder, name = find(scene, self.path)
        value = self._added(holder, name) if self.how is How.ADD else self._merged(holder, name)
        if isinstance(holder.property_named(name), NestedList):
            holder.property_named(name).assign(holder, value)  # with the items that are there
        else:
            scene.set(self.path, value)

    def _added(self, holder: HasProperties, name: str) -> list[Any]:
        there = vars(holder)[name]
        return [*there, *([self.value] if self.value not in there else [])]

    def _merged(self, holder: HasProperties, name: str) -> Any:
        values = dict(self.value)
        names = {aliases[0] for aliases in self.among}
        prop = holder.property_named(name)
        slots = Slots(list(self.among))
        patch = {literal(who): value for who, value in values.items()}
        if not isinstance(prop, PerActuator):
            return {**_others(vars(holder)[name], set(slots.spread(patch)), slots), **patch}
        if names <= set(values) and len(set(values.values())) == 1:
            return next(iter(values.values()))
        twin = holder.copy()
        twin.spread_over(slots)  # a described component does not know its actuators
        own = twin.property_named(name)
        assert isinstance(own, PerActuator)
        return own.merged(twin, patch)


@pattern_budget()
def _others(written: Mapping[str, Any], taken: set[int], slots: Slots) -> dict[str, Any]:
    """What is written by pattern for all but some slots."""
    kept: dict[str, Any] = {}
    for pattern, value in written.items():
        matched = set() if pattern == DEFAULT else set(slots.match(pattern))
        if matched & taken:
            kept |= {literal(slots.names[i]): value for i in sorted(matched - taken)}
        else:
            kept[pattern] = value
    return kept


@dataclass(frozen=True)
class Remedy:
    """One way out, as the fix of its finding words it, and the edits that make it."""

    text: str
    edits: tuple[SceneEdit, ...]

    def apply(self, scene: Scene) -> None:
        """Make all edits, or none.

        Raises:
            MjrigError: the scene does not take one; nothing was changed.
        """
        with scene.changes():
            for edit in self.edits:
                edit.apply(scene)


def setting(text: str, path: str, value: object) -> Remedy:
    """Set one property."""
    return Remedy(text, (SceneEdit(path, value),))


def adding(text: str, path: str, value: object) -> Remedy:
    """Append to one list."""
    return Remedy(text, (SceneEdit(path, value, How.ADD),))


def patching(text: str, path: str, value: Mapping[str, Any], among: Iterable[Any]) -> Remedy:
    """Set some values of a property that has one for each joint or actuator."""
    names = tuple(tuple(aliases) for aliases in among)
    return Remedy(text, (SceneEdit(path, dict(value), How.PATCH, names),))


def combined(remedies: Sequence[Remedy]) -> Remedy:
    """The same way out for several: patches of one property are one edit."""
    edits: list[SceneEdit] = []
    for edit in (edit for remedy in remedies for edit in remedy.edits):
        same = [e for e in edits if (e.path, e.how, e.among) == (edit.path, edit.how, edit.among)]
        if same and edit.how is How.PATCH:
            value = {**same[0].value, **edit.value}
            edits[edits.index(same[0])] = replace(edit, value=value)
        elif edit not in edits:
            edits.append(edit)
    return Remedy(remedies[0].text, tuple(edits))


# Finding ------------------------------------------------------------------------------------------
# Finding: one result of the pre-flight, its severity, and the fix.


class Level(StrEnum):
    """Severity of a finding, in the order they are shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_ORDER = tuple(Level)
#: How many names are shown.
SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """One finding.

    `code` is a short, stable name to filter by. `names` are what it is about on
    `actor`: actuators, joints, bodies or a component; empty: the actor itself, and without an
    actor the world. `fix` is what would be right; empty: evident from the text. `spelled`:
    the text has the names already, each with its own numbers. `remedies` are the ways out that
    are edits of the scene; `by_hand` is why none of them is.
    """

    level: Level
    code: str
    actor: str
    names: tuple[str, ...]
    text: str
    fix: str = ""
    spelled: bool = False
    remedies: tuple[Remedy, ...] = ()
    by_hand: str = ""

    @property
    def where(self) -> str:
        """`dog.FL_hip`; several names are `dog.(FL_hip, FR_hip)`."""
        if not self.names or self.spelled:
            return self.actor or "world"
        if len(self.names) == 1:
            return self.paths[0]
        names = ", ".join(self.names[:SHOWN])
        if len(self.names) > SHOWN:
            names += f", … {len(self.names)} in all"
        return f"{self.actor}.({names})" if self.actor else names

    @property
    def paths(self) -> list[str]:
        """Full path of everything it is about."""
        prefix = f"{self.actor}." if self.actor else ""
        return [prefix + name for name in self.names] or [self.actor or "world"]

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" + (f"; {self.fix}" if self.fix else "")

    def data(self) -> dict[str, object]:
        """The finding as plain data."""
        remedies = [
            {"text": r.text, "edits": [str(edit) for edit in r.edits]} for r in self.remedies
        ]
        return {
            "level": str(self.level),
            "code": self.code,
            "where": self.paths,
            "text": self.text,
            "fix": self.fix,
            **({"remedies": remedies} if remedies else {}),
        }


def error(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding that makes the simulation meaningless."""
    return Finding(Level.ERROR, code, actor, tuple(names), text, fix, **more)


def warning(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding that is probably a mistake."""
    return Finding(Level.WARNING, code, actor, tuple(names), text, fix, **more)


def note(
    code: str, actor: str, names: Iterable[str], text: str, fix: str = "", **more: Any
) -> Finding:
    """A finding for information."""
    return Finding(Level.NOTE, code, actor, tuple(names), text, fix, **more)


def arranged(found: Iterable[Finding]) -> list[Finding]:
    """Most severe first; equal findings about several names or actors are merged."""
    merged: dict[tuple[str, ...], Finding] = {}
    for finding in found:
        key = (finding.level, finding.code, finding.actor, finding.text, finding.fix)
        before = merged.get(key)
        names = finding.names if before is None else (*before.names, *finding.names)
        remedies = _remedies([*([before] if before else []), finding])
        merged[key] = replace(finding, names=tuple(dict.fromkeys(names)), remedies=remedies)
    return sorted(_of_copies(merged.values()), key=lambda f: (_ORDER.index(f.level), f.code))


def _of_copies(found: Iterable[Finding]) -> list[Finding]:
    """Equal findings about the same names on several actors, merged into one of the world."""
    alike: dict[Finding, list[Finding]] = {}
    for finding in found:
        alike.setdefault(replace(finding, actor="", remedies=()), []).append(finding)
    return [
        same[0]
        if len(same) == 1
        else replace(one, names=tuple(_paths(same)), spelled=False, remedies=_remedies(same))
        for one, same in alike.items()
    ]


def _remedies(found: Sequence[Finding]) -> tuple[Remedy, ...]:
    """The ways out of several findings with the same fix."""
    return tuple(combined(same) for same in zip(*(f.remedies for f in found), strict=False))


def _paths(found: Iterable[Finding]) -> Iterator[str]:
    for finding in found:
        yield from [finding.actor] if finding.spelled else finding.paths


def counted(found: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`, or `none`."""
    counts = [(sum(f.level is level for f in found), level) for level in _ORDER]
    return ", ".join(how_many(n, level) for n, level in counts if n) or "none"


def lines_of(found: Iterable[Finding]) -> list[str]:
    """Findings as lines of text, the fix on a line of its own."""
    lines = []
    for finding in found:
        lines.append(f"  {finding.level} [{finding.code}] {finding.where}: {finding.text}")
        if finding.fix:
            lines.append(f"    fix: {finding.fix}")
    return lines


def either(ways: Sequence[str]) -> str:
    """Alternatives as one sentence: `a, or b, or c`."""
    return ", or ".join(ways)
