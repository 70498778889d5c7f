"""Signal picker: a searchable list of everything that can be plotted."""

from imgui_bundle import imgui

from mjrig.editor.plots.plot_model import Plot, PlotBoard
from mjrig.editor.session.state import EditorState
from mjrig.editor.signals.signal_info import SignalInfo
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.dragging import drag_source
from mjrig.editor.ui.scale import px, size
from mjrig.editor.ui.text_filter import matches

POPUP = "signals"


class SignalPicker:
    """A popup that shows and hides signals of a plot."""

    def __init__(self, state: EditorState, board: PlotBoard) -> None:
        self._state, self._board = state, board
        self._words = ""

    def open(self) -> None:
        """Show the popup, with nothing filtered out."""
        self._words = ""
        imgui.open_popup(POPUP)

    def draw(self, plot: Plot) -> None:
        """The popup, if it is open."""
        if not imgui.begin_popup(POPUP):
            return
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(px(420.0))
        _, self._words = imgui.input_text_with_hint(
            "##filter", tr("words to look for: hip effort"), self._words
        )
        offered = self._board.offered()
        found = [info for info in offered if matches(self._words, info.path)]
        self._all_or_none(plot, found)
        imgui.same_line()
        imgui.text_disabled(
            tr(
                "{listed} of {offered} listed, {plotted} plotted",
                listed=len(found),
                offered=len(offered),
                plotted=len(plot.signals),
            )
        )
        if imgui.begin_child("list", size(420, 260)):
            clipper = imgui.ListClipper()
            clipper.begin(len(found))
            while clipper.step():
                for info in found[clipper.display_start : clipper.display_end]:
                    self._offer(plot, info)
        imgui.end_child()
        imgui.end_popup()

    def _all_or_none(self, plot: Plot, found: list[SignalInfo]) -> None:
        paths = [info.path for info in found]
        if imgui.button(tr("All")):
            self._state.attempt(lambda: self._board.add(plot, *paths))
        imgui.set_item_tooltip(tr("Show all that are listed"))
        imgui.same_line()
        if imgui.button(tr("None")):
            self._board.remove(plot, *paths)
        imgui.set_item_tooltip(tr("Hide all that are listed"))

    def _offer(self, plot: Plot, info: SignalInfo) -> None:
        changed, wanted = imgui.checkbox(info.path, info.path in plot.signals)
        imgui.set_item_tooltip(f"{tr(info.doc)} {f'[{info.unit}]' if info.unit else ''}".strip())
        drag_source(self._state, "signal", info.path, info.path)
        if changed and wanted:
            self._state.attempt(lambda: self._board.add(plot, info.path))
        elif changed:
            self._board.remove(plot, info.path)
