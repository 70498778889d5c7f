"""Edits made while playing: each as one line of text, gains per actuator; some can be reverted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.editing.diff import Change, Difference
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import Include, path_of
from mjrig.core.yaml_text.comparison import identity
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.editor.edits.edits import UNSET, Edit, apply, walk
from mjrig.editor.text import tr
from mjrig.lab.gains.gain_rows import GainRow, set_gains

# Kept gains ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ActuatorGainChange:
    """The change of one gain of one actuator, as part of an edit that may change several."""

    row: GainRow
    gain: str
    before: float

    @property
    def text(self) -> str:
        """In one line."""
        place = tr(
            "{path} of {actuator}", path=self.row.paths[self.gain], actuator=self.row.actuator
        )
        before, after = f"{self.before:g}", f"{self.row.values[self.gain]:g}"
        return str(Difference(Change.CHANGED, "property", place, before, after))


def gain_changes(edit: Edit, scene: Scene, rows: Sequence[GainRow]) -> list[ActuatorGainChange]:
    """The actuators that an edit changed; none where it is about something else, or all alike.

    Args:
        edit: led to the scene's present data.
        scene: the scene.
        rows: the gains in force.
    """
    chain, rest = walk(scene, edit.path)
    holder = chain[-1]
    if len(rest) != 1 or not isinstance(holder.property_named(rest[0]), PerActuator):
        return []
    path, name = f"{path_of(holder)}.{rest[0]}", rest[0]
    mine = [r for r in rows if r.paths.get(name) == path]
    mine = list({r.actuator: r for r in mine}.values())  # copies of an actor share their gains
    before = _before(holder, edit, mine[0]) if mine else None
    if before is None or len(before) != len(mine):
        return []
    found = [
        ActuatorGainChange(row, name, float(before[row.index]))
        for row in mine
        if row.values[name] != before[row.index]
    ]
    alike = len({(change.before, change.row.values[name]) for change in found}) == 1
    return [] if alike and len(found) == len(mine) else found


def take_back(scene: Scene, changes: Sequence[ActuatorGainChange]) -> None:
    """Give actuators the gains they had, and leave those of others.

    Raises:
        MjrigError: a gain is authored elsewhere.
    """
    set_gains(scene, [(c.row, {c.gain: c.before}) for c in changes])


def _before(holder: HasProperties, edit: Edit, row: GainRow) -> Sequence[float] | None:
    """The gains by actuator before an edit; None if they cannot be told."""
    twin, name = holder.copy(), edit.path[-1]
    try:
        if edit.before is UNSET:
            twin.unset(name)
        else:
            twin.property_named(name).assign(twin, edit.before)
        twin.spread_over(row.slots)
    except MjrigError:
        return None
    return [float(value) for value in getattr(twin, name)]


# Kept changes -------------------------------------------------------------------------------------


#: What an item of a list is called.
_WORDS = {
    "actors": "actor",
    "components": "component",
    "frames": "frame",
    "collision_groups": "group",
}


@dataclass(frozen=True)
class KeptChange:
    """What the user keeps or drops as one; several edits where an item was moved."""

    text: str
    edits: tuple[Edit, ...]
    #: The part of the edit that it is, where that changed the gains of several actuators.
    gain: ActuatorGainChange | None = None


def kept_changes(
    edits: Sequence[Edit], scene: Scene, rows: Sequence[GainRow] = ()
) -> list[KeptChange]:
    """Edits that led to a scene's present data, as readable text.

    Args:
        edits: what was changed.
        scene: the scene.
        rows: the gains in force; those of single actuators are listed one by one.
    """
    groups: dict[object, list[Edit]] = {}
    for i, edit in enumerate(edits):
        item = edit.after if edit.before is UNSET else edit.before
        key = (edit.path[:-1], identity(item)) if edit.moves_items else i
        groups.setdefault(key, []).append(edit)
    return [change for group in groups.values() for change in _changes(group, scene, rows)]


def _changes(group: Sequence[Edit], scene: Scene, rows: Sequence[GainRow]) -> list[KeptChange]:
    gains = gain_changes(group[0], scene, rows) if len(group) == 1 else []
    if gains:
        return [KeptChange(gain.text, tuple(group), gain) for gain in gains]
    return [KeptChange(_text(group, scene), tuple(group))]


def drop(
    scene: Scene, made: Sequence[Edit], shown: Sequence[KeptChange], dropped: Sequence[KeptChange]
) -> None:
    """Take some of the listed changes back; the others stay.

    Args:
        scene: the scene.
        made: all edits.
        shown: the list of them.
        dropped: those of the list that go.
    """
    kept = [change for change in shown if not any(change is d for d in dropped)]
    shared = {id(edit) for change in kept for edit in change.edits}
    whole = [e for d in dropped for e in d.edits if id(e) not in shared]
    parts = [d.gain for d in dropped if d.gain is not None and id(d.edits[0]) in shared]
    take_back(scene, parts)  # first: the places of the others are as they were listed
    apply(scene, taking_back(made, whole))


def taking_back(made: Sequence[Edit], dropped: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits that take back some of a group while the others stay.

    An item that comes back goes where it was among those that are there now.
    """
    gone = set(map(id, dropped))
    kept = [edit for edit in made if id(edit) not in gone and edit.moves_items]
    return tuple(_rebased(e.inverse, kept) for e in reversed(made) if id(e) in gone)


def _rebased(edit: Edit, kept: Sequence[Edit]) -> Edit:
    if not (edit.moves_items and edit.before is UNSET):
        return edit
    *owner, index = edit.path
    beside = [k for k in kept if list(k.path[:-1]) == owner]
    index -= sum(k.after is UNSET and k.path[-1] < index for k in beside)
    for k in sorted(k.path[-1] for k in beside if k.before is UNSET):
        index += k <= index
    return replace(edit, path=(*owner, index))


# Words ------------------------------------------------------------------------------------------


def _text(group: Sequence[Edit], scene: Scene) -> str:
    edit = group[-1]
    chain, rest = walk(scene, edit.path)
    if edit.moves_items:
        name = _below(chain[-1], _called(chain[-1], rest, edit))
        return tr("{name}: moved", name=name) if len(group) > 1 else str(_item(edit, rest[0], name))
    prop = chain[-1].property_named(rest[0])
    default = prop.default_text().strip("`") if len(rest) == 1 else ""
    texts = [_value_text(value, default) for value in (edit.before, edit.after)]
    return str(Difference(Change.CHANGED, "property", _path_text(chain[-1], rest), *texts))


def _item(edit: Edit, kind: str, name: str) -> Difference:
    word = _WORDS.get(kind, kind)
    if edit.before is UNSET:
        return Difference(Change.ADDED, word, name, after=_about(edit.after, kind))
    return Difference(Change.REMOVED, word, name, before=_about(edit.before, kind))


def _called(owner: HasProperties, rest: tuple[Any, ...], edit: Edit) -> str:
    kind, index = rest
    data = edit.after if edit.before is UNSET else edit.before
    if edit.before is UNSET and kind == "components":
        return str(getattr(owner, kind)[index].role)
    named = data.get("name") or data.get("type") if isinstance(data, Mapping) else None
    return str(named or f"{kind}[{index}]")


def _about(data: Any, kind: str) -> str:
    if kind != "actors":
        return ""
    return (
        tr("model {model}", model=data["model"])
        if "model" in data
        else tr("prop {kind}", kind=data["prop"]["type"])
    )


def _path_text(owner: HasProperties, rest: tuple[Any, ...]) -> str:
    if isinstance(owner, Include) and rest[0] == "set" and len(rest) == 2:
        return f"{owner.prefix}{rest[1]}"  # set on top of an included file
    if len(rest) == 2 and isinstance(rest[1], int):
        return _below(owner, f"{rest[0]}[{rest[1]}]")
    return _below(owner, ".".join(map(str, rest)))


def _below(owner: HasProperties, name: str) -> str:
    return name if isinstance(owner, Scene) else f"{path_of(owner)}.{name}"


def _value_text(value: Any, default: str) -> str:
    if value is not UNSET:
        return format_flow(value)
    return tr("not set ({default})", default=default) if default else tr("not set")
