"""Motors are chosen from the library: one for all driven joints, or one per name pattern."""

from typing import Any

from imgui_bundle import imgui

from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.mapping_rows import mapping_rows, mapping_value, note
from mjrig.editor.inspector.sheet import MIXED, Sheet
from mjrig.editor.inspector.text_widgets import combo
from mjrig.editor.texts.texts import tr
from mjrig.motors.library import bundled, choices
from mjrig.properties.per_actuator import DEFAULT


def motors_value(field: Field, sheet: Sheet) -> None:
    """The one motor of all joints; by pattern: how many entries there are."""
    said = field.data()[0] or ""
    if not isinstance(said, str):
        mapping_value(field, sheet)
        return
    none = tr("(none)")
    new = combo("##v", MIXED if field.is_mixed else said or none, lambda: (none, *choices()))
    if new == none:
        field.reset()
    elif new is not None:
        field.set_all(new)


def motors_rows(field: Field, sheet: Sheet) -> None:
    """Motors by name pattern; a motor for all becomes the one for the rest."""
    if field.is_mixed:
        note(tr("The selected objects differ here."))
        return
    said = field.data()[0] or {}
    usual = said if isinstance(said, str) else said.get(DEFAULT, next(iter(bundled())))
    mapping_rows(field, sheet, _motor_entry, lambda field, key: usual, _by_pattern(said))


def _by_pattern(said: Any) -> dict[str, str]:
    return {DEFAULT: said} if isinstance(said, str) else dict(said)


def _motor_entry(field: Field, sheet: Sheet, mapping: dict[str, Any], key: str) -> None:
    new = combo("##v", str(mapping[key]), choices)
    if new is not None:
        field.set_all({**mapping, key: new})
    imgui.set_item_tooltip(tr("A motor of the library; a file of your own is named in the scene."))
