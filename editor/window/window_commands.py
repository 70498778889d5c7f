"""What the window can do, listed once: the menus, the keys, the palette and the sheet show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from imgui_bundle import hello_imgui

from mjrig.editor.session.recording import SUFFIX
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui import colours
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.window.window_parts import WindowParts


@dataclass(frozen=True)
class Command:
    """One thing to do.

    `menu` is where it is listed: `File`, `Edit/History`. `section` is the heading above it, a line
    if it is `-`. `keys` are pressed for it anywhere, `Ctrl+Shift+S`, or `Del` over the viewport.
    `id` names it in the menu where its label changes.
    """

    menu: str
    label: str
    run: Callable[[], object]
    keys: str = ""
    is_on: bool = False
    enabled: bool = True
    section: str = ""
    id: str = ""


class WindowCommands:
    """The commands of one window, in the order of its menus."""

    def __init__(
        self,
        parts: WindowParts,
        show_help: Callable[[], object],
        show_palette: Callable[[], object],
    ) -> None:
        self.parts = parts
        self._show_help, self._show_palette = show_help, show_palette

    def menus(self) -> dict[str, Callable[[], Iterator[Command]]]:
        """The menus, with what is in them now."""
        return {
            "File": self._file,
            "Edit": self._edit,
            "Run": self._run,
            "Draw": self._draw,
            "Camera": self._camera,
            "View": self._view,
            "Help": self._help,
        }

    def all(self) -> list[Command]:
        """All of them."""
        return [command for menu in self.menus().values() for command in menu()]

    def _file(self) -> Iterator[Command]:
        files, captures, recording = self.parts.files, self.parts.captures, self.parts.recording
        yield Command("File", "New", files.new)
        yield Command("File", "Open...", files.ask_open, "Ctrl+O")
        yield Command("File", "Save", files.save_first, "Ctrl+S")
        yield Command("File", "Save as...", files.ask_save, "Ctrl+Shift+S")
        hot = files.hot
        label = tr("Take up changed files without asking")
        yield Command("File", label, hot.toggle, is_on=hot.always)
        yield Command(
            "File", "Save picture of the viewport", captures.take_picture, "F12", section="-"
        )
        on = recording.is_on
        yield Command("File", "Stop recording" if on else "Record", recording.toggle, "Ctrl+R")
        yield Command("File", "Record to...", self._ask_record, enabled=not on)
        video = "Stop video" if captures.is_filming else "Start video"
        yield Command("File", video, captures.toggle_video)
        yield Command("File", "Quit", self.parts.close, "Ctrl+Q", section="-")

    def _edit(self) -> Iterator[Command]:
        edits, state = self.parts.edits, self.parts.state
        stack = state.session.undo_stack
        undo, redo = stack.undoable, stack.redoable
        label = f"Undo {undo.name}" if undo else "Undo"
        yield Command("Edit", label, edits.undo, "Ctrl+Z", enabled=undo is not None, id="undo")
        label = f"Redo {redo.name}" if redo else "Redo"
        yield Command("Edit", label, edits.redo, "Ctrl+Y", enabled=redo is not None, id="redo")
        one = state.selection.actor is not None
        yield Command("Edit", "Duplicate", edits.duplicate, "Ctrl+D", enabled=one, section="-")
        some = bool(state.selection.paths)
        yield Command("Edit", "Delete", edits.delete, "Del", enabled=some)
        oldest = stack.forgotten
        first = "Oldest kept" if oldest else "As opened"
        names = (first, *stack.names) if len(stack) else ()
        for i, name in enumerate(names, oldest):
            back = partial(edits.go_back_to, i)
            yield Command("Edit/History", f"{i}. {name}", back, is_on=i <= stack.position)

    def _run(self) -> Iterator[Command]:
        parts, simulation = self.parts, self.parts.state.simulation
        attempt, playing = parts.state.attempt, simulation.playing
        yield Command("Run", "Pause" if playing else "Play", parts.toolbar.toggle, "Space")
        step = partial(attempt, simulation.step_once)
        yield Command("Run", "Step", step, "Right", enabled=not playing)
        yield Command("Run", "Stop", partial(attempt, parts.toolbar.stop))
        yield Command("Run", "Reset", partial(attempt, simulation.reset), "Backspace")
        tools = ((Tool.SELECT, "Ctrl+1"), (Tool.MOVE, "Ctrl+2"), (Tool.TURN, "Ctrl+3"))
        for tool, keys in tools:
            choose = partial(setattr, parts.viewport.gizmo, "tool", tool)
            now = parts.viewport.gizmo.tool is tool
            heading = "Tool" if tool is Tool.SELECT else ""
            label = tool.value.capitalize()
            yield Command("Run", label, choose, keys, is_on=now, section=heading)

    def _draw(self) -> Iterator[Command]:
        """MuJoCo's own drawing options, with the keys its viewer has."""
        quality, drawing = self.parts.quality, self.parts.viewport.drawing
        if drawing is None:
            return
        for title, strings, flags in drawing.flag_tables():
            for i, (name, _, key) in enumerate(strings):
                flip = partial(flags.__setitem__, i, 0 if flags[i] else 1)
                heading = title if i == 0 else ""
                yield Command("Draw", name, flip, key, is_on=bool(flags[i]), section=heading)
        for scale in (None, 0.5, 0.75, 1.0):
            label = "automatic" if scale is None else f"{scale:.0%}"
            fix = partial(setattr, quality, "fixed", scale)
            heading = "Quality" if scale is None else ""
            yield Command("Draw", label, fix, is_on=quality.fixed == scale, section=heading)

    def _camera(self) -> Iterator[Command]:
        drawing = self.parts.viewport.drawing
        if drawing is None:
            return
        actor, now = self.parts.state.selection.actor, cameras.text(drawing)
        free = partial(cameras.look_freely, drawing)
        yield Command("Camera", "Free", free, "Esc", is_on=cameras.is_free(drawing))
        followed = now.removeprefix("follow ") if now.startswith("follow ") else None
        target = actor or followed
        label = f"Follow {target or 'the selected actor'}"
        follow = free if followed == target else partial(cameras.follow, drawing, target or "")
        is_on, can = followed is not None and followed == target, target is not None
        yield Command("Camera", label, follow, is_on=is_on, enabled=can)
        look = partial(drawing.frame_on, actor)
        yield Command("Camera", "Look at the selected actor", look, "Home")
        yield Command("Camera", "Look at everything", partial(drawing.frame_on, None), "Ctrl+A")
        for i, name in enumerate(cameras.names(drawing)):
            through = partial(cameras.look_through, drawing, name)
            heading = "-" if i == 0 else ""
            yield Command("Camera", name, through, is_on=now == name, section=heading)

    def _view(self) -> Iterator[Command]:
        """Panels, their layout, colours."""
        windows = hello_imgui.get_runner_params().docking_params.dockable_windows
        for window in windows:
            show = partial(setattr, window, "is_visible", not window.is_visible)
            yield Command("View", window.label, show, is_on=window.is_visible)
        yield Command("View", "Restore default layout", _restore_layout, section="-")
        theme = self.parts.theme
        for i, name in enumerate(colours.THEMES):
            use, heading = partial(theme.use, name), "Colours" if i == 0 else ""
            now = theme.name == name
            yield Command("View", name.capitalize(), use, is_on=now, section=heading)

    def _help(self) -> Iterator[Command]:
        yield Command("Help", "Keys and commands", self._show_help, "F1")
        yield Command("Help", "Find a command, panel or property", self._show_palette, "Ctrl+P")

    def _ask_record(self) -> None:
        """Choose where to record to, and begin."""
        parts = self.parts

        def begin(path: Path) -> None:
            path = path if path.suffix else path.with_suffix(SUFFIX)
            parts.state.attempt(lambda: parts.recording.start(path, overwrite=True))

        parts.choose.ask("Save", parts.recording.suggested(), (SUFFIX,), begin)


def _restore_layout() -> None:
    docking = hello_imgui.get_runner_params().docking_params
    docking.layout_reset = True
    for window in docking.dockable_windows:
        window.is_visible = True
