"""Commands of the window, listed once for menus, keys, palette and help sheet."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
from imgui_bundle import hello_imgui

from mjrig.editor.session.recording import SUFFIX
from mjrig.editor.text import tr
from mjrig.editor.ui import colours
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.viewport.scene_renderer import Quality
from mjrig.editor.window.toolbar import neighbour, speed_text
from mjrig.editor.window.window_parts import WindowParts

# Command ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """One thing to do.

    `menu` is where it is listed: `File`, `Edit/History`. `section` is the heading above it, a line
    if it is `-`. `keys` are pressed for it anywhere, `Ctrl+Shift+S`, or `Del` over the viewport.
    `id` names it in the menu where its label changes. What follows is about keys that act over the
    viewport: the line shown there afterwards, whether holding the key repeats it, and whether it is
    off while the keys drive a robot.
    """

    menu: str
    label: str
    run: Callable[[], object]
    keys: str = ""
    is_on: bool = False
    enabled: bool = True
    section: str = ""
    id: str = ""
    #: A second chord.
    other_keys: str = ""
    notice: Callable[[], str] | None = None
    repeats: bool = False
    is_for_driving: bool = False
    #: Whether its function key acts over the viewport only.
    over_viewport: bool = False
    #: The panel that it shows or hides.
    panel: str = ""


# Viewport commands --------------------------------------------------------------------------------


def draw_commands(drawing: Drawing, quality: Quality) -> Iterator[Command]:
    """MuJoCo's own drawing options with the keys its viewer has, groups, and the quality."""
    grid = partial(setattr, drawing, "has_grid", not drawing.has_grid)
    yield Command("Draw", tr("Floor grid"), grid, is_on=drawing.has_grid)
    taken: set[str] = set()  # one key stands for two options in MuJoCo's tables
    for title, strings, flags in drawing.flag_tables():
        for i, (name, _, sign) in enumerate(strings):
            keys = sign if sign.strip() and sign not in taken else ""
            taken.add(sign)
            heading, is_on = title if i == 0 else "", bool(flags[i])
            told = partial(_tell_switch, name.replace("&", ""), flags, i, keys)
            yield Command(
                "Draw",
                name,
                partial(_flip, flags, i),
                keys,
                is_on=is_on,
                section=heading,
                notice=told,
                is_for_driving=True,
            )
    yield from _kinds(drawing)
    yield from _groups(drawing)
    for scale in (None, 0.5, 0.75, 1.0):
        label = tr("automatic") if scale is None else f"{scale:.0%}"
        fix = partial(setattr, quality, "fixed", scale)
        heading = tr("Quality") if scale is None else ""
        yield Command("Draw", label, fix, is_on=quality.fixed == scale, section=heading)


def _kinds(drawing: Drawing) -> Iterator[Command]:
    """What frames and labels are drawn at: each key goes to the next kind."""
    option = drawing.option
    kinds: tuple[tuple[str, str, Any, int], ...] = (
        ("frame", "F6", mujoco.mjtFrame, int(mujoco.mjtFrame.mjNFRAME)),
        ("label", "F7", mujoco.mjtLabel, int(mujoco.mjtLabel.mjNLABEL)),
    )
    for name, keys, enum, count in kinds:
        now = _name(enum, getattr(option, name))
        if name == "frame":
            label = tr("Next kind of frames (now: {kind})", kind=now)
        else:
            label = tr("Next kind of labels (now: {kind})", kind=now)
        yield Command(
            "Draw",
            label,
            partial(_next_kind, option, name, count),
            keys,
            id=name,
            notice=partial(_tell_kind, option, name, enum, keys),
            is_for_driving=True,
            over_viewport=True,
        )


def _groups(drawing: Drawing) -> Iterator[Command]:
    option = drawing.option
    for menu, shift, kind, groups in (
        (tr("Geom groups"), "", tr("Geom group"), option.geomgroup),
        (tr("Site groups"), "Shift+", tr("Site group"), option.sitegroup),
    ):
        for i in range(len(groups)):
            keys, name = f"{shift}{i}", f"{kind} {i}"
            yield Command(
                f"Draw/{menu}",
                name,
                partial(_flip, groups, i),
                keys,
                is_on=bool(groups[i]),
                notice=partial(_tell_switch, name, groups, i, keys),
                is_for_driving=True,
            )


def camera_commands(drawing: Drawing, actor: str | None) -> Iterator[Command]:
    """Where the viewport looks from; `actor` is the selected one."""
    now = cameras.text(drawing)
    free, is_free = partial(cameras.look_freely, drawing), cameras.is_free(drawing)
    yield Command(
        "Camera",
        tr("Free"),
        free,
        "Esc",
        is_on=is_free,
        notice=lambda: tr("Camera free; [ and ] choose another"),
    )
    followed = now.removeprefix("follow ") if now.startswith("follow ") else None
    target = actor or followed
    label = tr("Follow {actor}", actor=target or tr("the selected actor"))
    follow = free if followed == target else partial(cameras.follow, drawing, target or "")
    is_on, can = followed is not None and followed == target, target is not None
    yield Command("Camera", label, follow, is_on=is_on, enabled=can)
    look, seen = partial(drawing.frame_on, actor), actor or tr("everything")
    yield Command(
        "Camera",
        tr("Look at the selected actor"),
        look,
        "Home",
        notice=lambda: tr("Camera on {actor}", actor=seen),
    )
    everything = partial(drawing.frame_on, None)
    yield Command("Camera", tr("Look at everything"), everything, "Ctrl+A")
    for label, keys, way, back in (
        (tr("Previous camera"), "[", -1, "]"),
        (tr("Next camera"), "]", 1, "["),
    ):
        told = partial(_tell_camera, drawing, back)
        heading = "-" if way < 0 else ""
        run = partial(cameras.cycle, drawing, way)
        yield Command("Camera", label, run, keys, section=heading, notice=told)
    for i, name in enumerate(cameras.names(drawing)):
        through = partial(cameras.look_through, drawing, name)
        heading = "-" if i == 0 else ""
        yield Command("Camera", name, through, is_on=now == name, section=heading)


def _flip(flags: Any, i: int) -> None:
    flags[i] = 0 if flags[i] else 1


def _next_kind(option: Any, name: str, count: int) -> None:
    setattr(option, name, (getattr(option, name) + 1) % count)


def _tell_switch(what: str, flags: Any, i: int, keys: str) -> str:
    if flags[i]:
        return tr("{what} shown; {keys} switches back", what=what, keys=keys)
    return tr("{what} hidden; {keys} switches back", what=what, keys=keys)


def _tell_kind(option: Any, name: str, enum: Any, keys: str) -> str:
    now = _name(enum, getattr(option, name))
    if name == "frame":
        return tr("Frames: {kind}; {keys} shows others", kind=now, keys=keys)
    return tr("Labels: {kind}; {keys} shows others", kind=now, keys=keys)


def _tell_camera(drawing: Drawing, back: str) -> str:
    return tr("Camera {name}; {key} goes back", name=cameras.text(drawing), key=back)


def _name(enum: Any, value: int) -> str:
    """The name of one of MuJoCo's numbers: `body` for mjFRAME_BODY."""
    return str(enum(value).name).partition("_")[2].lower()


# Window commands ----------------------------------------------------------------------------------


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
