"""Renaming actors, frames, groups and elements of a scene; every reference follows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mjrig.core.errors import PropertyError
from mjrig.core.names import Slots, literal, suggestion
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.editing.references import (
    KEYFRAME,
    ON,
    Local,
    SceneReference,
    actor_part,
    in_file,
    matched,
    named,
    original_names,
    place_heads,
    place_names,
    references,
)
from mjrig.core.scene.includes import described
from mjrig.core.scene.placement import actor_names, copy_names
from mjrig.core.scene.scene_description import SceneDescription


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
