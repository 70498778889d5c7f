"""The editor's window put together: panels, menus, shortcuts, dialogs."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import mujoco
from imgui_bundle import hello_imgui, imgui

from mjrig.editor.assets import drops
from mjrig.editor.assets.asset_panel import AssetPanel
from mjrig.editor.assets.hierarchy import Hierarchy, delete, duplicate
from mjrig.editor.assets.import_dialog import ImportDialog
from mjrig.editor.assets.opening import is_recording, open_file
from mjrig.editor.console.console_panel import ConsolePanel
from mjrig.editor.gains.gain_table import gain_panels
from mjrig.editor.inspector.inspector import Inspector
from mjrig.editor.plots.plots import PlotsPanel
from mjrig.editor.replay.commands_panel import CommandsPanel
from mjrig.editor.replay.replay_panel import ReplayPanel
from mjrig.editor.session.autosave import Autosave, Unsaved
from mjrig.editor.session.recording import SUFFIX, RunRecording
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import free_file
from mjrig.editor.tune.tune_panel import TunePanel
from mjrig.editor.ui import colours
from mjrig.editor.ui.dialogs import ChangedDialog, KeepDialog, RecoverDialog, UnsavedDialog
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.viewport.quality import Quality
from mjrig.editor.viewport.viewport import Viewport
from mjrig.editor.viewport.views import View
from mjrig.editor.window.app import App, chord
from mjrig.editor.window.capture import Video, save_picture
from mjrig.editor.window.toolbar import StatusBar, Toolbar, neighbour
from mjrig.errors import MjrigError
from mjrig.scene.actor import MODELS
from mjrig.scene.scene import Scene
from mjrig.scene.scene_parts import SCENES

_CTRL, _SHIFT = imgui.Key.mod_ctrl, imgui.Key.mod_shift
_GLOBAL = imgui.InputFlags_.route_global
#: Keys of MuJoCo's viewer that are no letters.
_SIGNS = {
    "`": "grave_accent",
    "'": "apostrophe",
    ",": "comma",
    "/": "slash",
    ";": "semicolon",
    "\\": "backslash",
}


class Window:
    """Everything a person sees; `app` runs it.

    Args:
        state: of the editor.
        make_view: makes the viewport's view for a model, with a current context.
        upload: makes a texture of a picture, for thumbnails.
        on_start: called with the window once a context exists.
    """

    def __init__(
        self,
        state: EditorState,
        make_view: Callable[[Any], View],
        *,
        upload: Callable[[Any], int] = lambda picture: 1,
        on_start: Callable[["Window"], None] = lambda window: None,
    ) -> None:
        self.state = state
        self._upload = upload
        self.quality = Quality(software=True)
        self.viewport = Viewport(state, make_view, self.quality, self.dropped)
        self.hierarchy = Hierarchy(state, self.dropped_on)
        self.recording = RunRecording(state)
        self.toolbar = Toolbar(state, self.viewport.gizmo, self.stop, self.recording)
        self.status = StatusBar(state, self.quality)
        self.unsaved = UnsavedDialog(state, self.save_first)
        self.keep = KeepDialog(state)
        self.recover = RecoverDialog(state, self._recover)
        self.choose = PathDialog(state)
        self.changed = ChangedDialog(state, lambda: self.save(overwrite=True), self._reload)
        self.importing = ImportDialog(state)
        self._dialogs = (
            self.unsaved,
            self.keep,
            self.recover,
            self.choose,
            self.changed,
            self.importing,
        )
        self._autosave = Autosave(state.scene.path)
        self._video: Video | None = None
        self._scale_before_video: float | None = None
        self._last = time.perf_counter()
        self.keep_alive: object = None
        self.theme = colours.kept_theme()
        #: Puts a text into the title bar; set where there is a window of the desktop.
        self.show_title: Callable[[str], object] = lambda text: None
        self._title = ""
        self.app = App(
            state,
            self._panels(),
            menus=self._menus,
            toolbar=self.toolbar.draw,
            status=self.status.draw,
            each_frame=self.each_frame,
            on_start=lambda: on_start(self),
            on_end=self._end,
        )

    def _panels(self) -> Sequence[Panel]:
        state = self.state
        self.inspector = Inspector(state)
        self.inspector.sheet.browse = self._browse
        self.gains, self.response = gain_panels(state)
        self.tune = TunePanel(state, self.gains.tuning)
        self.tune.browse = self._browse
        self.plots, self.console = PlotsPanel(state, starts_filled=True), ConsolePanel(state)
        self.assets = AssetPanel(state, upload=self._upload)
        self.replay = ReplayPanel(state, self.choose, self.open_path)
        self.commands = CommandsPanel(state, lambda: self.viewport.is_focused)
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
            self.console,
        ]

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
        self._autosave.tick(self.state.scene, is_dirty=self.state.session.is_dirty)
        self.recording.look()
        self.replay.tick()
        self.importing.tick()
        self._open_what_is_wanted()
        self.tune.tune.hear()
        self._tell_title()
        self._paint()
        if self._video is not None and not self.state.attempt(self._film):
            self._stop_video()  # say it once, not with every frame

    def _film(self) -> None:
        if self._video is not None and self.viewport.view is not None:
            self._video.add(self.viewport.view.pixels(), self.state.simulation.frame.time)

    def _paint(self) -> None:
        """Put the theme on; at the start the window puts on one of its own, a frame late."""
        if not colours.is_applied(self.theme):
            colours.apply_theme(self.theme)

    def _tell_title(self) -> None:
        if self.state.title != self._title:
            self._title = self.state.title
            self.show_title(self._title)

    def _open_what_is_wanted(self) -> None:
        """A scene or recording was dropped, or double-clicked among the assets."""
        path, self.state.wants_to_open = self.state.wants_to_open, None
        if path is not None:
            self.open_path(path)
        wanted, self.state.wants_to_replay = self.state.wants_to_replay, None
        if wanted is not None:
            self.show_recording(*wanted)
        offered, self.state.wants_to_import = self.state.wants_to_import, None
        if offered is not None:
            self.state.attempt(lambda: self.importing.ask(*offered))

    def _end(self) -> None:
        self.recording.stop()
        self.replay.close()
        self._stop_video()
        self.assets.close()
        self.gains.tuning.close()
        self.tune.tune.close()
        self._autosave.done()
        self.viewport.free()

    def may_close(self) -> bool:
        """Whether the window may close now; asks first where something would be lost."""
        self.unsaved.ask(self._close)
        return self.state.wants_to_close

    def _close(self) -> None:
        self.state.wants_to_close = True

    # Menus --------------------------------------------------------------------------------------

    def _menus(self) -> None:
        self._file_menu()
        self._edit_menu()
        self._draw_menu()
        self._camera_menu()
        self._view_menu()
        self._shortcuts()
        for dialog in self._dialogs:
            dialog.draw()

    def _file_menu(self) -> None:
        if not imgui.begin_menu("File"):
            return
        if imgui.menu_item_simple("New"):
            self.unsaved.ask(lambda: self.state.attempt(lambda: self.open_scene(Scene())))
        if imgui.menu_item_simple("Open...", "Ctrl+O"):
            self.ask_open()
        if imgui.menu_item_simple("Save", "Ctrl+S"):
            self.save_first()
        if imgui.menu_item_simple("Save as...", "Ctrl+Shift+S"):
            self.ask_save()
        imgui.separator()
        if imgui.menu_item_simple("Picture of the viewport", "F12"):
            self.take_picture()
        recording = self.recording.is_on
        if imgui.menu_item_simple("Stop recording" if recording else "Record", "Ctrl+R"):
            self.recording.toggle()
        if imgui.menu_item_simple("Record to...", enabled=not recording):
            self.ask_record()
        filming = self._video is not None
        if imgui.menu_item_simple("Stop video" if filming else "Start video"):
            self.toggle_video()
        imgui.separator()
        if imgui.menu_item_simple("Quit", "Ctrl+Q"):
            self.unsaved.ask(self._close)
        imgui.end_menu()

    def _edit_menu(self) -> None:
        if not imgui.begin_menu("Edit"):
            return
        stack = self.state.session.undo_stack
        undo, redo = stack.undoable, stack.redoable
        name = f"Undo {undo.name}###undo" if undo else "Undo###undo"
        if imgui.menu_item_simple(name, "Ctrl+Z", enabled=undo is not None):
            self.undo()
        name = f"Redo {redo.name}###redo" if redo else "Redo###redo"
        if imgui.menu_item_simple(name, "Ctrl+Y", enabled=redo is not None):
            self.redo()
        imgui.separator()
        actor = self.state.selection.actor
        if imgui.menu_item_simple("Duplicate", "Ctrl+D", enabled=actor is not None):
            self._duplicate()
        if imgui.menu_item_simple("Delete", "Del", enabled=bool(self.state.selection.paths)):
            self._delete()
        if len(stack) and imgui.begin_menu("History"):
            if imgui.menu_item("0. As opened", "", True)[0]:
                self._go_back_to(0)
            for i, entry in enumerate(stack.names):
                if imgui.menu_item(f"{i + 1}. {entry}", "", i < stack.position)[0]:
                    self._go_back_to(i + 1)
            imgui.end_menu()
        imgui.end_menu()

    def _go_back_to(self, position: int) -> None:
        session = self.state.session
        while session.undo_stack.position > position and self.state.attempt(session.undo):
            pass
        while session.undo_stack.position < position and self.state.attempt(session.redo):
            pass

    def _draw_menu(self) -> None:
        """MuJoCo's own drawing options, with the keys its viewer has."""
        drawing = self.viewport.drawing
        if drawing is None or not imgui.begin_menu("Draw"):
            return
        for title, strings, flags in self._flag_tables():
            imgui.separator_text(title)
            for i, (name, _, key) in enumerate(strings):
                if imgui.menu_item(name, key, bool(flags[i]))[0]:
                    flags[i] = 0 if flags[i] else 1
        imgui.separator_text("Quality")
        if imgui.menu_item("automatic", "", self.quality.fixed is None)[0]:
            self.quality.fixed = None
        for scale in (0.5, 0.75, 1.0):
            if imgui.menu_item(f"{scale:.0%}", "", self.quality.fixed == scale)[0]:
                self.quality.fixed = scale
        imgui.end_menu()

    def _flag_tables(self) -> tuple[tuple[str, Any, Any], ...]:
        drawing = self.viewport.drawing
        if drawing is None:
            return ()
        return (
            ("Model", mujoco.mjVISSTRING, drawing.option.flags),
            ("Picture", mujoco.mjRNDSTRING, drawing.scene.flags),
        )

    def _camera_menu(self) -> None:
        drawing = self.viewport.drawing
        if drawing is None or not imgui.begin_menu("Camera"):
            return
        actor, now = self.state.selection.actor, cameras.text(drawing)
        if imgui.menu_item("Free", "Esc", now == "free")[0]:
            cameras.look_freely(drawing)
        can_follow = actor is not None
        if imgui.menu_item_simple(f"Follow {actor or 'the selected actor'}", enabled=can_follow):
            cameras.follow(drawing, actor or "")
        if imgui.menu_item_simple("Look at the selected actor", "Home"):
            drawing.frame_on(actor)
        imgui.separator()
        for name in cameras.names(drawing):
            if imgui.menu_item(name, "", now == name)[0]:
                cameras.look_through(drawing, name)
        imgui.end_menu()

    def _view_menu(self) -> None:
        """Panels, their layout, colours."""
        if not imgui.begin_menu("View"):
            return
        docking = hello_imgui.get_runner_params().docking_params
        for panel in docking.dockable_windows:
            if imgui.menu_item(panel.label, "", panel.is_visible)[0]:
                panel.is_visible = not panel.is_visible
        imgui.separator()
        if imgui.menu_item_simple("Restore the layout"):
            docking.layout_reset = True
            for panel in docking.dockable_windows:
                panel.is_visible = True
        imgui.separator_text("Colours")
        for name in colours.THEMES:
            if imgui.menu_item(name.capitalize(), "", self.theme == name)[0]:
                self.use_theme(name)
        imgui.end_menu()

    def use_theme(self, name: str) -> None:
        """Change the colours, now and for the next start."""
        self.theme = name
        self.state.attempt(lambda: colours.keep_theme(name))

    # Keys ---------------------------------------------------------------------------------------

    def _shortcuts(self) -> None:
        self.commands.tick()
        if any(dialog.is_open for dialog in self._dialogs):
            return  # a question wants an answer first
        keys = imgui.Key
        chords: tuple[tuple[int, Callable[[], Any]], ...] = (
            (chord(_CTRL, keys.z), self.undo),
            (chord(_CTRL, keys.y), self.redo),
            (chord(_CTRL, _SHIFT, keys.z), self.redo),
            (chord(_CTRL, keys.s), self.save_first),
            (chord(_CTRL, _SHIFT, keys.s), self.ask_save),
            (chord(_CTRL, keys.o), self.ask_open),
            (chord(_CTRL, keys.d), self._duplicate),
            (chord(_CTRL, keys.r), self.recording.toggle),
            (chord(_CTRL, keys.a), self._align),
            (chord(_CTRL, keys.q), lambda: self.unsaved.ask(self._close)),
            (chord(_CTRL, keys._1), lambda: self._use(Tool.SELECT)),
            (chord(_CTRL, keys._2), lambda: self._use(Tool.MOVE)),
            (chord(_CTRL, keys._3), lambda: self._use(Tool.TURN)),
            (chord(keys.f12), self.take_picture),
        )
        for keys_together, run in chords:
            if imgui.shortcut(keys_together, _GLOBAL):
                run()
        io = imgui.get_io()
        if not io.want_text_input and not io.key_ctrl and not io.key_alt:
            self._plain_keys()

    def _plain_keys(self) -> None:
        """The keys of MuJoCo's own viewer."""
        simulation, key = self.state.simulation, imgui.Key
        drawing = self.viewport.drawing
        if imgui.is_key_pressed(key.space, False):
            self.toolbar.toggle()
        drives = self.commands.takes_keys  # then arrows and letters are commands
        if imgui.is_key_pressed(key.right_arrow) and not drives:
            self.state.attempt(simulation.step_once)
        if imgui.is_key_pressed(key.left_arrow) and not drives:
            back = simulation.frame.time - 1.0 / 30.0
            self.state.attempt(lambda: simulation.go_to(back))
        if imgui.is_key_pressed(key.backspace, False):
            self.state.attempt(simulation.reset)
        for pressed, way in ((key.minus, -1), (key.equal, 1)):
            if imgui.is_key_pressed(pressed, False):
                simulation.set_speed(neighbour(simulation.speed, way))
        if imgui.is_key_pressed(key.delete, False) and self.viewport.is_focused:
            self._delete()
        if drawing is not None and not drives:
            self._drawing_keys(drawing)

    def _drawing_keys(self, drawing: Drawing) -> None:
        key, option = imgui.Key, drawing.option
        if imgui.is_key_pressed(key.home, False):
            drawing.frame_on(self.state.selection.actor)
        if imgui.is_key_pressed(key.escape, False):
            cameras.look_freely(drawing)
        for pressed, way in ((key.left_bracket, -1), (key.right_bracket, 1)):
            if imgui.is_key_pressed(pressed, False):
                cameras.cycle(drawing, way)
        if imgui.is_key_pressed(key.f6, False):
            option.frame = (option.frame + 1) % int(mujoco.mjtFrame.mjNFRAME)
        if imgui.is_key_pressed(key.f7, False):
            option.label = (option.label + 1) % int(mujoco.mjtLabel.mjNLABEL)
        groups = option.sitegroup if imgui.get_io().key_shift else option.geomgroup
        for i in range(len(groups)):
            if imgui.is_key_pressed(getattr(key, f"_{i}"), False):
                groups[i] = 0 if groups[i] else 1
        for _, strings, flags in self._flag_tables():
            for i, (_, _, sign) in enumerate(strings):
                pressed = _key_of(sign)
                if pressed is not None and imgui.is_key_pressed(pressed, False):
                    flags[i] = 0 if flags[i] else 1
                    return  # one sign stands for two in MuJoCo's tables

    def _align(self) -> None:
        """Look at everything, as at the start."""
        if self.viewport.drawing is not None:
            self.viewport.drawing.frame_on(None)

    def _use(self, tool: Tool) -> None:
        self.viewport.gizmo.tool = tool

    # Edits ----------------------------------------------------------------------------------------

    def undo(self) -> None:
        """Take the last edit back."""
        self._tell("undone", self.state.session.undo)

    def redo(self) -> None:
        """Make it again."""
        self._tell("made again", self.state.session.redo)

    def _tell(self, done: str, run: Callable[[], str | None]) -> None:
        """Undo or redo, and say what it was; it may be out of sight."""
        names: list[str | None] = []
        if self.state.attempt(lambda: names.append(run())):
            name = names[0]
            self.state.console.say(f"{done}: {name}" if name else f"nothing to be {done}")

    def _duplicate(self) -> None:
        actor = self.state.selection.actor
        if actor is not None:
            self.state.attempt(lambda: duplicate(self.state, actor))

    def _delete(self) -> None:
        self.state.attempt(lambda: delete(self.state, *self.state.selection.paths))

    def stop(self) -> None:
        """Back to the start; asks which edits made while playing stay."""
        self.recording.stop()
        self.keep.ask(self.state.session.stop())

    # Files --------------------------------------------------------------------------------------

    def save(self, path: Path | None = None, *, overwrite: bool = False) -> bool:
        """Write the scene; one that has no file yet goes into the current folder."""
        state = self.state
        if path is None and state.scene.path is None:
            path = free_file(Path.cwd(), "scene", ".yaml")
        if not state.attempt(lambda: state.session.save(path, overwrite=overwrite)):
            if path is None and state.scene.changed_on_disk():
                self.changed.open()
            return False
        self._autosave.done()
        self._autosave = Autosave(state.scene.path)
        state.console.say(f"saved {state.scene.path}")
        return True

    def _reload(self) -> None:
        path = self.state.scene.path
        if path is not None:
            self.open_path(path)

    def save_first(self, then: Callable[[], Any] = lambda: None) -> None:
        """Save, asking where to if the scene has no file yet; then do something."""
        if self.state.scene.path is None:
            self.ask_save(then)
        elif self.save():
            then()

    def ask_open(self) -> None:
        """Choose a scene or model to open."""
        start = self.state.scene.base.resolve()
        self.choose.ask("Open", start, (*SCENES, *MODELS), self.open_path)

    def ask_save(self, then: Callable[[], Any] = lambda: None) -> None:
        """Choose where to write the scene; then do something."""
        start = self.state.scene.path or free_file(Path.cwd(), "scene", ".yaml")

        def write(path: Path) -> None:
            if self.save(path if path.suffix else path.with_suffix(".yaml")):
                then()

        self.choose.ask("Save", start.resolve(), SCENES, write)

    def ask_record(self) -> None:
        """Choose where to record to, and begin."""

        def begin(path: Path) -> None:
            path = path if path.suffix else path.with_suffix(SUFFIX)
            self.state.attempt(lambda: self.recording.start(path, overwrite=True))

        self.choose.ask("Save", self.recording.suggested(), (SUFFIX,), begin)

    def open_path(self, path: Path) -> None:
        """Open a scene, a model or the scene of a recording in place of this one.

        Asks about unsaved changes first.
        """

        def go() -> None:
            if self.state.attempt(lambda: self.open_scene(open_file(path))) and is_recording(path):
                self.show_recording(path)

        self.unsaved.ask(go)

    def show_recording(self, path: Path, robot: str = "") -> None:
        """Read a recording into the replay panel, and bring that to the front."""
        self.replay.open(path, robot)
        for window in hello_imgui.get_runner_params().docking_params.dockable_windows:
            if window.label == self.replay.title:
                window.is_visible = window.focus_window_at_next_frame = True

    def open_scene(self, scene: Scene) -> None:
        """Put another scene in place of this one.

        Raises:
            MjrigError: its world cannot be built; this one stays.
        """
        self.state.open(scene)
        self._autosave.done()
        self._autosave = Autosave(scene.path)
        self.viewport.start_over()

    def offer(self, left: list[Unsaved]) -> None:
        """Ask about scenes that a killed editor did not come to save."""
        self.recover.ask(left)

    def _recover(self, left: Unsaved) -> None:
        """Open what was saved last, and make it say what was not."""
        path = Path(left.scene) if left.scene else None
        recovered = Scene.parse(left.text, left.base)
        if path is not None and path.is_file():
            self.open_scene(Scene.load(path))
        else:  # nothing was saved ever, or it is gone
            self.open_scene(Scene.parse("mjrig: 1\n", left.base))
        self.state.session.recover(recovered)
        left.forget()

    def take_picture(self) -> None:
        """Write what the viewport shows to a PNG."""
        view = self.viewport.view
        if view is None:
            self.state.console.warn("there is no picture: the viewport was not shown yet")
            return
        path = free_file(Path.cwd(), f"mjrig-{datetime.now():%Y%m%d-%H%M%S}", ".png")
        if self.state.attempt(lambda: save_picture(view.pixels(), path)):
            self.state.console.say(f"picture: {path}")

    def toggle_video(self) -> None:
        """Begin or end a video of the viewport."""
        if self._video is not None:
            self._stop_video()
            return
        path = free_file(Path.cwd(), f"mjrig-{datetime.now():%Y%m%d-%H%M%S}", ".mp4")
        self.state.attempt(lambda: self._start_video(path))

    def _start_video(self, path: Path) -> None:
        view = self.viewport.view
        if view is None:
            raise MjrigError("there is nothing to film: the viewport was not shown yet")
        height, width = view.pixels().shape[:2]
        self._video = Video(path, (width, height))
        self._scale_before_video = self.quality.fixed
        self.quality.fixed = self.quality.scale  # the picture keeps its size

    def _stop_video(self) -> None:
        if self._video is not None:
            video, self._video = self._video, None
            self.quality.fixed = self._scale_before_video
            if self.state.attempt(video.close):
                self.state.console.say(f"video: {video.path} ({video.frames} frames)")

    # Drops --------------------------------------------------------------------------------------

    def dropped(self, kind: str, value: Any, actor: str | None, point: Any) -> None:
        """Something was dropped into the viewport: on an actor, or at a point of the floor."""
        where = (0.0, 0.0, 0.0) if point is None else tuple(float(v) for v in point)
        if kind == "files":
            drops.drop_files(self.state, value, actor, where)
        elif point is None and kind in ("model", "prop") and actor is None:
            self.state.console.warn("there is no floor under the mouse to put it on")
        else:
            drops.drop(self.state, kind, value, actor, where)

    def dropped_on(self, kind: str, value: Any, actor: str | None) -> None:
        """Something was dropped onto an actor in the hierarchy."""
        drops.drop(self.state, kind, value, actor)

    def files_dropped(self, paths: Sequence[Path], at: tuple[float, float]) -> None:
        """Files were dropped from the desktop at a place of the window."""
        x, y, width, height = self.viewport.rect
        place = (at[0] - x) / width, (at[1] - y) / height
        if not (0.0 <= place[0] <= 1.0 and 0.0 <= place[1] <= 1.0):
            drops.drop_files(self.state, paths)
            return
        self.viewport.drop("files", list(paths), place)


def _key_of(sign: str) -> Any:
    """The key of a sign in MuJoCo's tables; None where there is none."""
    return getattr(imgui.Key, _SIGNS.get(sign, sign.lower()), None) if sign.strip() else None
