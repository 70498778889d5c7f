"""Differences between two scenes: actors, components and properties, not lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from mjrig.core.errors import PropertyError
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import FilePath
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.scene_description import SceneDescription, described
from mjrig.core.yaml_text.comparison import same
from mjrig.core.yaml_text.formatting import format_flow

#: Stands for an entry that is not there.
_NONE = object()


class Change(StrEnum):
    """Kind of change."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True)
class Difference:
    """One difference: `dog.PDController.kp: 40 → 50`, `+ actor 'cat' (model cat.xml)`.

    `what` is property, actor, component, frame, …; `before` and `after` are texts.
    """

    change: Change
    what: str
    path: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        if self.change is Change.CHANGED:
            return f"{self.path}: {self.before} → {self.after}"
        about = self.before or self.after
        name = self.path if "." in self.path or "[" in self.path else repr(self.path)
        return f"{self.change} {self.what} {name}" + (f" ({about})" if about else "")


def differences(before: SceneDescription, after: SceneDescription) -> list[Difference]:
    """How one scene differs from another, includes and variables resolved.

    Actors, frames and groups are matched by name, components by the name they are listed by.
    """
    found = [*_between(before.effective_sim(), after.effective_sim(), "sim")]
    found += _properties(before, after, "", ("seed",))
    for kind, word in (("frames", "frame"), ("collision_groups", "group"), ("actors", "actor")):
        olds, news = ([p.item for p in described(s, kind)] for s in (before, after))
        found += _lists(olds, news, "", word, _name)
    found += _lists(before.randomise, after.randomise, "", "randomise", _numbered("randomise"))
    return found


def _properties(
    before: HasProperties, after: HasProperties, path: str, names: Sequence[str]
) -> Iterator[Difference]:
    for name in names:
        prop = before.property_named(name)
        yield from _property(prop, before, after, f"{path}.{name}" if path else name)


def _between(before: HasProperties, after: HasProperties, path: str) -> Iterator[Difference]:
    """The differences of two objects of one class."""
    names = [p.name for p in before.properties() if p.stored]
    return _properties(before, after, path, names)


def _property(
    prop: Property[Any], before: HasProperties, after: HasProperties, path: str
) -> Iterator[Difference]:
    old, new = before.authored(prop.name), after.authored(prop.name)
    if same(old, new):
        return
    olds, news = before.__dict__[prop.name], after.__dict__[prop.name]
    if isinstance(prop, NestedList):
        owner = path.rpartition(".")[0]
        is_component = prop.name == "components"
        word = "component" if is_component else prop.name
        identify = _role if is_component else _numbered(prop.name)
        yield from _lists(olds, news, owner, word, identify)
    elif isinstance(prop, Nested) and _comparable(prop, olds, news):
        blank = (olds or news).blank()
        yield from _between(olds or blank, news or blank, path)
    elif not _means_the_same(prop, before, after):
        if before.is_authored(prop.name) and after.is_authored(prop.name):
            yield from _values(old, new, path)
            return
        texts = (_text(prop, o, o.authored(prop.name)) for o in (before, after))
        yield Difference(Change.CHANGED, "property", path, *texts)


def _values(old: Any, new: Any, path: str) -> Iterator[Difference]:
    """The differences of two values; of mappings and lists only the entries that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            yield from _entries(old.get(key, _NONE), new.get(key, _NONE), f"{path}[{key}]")
    elif _is_list(old) and _is_list(new):
        matcher = SequenceMatcher(
            None, [format_flow(v) for v in old], [format_flow(v) for v in new]
        )
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                pairs = zip_longest(range(a, b), range(c, d))
                for i, j in pairs:
                    one = _NONE if i is None else old[i]
                    two = _NONE if j is None else new[j]
                    yield from _entries(one, two, f"{path}[{j if i is None else i}]")
    elif not same(old, new):
        yield Difference(Change.CHANGED, "property", path, format_flow(old), format_flow(new))


def _is_list(value: Any) -> bool:
    """Whether a value is told entry by entry; a vector is told whole."""
    numbers = isinstance(value, list) and all(isinstance(v, int | float) for v in value)
    return isinstance(value, list) and len(value) > 1 and not (numbers and len(value) <= 4)


def _entries(old: Any, new: Any, path: str) -> Iterator[Difference]:
    if old is _NONE:
        yield Difference(Change.ADDED, "entry", path, after=format_flow(new))
    elif new is _NONE:
        yield Difference(Change.REMOVED, "entry", path, before=format_flow(old))
    else:
        yield from _values(old, new, path)


def _comparable(prop: Nested[Any], old: Any, new: Any) -> bool:
    """Whether two nested objects differ by property; a missing one counts as empty."""
    if old is None or new is None:
        return not prop.polymorphic
    return type(old) is type(new)


def _lists(
    olds: Sequence[HasProperties],
    news: Sequence[HasProperties],
    owner: str,
    word: str,
    identify: Callable[[HasProperties, int], str],
) -> Iterator[Difference]:
    before = {identify(item, i): item for i, item in enumerate(olds)}
    after = {identify(item, i): item for i, item in enumerate(news)}

    def path(name: str) -> str:
        return f"{owner}.{name}" if owner else name

    for name, item in before.items():
        if name not in after or type(after[name]) is not type(item):
            yield Difference(Change.REMOVED, word, path(name), before=_about(item))
        else:
            yield from _between(item, after[name], path(name))
    for name, item in after.items():
        if name not in before or type(before[name]) is not type(item):
            yield Difference(Change.ADDED, word, path(name), after=_about(item))
    kept = [[n for n in names if n in before and n in after] for names in (before, after)]
    if kept[0] != kept[1]:
        texts = (", ".join(names) for names in kept)
        yield Difference(Change.CHANGED, "order", path(f"order of {word}s"), *texts)


def _name(item: HasProperties, index: int) -> str:
    return str(item.__dict__["name"])


def _role(item: HasProperties, index: int) -> str:
    return item._role


def _numbered(word: str) -> Callable[[HasProperties, int], str]:
    def identify(item: HasProperties, index: int) -> str:
        return str(item.__dict__.get("name") or f"{word}[{index}]")

    return identify


def _about(item: HasProperties) -> str:
    """A short description of an added or removed item."""
    if isinstance(item, ActorDescription):
        return (
            f"model {item.model}" if item.model is not None else f"prop {type(item.prop).__name__}"
        )
    return ""


def _means_the_same(prop: Property[Any], before: HasProperties, after: HasProperties) -> bool:
    """Whether two values written differently are equal: the default spelt out, the same file."""
    if isinstance(prop, FilePath):
        files = [_file(o, prop.name) for o in (before, after)]
        return files[0] is not None and files[0] == files[1]
    one_is_missing = not (before.is_authored(prop.name) and after.is_authored(prop.name))
    if isinstance(prop, PerActuator):  # a described one has no values before it is bound
        written = next((o for o in (before, after) if o.is_authored(prop.name)), before)
        is_default = prop.fallback is None and same(written.authored(prop.name), prop.constant)
        return one_is_missing and is_default
    values = before.__dict__[prop.name], after.__dict__[prop.name]
    return one_is_missing and prop.fallback is None and not prop.changed(*values)


def _file(obj: HasProperties, name: str) -> str | None:
    value = obj.__dict__[name]
    try:
        return str(obj.find_file(value).resolve()) if value is not None else None
    except PropertyError:
        return None


def _text(prop: Property[Any], obj: HasProperties, authored: Any) -> str:
    if obj.is_authored(prop.name):
        return format_flow(authored)
    default = prop.default_text().strip("`")
    return f"not set ({default})" if default else "not set"
