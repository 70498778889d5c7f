"""Renaming and removing items of a scene: references follow, dependents go too."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mjrig.core.errors import LocatedError, PropertyError
from mjrig.core.names import literal, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.references import (
    KEYFRAME,
    ON,
    Local,
    LocalNames,
    SceneReference,
    actor_part,
    in_file,
    kept_names,
    matched,
    named,
    original_names,
    place_heads,
    place_names,
    references,
    unrenamed_names,
)
from mjrig.core.scene.placement import actor_names, copy_names
from mjrig.core.scene.scene_description import SceneDescription, described, existing
from mjrig.core.scene.scene_sections import Frame, FreeBody, MocapBody

# Renaming -----------------------------------------------------------------------------------------


def rename(scene: SceneDescription, path: str, new: str) -> list[str]:
    """Rename an actor, frame, group, or an element of an actor (`dog.FL_hip`).

    Where an actor has two elements of one name, give the kind: `dog.joint:FL_hip`.

    Returns:
        The references that were updated.

    Raises:
        PropertyError: there is nothing of that name, or the new one is taken or invalid; nothing
            was changed.
    """
    first, dot, rest = path.partition(".")
    with scene.changes():
        if dot:
            return _rename_element(scene, scene[first], rest, new)
        return _rename_item(scene, item_named(scene, first), new)


def item_named(scene: SceneDescription, name: str) -> Any:
    """An actor, frame or group of the scene's own file.

    Raises:
        PropertyError: there is none.
    """
    everything: tuple[Any, ...] = (*scene.collision_groups, *scene.frames, *scene.actors)
    items = {item.name: item for item in everything}
    if name not in items:
        kinds = ("actors", "frames", "collision_groups")
        included = name in {p.name for kind in kinds for p in described(scene, kind)}
        hint = "it is in an included file" if included else suggestion(name, items)
        raise PropertyError(f"the scene has no actor, frame or group {name!r} of its own; {hint}")
    return items[name]


# Patterns ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """Old names and their new ones, among everything a pattern may match."""

    new: Mapping[str, str]
    before: Slots
    after: Slots
    #: Old and new prefix of the names; patterns may begin with it too.
    stem: tuple[str, str] | None = None

    def follow(self, pattern: str) -> str:
        """A pattern that matches the same things under their new names."""
        wanted = matched(self.before, pattern)
        for candidate in self._candidates(pattern):
            if matched(self.after, candidate) == wanted:
                return candidate
        lost = sorted(wanted - matched(self.after, pattern))
        names = set(self.new.values())
        more = [n for i in lost for n in self.after.aliases[i] if n in names]
        return "|".join([pattern, *map(literal, dict.fromkeys(more))])

    def _candidates(self, pattern: str) -> Iterator[str]:
        if pattern in self.new:
            yield literal(self.new[pattern])
        for old in self.new:  # added by an earlier renaming
            if pattern.endswith(f"|{literal(old)}"):
                yield pattern.removesuffix(f"|{literal(old)}")
        if self.stem is None:
            yield pattern
            return
        old, new = map(literal, self.stem)
        head, slash, tail = pattern.partition("/")
        if head.endswith(f"|{old})"):
            yield head.removeprefix("(?:").removesuffix(f"|{old})") + slash + tail
        yield pattern
        if pattern.startswith(old):
            yield new + pattern.removeprefix(old)
        if slash:
            yield f"(?:{head}|{new})/{tail}"

    def rewrite(self, reference: SceneReference) -> bool:
        """Update one reference; returns whether anything changed."""
        if reference.takes_patterns:
            return reference.rewrite(self.follow)
        return reference.rewrite(lambda name: self.new.get(name, name))


def _of(names: list[str], new: Mapping[str, str], stem: tuple[str, str] | None = None) -> _Names:
    return _Names(new, named(names), named(new.get(n, n) for n in names), stem)


# Actors, frames, groups -------------------------------------------------------------------------


def _rename_item(scene: SceneDescription, item: Any, new: str) -> list[str]:
    old = item.name
    if item in scene.collision_groups:
        groups = _of([p.name for p in described(scene, "collision_groups")], {old: new})
        item.name = new
        return [r.label for r in references(scene, "group") if groups.rewrite(r)]
    check_included(scene, old)
    names, places = actor_names(scene), place_names(scene)
    heads = place_heads(item) if isinstance(item, ActorDescription) else [old]
    item.name = new  # before the names of its copies, so that a wrong one is refused
    now = place_heads(item) if isinstance(item, ActorDescription) else [new]
    for name in now:
        if name in {*places} - {*heads}:
            raise PropertyError(f"the scene has an actor or frame {name!r} already")
    renamed = dict(zip(heads, now, strict=True))
    followed = _follow_places(scene, _moved(places, renamed, (old, new)))
    if isinstance(item, ActorDescription):
        followed += _follow_draws(scene, _of(names, renamed, (old, new)))
    return followed


def _moved(places: list[str], heads: Mapping[str, str], stem: tuple[str, str]) -> _Names:
    """The renamed frames on actors."""
    new = {}
    for place in places:
        head, slash, tail = place.partition("/")
        if head in heads:
            new[place] = heads[head] + slash + tail
    return _of(places, new, stem)


def _follow_places(scene: SceneDescription, places: _Names) -> list[str]:
    return [r.label for r in references(scene, "place") if places.rewrite(r)]


def _follow_draws(scene: SceneDescription, actors: _Names) -> list[str]:
    followed = []
    for entry in scene.randomise:
        parts = actor_part(entry.path, actors.before)
        if parts is None:
            continue
        head, rest = parts
        new = actors.follow(head)
        if new != head:
            entry.path = f"(?:{new}).{rest}" if "|" in new else f"{new}.{rest}"
            followed.append(f"{entry.label}.path")
    return followed


def check_included(scene: SceneDescription, name: str) -> None:
    """Refuse if an included file refers to an actor or frame of this one: it cannot follow.

    Raises:
        PropertyError: one does.
    """
    for kind in ("actors", "frames"):
        for placed in described(scene, kind):
            if placed.scene is scene:
                continue
            for reference in references(placed.item, "place"):
                if any(n.partition("/")[0] == name for n in reference.names()):
                    file = placed.scene.path
                    raise PropertyError(
                        f"{name!r} is named by {reference.label} in the included file {str(file)!r}"
                    )


# Elements of an actor ---------------------------------------------------------------------------


def _rename_element(
    scene: SceneDescription, actor: ActorDescription, element: str, new: str
) -> list[str]:
    before = Local.of(actor)
    kind, old = before.which(actor, element)
    if not new or not isinstance(new, str) or "/" in new or ":" in new:
        raise PropertyError(f"{new!r} is not a valid name for a {kind}")
    if new == old:
        return []
    if new in before.names[kind]:
        raise PropertyError(f"{actor.label} has a {kind} {new!r} already")
    places = place_names(scene) if kind in ON else []
    names = {old: new}
    if kind == "actuator" and (authored := before.authored(actor, old)):
        for item in authored:
            item.name = new
        names |= _other_names(before, Local.of(actor))
    elif kind == KEYFRAME and (frames := [k for k in actor.keyframes if k.name == old]):
        for frame in frames:
            frame.name = new
    else:
        _note_renaming(actor, kind, old, new)
    after = before.renamed(kind, names)
    followed = [
        r.label
        for r in references(actor, kind)
        if _Names(names, r.slots(before), r.slots(after)).rewrite(r)
    ]
    if kind in ON:
        followed += _follow_places(scene, _of(places, _new_places(actor, before, kind, old, new)))
    return followed


def _other_names(before: Local, after: Local) -> dict[str, str]:
    """How numbered names changed."""
    pairs = zip(before.made, after.made, strict=True)
    return {old: new for one, two in pairs for old, new in zip(one, two, strict=True) if old != new}


def _note_renaming(actor: ActorDescription, kind: str, old: str, new: str) -> None:
    """Write into `renamed`, which is keyed by the names in the model's file."""
    table = dict(actor.renamed)
    original = original_names(actor)
    source = source_of(actor, original, kind, old)
    if source.rpartition(":")[2] == new:
        table.pop(source, None)
    else:
        table[source] = new
    if table:
        actor.renamed = table
    else:
        actor.unset("renamed")


def source_of(
    actor: ActorDescription, original: Mapping[str, list[str]], kind: str, name: str
) -> str:
    """The name of an element in the model's file, as in `renamed` and `removed`."""
    for source, now in actor.renamed.items():
        prefix, _, plain = source.rpartition(":")
        kinds = (prefix, KEYFRAME if prefix == "key" else prefix)
        if now == name and (kind in kinds or (not prefix and plain in original[kind])):
            return source
    return in_file(dict(original), kind, name)


def _new_places(
    actor: ActorDescription, local: Local, kind: str, old: str, new: str
) -> dict[str, str]:
    """actor/element before and after; with its kind, and alone where that is unambiguous."""
    found = {}
    for copy in copy_names(actor):
        found[f"{copy}/{kind}:{old}"] = f"{copy}/{kind}:{new}"
        if sum(old in local.names[k] for k in ON) == 1:
            found[f"{copy}/{old}"] = f"{copy}/{new}"
    return found


# Removing -----------------------------------------------------------------------------------------


#: What a random draw is about: a property of objects.
Drawn = list[HasProperties | None]


def remove(
    scene: SceneDescription, path: str, *, dry_run: bool = False, dependents: str = "refuse"
) -> list[str]:
    """Remove an actor, frame, group, or an element of an actor (`dog.FL_hip`) from the scene.

    Args:
        scene: the scene.
        path: what to remove.
        dry_run: change nothing, only report.
        dependents: `refuse` if something depends on it, or `remove` that too.

    Returns:
        What is, or would be, removed: the item itself first, then what depended on it.

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
                    f"{'; '.join(removal.dependents)}; pass dependents='remove' to remove them too"
                )
    except _DryRun:
        pass
    return [removal.what, *removal.dependents]


class _DryRun(Exception):
    """Undoes the group of changes of a dry run."""


class _Removal:
    """Removes one item and, step by step, what depends on it."""

    def __init__(self, scene: SceneDescription) -> None:
        self.scene = scene
        self.what = ""
        self.dependents: list[str] = []

    def start(self, path: str) -> None:
        first, dot, rest = path.partition(".")
        places, drawn = place_names(self.scene), self._drawn()
        if dot:
            self._remove_part(self.scene[first], rest)
        else:
            item = item_named(self.scene, first)
            self.what = _describe(item)
            check_included(self.scene, first)
            self._take_out(item)
            self._drop_groups(item)
        self._drop_places(named(places))
        self._drop_draws(drawn)

    def _take_out(self, item: Any) -> None:
        for field in ("collision_groups", "frames", "actors"):
            items = getattr(self.scene, field)
            if any(item is other for other in items):
                _put(self.scene, field, _without(items, [item]))

    # What was attached to it --------------------------------------------------------------------

    def _drop_places(self, before: Slots) -> None:
        """Remove what is attached to something removed; groups only lose a member."""
        while (lost := self._standing_on_nothing(before)) is not None:
            item, where = lost
            self.dependents.append(f"{_describe(item)} ({where.label}: {where.names()[0]})")
            self._take_out(item)
        after = named(place_names(self.scene))
        for actor in self.scene.actors:
            for reference in references(actor, "place"):
                is_actuator = isinstance(reference.holder, Actuator)
                if is_actuator and "/" in reference.authored and _drop(reference, before, after):
                    self.dependents.append(f"{reference.label} (the actuator stays)")
        for group in self.scene.collision_groups:
            for reference in references(group, "place"):
                if _drop(reference, before, after):
                    self.dependents.append(f"a member of {_describe(group)}")

    def _standing_on_nothing(self, before: Slots) -> tuple[Any, SceneReference] | None:
        after = named(place_names(self.scene))
        for item in (*self.scene.frames, *self.scene.actors):
            for reference in references(item, "place"):
                if isinstance(reference.holder, Actuator):
                    continue
                if any(_is_dead(name, before, after) for name in reference.names()):
                    return item, reference
        return None

    def _drop_groups(self, item: Any) -> None:
        if isinstance(item, ActorDescription | Frame):
            return
        after = [g.name for g in self.scene.collision_groups]
        for reference in list(references(self.scene, "group")):
            if _drop(reference, named([*after, item.name]), named(after)):
                self.dependents.append(reference.label)

    # Random draws -------------------------------------------------------------------------------

    def _drawn(self) -> list[tuple[Any, Drawn]]:
        return [(entry, self._objects(entry)) for entry in self.scene.randomise]

    def _objects(self, entry: Any) -> Drawn:
        """What an entry draws for, one per actor of its pattern that is in this file."""
        parts = actor_part(entry.path, named(actor_names(self.scene)))
        if parts is None:
            return []
        head, rest = parts
        owner, _, _ = rest.rpartition(".")
        actors = [a for a in self.scene.actors if matched(named(copy_names(a)), head)]
        return [existing(a, owner) if owner else a for a in actors]

    def _drop_draws(self, before: list[tuple[Any, Drawn]]) -> None:
        """Remove draws for something that was removed or renamed."""
        for entry, objects in before:
            now, known = self._objects(entry), {id(o) for o in objects}
            if objects and (not now or any(id(o) not in known for o in now)):
                _put(self.scene, "randomise", _without(self.scene.randomise, [entry]))
                self.dependents.append(f"the random draw {entry.path!r}")

    # Parts of an actor --------------------------------------------------------------------------

    def _remove_part(self, actor: ActorDescription, name: str) -> None:
        found = existing(actor, name) if ":" not in name else None
        if isinstance(found, ActorComponent):
            self.what = f"component {found.label}"
            actor.remove_component(found)
        else:
            self._remove_element(actor, name)

    def _remove_element(self, actor: ActorDescription, element: str) -> None:
        before = Local.of(actor)
        kind, name = before.which(actor, element)
        self.what = f"{kind} {name!r} of {actor.label!r}"
        slots = [(r, r.slots(before, owned=True)) for r in references(actor)]
        if not self._remove_authored(actor, before, kind, name):
            source = source_of(actor, original_names(actor), kind, name)
            actor.removed = [*actor.removed, source]
        _forget_renamings(actor)
        kept = kept_names(actor)
        self._drop_from_model(actor, slots, before.names, kept)
        with self._explaining():
            after = Local.of(actor)
        gone = [(k, n) for k in before.names for n in before.names[k] if n not in after.names[k]]
        self.dependents += [f"{k} {n!r}" for k, n in gone if (k, n) != (kind, name)]
        self._drop_from_control(actor, slots, after)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn errors of the edited model into errors about the removal."""
        try:
            yield
        except LocatedError as error:
            raise PropertyError(f"{self.what} cannot be removed: {error}") from error

    def _remove_authored(self, actor: ActorDescription, local: Local, kind: str, name: str) -> bool:
        """Whether the scene itself describes it; then it is removed there."""
        if kind == KEYFRAME:
            kept = [k for k in actor.keyframes if k.name != name]
            is_here = len(kept) < len(actor.keyframes)
            if is_here:
                _put(actor, "keyframes", kept)
            return is_here
        found = local.authored(actor, name) if kind == "actuator" else []
        if found:
            _put(actor, "actuators", _without(actor.actuators, found))
        return bool(found)

    def _drop_from_model(
        self,
        actor: ActorDescription,
        slots: list[tuple[SceneReference, Slots]],
        before: LocalNames,
        kept: LocalNames,
    ) -> None:
        """Remove references to what the edited model no longer has."""
        for reference, _ in slots:
            holder, refers = reference.holder, reference.prop.refers
            if "place" in refers and "/" in str(reference.authored):
                continue
            if reference.component is not None or not _is_below(holder, actor):
                continue
            if refers == ("actuator",) and not isinstance(holder, Actuator):
                continue  # authored actuators count too; see `_drop_from_control`
            was, now = (_of_kinds(refers, names) for names in (before, kept))
            if isinstance(holder, Actuator) and _is_needed(reference, was, now):
                # Its own name is among the removed ones.
                _put(actor, "actuators", _without(actor.actuators, [holder]))
            elif _drop(reference, was, now):
                stays = " (the actuator stays)" if isinstance(holder, Actuator) else ""
                self.dependents.append(reference.label + stays)
                if isinstance(holder, FreeBody):
                    _put(actor, "free_bodies", _without(actor.free_bodies, [holder]))
                elif isinstance(holder, MocapBody):
                    _put(actor, "mocap_bodies", _without(actor.mocap_bodies, [holder]))

    def _drop_from_control(
        self, actor: ActorDescription, slots: list[tuple[SceneReference, Slots]], after: Local
    ) -> None:
        """Remove names of actuators and joints that no longer match anything."""
        for reference, before in sorted(slots, key=lambda pair: not pair[0].claims):
            if "actuator" not in reference.prop.refers or not _is_below(reference.holder, actor):
                continue
            if isinstance(reference.holder, Actuator):
                continue
            now = reference.slots(after, owned=True)
            if not (_drop(reference, before, now) or _shorten(reference, before, now)):
                continue
            component = reference.component
            if reference.claims and not reference.names() and component is not None:
                self.dependents.append(f"component {component.label}")  # nothing left to do
                actor.remove_component(component)
            else:
                self.dependents.append(reference.label)


def _describe(item: Any) -> str:
    kinds = ((ActorDescription, "actor"), (Frame, "frame"))
    kind = next((word for cls, word in kinds if isinstance(item, cls)), "collision group")
    return f"{kind} {item.name!r}"


def _is_dead(name: str, before: Slots, after: Slots) -> bool:
    """Whether a name or pattern matched something and now matches nothing."""
    return bool(matched(before, name)) and not matched(after, name)


def _is_needed(reference: SceneReference, before: Slots, after: Slots) -> bool:
    """Whether everything that an actuator's required reference names was removed."""
    assert isinstance(reference.holder, Actuator)
    names = reference.names()
    optional = reference.prop.name in reference.holder.optional_references
    return bool(names) and not optional and all(_is_dead(n, before, after) for n in names)


def _drop(reference: SceneReference, before: Slots, after: Slots) -> bool:
    """Remove names that no longer match anything; returns whether there were any."""
    return reference.rewrite(lambda name: None if _is_dead(name, before, after) else name)


def _shorten(reference: SceneReference, before: Slots, after: Slots) -> bool:
    """Remove values from a list in actuator order; returns whether there were any."""
    values = reference.authored
    if not isinstance(reference.prop, PerActuator) or not isinstance(values, list):
        return False
    names = before.names
    if len(values) != len(names) or set(names) <= set(after.names):
        return False
    reference.write([v for v, n in zip(values, names, strict=True) if n in after.names])
    return True


def _of_kinds(kinds: Iterable[str], names: LocalNames) -> Slots:
    return named(n for kind in kinds for n in names.get(kind, ()))


def _is_below(holder: HasProperties, root: HasProperties) -> bool:
    return any(holder is other for other in root._family())


def _without(items: Iterable[Any], gone: Iterable[Any]) -> list[Any]:
    lost = {id(item) for item in gone}
    return [item for item in items if id(item) not in lost]


def _put(owner: HasProperties, name: str, items: list[Any]) -> None:
    """Author a list; unset it where it is empty."""
    if items:
        owner.property_named(name).assign(owner, items)
    else:
        owner.unset(name)


def _forget_renamings(actor: ActorDescription) -> None:
    """Drop `renamed` entries of removed elements."""
    if not actor.renamed:
        return
    names = unrenamed_names(actor)
    table = {s: new for s, new in actor.renamed.items() if _is_in(names, s)}
    if not table:
        actor.unset("renamed")
    elif len(table) < len(actor.renamed):
        actor.renamed = table


def _is_in(names: LocalNames, source: str) -> bool:
    """Whether there is an element of a name as `renamed` writes it."""
    kind, _, name = source.rpartition(":")
    kinds = (KEYFRAME if kind == "key" else kind,) if kind else tuple(names)
    return bool(matched(_of_kinds(kinds, names), name))
