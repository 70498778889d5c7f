"""Drive the editor's widgets in tests.

Level 1: `Frames`, plain imgui without a window, mouse and keys as events. Level 2: `run_ui_tests`,
the whole window on the null backend, driven by the imgui test engine.
"""

import faulthandler
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from imgui_bundle import hello_imgui, imgui, immapp, implot

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.panel import Panel
from mjrig.editor.window.app import App

te = imgui.test_engine


def pretend_renderer() -> None:
    """Say that textures are taken care of; once, after the context exists."""
    io = imgui.get_io()
    io.backend_flags |= imgui.BackendFlags_.renderer_has_textures
    io.display_size = imgui.ImVec2(1280, 720)


def ack_textures() -> None:
    """Take care of textures, after every frame."""
    status = imgui.ImTextureStatus
    for texture in imgui.get_platform_io().textures:
        if texture.status == status.want_create:
            texture.set_tex_id(1)
            texture.status = status.ok
        elif texture.status == status.want_updates:
            texture.status = status.ok
        elif texture.status == status.want_destroy:
            texture.set_tex_id(0)
            texture.status = status.destroyed


def editor_state(scene: Scene | str) -> EditorState:
    """An editor on a scene, with a simulation that has no thread."""
    described = Scene.parse(scene) if isinstance(scene, str) else scene
    return EditorState(Session(described, Simulation(World(described, "python"))))


class Frames:
    """Frames of plain imgui: `draw` builds the widgets inside of one window at the origin."""

    def __init__(self, draw: Callable[[], None]) -> None:
        self._draw = draw

    def __call__(self, count: int = 1) -> None:
        for _ in range(count):
            imgui.new_frame()
            imgui.set_next_window_pos((0, 0))
            imgui.set_next_window_size((700, 700))
            imgui.begin("Test")
            self._draw()
            imgui.end()
            imgui.render()
            ack_textures()

    def move(self, x: float, y: float) -> None:
        """Move the mouse."""
        imgui.get_io().add_mouse_pos_event(x, y)
        self()

    def press(self, button: int = 0) -> None:
        """Press a mouse button and hold it."""
        imgui.get_io().add_mouse_button_event(button, True)
        self()

    def release(self, button: int = 0) -> None:
        """Let a mouse button go."""
        imgui.get_io().add_mouse_button_event(button, False)
        self(2)

    def click(self, x: float, y: float, button: int = 0) -> None:
        """Click somewhere."""
        self.move(x, y)
        self.press(button)
        self.release(button)

    def drag(self, x: float, y: float, dx: float, dy: float = 0.0, steps: int = 10) -> None:
        """Press at a place, move in steps, let go."""
        self.move(x, y)
        self.press()
        for i in range(1, steps + 1):
            self.move(x + dx * i / steps, y + dy * i / steps)
        self.release()

    def type(self, text: str, *, enter: bool = True) -> None:
        """Type into what has the focus."""
        io = imgui.get_io()
        io.add_input_characters_utf8(text)
        self()
        if enter:
            self.key(imgui.Key.enter)

    def key(self, key: Any) -> None:
        """Press and release a key."""
        io = imgui.get_io()
        io.add_key_event(key, True)
        self()
        io.add_key_event(key, False)
        self()


@contextmanager
def plain_imgui(draw: Callable[[], None]) -> Iterator[Frames]:
    """Level 1: a context of imgui and implot without a window."""
    context = imgui.create_context()
    plots = implot.create_context()
    pretend_renderer()
    io = imgui.get_io()
    io.delta_time = 1 / 60
    io.set_ini_filename("")
    try:
        yield Frames(draw)
    finally:
        implot.destroy_context(plots)
        imgui.destroy_context(context)


def run_ui_tests(app: App, *tests: Callable[[Any], None], null: bool = True) -> None:
    """Level 2: run functions of a TestContext against the whole window; raises what failed."""
    rp = app.runner_params()
    rp.ini_disable = True
    rp.fps_idling.fps_max = 0.0  # a test need not wait for a screen
    if null:
        backend = hello_imgui.PlatformBackendType.null, hello_imgui.RendererBackendType.null
        rp.platform_backend_type, rp.renderer_backend_type = backend
        start = rp.callbacks.post_init

        def begin() -> None:
            pretend_renderer()
            start()

        rp.callbacks.post_init, rp.callbacks.after_swap = begin, ack_textures
    registered: dict[str, Any] = {}
    engine = hello_imgui.get_imgui_test_engine

    def register() -> None:
        io = te.get_io(engine())
        io.config_run_speed, io.config_no_throttle = te.TestRunSpeed.fast, True
        io.config_saved_settings = False
        for test in tests:
            made = registered[test.__name__] = te.register_test(engine(), "ui", test.__name__)
            made.test_func = test
            te.queue_test(engine(), made)

    rp.use_imgui_test_engine, rp.callbacks.register_tests = True, register
    faulthandler.dump_traceback_later(90, exit=True)
    immapp.manual_render.setup_from_runner_params(rp, immapp.AddOnsParams(with_implot=True))
    frames = 0
    try:
        while frames < 6 or not te.is_test_queue_empty(engine()):
            app.frame()
            immapp.manual_render.render()
            frames += 1
        results = {
            n: (t.output.status.name, t.output.log.get_text()) for n, t in registered.items()
        }
    finally:
        immapp.manual_render.tear_down()
        context = imgui.get_current_context()
        if context is not None:
            imgui.destroy_context(context)
        faulthandler.cancel_dump_traceback_later()
        # The test engine takes this signal for a crash; a pipe whose reader is gone is none.
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    failed = {name: log for name, (status, log) in results.items() if status != "success"}
    lines = [line.text for line in app.state.console.lines if line.detail]
    assert not failed, f"{failed}\nconsole: {lines}"


def wait_until(ctx: Any, is_done: Callable[[], object]) -> None:
    """Let frames pass, at the pace of a screen, until something in the background is done."""
    while not is_done():
        time.sleep(1 / 60)
        ctx.yield_()


def app_with(state: EditorState, panels: Sequence[Panel]) -> App:
    """A window with these panels only, for the tests of one panel."""
    return App(state, panels)
