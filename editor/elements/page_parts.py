"""What the pages of joints and actuators have in common: headings, links, gains, the jog slider."""

import math
from collections.abc import Callable, Sequence

from imgui_bundle import imgui

from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.gains.jog_slider import JogSlider
from mjrig.editor.session.elements import actuator_path
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREY
from mjrig.gains.gain_rows import LIMIT, GainRow

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
