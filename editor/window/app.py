"""App: the window itself, its loop, frame rate, docking and shortcuts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from imgui_bundle import ImVec2, glfw_utils, hello_imgui, imgui, immapp, implot

from mjrig.core.errors import SceneError
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import colours
from mjrig.editor.ui.layout import load_fonts
from mjrig.editor.ui.panel import PLACES, Panel, finish_frame, plugin_panels

# Pace ---------------------------------------------------------------------------------------------


#: Highest frame rate; while a result is awaited; while nothing happens.
MOST_FRAMES, AWAITING_FRAMES, IDLE_FRAMES = 60.0, 10.0, 1.0
#: While the pointer only moves about a still picture that the processor draws.
POINTING_FRAMES = 12.0
#: How long input keeps the window from idling [s]; tooltips appear within it.
ATTENTIVE = 0.8


class Pace:
    """Sets the frame rate of a window.

    Args:
        is_moving: whether something moves by itself: the simulation, a replay, a video.
        is_awaiting: whether a result of something in the background is expected.
        is_software: whether the processor draws.
    """

    def __init__(
        self,
        is_moving: Callable[[], bool],
        is_awaiting: Callable[[], bool] = lambda: False,
        is_software: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_moving, self._is_awaiting = is_moving, is_awaiting
        self._is_software = is_software

    def set(self, fps: Any) -> None:
        """Set hello_imgui's rates for the next frame; a context must exist."""
        moving = self._is_moving()
        fps.enable_idling = not moving
        fps.fps_idle = AWAITING_FRAMES if self._is_awaiting() else IDLE_FRAMES
        fps.time_active_after_last_event = ATTENTIVE
        pointing = not moving and self._is_software() and not imgui.is_any_mouse_down()
        fps.fps_max = POINTING_FRAMES if pointing else MOST_FRAMES

    def interval(self, since_input: float) -> float:
        """Time until the next frame that no input asks for, where nobody else keeps it [s]."""
        if self._is_moving() or since_input < ATTENTIVE:
            return 1.0 / MOST_FRAMES
        return 1.0 / (AWAITING_FRAMES if self._is_awaiting() else IDLE_FRAMES)


# App ----------------------------------------------------------------------------------------------


SIZE = (1280, 720)
#: Gains and plots are side by side, so that the effect of an edit is seen.
_SPLITS = (
    ("MainDockSpace", "bottom", imgui.Dir.down, 0.36),
    ("bottom", "bottom right", imgui.Dir.right, 0.45),
    ("MainDockSpace", "right", imgui.Dir.right, 0.28),
    ("MainDockSpace", "left", imgui.Dir.left, 0.19),
)
#: Part of a fitted value axis that stays empty: a constant is not drawn on the frame.
_ROOM = 0.1
#: Fills the window below the docked panels.
BACKGROUND = imgui.Col_.window_bg
_SPACES = {place: place for place in PLACES} | {"centre": "MainDockSpace"}


class App:
    """A window with panels.

    Args:
        state: what the panels share.
        panels: the panels, in order; plugins' come after them.
        toolbar: drawn under the menu bar.
        status: drawn in the status bar.
        pace: sets the frame rate; None: slow unless the simulation plays.
    """

    def __init__(
        self,
        state: EditorState,
        panels: Sequence[Panel],
        *,
        menus: Callable[[], None] = lambda: None,
        toolbar: Callable[[], None] | None = None,
        status: Callable[[], None] | None = None,
        each_frame: Callable[[], None] = lambda: None,
        on_start: Callable[[], None] = lambda: None,
        on_end: Callable[[], None] = lambda: None,
        pace: Pace | None = None,
    ) -> None:
        self.state = state
        self._pace = pace or Pace(lambda: self.state.simulation.playing)
        self.panels = [*panels, *plugin_panels(state)]
        self._docked: set[str] = set()
        self._menus, self._toolbar, self._status = menus, toolbar, status
        self._each_frame, self._on_start, self._on_end = each_frame, on_start, on_end

    def runner_params(self, title: str = "mjrig", size: tuple[int, int] = SIZE) -> Any:
        """Parameters for hello_imgui; OpenGL 2.1, since MuJoCo draws in the same context."""
        rp = hello_imgui.RunnerParams()
        rp.fps_idling.enable_idling = False  # the simulation moves without input
        rp.fps_idling.fps_max = MOST_FRAMES
        rp.app_window_params.window_title = title
        rp.app_window_params.window_geometry.size = size
        window = rp.imgui_window_params
        kinds = hello_imgui.DefaultImGuiWindowType
        window.default_imgui_window_type = kinds.provide_full_screen_dock_space
        window.show_menu_bar = True
        window.show_menu_view = False  # our own menus come first, then it
        window.show_menu_app = False
        window.remember_theme = False  # `colours` does
        window.tweaked_theme.theme = colours.STYLES[colours.kept_theme()]
        window.show_status_bar = self._status is not None
        window.show_status_fps = False
        options = hello_imgui.OpenGlOptions()
        options.major_version, options.minor_version, options.glsl_version = 2, 1, "120"
        options.use_core_profile = options.use_forward_compat = False
        options.anti_aliasing_samples = 0
        rp.renderer_backend_options.open_gl_options = options
        rp.ini_folder_type = hello_imgui.IniFolderType.app_user_config_folder
        rp.ini_filename = "mjrig/editor.ini"
        self._dock(rp)
        rp.callbacks.load_additional_fonts = load_fonts
        rp.callbacks.show_menus = self._safely("menus", self._menus)
        if self._status is not None:
            rp.callbacks.show_status = self._safely(tr("status bar"), self._status)
        rp.callbacks.post_init = self._start
        rp.callbacks.before_exit = self._on_end
        if self._toolbar is not None:
            bar = hello_imgui.EdgeToolbarOptions()
            bar.size_em = 2.2
            rp.callbacks.add_edge_toolbar(
                hello_imgui.EdgeToolbarType.top, self._safely("toolbar", self._toolbar), bar
            )
        return rp

    def _start(self) -> None:
        """The contexts exist: what holds for all plots, then what the window does."""
        implot.get_style().fit_padding = ImVec2(0.0, _ROOM)
        self._on_start()

    def _dock(self, rp: Any) -> None:
        splits, windows = [], []
        for source, new, direction, ratio in _SPLITS:
            split = hello_imgui.DockingSplit()
            split.initial_dock, split.new_dock = source, new
            split.direction, split.ratio = direction, ratio
            splits.append(split)
        for panel in self.panels:
            window = hello_imgui.DockableWindow()
            window.label = panel.title
            window.dock_space_name = _SPACES[panel.place]
            window.gui_function = partial(self._draw_panel, panel)
            window.imgui_window_flags = panel.window_flags
            windows.append(window)
        rp.docking_params.docking_splits = splits
        rp.docking_params.main_dock_space_node_flags = 0  # "passthru" fills all of it once more
        rp.docking_params.dockable_windows = windows

    def _draw_panel(self, panel: Panel) -> None:
        """Draw a panel; a docked one has the window's background, which needs no filling.

        Where the processor draws, every filled pixel counts.
        """
        node = imgui.internal.get_current_window().dock_node
        root = None if node is None else imgui.internal.dock_node_get_root_node(node)
        is_docked = root is not None and root.is_dock_space()
        if is_docked != (panel.title in self._docked):
            self._docked ^= {panel.title}
            no_background = imgui.WindowFlags_.no_background if is_docked else 0
            for window in hello_imgui.get_runner_params().docking_params.dockable_windows:
                if window.label == panel.title:
                    window.imgui_window_flags = panel.window_flags | no_background
        panel.guarded()

    def _safely(self, name: str, draw: Callable[[], None]) -> Callable[[], None]:
        """Guard a part of the window that is not a panel: its exceptions go to the console."""

        class Part(Panel):
            title = name

        part = Part(self.state)
        part.draw = draw  # type: ignore[method-assign]
        return part.guarded

    def interval(self, since_input: float) -> float:
        """Time until the next frame, for a loop of one's own; input asks for one at once [s]."""
        return self._pace.interval(since_input)

    def frame(self) -> None:
        """Work of every frame before the widgets; its errors do not end the window."""
        self.state.attempt(self.state.hear_events)
        self.state.attempt(self._each_frame)

    def begin(self, rp: Any) -> None:
        """Open the window.

        Raises:
            SceneError: the display has no OpenGL, for example.
        """
        try:
            addons = immapp.AddOnsParams(with_implot=True)
            immapp.manual_render.setup_from_runner_params(rp, addons)
        except RuntimeError as error:
            if "IM_ASSERT" not in str(error):
                raise
            reason = str(error).partition('"')[2].partition('"')[0] or str(error)
            raise SceneError(
                tr(
                    "the window cannot be opened: {reason} It needs OpenGL 2.1; "
                    "`mjrig edit … --web` shows the editor in a browser without it",
                    reason=reason,
                )
            ) from error

    def run(self, rp: Any, may_close: Callable[[], bool] = lambda: True) -> None:
        """Show the window until it is closed."""
        self.begin(rp)
        try:
            while not rp.app_shall_exit:
                self.frame()
                self._pace.set(rp.fps_idling)
                rp.imgui_window_params.background_color = imgui.get_style().color_(BACKGROUND)
                immapp.manual_render.render()
                if self.state.is_ending:
                    rp.app_shall_exit = True
                elif rp.app_shall_exit and not may_close():
                    self._stay_open(rp)
        finally:
            finish_frame()
            immapp.manual_render.tear_down()

    @staticmethod
    def _stay_open(rp: Any) -> None:
        import glfw  # after imgui_bundle, whose library it uses

        rp.app_shall_exit = False
        handle: Any = glfw_utils.glfw_window_hello_imgui()
        glfw.set_window_should_close(handle, False)
