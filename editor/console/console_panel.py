"""Console panel: what happened, newest at the bottom."""

from imgui_bundle import ImVec2, imgui

from mjrig.editor.console.console_view import ConsoleRow, ConsoleView, as_text, clock, has_more
from mjrig.editor.session.console import LEVELS, Line
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREY, RED, TEXT
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.scale import px

COLOURS = {"info": TEXT, "warning": AMBER, "error": RED}


class ConsolePanel(Panel):
    """Messages with their details; follows the newest until the user scrolls up."""

    title = "Console"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.view = ConsoleView(state.console)
        #: Whether the newest line is kept in sight.
        self.follows = True

    def draw(self) -> None:
        self._bar()
        flags = imgui.WindowFlags_.horizontal_scrollbar
        if imgui.begin_child("lines", ImVec2(0, 0), 0, flags):
            self._lines()
        imgui.end_child()

    def _bar(self) -> None:
        counts = self.view.counts()
        for level in LEVELS:
            shown = level in self.view.levels
            colour = COLOURS[level] if shown else GREY
            imgui.push_style_color(imgui.Col_.text, colour)
            changed, _ = imgui.checkbox(f"{counts[level]} {level}###{level}", shown)
            imgui.pop_style_color()
            if changed:
                self.view.toggle_level(level)
            imgui.same_line()
        if imgui.get_content_region_avail().x < 320.0:
            imgui.new_line()
        imgui.set_next_item_width(px(180.0))
        _, self.view.words = imgui.input_text_with_hint("##words", tr("filter"), self.view.words)
        imgui.same_line()
        if imgui.button(tr("Copy")):
            imgui.set_clipboard_text(as_text(self.view.lines()))
        imgui.set_item_tooltip(tr("Copy what is listed, with details"))
        imgui.same_line()
        if imgui.button(tr("Clear")):
            self.view.clear()
        if not self.follows:
            imgui.same_line()
            if imgui.button(tr("To the end")):
                self.follows = True

    def _lines(self) -> None:
        rows = self.view.rows()
        if not rows:
            hidden = len(self.state.console.lines)
            text = (
                tr("{count} lines, all filtered out", count=hidden)
                if hidden
                else tr("nothing happened yet")
            )
            imgui.text_colored(GREY, text)
        clipper = imgui.ListClipper()
        clipper.begin(len(rows))
        while clipper.step():
            for index in range(clipper.display_start, clipper.display_end):
                imgui.push_id(index)
                self._row(rows[index])
                imgui.pop_id()
        if imgui.get_io().mouse_wheel > 0.0 and imgui.is_window_hovered():
            self.follows = False
        elif imgui.get_scroll_y() >= imgui.get_scroll_max_y() and imgui.get_scroll_max_y() > 0.0:
            self.follows = True
        elif imgui.is_window_focused() and imgui.is_mouse_dragging(0):
            self.follows = False  # by the scroll bar
        if self.follows:
            imgui.set_scroll_here_y(1.0)

    def _row(self, row: ConsoleRow) -> None:
        if row.is_detail:
            imgui.text_colored(GREY, f"      {row.text}")
            return
        line = row.line
        imgui.text_colored(GREY, clock(line))
        imgui.same_line()
        at = imgui.get_cursor_pos_x()
        clicked, _ = imgui.selectable("###line", False)  # a label would end at a ## in the text
        if clicked and has_more(line):
            self.view.toggle(line)
        self._menu(line)
        mark = ("- " if self.view.is_open(line) else "+ ") if has_more(line) else "  "
        imgui.same_line(at)
        imgui.text_colored(COLOURS[line.level], f"{mark}{row.text}")

    def _menu(self, line: Line) -> None:
        if imgui.begin_popup_context_item("menu"):
            if imgui.menu_item_simple(tr("Copy line")):
                imgui.set_clipboard_text(as_text([line]))
            imgui.end_popup()
