"""Rows of the inspector: one per property with its menu, nested components below theirs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from imgui_bundle import imgui

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties import registry
from mjrig.core.properties.collection_kinds import Numbers, Table, Vector
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PatternLists, PatternMap, PerActuator
from mjrig.core.properties.scalar_kinds import Float, Int, OptionalFloat
from mjrig.core.scene.motor_file import MotorMap
from mjrig.core.yaml_text.formatting import format_block, format_flow
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.inspector.fields import EditedObject, Field, Filter, fields_of, parts_of
from mjrig.editor.inspector.mapping_rows import (
    mapping_value,
    motors_rows,
    motors_value,
    pattern_lists_rows,
    pattern_map_rows,
    per_actuator_rows,
    per_actuator_value,
    table_rows,
)
from mjrig.editor.inspector.text_widgets import combo
from mjrig.editor.inspector.widget_context import MIXED, PAYLOAD, Sheet, Widget
from mjrig.editor.inspector.widgets import widget_for
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.editor.ui.key_chords import chord
from mjrig.editor.ui.number_cell import no_tab_stop


def value_text(field: Field) -> str:
    """The value of one row."""
    return format_flow(field.data()[0])


def category_text(obj: HasProperties, category: str) -> str:
    """What is authored under one heading, as a mapping."""
    names = {prop.name for prop in obj.properties() if prop.category == category}
    data = HasProperties.to_data(obj)
    return _block({name: value for name, value in data.items() if name in names})


def object_text(obj: HasProperties) -> str:
    """A whole component or actor, as in a scene file."""
    return _block(obj.to_data())


def _block(data: Mapping[str, Any]) -> str:
    return format_block(data, 0) + "\n"


def parsed(text: str) -> Any:
    """What a text of the clipboard means.

    Raises:
        PropertyError: it is empty or not YAML.
    """
    if not text.strip():
        raise PropertyError(tr("cannot paste: the clipboard has no text"))
    try:
        return parse_value(text)
    except MjrigError as error:
        raise PropertyError(tr("cannot paste the clipboard: {error}", error=error)) from error


def values_to_paste(target: EditedObject, text: str) -> dict[str, object]:
    """The properties a text sets on an object, by path.

    A text with a `type` is a whole component: properties it lacks return to their defaults. Names
    stay.

    Raises:
        PropertyError: it is not a mapping, is of another type, or names an unknown property.
    """
    data, obj = parsed(text), target.obj
    kind = type(obj).__name__
    if not isinstance(data, Mapping):
        raise PropertyError(
            tr(
                "cannot paste: {path} needs a mapping, got {data}",
                path=target.path,
                data=_short(data),
            )
        )
    data = dict(data)
    found = data.pop("type", None)
    if found is not None and found != kind:
        raise PropertyError(
            tr(
                "cannot paste: the clipboard has a {found}, {path} is a {kind}",
                found=found,
                path=target.path,
                kind=kind,
            )
        )
    for name in data:
        try:
            obj.property_named(str(name))
        except PropertyError as error:
            raise PropertyError(tr("cannot paste: {error}", error=error)) from None
    data.pop("name", None)
    if found is not None:
        data = {**{n: UNSET for n in HasProperties.to_data(obj) if n not in data}, **data}
    if not data:
        raise PropertyError(tr("cannot paste: the clipboard has no properties"))
    return {f"{target.path}.{name}": value for name, value in data.items()}


def _short(data: object) -> str:
    text = format_flow(data)
    return text if len(text) < 60 else text[:57] + "..."


# Nested values ------------------------------------------------------------------------------------


NONE = "none"


def nested_value(row: Field) -> None:
    """The type of a nested component, or whether there is one."""
    prop = row.prop
    assert isinstance(prop, Nested)
    kinds = {_type_name(vars(t.obj)[prop.name]) for t in row.targets}
    shown = kinds.pop() if len(kinds) == 1 else MIXED
    if prop.polymorphic:
        chosen = combo("##type", shown, lambda: [NONE, *registry.names(prop.base)])
        if chosen is not None and chosen != shown:
            row.change_each(lambda data: _retyped(data, chosen, prop.base))
    else:
        _add_or_remove(row, shown)


def _add_or_remove(row: Field, shown: str) -> None:
    if shown in (NONE, MIXED) and imgui.button(tr("Add##add")):
        row.change_each(lambda data: {} if data is None else data)
    if shown == MIXED:
        imgui.same_line()
    if shown != NONE and imgui.button(tr("Remove##remove")):
        row.reset()


def list_value(row: Field) -> None:
    """How many items a list has, and a button that adds one."""
    prop = row.prop
    assert isinstance(prop, NestedList)
    counts = {len(vars(t.obj)[prop.name]) for t in row.targets}
    if imgui.button("+##add"):
        if prop.polymorphic:
            imgui.open_popup("types")
        else:
            row.change_each(lambda items: [*items, _fresh(prop.base, items)])
    imgui.set_item_tooltip(tr("Add one"))
    imgui.same_line()
    count = counts.pop() if len(counts) == 1 else None
    text = tr("1 item") if count == 1 else tr("{count} items", count=count)
    imgui.text_colored(GREY, MIXED if count is None else text)
    if imgui.begin_popup("types"):
        for name in registry.names(prop.base):
            if imgui.menu_item_simple(name):
                row.change_each(lambda items, name=name: [*items, {"type": name}])  # type: ignore[misc]
        imgui.end_popup()


def _type_name(part: HasProperties | None) -> str:
    return NONE if part is None else type(part).__name__


def _retyped(data: Any, name: str, base: type[HasProperties]) -> Any:
    """Another type with what both have in common."""
    if name == NONE:
        return None
    known = {prop.name for prop in registry.get(name, base).properties()}
    return {"type": name, **{k: v for k, v in (data or {}).items() if k in known}}


def _fresh(cls: type[HasProperties], items: Sequence[Any]) -> dict[str, object]:
    """A new item; with a unique name where it has one."""
    if all(prop.name != "name" for prop in cls.properties()):
        return {}
    taken = {item.get("name") for item in items if isinstance(item, dict)}
    stem = cls.__name__.lower()
    numbered = (f"{stem}_{i}" for i in range(1, len(items) + 2))
    return {"name": next(name for name in numbered if name not in taken)}


def moved(items: Sequence[Any], start: int, end: int) -> list[Any]:
    """A list with one item at another place."""
    rest = [*items[:start], *items[start + 1 :]]
    return [*rest[:end], items[start], *rest[end:]]


def item_label(obj: HasProperties, index: int) -> str:
    """What an item of a list is called."""
    name = vars(obj).get("name")
    return f"[{index}] {name if isinstance(name, str) and name else type(obj).__name__}"


# Row menus ----------------------------------------------------------------------------------------
# Menus of the inspector's rows: copy, paste, reset, edit as YAML.


@dataclass
class RowMenus:
    """What can be done with a row besides editing its value."""

    sheet: Sheet
    edits: PanelEdits
    #: The row under the mouse.
    hovered: Field | None = None
    #: The row whose YAML text is being edited, the text, and whether its window is to be opened.
    as_yaml: tuple[Field, str] | None = None
    _wants_popup: bool = False

    def row_menu(self, row: Field) -> None:
        """The menu of one row."""
        if not imgui.begin_popup_context_item("row menu"):
            return
        if imgui.menu_item_simple(tr("Copy value"), tr("Ctrl+C")):
            self.copy_value(row)
        if imgui.menu_item_simple(tr("Copy path")):
            imgui.set_clipboard_text(row.path)
        if imgui.menu_item_simple(tr("Copy category")):
            imgui.set_clipboard_text(category_text(row.obj, row.prop.category))
        editable = row.why_not_editable() is None
        if imgui.menu_item_simple(tr("Paste"), tr("Ctrl+V"), False, editable):
            self.paste_value(row)
        if imgui.menu_item_simple(tr("Edit as YAML..."), "", False, editable):
            self.as_yaml = (row, format_block(row.data()[0], 0))
            self._wants_popup = True
        if imgui.menu_item_simple(tr("Reset to default"), "", False, editable and row.is_authored):
            row.reset()
        imgui.end_popup()

    def object_menu(self, targets: Sequence[EditedObject]) -> None:
        """Menu entries of a whole object; inside of an open popup."""
        kind = type(targets[0].obj).__name__
        if imgui.menu_item_simple(tr("Copy {kind}###copy object", kind=kind)):
            imgui.set_clipboard_text(object_text(targets[0].obj))
        if imgui.menu_item_simple(tr("Copy path")):
            imgui.set_clipboard_text(targets[0].path)
        if imgui.menu_item_simple(tr("Paste")):
            self.paste_object(targets)

    def copy_value(self, row: Field) -> None:
        """One value to the clipboard."""
        imgui.set_clipboard_text(value_text(row))

    def paste_value(self, row: Field) -> None:
        """The clipboard into one property."""
        text = imgui.get_clipboard_text() or ""
        self.sheet.state.attempt(lambda: row.set_all(parsed(text)), field=row.path)

    def paste_object(self, targets: Sequence[EditedObject]) -> None:
        """The clipboard into several properties of the selected objects."""
        text = imgui.get_clipboard_text() or ""

        def paste() -> None:
            values: dict[str, object] = {}
            for target in targets:
                values |= values_to_paste(target, text)
            self.edits.put(values, tr("Paste into {path}", path=targets[0].path))

        self.sheet.state.attempt(paste, field=targets[0].path)

    def shortcuts(self) -> None:
        """Ctrl+C and Ctrl+V over a row."""
        row = self.hovered
        if row is None or imgui.get_io().want_text_input:
            return
        if imgui.is_key_chord_pressed(chord(imgui.Key.mod_ctrl, imgui.Key.c)):
            self.copy_value(row)
        if imgui.is_key_chord_pressed(chord(imgui.Key.mod_ctrl, imgui.Key.v)):
            reason = row.why_not_editable()
            if reason is None:
                self.paste_value(row)
            else:
                self.sheet.state.console.warn(f"{row.path} {reason}")

    def yaml_popup(self) -> None:
        """The window that edits a value as text."""
        if self._wants_popup:
            imgui.open_popup("YAML")
            self._wants_popup = False
        if self.as_yaml is None or not imgui.begin_popup("YAML"):
            return
        row, text = self.as_yaml
        imgui.text(row.path)
        size = imgui.ImVec2(imgui.get_font_size() * 24, imgui.get_font_size() * 12)
        _, text = imgui.input_text_multiline("##yaml", text, size)
        self.as_yaml = (row, text)
        problem = self.sheet.state.problems.get(row.path)
        if problem:
            imgui.text_colored(RED, problem)
        if imgui.button(tr("Apply")):
            attempt = self.sheet.state.attempt
            attempt(lambda: row.set_all(parsed(text)), field=row.path)
        imgui.same_line()
        if imgui.button(tr("Close")):
            imgui.close_current_popup()
        imgui.end_popup()


# Rows ---------------------------------------------------------------------------------------------


#: Kinds with further rows below: the widget in the row, and the rows.
_EXPANDING: dict[type[Property[Any]], tuple[Widget, Widget]] = {
    PerActuator: (per_actuator_value, per_actuator_rows),
    PatternMap: (mapping_value, pattern_map_rows),
    PatternLists: (mapping_value, pattern_lists_rows),
    Table: (mapping_value, table_rows),
    MotorMap: (motors_value, motors_rows),
}
#: Headings that come before and after the others.
_FIRST, _LAST = ("Transform", "Gains"), ("Telemetry",)
#: Nested objects that are shown at first, also where the scene has none.
OPEN = ("pose",)
_NUMERIC = (Float, Int, OptionalFloat, Vector, Numbers, PerActuator)


@dataclass
class PropertyRows:
    """Draws rows into a table of three columns: name, value, reset."""

    sheet: Sheet
    edits: PanelEdits
    filter: Filter = field(default_factory=Filter)
    #: Which nodes are open, by imgui id.
    opened: dict[int, bool] = field(default_factory=dict)
    menus: RowMenus = field(init=False)

    def __post_init__(self) -> None:
        self.menus = RowMenus(self.sheet, self.edits)

    # Categories and objects ---------------------------------------------------------------------

    def object(self, targets: Sequence[EditedObject], fields: Sequence[Field]) -> None:
        """All properties of the selected objects, by category."""
        shown = [f for f in fields if self.filter.shows(f)]
        for category, rows in by_category(shown).items():
            if any(self.sheet.revealed.is_it(row.path) for row in rows):
                self.opened[imgui.get_id(f"{category}##category")] = True
            if self._category(targets, category):
                for row in rows:
                    self.row(row)

    def _category(self, targets: Sequence[EditedObject], category: str) -> bool:
        imgui.table_next_row(imgui.TableRowFlags_.headers)
        imgui.table_set_column_index(0)
        flags = imgui.TreeNodeFlags_.span_all_columns
        opened = self._node(f"{category}##category", flags, default=True)
        if imgui.begin_popup_context_item("category menu"):
            if imgui.menu_item_simple(tr("Copy category")):
                imgui.set_clipboard_text(category_text(targets[0].obj, category))
            if imgui.menu_item_simple(tr("Paste")):
                self.menus.paste_object(targets)
            imgui.end_popup()
        return opened

    def _node(self, label: str, flags: int = 0, *, default: bool = False) -> bool:
        """A node that opens; while a search is on, all are open and none forgets how it was."""
        key = imgui.get_id(label)
        searching = self.filter.is_on
        imgui.set_next_item_open(searching or self.opened.get(key, default))
        flags |= imgui.TreeNodeFlags_.no_tree_push_on_open
        opened = imgui.tree_node_ex(label, flags)
        if not searching:
            self.opened[key] = opened
        return opened

    # One row ------------------------------------------------------------------------------------

    def row(self, row: Field) -> None:
        """Name, value, reset; then what is below it."""
        imgui.push_id(row.prop.name)
        imgui.table_next_row()
        imgui.table_set_column_index(0)
        top = imgui.get_cursor_screen_pos().y
        with no_tab_stop():
            opened = self._name(row)
        self.sheet.revealed.mark_row(row.path)
        imgui.table_set_column_index(1)
        reason = row.why_not_editable()
        imgui.begin_disabled(reason is not None)
        self._value(row)
        imgui.end_disabled()
        imgui.table_set_column_index(2)
        if row.is_modified and reason is None:
            with no_tab_stop():
                pressed = imgui.arrow_button("##reset", imgui.Dir.left)
            if pressed:
                row.reset()
            imgui.set_item_tooltip(
                tr("Back to the default: {default}", default=row.prop.default_text())
            )
        self._note_hovered(row, top)
        self._problem(row)
        if opened:
            imgui.indent()
            self._below(row)
            imgui.unindent()
        imgui.pop_id()

    def _name(self, row: Field) -> bool:
        """The label: menu, tooltip, drag source; returns whether what is below is to be drawn."""
        label = f"{row.label}###label"
        imgui.align_text_to_frame_padding()
        opened = False
        if _below_kind(row.prop) is None:
            imgui.selectable(label, False)
        else:
            flags = imgui.TreeNodeFlags_.span_avail_width
            opened = self._node(label, flags, default=row.prop.name in OPEN)
        self._drag_source(row)
        self.menus.row_menu(row)
        if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
            _tooltip(row)
        return opened

    def _value(self, row: Field) -> None:
        below = _below_kind(row.prop)
        unit = _unit_text(row.prop)
        room = imgui.calc_text_size(unit).x + imgui.get_style().item_inner_spacing.x
        show_unit = bool(unit) and room < imgui.get_content_region_avail().x * 0.45
        imgui.push_item_width(-room if show_unit else -1e-6)
        if below is None:
            widget_for(row.prop)(row, self.sheet)
        elif below in _EXPANDING:
            _EXPANDING[below][0](row, self.sheet)
        elif isinstance(row.prop, NestedList):
            list_value(row)
        else:
            nested_value(row)
        imgui.pop_item_width()
        hovered = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
        if row.why_not_editable() and imgui.is_item_hovered(hovered):
            _tooltip(row)
        if show_unit:
            imgui.same_line(0.0, imgui.get_style().item_inner_spacing.x)
            imgui.text_colored(GREY, unit)

    def _problem(self, row: Field) -> None:
        problem = self.sheet.state.problems.get(row.path)
        if problem:
            imgui.table_next_row()
            imgui.table_set_column_index(1)
            imgui.push_style_color(imgui.Col_.text, RED)
            imgui.text_wrapped(problem)
            imgui.pop_style_color()
            imgui.table_set_column_index(2)
            if imgui.small_button("x##problem"):
                self.sheet.state.problems.pop(row.path)

    def _note_hovered(self, row: Field, top: float) -> None:
        mouse = imgui.get_mouse_pos()
        inside = top <= mouse.y < top + imgui.get_frame_height_with_spacing()
        if inside and imgui.is_window_hovered(
            imgui.HoveredFlags_.allow_when_blocked_by_active_item
        ):
            self.menus.hovered = row

    def _drag_source(self, row: Field) -> None:
        if isinstance(row.prop, _NUMERIC) and imgui.begin_drag_drop_source():
            self.sheet.state.dragged = ("property", row.path)
            imgui.set_drag_drop_payload_py_id(PAYLOAD, 1)
            imgui.text(row.path)
            imgui.end_drag_drop_source()

    # Below a row --------------------------------------------------------------------------------

    def _below(self, row: Field) -> None:
        below = _below_kind(row.prop)
        if below in _EXPANDING:
            _EXPANDING[below][1](row, self.sheet)
            return
        parts = parts_of(row)
        inner = self.filter.below(row)
        kept, self.filter = self.filter, inner
        if isinstance(row.prop, NestedList):
            for index, targets in enumerate(parts):
                self._item(row, index, targets)
        elif parts:
            self._part(parts[0])
        elif row.prop.name in OPEN and _is_unset(row):
            self._part(_unset_parts(row))
        self.filter = kept

    def _part(self, targets: Sequence[EditedObject]) -> None:
        for inner in fields_of(targets, self.edits):
            if self.filter.shows(inner):
                self.row(inner)

    def _item(self, row: Field, index: int, targets: Sequence[EditedObject]) -> None:
        """One item of a list: its place in it, and its own properties below."""
        imgui.push_id(str(index))
        imgui.table_next_row()
        imgui.table_set_column_index(0)
        opened = self._node(f"{item_label(targets[0].obj, index)}###item")
        if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
            imgui.set_tooltip(type(targets[0].obj).__doc__ or "")
        if imgui.begin_popup_context_item("item menu"):
            self.menus.object_menu(targets)
            imgui.end_popup()
        imgui.table_set_column_index(1)
        count = len(vars(row.obj)[row.prop.name])
        imgui.begin_disabled(index == 0)
        if imgui.arrow_button("##up", imgui.Dir.up):
            row.change_each(lambda items: moved(items, index, index - 1))
        imgui.end_disabled()
        imgui.same_line()
        imgui.begin_disabled(index == count - 1)
        if imgui.arrow_button("##down", imgui.Dir.down):
            row.change_each(lambda items: moved(items, index, index + 1))
        imgui.end_disabled()
        imgui.same_line()
        imgui.text_colored(GREY, type(targets[0].obj).__name__)
        imgui.table_set_column_index(2)
        if imgui.small_button("x##remove"):
            row.change_each(lambda items: [*items[:index], *items[index + 1 :]])
        imgui.set_item_tooltip(tr("Remove"))
        if opened:
            imgui.indent()
            self._part(targets)
            imgui.unindent()
        imgui.pop_id()


def by_category(fields: Sequence[Field]) -> dict[str, list[Field]]:
    """Rows by heading, as people look for them: pose and gains first, what is only read last."""
    names = dict.fromkeys(f.prop.category for f in fields)
    found = {name: [f for f in fields if f.prop.category == name] for name in names}
    for rows in found.values():
        rows.sort(key=lambda row: row.prop.read_only)

    def rank(name: str) -> int:
        if name in _FIRST:
            return -1
        return int(name in _LAST or all(row.prop.read_only for row in found[name]))

    return {name: found[name] for name in sorted(found, key=rank)}


def _is_unset(row: Field) -> bool:
    return all(vars(target.obj)[row.prop.name] is None for target in row.targets)


def _unset_parts(row: Field) -> list[EditedObject]:
    """What is not in the scene yet, with its defaults; setting a value of it adds it."""
    assert isinstance(row.prop, Nested)
    return [EditedObject(path, row.prop.base()) for path in row.paths]


def _below_kind(prop: Property[Any]) -> type[Property[Any]] | None:
    """The class whose rows below this property has; None: it has none."""
    kinds: tuple[type[Property[Any]], ...] = (*_EXPANDING, Nested, NestedList)
    return next((kind for kind in kinds if isinstance(prop, kind)), None)


def _unit_text(prop: Property[Any]) -> str:
    return "deg" if getattr(prop, "display", "") == "deg" else prop.unit


def _tooltip(row: Field) -> None:
    if imgui.begin_tooltip():
        imgui.push_text_wrap_pos(imgui.get_font_size() * 28)
        for what, text in row.describe():
            if what:
                imgui.text_colored(GREY, what)
                imgui.same_line()
            imgui.text_wrapped(text)
        imgui.pop_text_wrap_pos()
        imgui.end_tooltip()
