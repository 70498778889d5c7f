"""LiveWindow: the loop of a window that pages show: input in, frames out."""

import json
import time
from pathlib import Path
from typing import Any

from imgui_bundle import hello_imgui, imgui, immapp

from mjrig.editor.assets.thumbnails import Picture
from mjrig.editor.panels.gamepad import Sticks, sticks
from mjrig.editor.ui.panel import finish_frame
from mjrig.editor.viewport.overlays import Rect
from mjrig.editor.viewport.scene_renderer import Photographed
from mjrig.editor.web import model_assets
from mjrig.editor.web.audience import Audience
from mjrig.editor.web.browsers import Browser, Presence, Sent
from mjrig.editor.web.draw_lists import WORLD, DrawLists, Look, Textures, scene_only
from mjrig.editor.web.file_transfer import Offers, Photographs, Uploads
from mjrig.editor.web.input_events import PageInput
from mjrig.editor.web.model_assets import ModelAssets
from mjrig.editor.web.protocol import IMAGE, Event, roles_of
from mjrig.editor.web.server import Server, ServerSettings
from mjrig.editor.web.web_view import WebView, draw_labels
from mjrig.editor.web.websocket import binary_frames, text_frame
from mjrig.editor.window.app import BACKGROUND, SIZE
from mjrig.editor.window.window import Window

#: Shortest time between two frames [s].
_SHORTEST = 0.008
#: The same where no input asks for a frame: of the panels, and of the world while it plays [s].
_PANELS, _WORLD = 1.0 / 30.0, 1.0 / 60.0
#: Frames that are built but not sent: input does not wait for a page that draws slowly.
_CATCH_UP = 12
#: How often the editor looks after itself while nobody looks at it [s].
_ALONE = 0.5
_SMALLEST, _LARGEST = 200.0, 8000.0


class LiveWindow:
    """A `Screen` that is shown by browsers.

    Args:
        settings: where the server listens.

    Raises:
        SceneError: the port cannot be had.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.assets, self.offers = ModelAssets(), Offers()
        self.server = Server(settings, self._body_of)
        self.inputs = PageInput()
        self.audience = Audience(self.server, self._let_go)
        self.photographs = Photographs(self.audience)
        self._textures, self._lists = Textures(), DrawLists()
        self._news: list[bytes] = []
        self._view: WebView | None = None
        self._described = -1
        self._description = b""
        self._size, self._ratio = (float(SIZE[0]), float(SIZE[1])), 1.0
        self._pad: Sticks | None = None
        self._title = self._copied = ""
        self._seq = 0
        self._told = 0
        self._last = self._last_world = self._last_input = time.perf_counter()
        self._shown: object = None
        self._is_world_seen = False
        self.frames = 0
        self._params: Any = None

    def _body_of(self, path: str) -> tuple[bytes | Path, str, dict[str, str]] | None:
        return self.assets.body_of(path) or self.offers.body_of(path)

    # What a window needs --------------------------------------------------------------------------

    def make_view(self, model: Any) -> WebView:
        """What draws the worlds of a model."""
        self._view = WebView(model, self.photograph)
        return self._view

    def photograph(self, then: Photographed) -> None:
        """Ask a page for a picture of the world."""
        self.photographs.ask(then)

    def upload(self, picture: Picture) -> int:
        """Make a texture of a picture, for thumbnails."""
        return self._textures.upload(picture)

    def start(self, window: Window) -> None:
        """The window has a context now."""
        io = imgui.get_io()
        flags = imgui.BackendFlags_
        io.backend_flags |= flags.renderer_has_textures | flags.has_mouse_cursors
        io.config_mac_osx_behaviors = False  # the page's computer counts: it sends Cmd as Ctrl
        window.quality.use(software=False)  # each page finds its own
        window.replay.show_page = lambda address: True  # it is offered as a download
        self._uploads = Uploads(window, self.audience)
        before = window.viewport.over

        def over(rect: Rect) -> None:
            if self._view is not None and self._view.words is not None:
                draw_labels(self._view.words, rect)
            before(rect)

        window.viewport.over = over
        self._resize(*self._size, self._ratio)

    def show_title(self, text: str) -> None:
        """Put a text into the title of the pages."""
        self._title = text
        self.audience.tell({"title": text}, all_of_them=True)

    def read_pad(self) -> Sticks | None:
        """The sticks of the gamepad at the page that commands."""
        return self._pad

    def offer(self, path: Path) -> None:
        """Offer a file that was written as a download."""
        self.audience.tell({"offer": self.offers.add(path)})

    def attend(self) -> None:
        """Draw soon, as after input; from any thread."""
        self._last_input = time.perf_counter()
        self.server.inbox.wake.set()

    # The loop -------------------------------------------------------------------------------------

    def run(self, window: Window) -> None:
        """Stay until the window is closed; a page that is closed only leaves."""
        self.begin(window)
        try:
            while not window.state.is_ending:
                self.turn(window)
        finally:
            self.end()

    def begin(self, window: Window) -> None:
        """Open the window, on the thread that will call `turn`."""
        rp = self._params = window.app.runner_params()  # hello_imgui holds no reference
        rp.platform_backend_type = hello_imgui.PlatformBackendType.null
        rp.renderer_backend_type = hello_imgui.RendererBackendType.null
        rp.fps_idling.fps_max = 0.0  # the pace is this loop's
        window.app.begin(rp)

    def end(self) -> None:
        """Close the window and the server."""
        finish_frame()
        immapp.manual_render.tear_down()
        context = imgui.get_current_context()
        if context is not None:  # the next window would begin with this one's time
            imgui.destroy_context(context)
        self.server.stop()

    def turn(self, window: Window) -> None:
        """Hear what came; draw if that is due, else wait for it or for something new."""
        for browser, message in self.server.inbox.take():
            self._hear(browser, message)
        try:
            self._draw_or_wait(window)
        except Exception as error:
            self._report_frame(error)

    def _draw_or_wait(self, window: Window) -> None:
        now = time.perf_counter()
        if not self.audience.wants_frame:
            due = self._last + _ALONE
            if due <= now:
                self._last = now
                window.app.frame()
            else:
                self.server.inbox.wake.wait(due - now)
            return
        due, world_due = self._last + self._interval(window, now), self._last_world + _WORLD
        if due <= now:
            self.draw(window)
        elif world_due <= now and self._has_new_world(window):
            self._draw_world(window)
        else:
            next_due = min(due, world_due) if self._is_moving(window) else due
            self.server.inbox.wake.wait(max(next_due - now, 0.001))

    def _report_frame(self, error: Exception) -> None:
        """End the page whose input a failed frame shows; later frames are tried, not at once."""
        finish_frame()
        self._last = self._last_world = time.perf_counter()
        self.inputs.let_go()
        commander = self.audience.commander
        if commander is None or commander.is_rejected:
            self.server.report_frame(error)
        else:
            self.server.reject(commander, error)
        self.server.inbox.wake.wait(_PANELS)

    def _interval(self, window: Window, now: float) -> float:
        if self.inputs.is_waiting or self.audience.is_anyone_new:
            return _SHORTEST
        return max(window.app.interval(now - self._last_input), _PANELS)

    # The world moves more often than the panels are built: that takes most of the time.

    def _is_moving(self, window: Window) -> bool:
        return self._is_world_seen and window.state.simulation.playing

    def _has_new_world(self, window: Window) -> bool:
        return self._is_moving(window) and window.state.simulation.frame is not self._shown

    def _draw_world(self, window: Window) -> None:
        """Send the world as it is now, with the panels as they were."""
        self._last_world = time.perf_counter()
        view, self._shown = self._view, window.state.simulation.frame
        drawing = window.viewport.follow()
        if view is None or view.words is None or self._view is not view:
            return  # another world: the next frame shows it
        drawing.update()
        view.render(drawing.scene, *view.size)
        view.has_changed = False
        self._seq += 1
        self.frames += 1
        scene = self._scene(whole=False)
        difference = binary_frames(scene, scene_only(self._seq, self.inputs.shown))
        self.audience.send(self._seq, difference, self._whole)

    def draw(self, window: Window) -> None:
        """One frame."""
        now = time.perf_counter()
        self._build(window, now - self._last)
        for _ in range(_CATCH_UP):
            if not self.inputs.is_waiting:
                break
            self._build(window, 0.0)
        self._last = self._last_world = now
        self._is_world_seen = self._view is not None and self._view.has_changed
        self.frames += 1
        self._send()
        self._share_clipboard()

    def _build(self, window: Window, passed: float) -> None:
        """Let Dear ImGui take some input, a press or a letter per frame, and draw the window."""
        imgui.get_io().delta_time = min(max(passed, 1e-4), 1.0)
        self.inputs.tell()
        self._shown = window.state.simulation.frame
        window.app.frame()
        immapp.manual_render.render()
        self._news += self._textures.take()

    def _send(self) -> None:
        """Send what changed; nothing at all where nothing did."""
        news, self._news = self._news, []
        self._lists.take(self._look())
        view, inputs = self._view, self.inputs.shown
        has_scene = view is not None and view.has_changed and view.words is not None
        has_news = bool(news) or self._lists.has_changed or has_scene
        difference = b""
        if has_news or inputs != self._told:
            self._seq += 1
            messages = list(news)
            if has_scene:
                messages.append(self._scene(whole=False))
            if self._lists.has_changed:
                messages.append(self._lists.difference(self._seq, inputs))
            else:
                messages.append(scene_only(self._seq, inputs))
            difference = self._model_news() + binary_frames(*messages)
        self._told = inputs
        if difference or self.audience.is_anyone_new:
            self.audience.send(self._seq, difference, self._whole)
        if view is not None:
            view.has_changed = False

    def _scene(self, *, whole: bool) -> bytes:
        view = self._view
        assert view is not None and view.words is not None
        return view.words.message(WORLD, view.generation, whole=whole)

    def _model_news(self) -> bytes:
        """The description of a model that pages do not have yet."""
        view = self._view
        if view is None or view.words is None:
            return b""
        if view.generation == self._described:
            return b""
        self._described = view.generation
        described = self.assets.describe(view.model, view.words.scene)
        self._description = text_frame(model_assets.text(view.generation, described))
        return self._description

    def _whole(self) -> bytes:
        self._model_news()
        messages = self._textures.whole()
        if self._view is not None and self._view.words is not None:
            messages.append(self._scene(whole=True))
        messages.append(self._lists.whole(self._seq, self.inputs.shown))
        title = text_frame(json.dumps({"title": self._title}))
        return title + self._description + binary_frames(*messages)

    def _look(self) -> Look:
        io, shown = imgui.get_io(), imgui.get_current_context().platform_ime_data
        at = (max(0, int(shown.input_pos.x)), max(0, int(shown.input_pos.y)))
        typed_at = at if io.want_text_input else (0, 0)
        cursor = imgui.get_mouse_cursor()
        cursor = int(getattr(cursor, "value", cursor))
        shade = imgui.get_style().color_(BACKGROUND)
        background = (round(255 * shade.x), round(255 * shade.y), round(255 * shade.z))
        return Look(*self._size, self._ratio, cursor, io.want_text_input, typed_at, background)

    def _share_clipboard(self) -> None:
        """What was copied in the window goes to the clipboard of who commands."""
        text = imgui.get_clipboard_text() or ""
        if text != self._copied:
            self._copied = text
            self.audience.tell({"clipboard": text})

    # Messages of pages ----------------------------------------------------------------------------

    def _hear(self, browser: Browser, message: Sent) -> None:
        """Apply what a page sent; whatever goes wrong with it ends that page and nothing else."""
        if browser.is_rejected and message is not Presence.GONE:
            return
        try:
            if message is Presence.CAME:
                self.audience.came(browser)
            elif message is Presence.GONE:
                self._leave(browser)
            elif browser.role in roles_of(message):  # the table of rights is enforced here alone
                self._apply(browser, message)
        except Exception as error:
            self.server.reject(browser, error)

    def _apply(self, browser: Browser, message: Event | bytes) -> None:
        if isinstance(message, bytes):
            self._last_input = time.perf_counter()
            self._take_bytes(browser, message)
        elif message[0] == "take":
            self.audience.take(browser)
        elif message[0] == "give":
            self.audience.give(message[1])
        elif message[0] == "deny":
            self.audience.deny(message[1])
        else:
            self._last_input = time.perf_counter()
            self._command(browser, *message)

    def _command(self, browser: Browser, kind: str, *values: Any) -> None:
        if kind == "r":
            self._resize(*values)
        elif kind == "g":
            self._pad = sticks(values[0]) if _are_axes(values[0]) else None
        elif kind == "drop":
            self._uploads.offered(browser, *values)
        elif kind == "dropped":
            self._uploads.finish(browser)
        elif kind == "nodrop":
            self._uploads.cannot_be_read()
        else:
            if kind == "p":
                self._copied = values[0]
            self.inputs.add((kind, *values))

    def _take_bytes(self, browser: Browser, message: bytes) -> None:
        if message[0] == IMAGE:
            self.photographs.came(message[1:])
        else:
            self._uploads.part(browser, message)

    def _leave(self, browser: Browser) -> None:
        self._uploads.leave(browser)
        self.audience.gone(browser)

    def _let_go(self) -> None:
        """Nobody or another page commands: forget what was asked of the one before."""
        self._pad = None
        self.inputs.let_go()
        self.photographs.leave()
        self._uploads.abort()

    def _resize(self, width: float, height: float, ratio: float) -> None:
        width, height = (min(max(v, _SMALLEST), _LARGEST) for v in (width, height))
        ratio = min(max(ratio, 0.5), 4.0)
        self._size, self._ratio = (width, height), ratio
        io = imgui.get_io()
        io.display_size = imgui.ImVec2(width, height)
        io.display_framebuffer_scale = imgui.ImVec2(ratio, ratio)


def _are_axes(values: list[float]) -> bool:
    return len(values) >= 3 and all(abs(v) <= 1.5 for v in values)
