"""Rows of properties that hold values by name: a summary, and one row per entry.

The rows go into the inspector's table: name or pattern, value, a button that removes it.
Motors are chosen from the library: one for all driven joints, or one per name pattern.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from imgui_bundle import imgui

from mjrig.core.errors import MjrigError
from mjrig.core.names import literal
from mjrig.core.properties.collection_kinds import Table, a_name
from mjrig.core.properties.declaration import number
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import DEFAULT, PatternLists, PerActuator
from mjrig.core.scene.motor_file import bundled, choices
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.number_widgets import (
    Scale,
    real,
    scale_of,
    set_numbers,
    settle,
    tidy,
)
from mjrig.editor.inspector.text_widgets import combo, entry
from mjrig.editor.inspector.widget_context import MIXED, Sheet
from mjrig.editor.text import error_text, tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.number_cell import no_tab_stop
from mjrig.lab.gains.gain_rows import sources

#: Draws the value of one entry of a mapping.
ValueWidget = Callable[[Field, Sheet, dict[str, Any], str], None]


class Form(StrEnum):
    """How a per-actuator property is written."""

    DEFAULT = "default"
    VALUE = "value"
    BY_NAME = "by name"
    LIST = "list"


def form_of(authored: Any) -> Form:
    """How a value is written."""
    if authored is None:
        return Form.DEFAULT
    if isinstance(authored, Mapping):
        return Form.BY_NAME
    return Form.LIST if isinstance(authored, list) else Form.VALUE


def authored_as(field: Field, index: int, form: Form) -> Any:
    """The value of one object written in another form.

    A single value cannot stand for several; it is the one for the rest, or the first.
    """
    target, prop = field.targets[index], field.prop
    assert isinstance(prop, PerActuator)
    now = target.obj.authored(prop.name)
    names, values = slot_values(target.live, prop)
    fallback = prop.fallback_value(target.obj)
    if form is Form.VALUE:
        return _single(now, values, fallback)
    if form is Form.LIST:
        return values or [fallback]
    if isinstance(now, list):
        return dict(zip(map(literal, names), now, strict=False))
    return now if isinstance(now, Mapping) else {} if now is None else {DEFAULT: now}


def _single(now: Any, values: list[float], fallback: float) -> Any:
    if isinstance(now, Mapping):
        return now.get(DEFAULT, next(iter(now.values()), fallback))
    if isinstance(now, list):
        return now[0] if now else fallback
    return fallback if now is None else now


def slot_values(live: HasProperties | None, prop: PerActuator) -> tuple[list[str], list[float]]:
    """The actuators of a running component and their values; nothing where it does not run."""
    if live is None or live.slots is None:
        return [], []
    return list(live.slots.names), vars(live)[prop.name].tolist()


# Per actuator -----------------------------------------------------------------------------------


def per_actuator_value(field: Field, sheet: Sheet) -> None:
    """The form it is written in, and the value where there is one for all."""
    prop = field.prop
    assert isinstance(prop, PerActuator)
    data = field.data()
    forms = {form_of(d if field.is_authored else None) for d in data}
    form = forms.pop() if len(forms) == 1 else None
    choices = [f.value for f in Form if f is not Form.LIST or slot_values(field.live, prop)[0]]
    width = imgui.calc_text_size(tr("by name")).x + imgui.get_frame_height() * 1.4
    imgui.set_next_item_width(width)
    with no_tab_stop():
        chosen = combo("##form", form or MIXED, choices)
    if chosen == Form.DEFAULT:
        field.reset()
    elif chosen is not None and chosen != form:
        field.set_each([authored_as(field, i, Form(chosen)) for i in range(len(data))])
    imgui.same_line()
    if form is Form.VALUE:
        _one_for_all(field, data)
    else:
        imgui.align_text_to_frame_padding()
        imgui.text_colored(GREY, _summary(field, form, data[0]))


def _one_for_all(field: Field, data: list[Any]) -> None:
    scale = scale_of(field.prop)
    changed, new = real("##v", number(data[0]) or 0.0, scale, mixed=field.is_mixed)
    if changed:
        set_numbers(field, data, new, scale)
    settle(field)


def _summary(field: Field, form: Form | None, data: Any) -> str:
    prop = field.prop
    assert isinstance(prop, PerActuator)
    if form is None:
        return "differs"
    if form is Form.DEFAULT:
        return f"{prop.fallback_value(field.obj):g}"
    count = len(data)
    if form is Form.LIST:
        return tr("1 value") if count == 1 else tr("{count} values", count=count)
    if field.is_mixed:
        return MIXED
    return tr("1 pattern") if count == 1 else tr("{count} patterns", count=count)


def per_actuator_rows(field: Field, sheet: Sheet) -> None:
    """The patterns or the list, then what they come to for each actuator."""
    form = form_of(field.data()[0] if field.is_authored else None)
    if field.is_mixed:
        note(tr("The selected objects differ here."))
    elif form is Form.BY_NAME:
        mapping_rows(field, sheet, number_entry, first_number)
    elif form is Form.LIST:
        _list_rows(field)
    _resolved_rows(field)


def _list_rows(field: Field) -> None:
    data = list(field.data()[0])
    names = slot_values(field.live, field.prop)[0]  # type: ignore[arg-type]
    for i, value in enumerate(data):
        with_name(f"[{i}]", names[i] if i < len(names) else f"[{i}]")
        imgui.set_next_item_width(-1)
        changed, new = real("##v", number(value) or 0.0, scale_of(field.prop))
        if changed:
            field.set_all([*data[:i], tidy(new, value), *data[i + 1 :]], dragging=True)
        settle(field)
        imgui.pop_id()


def _resolved_rows(field: Field) -> None:
    """The values in force, each with its origin; an edit sets that actuator."""
    prop, live = field.prop, field.live
    assert isinstance(prop, PerActuator)
    names, values = slot_values(live, prop)
    if live is None or not names:
        return
    try:
        said = sources(live, prop.name)
    except MjrigError:  # the running component is being changed right now
        return
    held = field.data()[0]
    scale = scale_of(prop)
    for name, value, source in zip(names, values, said, strict=False):
        with_name(tr("in force {name}", name=name), name, grey=True)
        shown = held.get(literal(name), value) if isinstance(held, Mapping) else value
        room = imgui.calc_text_size("imported").x + imgui.get_style().item_spacing.x
        imgui.set_next_item_width(-room)
        changed, new = real("##v", number(shown) or 0.0, scale)
        if changed:
            _patch(field, {literal(name): tidy(new, shown)})
        settle(field)
        imgui.same_line()
        imgui.text_colored(GREY, source.partition(" ")[0])
        imgui.set_item_tooltip(source)
        imgui.pop_id()


def _patch(field: Field, patch: dict[str, Any]) -> None:
    """Merge into each object's value; the running counterpart resolves overlapping patterns."""
    prop = field.prop
    assert isinstance(prop, PerActuator)
    values: list[object] = []
    try:
        for target in field.targets:
            values.append(prop.merged(target.live or target.obj, patch))
    except MjrigError as error:
        field.edits.state.problems[field.path] = error_text(error)
        return
    field.set_each(values, dragging=True)


# Mappings ---------------------------------------------------------------------------------------


def mapping_value(field: Field, sheet: Sheet) -> None:
    """How many entries there are."""
    count = len(field.data()[0] or {})
    text = tr("1 entry") if count == 1 else tr("{count} entries", count=count)
    imgui.align_text_to_frame_padding()
    imgui.text_colored(GREY, MIXED if field.is_mixed else text)


def pattern_map_rows(field: Field, sheet: Sheet) -> None:
    """Numbers by name pattern."""
    if field.is_mixed:
        note(tr("The selected objects differ here."))
    else:
        mapping_rows(field, sheet, number_entry, lambda field, key: 0.0)


def pattern_lists_rows(field: Field, sheet: Sheet) -> None:
    """Lists of numbers by name pattern, as YAML."""
    if field.is_mixed:
        note(tr("The selected objects differ here."))
        return
    prop = field.prop
    assert isinstance(prop, PatternLists)
    first = [-1, 1] if prop.ordered else 1
    mapping_rows(field, sheet, _yaml_entry, lambda field, key: first)


def table_rows(field: Field, sheet: Sheet) -> None:
    """Values by name: names as they are, anything else as YAML."""
    if field.is_mixed:
        note(tr("The selected objects differ here."))
        return
    prop = field.prop
    assert isinstance(prop, Table)
    names = prop.check is a_name
    first: Callable[[Field, str], Any] = (lambda f, key: key) if names else (lambda f, key: 0)
    mapping_rows(field, sheet, _name_entry if names else _yaml_entry, first)


def mapping_rows(
    field: Field,
    sheet: Sheet,
    value: ValueWidget,
    first: Callable[[Field, str], Any],
    entries: Mapping[str, Any] | None = None,
) -> None:
    """One row per entry, and one to add another.

    Args:
        value: draws the value of an entry.
        first: the value of an entry that was just added.
        entries: the entries; None: the value of the field.
    """
    mapping: dict[str, Any] = dict((field.data()[0] or {}) if entries is None else entries)
    for key in mapping:
        imgui.push_id(key)
        imgui.table_next_row()
        imgui.table_set_column_index(0)
        imgui.set_next_item_width(-1)
        new = entry(sheet, "##key", key)
        if new is not None:
            field.set_all(_renamed(mapping, key, new))
        imgui.table_set_column_index(1)
        imgui.set_next_item_width(-1)
        value(field, sheet, mapping, key)
        imgui.table_set_column_index(2)
        if imgui.small_button("x##remove"):
            _put_mapping(field, {k: v for k, v in mapping.items() if k != key})
        imgui.set_item_tooltip(tr("Remove {key}", key=key))
        imgui.pop_id()
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    imgui.set_next_item_width(-1)
    added = entry(sheet, "##add", "", tr("add a name..."))
    if added:
        field.set_all({**mapping, added: mapping.get(added, first(field, added))})


def _renamed(mapping: dict[str, Any], key: str, new: str) -> dict[str, Any]:
    """Another key in the same place; none: the entry goes."""
    pairs = ((new if k == key else k, v) for k, v in mapping.items())
    return {k: v for k, v in pairs if k}


def _put_mapping(field: Field, mapping: dict[str, Any]) -> None:
    if mapping:
        field.set_all(mapping)
    else:
        field.reset()


def number_entry(field: Field, sheet: Sheet, mapping: dict[str, Any], key: str) -> None:
    """A number of a mapping."""
    changed, new = real("##v", number(mapping[key]) or 0.0, _scale(field))
    if changed:
        field.set_all({**mapping, key: tidy(new, mapping[key])}, dragging=True)
    settle(field)


def _scale(field: Field) -> Scale:
    scale = scale_of(field.prop)
    fallback = field.prop.fallback_value(field.obj) if isinstance(field.prop, PerActuator) else 0.0
    return Scale(scale.bounds, scale.factor, fallback or 1.0)


def first_number(field: Field, key: str) -> float:
    """Initial value of a new pattern: the present one of its actuators, so that nothing changes."""
    prop, live = field.prop, field.live
    assert isinstance(prop, PerActuator)
    if live is not None and live.slots is not None and key != DEFAULT:
        try:
            return float(vars(live)[prop.name][live.slots.match(key)[0]])
        except MjrigError:
            pass  # it matches nothing: setting it raises, with the nearest name
    return prop.fallback_value(field.obj)


def _name_entry(field: Field, sheet: Sheet, mapping: dict[str, Any], key: str) -> None:
    new = entry(sheet, "##v", str(mapping[key]))
    if new is not None:
        field.set_all({**mapping, key: new})


def _yaml_entry(field: Field, sheet: Sheet, mapping: dict[str, Any], key: str) -> None:
    new = entry(sheet, "##v", format_flow(mapping[key]))
    if new is None:
        return
    try:
        field.set_all({**mapping, key: parse_value(new)})
    except MjrigError as error:
        field.edits.state.problems[field.path] = error_text(error)


# Rows of the table ------------------------------------------------------------------------------


def with_name(key: str, name: str, *, grey: bool = False) -> None:
    """Begin a row with a name in front; the caller pops the id."""
    imgui.push_id(key)
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    imgui.align_text_to_frame_padding()
    if grey:
        imgui.text_colored(GREY, name)
    else:
        imgui.text(name)
    imgui.table_set_column_index(1)


def note(text: str) -> None:
    """A row with a note only."""
    imgui.table_next_row()
    imgui.table_set_column_index(1)
    imgui.text_colored(GREY, text)


# Motor widgets ------------------------------------------------------------------------------------


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
