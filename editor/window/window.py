"""Window: the panels, menu bar, keys and dialogs of the editor put together."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from imgui_bundle import imgui

from mjrig.editor.assets import drops
from mjrig.editor.assets.asset_panel import AssetPanel
from mjrig.editor.assets.drop_dialogs import ImportDialog, MotorsDialog
from mjrig.editor.assets.hierarchy import Hierarchy
from mjrig.editor.assets.thumbnails import Picture, Upload
from mjrig.editor.gains.gain_table import gain_panels
from mjrig.editor.inspector.element_inspector import ElementInspector
from mjrig.editor.inspector.element_widgets import ElementPages
from mjrig.editor.inspector.inspector import Inspector
from mjrig.editor.panels.check_panel import CheckPanel
from mjrig.editor.panels.commands_panel import CommandsPanel
from mjrig.editor.panels.console_panel import ConsolePanel
from mjrig.editor.panels.gamepad import Sticks
from mjrig.editor.panels.plots_panel import PlotsPanel
from mjrig.editor.panels.serve_panel import ServePanel
from mjrig.editor.replay.replay_panel import ReplayPanel
from mjrig.editor.session.recording import RunRecording
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.tune.tune_panel import TunePanel
from mjrig.editor.ui import number_validation
from mjrig.editor.ui.dialogs import Dialog, KeepDialog
from mjrig.editor.ui.panel import Panel, bring_forward
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.scene_renderer import Quality, SceneRenderer
from mjrig.editor.viewport.viewport import Viewport
from mjrig.editor.window.app import App, Pace
from mjrig.editor.window.capture import ViewportCapture
from mjrig.editor.window.scene_files import SceneFiles
from mjrig.editor.window.shortcuts import HelpSheet, Keys, Palette
from mjrig.editor.window.toolbar import StatusBar, Toolbar
from mjrig.editor.window.tour import Tour
from mjrig.editor.window.welcome import Welcome, WelcomeActions
from mjrig.editor.window.window_commands import Command, HelpActions, WindowCommands
from mjrig.editor.window.window_parts import EditActions, Theme, WindowParts

# Menus --------------------------------------------------------------------------------------------
# The menu bar, drawn from the list of commands.


class Menus:
    """The menus of one window."""

    def __init__(self, commands: WindowCommands) -> None:
        self.commands = commands

    def draw(self) -> None:
        """Build the menus; the menu bar is open already."""
        for name, commands in self.commands.menus().items():
            if imgui.begin_menu(name):
                self._entries(name, list(commands()))
                imgui.end_menu()

    def _entries(self, menu: str, commands: Iterable[Command]) -> None:
        """The entries of one menu; a menu below it stands where its first entry is."""
        commands = list(commands)
        drawn: set[str] = set()
        for command in commands:
            below = command.menu[len(menu) + 1 :].partition("/")[0]
            path = f"{menu}/{below}"
            if not below:
                self._entry(command)
            elif path not in drawn:
                drawn.add(path)
                if imgui.begin_menu(below):
                    self._entries(path, [c for c in commands if c.menu.startswith(path)])
                    imgui.end_menu()

    @staticmethod
    def _entry(command: Command) -> None:
        if command.section == "-":
            imgui.separator()
        elif command.section:
            imgui.separator_text(command.section)
        label = f"{command.label}###{command.id}" if command.id else command.label
        if imgui.menu_item(label, command.keys, command.is_on, command.enabled)[0]:
            command.run()


# Window -------------------------------------------------------------------------------------------


class Window:
    """The whole user interface; `app` runs it.

    Args:
        state: state of the editor.
        make_view: makes the viewport's view for a model, with a current context.
        upload: makes a texture of a picture, for thumbnails; None: there are none.
        on_start: called with the window once a context exists.
    """

    def __init__(
        self,
        state: EditorState,
        make_view: Callable[[Any], SceneRenderer],
        *,
        upload: Upload | None = None,
        on_start: Callable[["Window"], None] = lambda window: None,
    ) -> None:
        self.state = state
        self._upload = upload
        self.quality = Quality(software=True)
        self.viewport = Viewport(state, make_view, self.quality, self.dropped)
        self.hierarchy = Hierarchy(state, self.dropped_on)
        self.hierarchy.focus, self.hierarchy.follow = self._focus, self._follow
        self.recording = RunRecording(state)
        self.toolbar = Toolbar(state, self.viewport.gizmo, self.stop, self.recording)
        self.keep = KeepDialog(state)
        self.choose = PathDialog(state)
        self.importing = ImportDialog(state)
        self.motors = MotorsDialog(state)
        self.files = SceneFiles(state, self.choose, self.viewport.start_over, self.show_recording)
        self.captures = ViewportCapture(state, self.viewport, self.quality)
        self._dialogs: tuple[Dialog, ...] = (
            *self.files.dialogs,
            self.keep,
            self.choose,
            self.importing,
            self.motors,
        )
        self._last = time.perf_counter()
        self.keep_alive: object = None
        self.theme = Theme(state)
        #: Puts a text into the title bar; set where there is a window of the desktop.
        self.show_title: Callable[[str], object] = lambda text: None
        self._title = ""
        panels = self._panels()
        self.status = StatusBar(
            state, self.quality, self.check.preflight, lambda: self.files.autosave_problem
        )
        self.parts = WindowParts(
            state,
            self.files,
            EditActions(state),
            self.captures,
            self.recording,
            self.viewport,
            self.commands,
            self.toolbar,
            self.quality,
            self.theme,
            self.choose,
            self.hierarchy,
            self.serve.served,
        )
        self.sheet = HelpSheet()
        self.tour = Tour(state)
        self.welcome = Welcome(state, self.assets.pictures, self._welcome_actions())
        self.viewport.over = self.welcome.draw
        shows = HelpActions(self.sheet.toggle, self._find, self.tour.start, self.welcome.show)
        self.all_commands = WindowCommands(self.parts, shows)
        self.palette = Palette(
            state, self.all_commands, self.inspector.reveal, self.hierarchy.entries
        )
        self._menus = Menus(self.all_commands)
        self.keys = Keys(self.parts, self.all_commands)
        self.app = App(
            state,
            panels,
            menus=self._menu_bar,
            toolbar=self.toolbar.draw,
            status=self.status.draw,
            each_frame=self.each_frame,
            on_start=lambda: on_start(self),
            on_end=self._end,
            pace=Pace(self._is_moving, self._is_awaiting, lambda: self.quality.software),
        )

    def _panels(self) -> Sequence[Panel]:
        state = self.state
        self.inspector = Inspector(state)
        self.inspector.sheet.browse = self._browse
        self.gains, self.response = gain_panels(state)
        show_gains = partial(bring_forward, self.gains.title)
        pages = ElementPages(state, self.gains.tuning, self.inspector.edits, show_gains)
        self.elements = ElementInspector(pages)
        self.inspector.draw_element = self.elements.draw
        self.tune = TunePanel(state, self.gains.tuning)
        self.tune.browse = self._browse
        self.tune.tune.last_take = self.recording.last_take
        self.plots, self.console = PlotsPanel(state, starts_filled=True), ConsolePanel(state)
        self.assets = AssetPanel(state, upload=self._upload)
        self.replay = ReplayPanel(state, self.choose, self.files.open_path)
        self.replay.last_take = self.recording.last_take
        self.check = CheckPanel(state)
        self.commands = CommandsPanel(state, self._takes_single_keys)
        self.serve = ServePanel(state)
        return [
            self.viewport,
            self.hierarchy,
            self.inspector,
            self.response,
            self.commands,
            self.gains,
            self.tune,
            self.plots,
            self.assets,
            self.replay,
            self.check,
            self.serve,
            self.console,
        ]

    def _takes_single_keys(self) -> bool:
        return self.viewport.takes_keys and not self.keys.modifiers.is_chord

    def _welcome_actions(self) -> WelcomeActions:
        files = self.files
        return WelcomeActions(
            lambda: files.recent,
            files.open_path,
            files.ask_open,
            self.tour.start,
            self.sheet.toggle,
        )

    def _browse(self, suffixes: tuple[str, ...], then: Callable[[str], None]) -> None:
        start = self.state.scene.base.resolve()
        self.choose.ask("Choose", start, suffixes, lambda path: then(str(path)))

    # Every frame --------------------------------------------------------------------------------

    def each_frame(self) -> None:
        """Measure the frame, keep unsaved work safe, add to a video that is being made."""
        now = time.perf_counter()
        if self.viewport.drew:
            self.quality.note(now - self._last)
        self._last = now
        self.files.keep_safe()
        self._take_up_files()
        self.recording.look()
        self.replay.tick()
        self.serve.served.tick()
        self.importing.tick()
        self.check.preflight.tick()
        for text in number_validation.take_notes():
            self.state.console.warn(text)
        self._open_what_is_wanted()
        self.tune.tune.hear()
        self._tell_title()
        self.theme.paint()
        self.captures.tick()

    def _take_up_files(self) -> None:
        """Files that another program changed, when nobody is in the middle of something."""
        is_idle = imgui.get_current_context() is None or not imgui.is_any_item_active()
        may_ask = is_idle and not any(dialog.is_open for dialog in self._dialogs)
        self.files.hot.tick(may_ask=may_ask, may_take=is_idle and not self.recording.is_on)

    def _is_moving(self) -> bool:
        playing = self.state.simulation.playing or self.replay.replaying.playing
        return playing or self.captures.is_filming

    def _is_awaiting(self) -> bool:
        """Whether a result of something in the background is expected, or a notice fades."""
        return (
            self.gains.tuning.lab.is_busy
            or self.check.preflight.is_running
            or self.tune.tune.runner.job is not None
            or self.replay.is_awaiting
            or self.files.hot.is_awaiting
            or self.importing.is_open
            or self.assets.thumbnails.is_drawing
            or self.viewport.notice.is_shown
            or number_validation.is_shown()
        )

    def _tell_title(self) -> None:
        if self.state.title != self._title:
            self._title = self.state.title
            self.show_title(self._title)

    def _open_what_is_wanted(self) -> None:
        """A scene or recording was dropped, or double-clicked among the assets."""
        path, self.state.wants_to_open = self.state.wants_to_open, None
        if path is not None:
            self.files.open_path(path)
        wanted, self.state.wants_to_replay = self.state.wants_to_replay, None
        if wanted is not None:
            self.show_recording(*wanted)
        offered, self.state.wants_to_import = self.state.wants_to_import, None
        if offered is not None:
            self.state.attempt(lambda: self.importing.ask(*offered))
        idle, self.state.wants_motors = self.state.wants_motors, None
        if idle is not None:
            self.state.attempt(lambda: self.motors.ask(idle))

    def _end(self) -> None:
        self.files.close()  # first: unsaved changes are safe whatever fails below
        self.recording.stop()
        self.replay.close()
        self.captures.stop_video()
        self.assets.close()
        self.gains.tuning.close()
        self.tune.tune.close()
        self.viewport.free()

    def may_close(self) -> bool:
        """Whether the window may close now; asks first where something would be lost."""
        self.parts.close()
        return self.state.wants_to_close

    def _menu_bar(self) -> None:
        self._menus.draw()
        self.keys.modifiers.tick()
        self.commands.tick()
        if not any(dialog.is_open for dialog in self._dialogs):  # a question wants an answer first
            self.keys.take(escape=not self.sheet.is_focused)
        for dialog in self._dialogs:
            dialog.draw()
        self.palette.draw()
        self.sheet.draw(self.all_commands)
        self.tour.draw()

    def add_dialog(self, dialog: Dialog) -> None:
        """Draw one more dialog, above everything else while it is open."""
        self._dialogs = (*self._dialogs, dialog)

    def _find(self) -> None:
        self.palette.open()

    def _focus(self, actor: str) -> None:
        if self.viewport.drawing is not None:
            self.viewport.drawing.frame_on(actor)

    def _follow(self, actor: str) -> None:
        if self.viewport.drawing is not None:
            cameras.toggle_following(self.viewport.drawing, actor)

    def stop(self) -> None:
        """Back to the start; asks which edits made while playing stay."""
        self.recording.stop()
        self.keep.ask(self.state.session.stop())

    def show_recording(self, path: Path, robot: str = "") -> None:
        """Read a recording into the replay panel, and bring that to the front."""
        self.replay.open(path, robot)
        bring_forward(self.replay.title)

    # Drops --------------------------------------------------------------------------------------

    def dropped(self, kind: str, value: Any, actor: str | None, point: Any) -> None:
        """Something was dropped into the viewport: on an actor, or at a point of the floor."""
        with self._showing_refusals():
            where = (0.0, 0.0, 0.0) if point is None else tuple(float(v) for v in point)
            if kind == "files":
                drops.drop_files(self.state, value, actor, where)
            elif point is None and kind in ("model", "prop") and actor is None:
                self.state.console.fail(tr("there is no floor under the mouse to drop it on"))
            else:
                drops.drop(self.state, kind, value, actor, where)

    def dropped_on(self, kind: str, value: Any, actor: str | None) -> None:
        """Something was dropped onto an actor in the hierarchy."""
        with self._showing_refusals():
            drops.drop(self.state, kind, value, actor)

    def files_dropped(self, paths: Sequence[Path], at: tuple[float, float]) -> None:
        """Files were dropped from the desktop at a place of the window."""
        x, y, width, height = self.viewport.rect
        place = (at[0] - x) / width, (at[1] - y) / height
        if 0.0 <= place[0] <= 1.0 and 0.0 <= place[1] <= 1.0:
            self.viewport.drop("files", list(paths), place)
            return
        with self._showing_refusals():
            drops.drop_files(self.state, paths)

    @contextmanager
    def _showing_refusals(self) -> Iterator[None]:
        """Show in full what is refused meanwhile; the status bar has room for one line."""
        before = time.monotonic()
        yield
        lines = [line for line in tuple(self.state.console.lines) if line.at >= before]
        self.viewport.refusals.reasons = [line.text for line in lines if line.level == "error"]


# Screen -------------------------------------------------------------------------------------------


class Screen(Protocol):
    """Where a window is shown. Whatever is listed here works in every one of them."""

    def make_view(self, model: Any) -> SceneRenderer:
        """What draws the worlds of a model."""
        ...

    def upload(self, picture: Picture) -> int:
        """Make a texture of a picture, for thumbnails."""
        ...

    def start(self, window: Window) -> None:
        """The window has a context now: accept files that are dropped, and whatever else is due."""

    def show_title(self, text: str) -> None:
        """Put a text into the title bar."""

    def read_pad(self) -> Sticks | None:
        """The sticks of the user's gamepad; None: there is none."""
        ...

    def offer(self, path: Path) -> None:
        """A file was written that the user may want: bring it within reach."""


def window_on(screen: Screen, state: EditorState) -> Window:
    """A window that is shown on a screen."""

    def start(window: Window) -> None:
        window.show_title = screen.show_title
        window.commands.read_pad = screen.read_pad
        state.offer_file = screen.offer
        screen.start(window)

    return Window(state, screen.make_view, upload=screen.upload, on_start=start)
