"""Console panel: log lines filtered by level and words, newest at the bottom."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from imgui_bundle import ImVec2, imgui

from mjrig.editor.session.console import LEVELS, Console, Line
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import matches, tr
from mjrig.editor.ui.colours import AMBER, GREY, RED, TEXT
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.remedies import fix

# Console view -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConsoleRow:
    """One row of text: a line, or one row of its details."""

    line: Line
    text: str
    is_detail: bool = False


@dataclass
class ConsoleView:
    """The choices of one console panel."""

    console: Console
    levels: set[str] = field(default_factory=lambda: set(LEVELS))
    words: str = ""
    _opened: list[Line] = field(default_factory=list)

    def toggle_level(self, level: str) -> None:
        """Show a level, or hide it."""
        self.levels ^= {level}

    def is_open(self, line: Line) -> bool:
        """Whether the details of a line are seen."""
        return any(opened is line for opened in self._opened)

    def toggle(self, line: Line) -> None:
        """Open the details of a line, or close them."""
        if self.is_open(line):
            self._opened = [opened for opened in self._opened if opened is not line]
        else:
            self._opened.append(line)

    def counts(self) -> dict[str, int]:
        """How many lines there are of each level."""
        lines = tuple(self.console.lines)  # other threads may write
        return {level: sum(line.level == level for line in lines) for level in LEVELS}

    def lines(self) -> list[Line]:
        """The lines that are seen."""
        return [
            line
            for line in tuple(self.console.lines)
            if line.level in self.levels and matches(self.words, f"{line.text} {line.detail}")
        ]

    def rows(self) -> list[ConsoleRow]:
        """The rows that are seen, each one row of text high."""
        return [row for line in self.lines() for row in self._rows(line)]

    def _rows(self, line: Line) -> Iterable[ConsoleRow]:
        first, *rest = line.text.splitlines() or [""]
        yield ConsoleRow(line, first)
        if self.is_open(line):
            rest += line.detail.rstrip().splitlines()
            yield from (ConsoleRow(line, text, is_detail=True) for text in rest)

    def clear(self) -> None:
        """Forget all lines."""
        self.console.lines.clear()
        self._opened.clear()


def has_more(line: Line) -> bool:
    """Whether there is something to open."""
    return bool(line.detail) or len(line.text.splitlines()) > 1


def clock(line: Line) -> str:
    """Local time at which a line was written."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() - (time.monotonic() - line.at)))


def as_text(lines: Sequence[Line]) -> str:
    """Lines with their details, for the clipboard."""
    parts = (f"{clock(n)} {n.level}: {n.text}\n{n.detail}".rstrip() for n in lines)
    return "\n".join(parts)


# Console panel ------------------------------------------------------------------------------------


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
            finding = line.finding
            for i, remedy in enumerate(finding.remedies if finding is not None else ()):
                if imgui.menu_item_simple(f"{tr('Fix: {remedy}', remedy=remedy.text)}###fix{i}"):
                    assert finding is not None
                    fix(self.state, finding, remedy)
            imgui.end_popup()
