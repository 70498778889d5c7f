"""The sheet of keys (F1): every command with its keys, and what the mouse does; searchable."""

from imgui_bundle import imgui

from mjrig.editor.replay.commands_panel import drive_keys
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.chords import escape_pressed
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.scale import px
from mjrig.editor.ui.text_filter import matches
from mjrig.editor.window.command import Command
from mjrig.editor.window.window_commands import WindowCommands

_TITLE = "Keys and commands"


def gestures() -> tuple[tuple[str, str, str], ...]:
    """What the mouse does, and keys that act on what it points at: (where, what, with what)."""
    return (
        (tr("Viewport"), tr("Turn the camera"), tr("left drag")),
        (tr("Viewport"), tr("Move the camera"), tr("right drag")),
        (tr("Viewport"), tr("Move the camera horizontally"), tr("Shift+right drag")),
        (tr("Viewport"), tr("Zoom in: turn the wheel away from you"), tr("wheel up")),
        (tr("Viewport"), tr("Zoom out: turn the wheel towards you"), tr("wheel down")),
        (tr("Viewport"), tr("Select an actor; with Shift add it"), tr("click")),
        (tr("Viewport"), tr("Select a body to push"), tr("double click")),
        (tr("Viewport"), tr("Turn or pull the selected body"), tr("Ctrl+left or right drag")),
        (tr("Viewport"), tr("Drop a model, a component or a file"), tr("drag from Assets")),
        (tr("Hierarchy"), tr("Add to the selection"), tr("Ctrl+click")),
        (tr("Hierarchy"), tr("Reset to a keyframe"), tr("double click")),
        (tr("Numbers"), tr("Type a value"), tr("click")),
        (tr("Numbers"), tr("Change a value"), tr("drag")),
        (tr("Inspector"), tr("Copy, paste the value of a row"), tr("Ctrl+C, Ctrl+V")),
        (tr("Plots"), tr("Show a longer or shorter time"), tr("wheel")),
        (tr("Anything"), tr("The menu of what is under the mouse"), tr("right click")),
        *((tr("Drive"), what, keys) for what, keys in drive_keys()),
    )


class HelpSheet:
    """A window with all keys."""

    def __init__(self) -> None:
        self.is_open = False
        #: Whether Escape is meant for it.
        self.is_focused = False
        self._search = ""

    def toggle(self) -> None:
        """Show or hide it."""
        self.is_open = not self.is_open
        self.is_focused = False

    def rows(self, commands: WindowCommands) -> list[tuple[str, str, str]]:
        """What is listed: where, what it does, with which keys."""
        listed = [(c.menu.replace("/", " > "), c.label, _keys(c)) for c in commands.all() if c.keys]
        rows = [*listed, *gestures()]
        return [row for row in rows if matches(self._search, " ".join(row))]

    def draw(self, commands: WindowCommands) -> None:
        """Build it if it is open; call every frame, outside of other windows."""
        if not self.is_open:
            return
        centre = imgui.get_main_viewport().get_center()
        imgui.set_next_window_pos(centre, imgui.Cond_.appearing, imgui.ImVec2(0.5, 0.5))
        imgui.set_next_window_size(imgui.ImVec2(px(640), px(460)), imgui.Cond_.appearing)
        shown, stays = imgui.begin(_TITLE, True, imgui.WindowFlags_.no_docking)
        self.is_open = bool(stays)
        is_typing = imgui.is_any_item_active()
        if shown:
            self._content(commands)
        self.is_focused = imgui.is_window_focused(imgui.FocusedFlags_.root_and_child_windows)
        if self.is_focused and not is_typing and escape_pressed():
            self.is_open = self.is_focused = False
        imgui.end()

    def _content(self, commands: WindowCommands) -> None:
        imgui.set_next_item_width(-1)
        _, self._search = imgui.input_text_with_hint("##search", tr("search"), self._search)
        imgui.push_text_wrap_pos(0.0)
        imgui.text_colored(GREY, tr("Single keys act while the mouse is over the viewport."))
        imgui.pop_text_wrap_pos()
        flags = imgui.TableFlags_.row_bg | imgui.TableFlags_.scroll_y
        if imgui.begin_table("keys", 3, flags | imgui.TableFlags_.sizing_fixed_fit):
            imgui.table_setup_scroll_freeze(0, 1)
            imgui.table_setup_column(tr("where"))
            imgui.table_setup_column(tr("what"), imgui.TableColumnFlags_.width_stretch)
            imgui.table_setup_column(tr("keys or mouse"))
            imgui.table_headers_row()
            for row in self.rows(commands):
                imgui.table_next_row()
                for column, text in enumerate(row):
                    imgui.table_set_column_index(column)
                    imgui.text_unformatted(text)
            imgui.end_table()


def _keys(command: Command) -> str:
    return f"{command.keys}, {command.other_keys}" if command.other_keys else command.keys
