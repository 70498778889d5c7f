"""Live edits of a recording, for the components of a world; gains are recorded separately."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mjrig.control.controller import ArticulationController
from mjrig.control.plant_component import PlantComponent
from mjrig.errors import MjrigError
from mjrig.properties.has_properties import HasProperties
from mjrig.recording.recording import Recording
from mjrig.sim2sim.compare.matching import Match


@dataclass(frozen=True)
class PropertyEdit:
    """A value that a property had from a step of the recording on; None: its default."""

    step: int
    owner: HasProperties
    name: str
    value: Any


@dataclass
class RecordedEdits:
    """Edits that a replay repeats, in order, and those that it cannot repeat.

    Attributes:
        laws: of controllers.
        plant: of components that belong to the plant, such as friction.
        unrepeated: path → why a replay cannot repeat the edit.
    """

    laws: list[PropertyEdit] = field(default_factory=list)
    plant: list[PropertyEdit] = field(default_factory=list)
    unrepeated: dict[str, str] = field(default_factory=dict)


def recorded_edits(recording: Recording, pair: Match) -> RecordedEdits:
    """The edits of one robot, other than of gains and of components that only command it."""
    edits = RecordedEdits()
    present: dict[int, Mapping[str, Any]] = {}
    for entry in _entries(recording, pair):
        if "components" in entry:
            edits.unrepeated[f"{pair.recorded.name}.components"] = "components were added"
            continue
        path = str(entry["path"])
        *places, name = path.split(".")[1:]
        try:
            component = pair.robot.part(places[0])
            owner = component
            for place in places[1:]:
                owner = owner.part(place)
            values = list(_values(owner, name, entry["value"], present))
        except (MjrigError, _Structural) as error:
            edits.unrepeated[path] = str(error)
            continue
        chosen = [
            PropertyEdit(int(entry["step"]), *v) for v in values if not _is_gain(component, v)
        ]
        if isinstance(component, ArticulationController):
            edits.laws += chosen
        elif isinstance(component, PlantComponent):
            edits.plant += chosen
    return edits


class _Structural(Exception):
    """An edit after which a component is another one."""


def _values(
    owner: HasProperties, name: str, value: Any, present: dict[int, Mapping[str, Any]]
) -> Iterator[tuple[HasProperties, str, Any]]:
    """What an edit sets: the value of a property, or those of the parts nested in it.

    Args:
        owner: of the property.
        name: of the property.
        value: as recorded.
        present: data of nested parts after the edits before this one, by id; updated.
    """
    prop = owner.property_named(name)
    if not prop.nests:
        if prop.structural or name == "enabled":
            raise _Structural("it was changed during the recording")
        yield owner, name, value
        return
    is_list = isinstance(value, list)
    entries = value if is_list else [value]
    now = [child for child in owner.children() if child.role.partition("[")[0] == name]
    if len(now) != len(entries) or not all(isinstance(entry, dict) for entry in entries):
        raise _Structural("parts were added or removed during the recording")
    for part, entry in zip(now, entries, strict=True):
        data = present.get(id(part), part.to_data())
        if entry.get("type", data.get("type")) != data.get("type"):
            raise _Structural("parts were replaced during the recording")
        present[id(part)] = {"type": data.get("type"), **entry}
        changed = [k for k in data | entry if k != "type" and entry.get(k) != data.get(k)]
        # First what is no longer authored: of some properties only one may be.
        for key in sorted(changed, key=lambda k: entry.get(k) is not None):
            yield from _values(part, key, entry.get(key), present)


def _is_gain(component: HasProperties, edit: tuple[HasProperties, str, Any]) -> bool:
    """Whether an edit is of a gain, which is recorded for each actuator."""
    owner, name, _ = edit
    if not isinstance(component, ArticulationController) or name not in component.gains():
        return False
    return owner is component or owner.role == "law"


def _entries(recording: Recording, pair: Match) -> Iterator[Mapping[str, Any]]:
    """Entries of the log that are about this robot."""
    name = pair.recorded.name
    roles = [component.role for component in pair.robot.components]
    for entry in recording.attributes.get("edits", ()):
        labels = entry.get("components", {}).get(name, ())
        is_changed = any(label.partition(".")[2] not in roles for label in labels)
        if is_changed or str(entry.get("path", "")).startswith(f"{name}."):
            yield entry
