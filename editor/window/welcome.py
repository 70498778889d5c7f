"""Welcome: what an empty viewport offers: recent files, examples, and a place to drop a robot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from imgui_bundle import ImVec2, imgui

from mjrig.core.files.paths import MODELS
from mjrig.core.scene.scene_description import SCENES
from mjrig.editor.assets.assets import Example, examples
from mjrig.editor.assets.thumbnails import Pictures
from mjrig.editor.session.session import Session
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import icons
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.panel import is_dragging
from mjrig.editor.viewport.overlays import Rect

#: Size of a picture, and of the tile with its title below.
PICTURE = (148.0, 111.0)
_TILE = (154.0, 136.0)
#: Room for the list of recent files, where there are any.
_LIST = 230.0
_MARGIN = 14.0
#: Room from which on buttons have words beside their icons.
_WORDS = 400.0


@dataclass(frozen=True)
class WelcomeActions:
    """What it lists, and what its buttons do."""

    recent: Callable[[], Sequence[Path]]
    open_path: Callable[[Path], object]
    ask_open: Callable[[], object]
    show_tour: Callable[[], object]
    show_keys: Callable[[], object]


class Welcome:
    """Covers the viewport until something is in the scene; Help > Welcome shows it again."""

    def __init__(self, state: EditorState, pictures: Pictures, actions: WelcomeActions) -> None:
        self.state, self.pictures, self.actions = state, pictures, actions
        self._examples: Sequence[Example] = ()
        self._read_for: Session | None = None
        #: Whether the user asked for it or closed it; None: as the scene is.
        self._wanted: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the world."""
        return self.state.simulation.world.model.nbody == 1 and not self.state.scene.actors

    @property
    def is_open(self) -> bool:
        """Whether it is shown: asked for, or the scene is new and untouched."""
        if self._wanted is not None:
            return self._wanted
        is_new = self.state.scene.path is None and not len(self.state.session.undo_stack)
        return is_new and self.is_empty

    def show(self) -> None:
        """Show it, whatever is in the scene."""
        self._wanted = True

    def close(self) -> None:
        """Hide it."""
        self._wanted = False

    def draw(self, rect: Rect) -> None:
        """Build it over the viewport; while something is dragged, the way is free."""
        self._follow_session()
        if self.is_open and not is_dragging():
            self._card(rect)
        elif self.is_empty:
            self._invitation(rect)

    def _follow_session(self) -> None:
        """Another scene was opened: it begins as if never asked for."""
        if self._read_for is not self.state.session:
            self._read_for, self._wanted = self.state.session, None
            self._examples = self._examples or examples()

    def _invitation(self, rect: Rect) -> None:
        """A line in the middle of an empty viewport."""
        x, y, width, height = rect
        text = tr("Drop a robot here: from Assets, or a file from the desktop")
        wide = min(imgui.calc_text_size(text).x, width - px(24))
        corner = ImVec2(x + 0.5 * (width - wide), y + 0.42 * height)
        paint, colour = imgui.get_window_draw_list(), imgui.get_color_u32(imgui.Col_.text)
        paint.add_text(imgui.get_font(), imgui.get_font_size(), corner, colour, text, wide)

    # The card -----------------------------------------------------------------------------------

    def _card(self, rect: Rect) -> None:
        x, y, width, height = rect
        margin = min(px(_MARGIN), 0.04 * width)
        room = ImVec2(min(width - 2 * margin, px(900)), min(height - 2 * margin, px(640)))
        imgui.set_cursor_screen_pos(ImVec2(x + 0.5 * (width - room.x), y + margin))
        imgui.push_style_color(imgui.Col_.child_bg, imgui.get_style().color_(imgui.Col_.popup_bg))
        imgui.push_style_var(imgui.StyleVar_.window_padding, size(_MARGIN, 10))
        imgui.push_style_var(imgui.StyleVar_.child_rounding, px(6))
        flags = imgui.ChildFlags_.always_use_window_padding | imgui.ChildFlags_.borders
        if imgui.begin_child("welcome", room, flags):
            self._head()
            self._content()
        imgui.end_child()
        imgui.pop_style_var(2)
        imgui.pop_style_color()

    def _head(self) -> None:
        actions = self.actions
        buttons: tuple[tuple[str, str, str, Callable[[], object]], ...] = (
            (icons.OPEN, tr("Open..."), "open", actions.ask_open),
            (icons.TOUR, tr("Tour"), "tour", actions.show_tour),
            (icons.KEYS, tr("Keys"), "keys", actions.show_keys),
            (icons.NEW, tr("Empty scene") if self.is_empty else tr("Close"), "empty", self.close),
        )
        has_words = imgui.get_content_region_avail().x > px(_WORDS)
        for i, (icon, text, name, run) in enumerate(buttons):
            if i:
                imgui.same_line()
            label = icons.labelled(icon, text, name) if has_words else f"{icon}###{name}"
            if imgui.button(label):
                run()
            imgui.set_item_tooltip(text)
        imgui.push_text_wrap_pos(0.0)
        imgui.text_colored(
            GREY,
            tr("Or drop a robot here (MJCF, URDF, MJB), from Assets or from the desktop."),
        )
        imgui.pop_text_wrap_pos()

    def _content(self) -> None:
        room = imgui.get_content_region_avail().x
        recent = self.actions.recent()
        beside = bool(recent) and room > px(_LIST + _TILE[0] + 40)
        if recent:
            flags = imgui.ChildFlags_.auto_resize_y
            if imgui.begin_child("recent", ImVec2(px(_LIST) if beside else 0.0, 0.0), flags):
                self._recent_files(recent)
            imgui.end_child()
        if beside:
            imgui.same_line(spacing=px(16))
        if imgui.begin_child("examples", ImVec2(0.0, 0.0), imgui.ChildFlags_.auto_resize_y):
            imgui.separator_text(tr("Examples"))
            self._tiles()
        imgui.end_child()

    def _recent_files(self, recent: Sequence[Path]) -> None:
        imgui.separator_text(tr("Recent"))
        for path in list(recent):
            imgui.push_id(str(path.parent))
            if imgui.selectable(icons.labelled(_icon_of(path), path.name), False)[0]:
                self.actions.open_path(path)
            imgui.set_item_tooltip(str(path))
            imgui.pop_id()
            imgui.indent(px(22))
            imgui.text_colored(GREY, _shortened(path.parent))
            imgui.unindent(px(22))

    def _tiles(self) -> None:
        spacing = imgui.get_style().item_spacing.x
        room = imgui.get_content_region_avail().x
        columns = max(int((room + spacing) / (px(_TILE[0]) + spacing)), 1)
        for i, example in enumerate(self._examples):
            if i % columns:
                imgui.same_line()
            imgui.push_id(example.path.name)
            self._tile(example)
            imgui.pop_id()

    def _tile(self, example: Example) -> None:
        corner = imgui.get_cursor_screen_pos()
        if imgui.selectable("##example", False, 0, size(*_TILE))[0]:
            self.actions.open_path(example.path)
        imgui.set_item_tooltip(f"{example.about}\n{example.path.name}")
        paint = imgui.get_window_draw_list()
        low = corner + size(3, 3)
        high = low + size(*PICTURE)
        texture = self.pictures.texture(example.path)
        if texture is not None:
            paint.add_image(imgui.ImTextureRef(texture), low, high)
        else:
            paint.add_rect_filled(low, high, imgui.get_color_u32(imgui.Col_.frame_bg), px(4))
            sign = icons.OF_KIND["model"]
            middle = low + (high - low) * 0.5 - imgui.calc_text_size(sign) * 0.5
            paint.add_text(middle, imgui.get_color_u32(GREY), sign)
        below = ImVec2(low.x, high.y + px(3))
        paint.add_text(below, imgui.get_color_u32(imgui.Col_.text), example.title)


def _icon_of(path: Path) -> str:
    suffix = path.suffix.lower()
    kind = "scene" if suffix in SCENES else "model" if suffix in MODELS else "recording"
    return icons.OF_KIND[kind]


def _shortened(folder: Path) -> str:
    """A folder, with the home folder as `~`, cut at its beginning to fit."""
    home, text = str(Path.home()), str(folder)
    if text == home or text.startswith(f"{home}/"):
        text = f"~{text[len(home) :]}"
    room = imgui.get_content_region_avail().x
    while len(text) > 2 and imgui.calc_text_size(text).x > room:
        text = f"…{text[2:]}"
    return text
