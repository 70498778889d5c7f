"""Findings: what is wrong, where, how severe, and the remedies as edits of scene or policy file.

A finding is data. Its sentence comes from the table in `mjrig.lab.findings.texts`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar

from mjrig.core.errors import Wording
from mjrig.core.names import literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.per_actuator import DEFAULT, PerActuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.core.yaml_text.formatting import format_flow

# Remedy -------------------------------------------------------------------------------------------


#: Names of actuators or joints, each with its aliases.
Names = tuple[tuple[str, ...], ...]


class How(StrEnum):
    """Ways to change a property."""

    SET = "set"
    ADD = "add"
    PATCH = "patch"


@dataclass(frozen=True)
class RepairEdit:
    """One change of a scene, or of a policy file.

    Attributes:
        path: a property, as `Scene.set` takes it; `scene.actors` are the actors themselves. In a
            policy file the same from its top: `observation.terms[2].scale`.
        value: the new value; ADD: the item to append to the list; PATCH: values by name, merged
            into the written ones.
        how: one of these.
        among: for PATCH all that have a value, so that patterns written before keep the others.
        file: `scene` or `policy`.
        changed: the part of a longer value that changes: `FL_calf 60 → 45`; empty: all of it.
    """

    path: str
    value: Any
    how: How = How.SET
    among: Names = ()
    file: str = "scene"
    changed: str = ""

    def __str__(self) -> str:
        value = format_flow(self.value)
        how = "" if self.how is How.SET else f"{self.how} "
        return f"{self.path}: {how}{value}"

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in ("file", "path", "how", "value", "changed")}

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
    edits: tuple[RepairEdit, ...]

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
    return Remedy(text, (RepairEdit(path, value),))


def adding(text: str, path: str, value: object) -> Remedy:
    """Append to one list."""
    return Remedy(text, (RepairEdit(path, value, How.ADD),))


def patching(text: str, path: str, value: Mapping[str, Any], among: Iterable[Any]) -> Remedy:
    """Set some values of a property that has one for each joint or actuator."""
    names = tuple(tuple(aliases) for aliases in among)
    return Remedy(text, (RepairEdit(path, dict(value), How.PATCH, names),))


def combined(remedies: Sequence[Remedy]) -> Remedy:
    """The same way out for several: patches of one property are one edit."""
    edits: list[RepairEdit] = []
    for edit in (edit for remedy in remedies for edit in remedy.edits):
        same = [e for e in edits if (e.path, e.how, e.among) == (edit.path, edit.how, edit.among)]
        if same and edit.how is How.PATCH:
            value = {**same[0].value, **edit.value}
            edits[edits.index(same[0])] = replace(edit, value=value)
        elif edit not in edits:
            edits.append(edit)
    return Remedy(remedies[0].text, tuple(edits))


# Finding ------------------------------------------------------------------------------------------


class Level(StrEnum):
    """Severity of a finding, in the order they are shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


#: How many names are shown.
SHOWN = 8
#: A finding that explains this fraction of an error is a claim, below it is a suspicion.
CONFIDENT = 0.8


def _values(finding: "Finding", part: str) -> str:
    """The text of a finding in a process that has no sentences: its values."""
    return f"{finding.kind}: {finding.here}, expected {finding.expected}" if part == "text" else ""


@dataclass(frozen=True)
class Finding:
    """One finding, as data; `mjrig.lab.findings` has the sentence of each kind.

    Attributes:
        kind: a short, stable name to filter by: `no-limit`, `kp`, `joint order`.
        severity: error, warning or note.
        actor: what it is about; empty: the world.
        names: actuators, joints, bodies, components or observation terms; empty: the actor itself.
        here: the value here; a mapping: by name.
        expected: the value that would be right, or that a recording has.
        unit: of both values; empty: they have none.
        evidence: the numbers behind it, by name.
        share: the fraction of an error that it explains; None: that was not tried.
        remedies: the ways out that are edits of the scene or of the policy file.
        obstacle: why the remedies that it had cannot be applied.
        form: the sentence in the table, for kinds that have several; empty: the kind's.
        spelled: whether the sentence has the names already, each with its value.
    """

    #: Makes `text`, `fix` and `by_hand`; `mjrig.lab.findings.rendering` sets it.
    wording: ClassVar[Callable[["Finding", str], str]] = _values

    kind: str
    severity: Level
    actor: str = ""
    names: tuple[str, ...] = ()
    here: Any = None
    expected: Any = None
    unit: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    share: float | None = None
    remedies: tuple[Remedy, ...] = ()
    obstacle: str = ""
    form: str = ""
    spelled: bool = False

    @property
    def confidence(self) -> str:
        """`certain`: it explains nearly all of an error, or does not need to; else `suspected`."""
        return "certain" if self.share is None or self.share >= CONFIDENT else "suspected"

    @property
    def is_cause(self) -> bool:
        """Whether it is claimed as the cause of an error: it explains nearly all of it."""
        return self.share is not None and self.share >= CONFIDENT

    @property
    def edits(self) -> tuple[RepairEdit, ...]:
        """The edits of the first remedy."""
        return self.remedies[0].edits if self.remedies else ()

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

    @property
    def text(self) -> str:
        """The sentence: what is wrong."""
        return self.wording("text")

    @property
    def fix(self) -> str:
        """What would be right, as a sentence; empty: that is evident from the text."""
        return self.wording("fix")

    @property
    def by_hand(self) -> str:
        """Why no remedy is an edit; empty if one is."""
        return "" if self.remedies else self.obstacle or self.wording("by_hand")

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" + (f"; {self.fix}" if self.fix else "")

    def data(self) -> dict[str, Any]:
        """The finding as plain data, for JSON; `edits` has one list for each remedy."""
        return {
            "kind": self.kind,
            "severity": str(self.severity),
            "where": self.paths,
            "here": self.here,
            "expected": self.expected,
            "unit": self.unit,
            "evidence": {name: _plain(value) for name, value in self.evidence.items()}
            | ({} if self.share is None else {"share": self.share}),
            "edits": [[edit.data() for edit in remedy.edits] for remedy in self.remedies],
            "text": self.text,
            "fix": self.fix,
        }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Wording) else value


def error(kind: str, actor: str, names: Iterable[str] = (), **values: Any) -> Finding:
    """A finding that makes the simulation meaningless."""
    return _finding(Level.ERROR, kind, actor, names, values)


def warning(kind: str, actor: str, names: Iterable[str] = (), **values: Any) -> Finding:
    """A finding that is probably a mistake."""
    return _finding(Level.WARNING, kind, actor, names, values)


def note(kind: str, actor: str, names: Iterable[str] = (), **values: Any) -> Finding:
    """A finding for information."""
    return _finding(Level.NOTE, kind, actor, names, values)


_FIELDS = frozenset(f.name for f in fields(Finding)) - {"evidence"}


def _finding(
    severity: Level, kind: str, actor: str, names: Iterable[str], values: dict[str, Any]
) -> Finding:
    """Values that are not fields are evidence."""
    evidence = {name: value for name, value in values.items() if name not in _FIELDS}
    given = {name: value for name, value in values.items() if name in _FIELDS}
    return Finding(kind, severity, actor, tuple(names), evidence=evidence, **given)
