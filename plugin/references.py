"""Names stay right: renaming follows every reference, removing says what depended on it.

Which properties hold names is declared on them (`refers`); nothing here lists fields.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mjrig.actor import Actor
from mjrig.actuator import TARGETS, Actuator
from mjrig.component import ActorComponent
from mjrig.errors import PropertyError
from mjrig.loose_kinds import Table
from mjrig.names import listed, literal, suggestion
from mjrig.part import Part
from mjrig.placement import Placed
from mjrig.properties import HasProperties, Property
from mjrig.property_kinds import Patterns, Text
from mjrig.scene import Scene
from mjrig.scene_parts import Frame

#: Kinds of elements a scene can name, and where an MjSpec keeps them.
KINDS = {
    "joint": "joints",
    "actuator": "actuators",
    "body": "bodies",
    "site": "sites",
    "tendon": "tendons",
    "geom": "geoms",
    "sensor": "sensors",
    "camera": "cameras",
    "light": "lights",
    "equality": "equalities",
}
LocalNames = dict[str, list[str]]


def local_names(actor: Actor) -> LocalNames:
    """The names an actor's scene text may use, by kind: its model as edited, and what is authored.

    Raises:
        PropertyError, BindingError: the model cannot be read or does not fit what is authored.
    """
    part = Part(Placed(actor, actor, Scene(), ()))
    names = {kind: [e.name for e in getattr(part.spec, many)] for kind, many in KINDS.items()}
    names["body"].remove("world")
    names["keyframe"] = list(dict.fromkeys([*part.keys, *(k.name for k in actor.keyframes)]))
    return {kind: [name for name in found if name] for kind, found in names.items()}


# References -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """A property whose value holds names."""

    holder: HasProperties
    prop: Property[Any]

    @property
    def authored(self) -> Any:
        """What is written there; None for nothing."""
        return self.holder.authored(self.prop.name)

    @property
    def label(self) -> str:
        """Where it is, for a report."""
        return f"{self.holder.label}.{self.prop.name}"

    @property
    def takes_patterns(self) -> bool:
        """Whether the names in it are read as patterns."""
        on_targets = isinstance(self.holder, Actuator) and self.prop.name in TARGETS
        return on_targets or not isinstance(self.prop, Text | Table)

    def names(self) -> list[str]:
        """The names or patterns in it."""
        authored = self.authored
        if isinstance(authored, Mapping):
            return [name for name in authored if name != "default"]
        if isinstance(authored, str):
            return [authored]
        is_names = isinstance(self.prop, Patterns) and isinstance(authored, list)
        return list(authored) if is_names else []

    def rewrite(self, change: Callable[[str], str | None]) -> bool:
        """Put another name in place of each, None to leave it out; returns whether any changed."""
        changes = {name: change(name) for name in self.names()}
        if all(before == after for before, after in changes.items()):
            return False
        self._write(self._changed(self.authored, changes))
        return True

    def _changed(self, authored: Any, changes: Mapping[str, str | None]) -> Any:
        if isinstance(authored, Mapping):
            pairs = ((changes.get(key, key), value) for key, value in authored.items())
            return {key: value for key, value in pairs if key is not None}
        if isinstance(authored, str):
            return changes[authored]
        return [new for name in authored if (new := changes[name]) is not None]

    def _write(self, value: Any) -> None:
        if value is None or value in ([], {}):
            self.holder.unset(self.prop.name)
        else:
            self.prop.assign(self.holder, value)


def _references(root: HasProperties, kind: str) -> Iterator[Reference]:
    """Everything at or below an object that names things of a kind."""
    for holder in root._family():
        for prop in holder.properties():
            if kind in prop.refers and holder.is_authored(prop.name):
                yield Reference(holder, prop)


def _renamed_pattern(pattern: str, old: str, new: str) -> str:
    """A pattern that matches the new name wherever it matched the old one."""
    if pattern in (old, literal(old)):
        return literal(new)
    if _matches(pattern, old) and not _matches(pattern, new):
        return f"{pattern}|{literal(new)}"
    return pattern


def _matches(pattern: str, name: str) -> bool:
    try:
        return pattern == name or re.fullmatch(pattern, name) is not None
    except re.error:
        return False


def _rename_in(reference: Reference, old: str, new: str) -> bool:
    if reference.takes_patterns:
        return reference.rewrite(lambda pattern: _renamed_pattern(pattern, old, new))
    return reference.rewrite(lambda name: new if name == old else name)


# Rename -----------------------------------------------------------------------------------------


def rename(scene: Scene, path: str, new: str) -> list[str]:
    """Give an actor, frame, group, or something of an actor (`dog.FL_hip`) another name.

    Where an actor has two things of one name, say which: `dog.joint:FL_hip`.

    Returns:
        The places that followed.

    Raises:
        PropertyError: there is nothing of that name, or the new one is taken or no name; nothing
            was changed.
    """
    first, _, rest = path.partition(".")
    with scene.changes():
        if rest:
            return _rename_element(scene, scene[first], rest, new)
        return _rename_item(scene, _item_named(scene, first), new)


def _item_named(scene: Scene, name: str) -> Any:
    everything: tuple[Any, ...] = (*scene.collision_groups, *scene.frames, *scene.actors)
    items = {item.name: item for item in everything}
    if name not in items:
        included = name in {p.name for p in _included(scene)}
        hint = "it is in an included file" if included else suggestion(name, items)
        raise PropertyError(f"the scene has no actor, frame or group {name!r}; {hint}")
    return items[name]


def _included(scene: Scene) -> list[Any]:
    return [item for include in scene.include for item in include.scene().actors]


def _rename_item(scene: Scene, item: Any, new: str) -> list[str]:
    old = item.name
    item.name = new
    if item in scene.collision_groups:
        return [r.label for r in _references(scene, "group") if _rename_in(r, old, new)]
    followed = [r.label for r in _references(scene, "place") if _rename_head(r, old, new)]
    for entry in scene.randomise:
        path = _renamed_path(entry.path, old, new)
        if path != entry.path:
            entry.path = path
            followed.append(f"{entry.label}.path")
    return followed


def _rename_head(reference: Reference, old: str, new: str) -> bool:
    """Follow the renaming of an actor or frame in `old`, `old/body`, or a pattern of those."""

    def change(name: str) -> str:
        head, slash, tail = name.partition("/")
        if not slash and len(reference.prop.refers) > 1:
            return name  # it names something of the same actor
        if not reference.takes_patterns:
            return new + slash + tail if head == old else name
        changed = _renamed_pattern(head, old, new)
        return f"(?:{changed})/{tail}" if slash and "|" in changed else changed + slash + tail

    return reference.rewrite(change)


def _renamed_path(path: str, old: str, new: str) -> str:
    """The path of a random draw; its first part is a pattern, which may have dots itself."""
    parts = path.split(".")
    for cut in range(1, len(parts)):
        head, rest = ".".join(parts[:cut]), ".".join(parts[cut:])
        if _matches(head, old):
            changed = _renamed_pattern(head, old, new)
            return f"(?:{changed}).{rest}" if "|" in changed else f"{changed}.{rest}"
    return path


def _rename_element(scene: Scene, actor: Actor, element: str, new: str) -> list[str]:
    names = local_names(actor)
    kind, old = _which(actor, names, element)
    if not new or "/" in new or ":" in new:
        raise PropertyError(f"{new!r} is no name for a {kind}")
    if new in names[kind]:
        raise PropertyError(f"{actor.label} has a {kind} {new!r} already")
    authored = [a for a in actor.actuators if kind == "actuator" and a.name == old]
    frames = [k for k in actor.keyframes if kind == "keyframe" and k.name == old]
    for item in (*authored, *frames):
        item.name = new
    if not authored and not frames:
        _note_renaming(actor, kind, old, new, names)
    followed = [r.label for r in _references(actor, kind) if _rename_in(r, old, new)]
    at = (f"{actor.name}/{old}", f"{actor.name}/{new}")
    followed += [r.label for r in _references(scene, "place") if _rename_in(r, *at)]
    return followed


def _note_renaming(actor: Actor, kind: str, old: str, new: str, names: LocalNames) -> None:
    """Write into `renamed`, which is by the names the model's file has."""
    table = dict(actor.renamed)
    source = next((key for key, value in table.items() if value == old), None)
    if source is None:
        source = old if sum(old in have for have in names.values()) == 1 else f"{kind}:{old}"
    table[source] = new
    actor.renamed = {k: v for k, v in table.items() if k.rpartition(":")[2] != v}


def _which(actor: Actor, names: LocalNames, element: str) -> tuple[str, str]:
    """Kind and name of what `name` or `kind:name` means."""
    kind, colon, name = element.rpartition(":")
    kinds = [k for k, have in names.items() if name in have and (not colon or k == kind)]
    if not kinds:
        have = [n for names_of_kind in names.values() for n in names_of_kind]
        raise PropertyError(
            f"{actor.label} has no {kind or 'element'} {name!r}; {suggestion(name, have)}"
        )
    if len(kinds) > 1:
        ways = listed(f"{actor.label}.{k}:{name}" for k in kinds)
        raise PropertyError(f"{actor.label}.{name} is several things; write one of {ways}")
    return kinds[0], name


# Remove -----------------------------------------------------------------------------------------


def remove(
    scene: Scene, path: str, *, dry_run: bool = False, dependents: str = "refuse"
) -> list[str]:
    """Take an actor, frame, group, or something of an actor (`dog.FL_hip`) out of the scene.

    Args:
        scene: the scene.
        path: what goes.
        dry_run: change nothing, only report.
        dependents: `refuse` if something depends on it, or `remove` that too.

    Returns:
        What goes, or would go: the thing itself first, then what depended on it.

    Raises:
        PropertyError: there is nothing of that name, or something depends on it and `dependents`
            is `refuse`; nothing was changed.
    """
    if dependents not in ("refuse", "remove"):
        raise PropertyError(f"dependents must be 'refuse' or 'remove', got {dependents!r}")
    removal = _Removal(scene)
    try:
        with scene.changes():
            removal.start(path)
            if dry_run:
                raise _DryRun
            if removal.dependents and dependents == "refuse":
                raise PropertyError(
                    f"{removal.what} cannot be removed: it is needed by "
                    f"{'; '.join(removal.dependents)}; pass dependents='remove' to take them along"
                )
    except _DryRun:
        pass
    return [removal.what, *removal.dependents]


class _DryRun(Exception):
    """Undoes the group of changes of a dry run."""


class _Removal:
    """Removes one thing and, step by step, what cannot be without it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.what = ""
        self.dependents: list[str] = []

    def start(self, path: str) -> None:
        first, _, rest = path.partition(".")
        if rest:
            self._remove_element(self.scene[first], rest)
            return
        item = _item_named(self.scene, first)
        self.what = self._describe(item)
        self._remove_item(item)

    @staticmethod
    def _describe(item: Any) -> str:
        kinds = {"Actor": "actor", "Frame": "frame"}
        return f"{kinds.get(type(item).__name__, 'collision group')} {item.name!r}"

    def _remove_item(self, item: Any) -> None:
        scene = self.scene
        if item in scene.collision_groups:
            scene.collision_groups = tuple(g for g in scene.collision_groups if g is not item)
            self._drop_names("group", lambda name: name == item.name)
            return
        if isinstance(item, Frame):
            scene.frames = tuple(f for f in scene.frames if f is not item)
        else:
            scene.actors = tuple(a for a in scene.actors if a is not item)
        self._drop_places(lambda name: name.partition("/")[0] == item.name)
        for entry in scene.randomise:
            if not any(_renamed_path(entry.path, a.name, "\0") != entry.path for a in scene.actors):
                scene.randomise = tuple(e for e in scene.randomise if e is not entry)
                self.dependents.append(f"the random draw {entry.path!r}")

    def _drop_places(self, is_gone: Callable[[str], bool]) -> None:
        """What stands on something that is gone goes too; groups only lose a member."""
        standing = [
            (item, reference)
            for item in (*self.scene.frames, *self.scene.actors)
            for reference in _references(item, "place")
            if not isinstance(reference.holder, Actuator)
        ]
        for item, reference in standing:
            if any(map(is_gone, reference.names())) and self._is_here(item):
                where = reference.names()[0]
                self.dependents.append(f"{self._describe(item)} ({reference.label}: {where})")
                self._remove_item(item)
        for actor in self.scene.actors:
            for reference in _references(actor, "place"):
                if isinstance(reference.holder, Actuator) and reference.rewrite(
                    lambda name: None if "/" in name and is_gone(name) else name
                ):
                    self.dependents.append(f"{reference.label} (the actuator stays)")
        for group in self.scene.collision_groups:
            for reference in _references(group, "place"):
                if reference.rewrite(lambda name: None if is_gone(name) else name):
                    self.dependents.append(f"a member of {self._describe(group)}")

    def _is_here(self, item: Any) -> bool:
        return any(item is other for other in (*self.scene.frames, *self.scene.actors))

    def _drop_names(self, kind: str, is_gone: Callable[[str], bool]) -> None:
        for reference in list(_references(self.scene, kind)):
            if reference.rewrite(lambda name: None if is_gone(name) else name):
                self.dependents.append(reference.label)

    # Elements of an actor -----------------------------------------------------------------------

    def _remove_element(self, actor: Actor, element: str) -> None:
        before = local_names(actor)
        kind, name = _which(actor, before, element)
        self.what = f"{kind} {name!r} of {actor.label!r}"
        if not self._remove_authored(actor, kind, name):
            # NOTE: another of that name may be gone already; the model's file still has it.
            left_out = [entry.rpartition(":")[2] for entry in actor.removed]
            one = sum(name in have for have in before.values()) == 1 and name not in left_out
            actor.removed = [*actor.removed, name if one else f"{kind}:{name}"]
        self._drop_authored_actuators(actor, kind, name)
        after = local_names(actor)
        gone = {k: [n for n in before[k] if n not in after[k]] for k in before}
        self.dependents += [
            f"{k} {n!r}" for k, names in gone.items() for n in names if (k, n) != (kind, name)
        ]
        for k, names in gone.items():
            if names:
                self._drop_references(actor, k, names, before, after)
        elements = {f"{actor.name}/{n}" for names in gone.values() for n in names}
        self._drop_places(lambda place: place in elements)

    def _remove_authored(self, actor: Actor, kind: str, name: str) -> bool:
        """Whether the scene itself has it; then it goes there."""
        lists = {"actuator": "actuators", "keyframe": "keyframes"}
        if kind not in lists:
            return False
        items = getattr(actor, lists[kind])
        kept = [item for item in items if item.name != name]
        if len(kept) == len(items):
            return False
        setattr(actor, lists[kind], kept)
        return True

    def _drop_authored_actuators(self, actor: Actor, kind: str, name: str) -> None:
        """Actuators whose only target goes; a reference frame that goes is only forgotten."""
        for actuator in list(actor.actuators):
            for reference in _references(actuator, kind):
                if reference.names() != [name]:
                    continue
                if reference.prop.name in actuator.optional_references:
                    actuator.unset(reference.prop.name)
                    self.dependents.append(f"{reference.label} (the actuator stays)")
                else:
                    actor.actuators = [a for a in actor.actuators if a is not actuator]
                    break

    def _drop_references(
        self, actor: Actor, kind: str, gone: list[str], before: LocalNames, after: LocalNames
    ) -> None:
        """Patterns and names that matched something and match nothing any more are left out."""

        def change(name: str, kinds: tuple[str, ...]) -> str | None:
            matched = any(_matches(name, n) for k in kinds for n in before.get(k, ()))
            still = any(_matches(name, n) for k in kinds for n in after.get(k, ()))
            return None if matched and not still else name

        for reference in list(_references(actor, kind)):
            kinds = reference.prop.refers
            kept = {name: change(name, kinds) for name in reference.names()}
            holder = reference.holder
            owns = isinstance(reference.prop, Patterns) and not any(kept.values())
            if owns and isinstance(holder, ActorComponent):
                self.dependents.append(f"component {holder.label}")  # nothing left for it to do
                actor.remove_component(holder)
            elif reference.rewrite(kept.__getitem__):
                self.dependents.append(reference.label)
        frees = [f for f in actor.free_bodies if kind == "body" and f.body in ("", *gone)]
        if frees:
            actor.free_bodies = [f for f in actor.free_bodies if f not in frees]
