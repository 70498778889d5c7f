"""Widgets of the pages of joints and actuators: headings, links, field rows, live bars."""

import math
from collections.abc import Callable, Sequence

from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.core.properties.declaration import Bounds
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.gains.response_panel import JogSlider
from mjrig.editor.inspector.element_fields import PageField, Value
from mjrig.editor.inspector.number_widgets import Scale, real
from mjrig.editor.session.elements import actuator_path
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED
from mjrig.editor.ui.layout import px
from mjrig.lab.gains.gain_rows import LIMIT, GainRow

# Live bars ----------------------------------------------------------------------------------------
# Bars of live values: a number within its range, drawn from zero or from the low end.


#: Share of the range at its ends that is marked.
_NEAR = 0.02
_FAINT = 0.45


def bar(value: float, ends: tuple[float, float] | None, text: str) -> None:
    """A number as text over a bar that shows where it is within its range."""
    width, height = imgui.get_content_region_avail().x, imgui.get_frame_height()
    corner = imgui.get_cursor_screen_pos()
    lines = imgui.get_window_draw_list()
    low_corner = ImVec2(corner.x + width, corner.y + height)
    rounding = imgui.get_style().frame_rounding
    frame = imgui.get_color_u32(imgui.Col_.frame_bg)
    lines.add_rect_filled(corner, low_corner, frame, rounding)
    if ends is not None and math.isfinite(value):
        zero = _place(0.0, ends) if ends[0] <= 0.0 <= ends[1] else 0.0
        now = _place(value, ends)
        left, right = sorted((zero, now))
        shade = _colour(value, ends)
        faint = ImVec4(shade.x, shade.y, shade.z, _FAINT)
        inside = ImVec2(corner.x + left * width, corner.y)
        outside = ImVec2(corner.x + max(right * width, left * width + 1.0), corner.y + height)
        lines.add_rect_filled(inside, outside, imgui.color_convert_float4_to_u32(faint), rounding)
        at = corner.x + now * width
        solid = imgui.color_convert_float4_to_u32(shade)
        lines.add_line(ImVec2(at, corner.y), ImVec2(at, corner.y + height), solid, px(2))
    room = imgui.calc_text_size(text)
    at = corner.x + max((width - room.x) / 2, px(4))
    middle = ImVec2(at, corner.y + (height - room.y) / 2)
    lines.add_text(middle, imgui.get_color_u32(imgui.Col_.text), text)
    imgui.dummy(ImVec2(width, height))


def _place(value: float, ends: tuple[float, float]) -> float:
    share = (value - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5
    return min(max(share, 0.0), 1.0)


def _colour(value: float, ends: tuple[float, float]) -> ImVec4:
    if not ends[0] <= value <= ends[1]:
        return RED
    share = _place(value, ends)
    near = ends[1] > ends[0] and (share > 1.0 - _NEAR or (share < _NEAR and ends[0] != 0.0))
    return AMBER if near else GREEN


def plain_row(name: str, text: str) -> None:
    """A row of the same table without a range."""
    row(name, math.nan, None, text, range_text="")


def row(
    name: str,
    value: float,
    ends: tuple[float, float] | None,
    text: str,
    *,
    range_text: str | None = None,
) -> None:
    """A row of a table of three columns: name, bar, range; the range's own text unless given."""
    imgui.table_next_row()
    imgui.table_next_column()
    imgui.align_text_to_frame_padding()
    imgui.text(name)
    imgui.table_next_column()
    bar(value, ends, text)
    imgui.table_next_column()
    imgui.align_text_to_frame_padding()
    known = f"{ends[0]:.4g} … {ends[1]:.4g}" if ends else tr("no limit")
    imgui.text_colored(GREY, known if range_text is None else range_text)


# Field rows ---------------------------------------------------------------------------------------
# Rows of a page's fields: the value in force, where it comes from, an edit, a reset.


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


# Page parts ---------------------------------------------------------------------------------------
# What the pages of joints and actuators have in common: headings, links, gains, the jog slider.


_LIVE = (
    imgui.TableFlags_.sizing_fixed_fit
    | imgui.TableFlags_.no_saved_settings
    | imgui.TableFlags_.pad_outer_x
)


class ElementPages:
    """What both pages draw with.

    Args:
        state: state of the editor.
        tuning: the rows of the gain table and what is chosen there.
        edits: the edits of the inspector's widgets.
        show_gains: brings the gain table to the front.
    """

    def __init__(
        self,
        state: EditorState,
        tuning: Tuning,
        edits: PanelEdits,
        show_gains: Callable[[], None],
    ) -> None:
        self.state, self.tuning, self.edits = state, tuning, edits
        self._show_gains = show_gains
        self._jog = JogSlider(tuning)
        #: Angles are shown in degrees.
        self.degrees = False

    # Units --------------------------------------------------------------------------------------

    def factor(self, *, turns: bool) -> float:
        """From rad or m to what is shown."""
        return math.degrees(1.0) if turns and self.degrees else 1.0

    def unit(self, *, turns: bool) -> str:
        """The unit of a position that is shown."""
        return ("deg" if self.degrees else "rad") if turns else "m"

    def unit_choice(self) -> None:
        """Radians or degrees."""
        if imgui.radio_button(tr("rad"), not self.degrees):
            self.degrees = False
        imgui.same_line()
        if imgui.radio_button(tr("deg"), self.degrees):
            self.degrees = True
        imgui.set_item_tooltip(tr("How this page shows angles; the scene is written in rad."))

    # Parts of a page ----------------------------------------------------------------------------

    def title(self, paths: Sequence[str], about: str) -> None:
        """What is selected, and a line about it."""
        imgui.selectable(f"{paths[0] if len(paths) == 1 else about}###header", False)
        imgui.set_item_tooltip("\n".join(paths))
        if len(paths) == 1:
            grey(about)

    def not_editable(self, actor: str) -> None:
        """Say why nothing of an actor can be edited here, if so."""
        reason = self.state.why_not_edited(actor)
        if reason:
            imgui.push_style_color(imgui.Col_.text, AMBER)
            imgui.text_wrapped(reason)
            imgui.pop_style_color()

    def link(self, text: str, path: str) -> None:
        """A name that selects what it names."""
        if imgui.text_link(f"{text}###{path}"):
            self.state.selection.only(path)
        imgui.set_item_tooltip(tr("Select {path}", path=path))

    def links(self, items: Sequence[tuple[str, str]]) -> None:
        """Names that select what they name, as many in a line as fit."""
        right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
        spacing = imgui.get_style().item_spacing.x
        for i, (text, path) in enumerate(items):
            end = imgui.get_item_rect_max().x + spacing + imgui.calc_text_size(text).x
            if i and end < right:
                imgui.same_line()
            self.link(text, path)

    def jog(self, rows: Sequence[GainRow], *, turns: bool) -> None:
        """The slider that moves the setpoint, or why there is none."""
        followed = [row for row in rows if self._follows(row)]
        if not followed:
            self._jog.let_go()
            grey(tr("No jog: no controller that follows positions drives it."))
            return
        imgui.set_next_item_width(-1)
        self._jog.draw(followed[0], factor=self.factor(turns=turns), unit=self.unit(turns=turns))

    def _follows(self, row: GainRow) -> bool:
        robot = self.state.simulation.world.articulations.get(row.actor)
        by_controller = robot is not None and row.actuator in robot.followers
        return by_controller or (row.is_native and not row.no_response)

    def gains(self, rows: Sequence[GainRow]) -> None:
        """The gains that act, where each comes from, and a way to the gain table."""
        if not rows:
            grey(tr("No controller with gains drives it."))
            return
        for row in rows:
            imgui.push_id(row.key)
            if row.is_native:
                self.link(row.actuator, actuator_path(row.actor, row.actuator))
                imgui.same_line()
                imgui.text_colored(GREY, tr("its own law"))
            else:
                self.link(row.component, f"{row.actor}.{row.component}")
                imgui.same_line()
                imgui.text_colored(GREY, row.actuator)
            self._gain_lines(row)
            imgui.pop_id()
        if imgui.button(tr("Show in the gain table")):
            self._show_gains()

    def _gain_lines(self, row: GainRow) -> None:
        if not imgui.begin_table("gains", 3, int(_LIVE)):
            return
        for name, value in row.values.items():
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.text(name)
            imgui.table_next_column()
            imgui.text(f"{value:g}")
            imgui.table_next_column()
            imgui.text_colored(GREY, self.tuning.origin(row, name))
        if row.limited_by not in ("", LIMIT):
            imgui.table_next_row()
            for text in (tr("limit"), f"{row.limit:g}", row.limited_by):
                imgui.table_next_column()
                imgui.text(text)
        imgui.end_table()


def begin_live_table() -> bool:
    """The table of live values: name, bar, range."""
    if not imgui.begin_table("live", 3, int(_LIVE)):
        return False
    imgui.table_setup_column(tr("name"))
    imgui.table_setup_column(tr("value"), imgui.TableColumnFlags_.width_stretch)
    imgui.table_setup_column(tr("range"))
    return True


def grey(text: str) -> None:
    """A line of lesser importance."""
    imgui.push_style_color(imgui.Col_.text, GREY)
    imgui.text_wrapped(text)
    imgui.pop_style_color()
