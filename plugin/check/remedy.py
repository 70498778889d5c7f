"""Remedy: what resolves a finding, as edits of the scene."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mjrig.names import Slots, literal
from mjrig.pattern_budget import pattern_budget
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import NestedList
from mjrig.properties.per_actuator import DEFAULT, PerActuator
from mjrig.scene.scene_path import find
from mjrig.scene_edit.scene import Scene
from mjrig.yaml_text.formatting import format_flow

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
