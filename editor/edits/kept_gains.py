"""Gains edited while playing, actuator by actuator: listed, and taken back one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from mjrig.editor.edits.apply_edits import walk
from mjrig.editor.edits.edits import UNSET, Edit
from mjrig.editor.texts.texts import tr
from mjrig.errors import MjrigError
from mjrig.gains.gain_rows import GainRow, set_gains
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import PerActuator
from mjrig.scene.scene_path import path_of
from mjrig.scene_edit.diff import Change, Difference
from mjrig.scene_edit.scene import Scene


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
