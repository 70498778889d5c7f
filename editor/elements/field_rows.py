"""Rows of a page's fields: the value in force, where it comes from, an edit, a reset."""

import math
from collections.abc import Sequence

from imgui_bundle import imgui

from mjrig.editor.elements.page_field import PageField
from mjrig.editor.elements.pattern_edits import Value
from mjrig.editor.inspector.number_widgets import Scale, real
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.properties.bounds import Bounds

_TABLE = imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.no_saved_settings


class FieldRows:
    """A table of four columns: name, value, where from, reset."""

    def __init__(self, state: EditorState) -> None:
        self._state = state

    def draw(self, fields: Sequence[PageField]) -> None:
        """All fields; an edit of one sets all that it is about."""
        if not imgui.begin_table("parameters", 4, int(_TABLE)):
            return
        imgui.table_setup_column(tr("name"))
        imgui.table_setup_column(tr("value"), imgui.TableColumnFlags_.width_stretch)
        imgui.table_setup_column(tr("from"))
        imgui.table_setup_column(tr("reset"))
        for field in fields:
            imgui.push_id(field.name)
            self._row(field)
            imgui.pop_id()
        imgui.end_table()

    def _row(self, field: PageField) -> None:
        imgui.table_next_row()
        imgui.table_next_column()
        imgui.align_text_to_frame_padding()
        imgui.text(field.label)
        about = f"{field.path}\n{field.unit}".strip()
        imgui.set_item_tooltip(f"{about}\n{field.reason}".strip())
        imgui.table_next_column()
        imgui.begin_disabled(bool(field.reason))
        new = self._value(field, field.values[0])
        imgui.end_disabled()
        if new is not None:
            field.set(new)
        imgui.table_next_column()
        _origin(field)
        imgui.table_next_column()
        if field.set_here:
            if imgui.arrow_button("##reset", imgui.Dir.left):
                field.reset()
            imgui.set_item_tooltip(tr("Back to the model's value"))
        self._problem(field)

    # Values -------------------------------------------------------------------------------------

    def _value(self, field: PageField, value: Value) -> Value:
        """The widgets of a value; returns the new one, None if it is as it was."""
        if value is None:
            imgui.align_text_to_frame_padding()
            imgui.text_colored(GREY, tr("none"))
            imgui.same_line()
            return field.first if imgui.small_button(tr("Add")) else None
        numbers = value if isinstance(value, tuple) else (value,)
        new = _numbers(field, numbers)
        return None if new is None else new if isinstance(value, tuple) else new[0]

    def _problem(self, field: PageField) -> None:
        problem = self._state.problems.get(field.path)
        if problem:
            imgui.table_next_row()
            imgui.table_set_column_index(1)
            imgui.push_style_color(imgui.Col_.text, RED)
            imgui.text_wrapped(problem)
            imgui.pop_style_color()


def _numbers(field: PageField, numbers: tuple[float, ...]) -> tuple[float, ...] | None:
    """Numbers side by side."""
    gap = imgui.get_style().item_inner_spacing.x
    width = (imgui.get_content_region_avail().x - gap * (len(numbers) - 1)) / len(numbers)
    scale = Scale(Bounds("", field.low, math.inf, None, None), field.factor, 0.1)
    new = list(numbers)
    for k, number in enumerate(numbers):
        if k:
            imgui.same_line(0.0, gap)
        imgui.set_next_item_width(width)
        fixed = field.from_zero and k == 0 and len(numbers) > 1
        imgui.begin_disabled(fixed)
        changed, edited = real(f"##{k}", number, scale, mixed=field.is_mixed)
        imgui.end_disabled()
        tip = field.reason or field.unit
        flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
        if tip and imgui.is_item_hovered(flags):
            imgui.set_tooltip(tip)
        if imgui.is_item_active():
            field.touch()
        if changed and not fixed:
            new[k] = edited
    return tuple(new) if tuple(new) != numbers else None


def _origin(field: PageField) -> None:
    found = field.origins()
    known = {"model": tr("model"), "scene": tr("scene"), tr("running world"): tr("running world")}
    imgui.align_text_to_frame_padding()
    imgui.text_colored(GREY, ", ".join(dict.fromkeys(known[o.partition(":")[0]] for o in found)))
    imgui.set_item_tooltip("\n".join(map(_about, found)))


def _about(origin: str) -> str:
    if origin == "model":
        return tr("From the model file.")
    if origin == "scene":
        return tr("Set by the scene, under its own name.")
    if origin == tr("running world"):
        return tr("The scene has another value: the running world was changed.")
    return tr("Set by the scene: {pattern}", pattern=origin.removeprefix("scene: "))
