"""What the window can do, listed once: the menus, the keys, the palette and the sheet show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from imgui_bundle import hello_imgui

from mjrig.editor.session.recording import SUFFIX
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui import colours
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.window.command import Command
from mjrig.editor.window.toolbar import neighbour, speed_text
from mjrig.editor.window.viewport_commands import camera_commands, draw_commands
from mjrig.editor.window.window_parts import WindowParts


@dataclass(frozen=True)
class HelpActions:
    """What the Help menu shows."""

    keys: Callable[[], object]
    palette: Callable[[], object]
    tour: Callable[[], object]
    welcome: Callable[[], object]


class WindowCommands:
    """The commands of one window, in the order of its menus."""

    def __init__(
        self,
        parts: WindowParts,
        help_actions: HelpActions,
    ) -> None:
        self.parts = parts
        self._shows = help_actions

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
        for path in files.recent:
            opens = partial(files.open_path, path)
            yield Command(tr("File/Open recent"), str(path), opens)
        if files.recent:
            clear = tr("Clear the list of recent files")
            yield Command(tr("File/Open recent"), clear, files.forget_recent, section="-")
        yield Command("File", "Save", files.save_first, "Ctrl+S")
        yield Command("File", tr("Save as..."), files.ask_save, "Ctrl+Shift+S")
        hot = files.hot
        label = tr("Take up changed files without asking")
        yield Command("File", label, hot.toggle, is_on=hot.always)
        yield Command(
            "File", tr("Save picture of the viewport"), captures.take_picture, "F12", section="-"
        )
        on = recording.is_on
        yield Command("File", tr("Stop recording") if on else "Record", recording.toggle, "Ctrl+R")
        yield Command("File", tr("Record to..."), self._ask_record, enabled=not on)
        video = tr("Stop video") if captures.is_filming else tr("Start video")
        yield Command("File", video, captures.toggle_video)
        yield Command("File", "Quit", self.parts.close, "Ctrl+Q", section="-")

    def _edit(self) -> Iterator[Command]:
        edits, state = self.parts.edits, self.parts.state
        stack = state.session.undo_stack
        undo, redo = stack.undoable, stack.redoable
        label = tr("Undo {edit}", edit=undo.name) if undo else tr("Undo")
        yield Command("Edit", label, edits.undo, "Ctrl+Z", enabled=undo is not None, id="undo")
        label = tr("Redo {edit}", edit=redo.name) if redo else tr("Redo")
        yield Command(
            "Edit",
            label,
            edits.redo,
            "Ctrl+Y",
            enabled=redo is not None,
            id="redo",
            other_keys="Ctrl+Shift+Z",
        )
        one = state.selection.actor is not None
        yield Command("Edit", "Duplicate", edits.duplicate, "Ctrl+D", enabled=one, section="-")
        some = bool(state.selection.paths)
        yield Command("Edit", "Delete", edits.delete, "Del", enabled=some)
        yield Command("Edit", tr("Rename"), self.parts.rename, "F2", enabled=one)
        yield from self._history()

    def _history(self) -> Iterator[Command]:
        """Every edit with the values it changed; choosing one undoes or redoes up to it."""
        edits, stack = self.parts.edits, self.parts.state.session.undo_stack
        oldest = stack.forgotten
        first = tr("Oldest kept") if oldest else tr("As opened")
        lines = [(first, ""), *((entry.name, entry.change) for entry in stack.entries)]
        for i, (name, change) in enumerate(lines if len(stack) else (), oldest):
            label, back = f"{i}. {name}", partial(edits.go_back_to, i)
            shown = f"{label}: {change}" if change else label
            yield Command("Edit/History", shown, back, is_on=i <= stack.position, id=label)

    def _run(self) -> Iterator[Command]:
        parts, simulation = self.parts, self.parts.state.simulation
        attempt, playing = parts.state.attempt, simulation.playing
        toggle = parts.toolbar.toggle
        label = tr("Pause") if playing else tr("Play")
        yield Command("Run", label, toggle, "Space", notice=self._tell_playing)
        step = partial(attempt, simulation.step_once)
        arrow = partial(Command, repeats=True, is_for_driving=True)
        yield arrow("Run", tr("Step"), step, "Right", enabled=not playing)
        yield arrow("Run", tr("Back by 1/30 s"), self._step_back, "Left")
        yield Command("Run", tr("Stop"), partial(attempt, parts.toolbar.stop))
        reset = partial(attempt, simulation.reset)
        yield Command(
            "Run", tr("Reset"), reset, "Backspace", notice=lambda: tr("Reset to the start")
        )
        served = parts.served
        possible = served.is_on or served.is_possible
        yield Command("Run", tr("Serve"), served.toggle, enabled=possible, is_on=served.is_on)
        slower, faster = partial(self._change_speed, -1), partial(self._change_speed, 1)
        told = partial(self._tell_speed, "=")
        yield Command("Run", tr("Slower"), slower, "-", section="-", notice=told)
        yield Command("Run", tr("Faster"), faster, "=", notice=partial(self._tell_speed, "-"))
        tools = ((Tool.SELECT, "Ctrl+1"), (Tool.MOVE, "Ctrl+2"), (Tool.TURN, "Ctrl+3"))
        for tool, keys in tools:
            choose = partial(setattr, parts.viewport.gizmo, "tool", tool)
            now = parts.viewport.gizmo.tool is tool
            heading = "Tool" if tool is Tool.SELECT else ""
            label = tool.value.capitalize()
            yield Command("Run", label, choose, keys, is_on=now, section=heading)

    def _step_back(self) -> None:
        simulation = self.parts.state.simulation
        moment = simulation.frame.time - 1.0 / 30.0
        self.parts.state.attempt(lambda: simulation.go_to(moment))

    def _change_speed(self, way: int) -> None:
        simulation = self.parts.state.simulation
        simulation.set_speed(neighbour(simulation.speed, way))

    def _tell_playing(self) -> str:
        playing = self.parts.state.simulation.playing
        return tr("Playing; Space pauses") if playing else tr("Paused; Space plays")

    def _tell_speed(self, back: str) -> str:
        speed = speed_text(self.parts.state.simulation.speed)
        return tr("Speed {speed}; {key} goes back", speed=speed, key=back)

    def _draw(self) -> Iterator[Command]:
        drawing = self.parts.viewport.drawing
        return iter(()) if drawing is None else draw_commands(drawing, self.parts.quality)

    def _camera(self) -> Iterator[Command]:
        drawing = self.parts.viewport.drawing
        actor = self.parts.state.selection.actor
        return iter(()) if drawing is None else camera_commands(drawing, actor)

    def _view(self) -> Iterator[Command]:
        """Panels, their layout, colours."""
        windows = hello_imgui.get_runner_params().docking_params.dockable_windows
        for window in windows:
            show = partial(setattr, window, "is_visible", not window.is_visible)
            is_on = window.is_visible
            yield Command("View", window.label, show, is_on=is_on, panel=window.label)
        yield Command("View", tr("Restore default layout"), _restore_layout, section="-")
        theme = self.parts.theme
        for i, name in enumerate(colours.THEMES):
            use, heading = partial(theme.use, name), "Colours" if i == 0 else ""
            now = theme.name == name
            yield Command("View", name.capitalize(), use, is_on=now, section=heading)

    def _help(self) -> Iterator[Command]:
        shows = self._shows
        yield Command("Help", tr("Welcome"), shows.welcome)
        yield Command("Help", tr("Tour"), shows.tour)
        yield Command("Help", tr("Keys and commands"), shows.keys, "F1", section="-")
        yield Command("Help", tr("Find a command, panel or property"), shows.palette, "Ctrl+P")

    def _ask_record(self) -> None:
        """Choose where to record to, and begin."""
        parts = self.parts

        def begin(path: Path) -> bool:
            return parts.state.attempt(lambda: parts.recording.start(path, overwrite=True))

        parts.choose.ask("Save", parts.recording.suggested(), (SUFFIX,), begin)


def _restore_layout() -> None:
    docking = hello_imgui.get_runner_params().docking_params
    docking.layout_reset = True
    for window in docking.dockable_windows:
        window.is_visible = True
