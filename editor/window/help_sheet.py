"""The sheet of keys (F1): every command with its keys, and what the mouse does; searchable."""

from imgui_bundle import imgui

from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.scale import px
from mjrig.editor.ui.text_filter import matches
from mjrig.editor.window.window_commands import WindowCommands

_TITLE = "Keys and commands"
#: What is no command: (where, what it does, with what).
MOUSE = (
    ("Viewport", "Turn the camera", "left drag"),
    ("Viewport", "Move the camera", "right drag"),
    ("Viewport", "Zoom: the wheel away from you zooms in", "wheel"),
    ("Viewport", "Select an actor; with Shift add it", "click"),
    ("Viewport", "Select a body to push", "double click"),
    ("Viewport", "Turn or pull the selected body", "Ctrl+left or right drag"),
    ("Viewport", "Show or hide a group of geoms; with Shift of sites", "0 to 5"),
    ("Viewport", "Next frame or label", "F6, F7"),
    ("Viewport", "Former or next camera", "[ and ]"),
    ("Viewport", "Slower or faster", "- and ="),
    ("Viewport", "One step, or back in time", "Right, Left"),
    ("Anything", "The menu of what is under the mouse", "right click"),
    ("Numbers", "Type a value", "click"),
    ("Numbers", "Change a value", "drag"),
    ("Window", "Find a command, panel, action or property", "Ctrl+P"),
)


class HelpSheet:
    """A window with all keys."""

    def __init__(self) -> None:
        self.is_open = False
        self._search = ""

    def toggle(self) -> None:
        """Show or hide it."""
        self.is_open = not self.is_open

    def rows(self, commands: WindowCommands) -> list[tuple[str, str, str]]:
        """What is listed: where, what it does, with which keys."""
        listed = [(c.menu, c.label, c.keys) for c in commands.all() if c.keys]
        rows = [*listed, *MOUSE]
        return [row for row in rows if matches(self._search, " ".join(row))]

    def draw(self, commands: WindowCommands) -> None:
        """Build it if it is open; call every frame, outside of other windows."""
        if not self.is_open:
            return
        centre = imgui.get_main_viewport().get_center()
        imgui.set_next_window_pos(centre, imgui.Cond_.appearing, imgui.ImVec2(0.5, 0.5))
        imgui.set_next_window_size(imgui.ImVec2(px(520), px(460)), imgui.Cond_.appearing)
        shown, stays = imgui.begin(_TITLE, True, imgui.WindowFlags_.no_docking)
        self.is_open = bool(stays)
        if shown:
            self._content(commands)
        imgui.end()

    def _content(self, commands: WindowCommands) -> None:
        imgui.set_next_item_width(-1)
        _, self._search = imgui.input_text_with_hint("##search", "search", self._search)
        imgui.text_colored(GREY, "Single keys act while the mouse is over the viewport.")
        flags = imgui.TableFlags_.row_bg | imgui.TableFlags_.scroll_y
        if imgui.begin_table("keys", 3, flags):
            for row in self.rows(commands):
                imgui.table_next_row()
                for column, text in enumerate(row):
                    imgui.table_set_column_index(column)
                    imgui.text_unformatted(text)
            imgui.end_table()
