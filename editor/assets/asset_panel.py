"""Asset browser: models, scenes, component types and presets, to be dragged into the scene."""

from collections.abc import Callable
from pathlib import Path

from imgui_bundle import ImVec2, imgui

from mjrig.editor.assets.actor_menu import icon_of_asset
from mjrig.editor.assets.assets import (
    GROUPS,
    Asset,
    AssetShelf,
    add_folder,
    own_folders,
    remove_folder,
)
from mjrig.editor.assets.drops import drop
from mjrig.editor.assets.thumbnails import Pictures, Thumbnails, Upload
from mjrig.editor.session.session import Session
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.panel import Panel, drag_source

TILE = (96.0, 92.0)
PICTURE = (92.0, 69.0)
GREY, WHITE = 0xFFB4B4B4, 0xFFF0F0F0
_COLOURS = {
    "model": 0xFF6B4A2F,
    "scene": 0xFF3F6B2F,
    "component": 0xFF2F5A8B,
    "prop": 0xFF7A3F6B,
    "preset": 0xFF2F7A8B,
    "recording": 0xFF4A4A4A,
    "policy": 0xFF4A4A4A,
}
_PICTURED = ("model", "scene")


class AssetPanel(Panel):
    """Tiles by group; a double click drops in the middle, or on what is selected.

    Args:
        state: state of the window.
        upload: makes a texture of a picture and returns its id; None: no pictures are drawn.
        thumbnails: thumbnails of models.
    """

    title = "Assets"
    place = "bottom"

    def __init__(
        self,
        state: EditorState,
        upload: Upload | None = None,
        thumbnails: Thumbnails | None = None,
    ) -> None:
        super().__init__(state)
        self.shelf = AssetShelf()
        self.thumbnails = thumbnails or Thumbnails()
        self.pictures = Pictures(self.thumbnails, upload)
        self._words = ""
        self._group = ""
        self._folder = ""
        self._searched: tuple[Session, Path | None] | None = None

    def close(self) -> None:
        """Stop drawing thumbnails, as the window closes."""
        self.thumbnails.stop()

    def refresh(self) -> None:
        """Search the folders again."""
        self.shelf.search(self.state.scene)

    def draw(self) -> None:
        now = (self.state.session, self.state.scene.path)
        if now != self._searched:
            self._searched = now
            self.refresh()
        self._bar()
        if imgui.begin_child("tiles"):
            found = self.shelf.listed(self._words, group=self._group)
            for group, assets in found.items():
                imgui.separator_text(f"{group} ({len(assets)})")
                self._tiles(assets)
            if not found:
                self._nothing()
        imgui.end_child()

    def _bar(self) -> None:
        imgui.set_next_item_width(px(170.0))
        _, self._words = imgui.input_text_with_hint("##words", tr("search"), self._words)
        imgui.same_line()
        imgui.set_next_item_width(px(150.0))
        if imgui.begin_combo("##group", self._group or tr("Everything")):
            for group in ("", *GROUPS):
                if imgui.selectable(group or tr("Everything"), group == self._group)[0]:
                    self._group = group
            imgui.end_combo()
        imgui.same_line()
        if imgui.button(tr("Folders")):
            imgui.open_popup("folders")
        imgui.same_line()
        if imgui.button(tr("Refresh")):
            self.refresh()
        if self.shelf.is_searching:
            imgui.same_line()
            imgui.text_disabled(tr("searching ..."))
        if self.shelf.notes:
            imgui.same_line()
            imgui.text_disabled(tr("{count} left out", count=len(self.shelf.notes)))
            imgui.set_item_tooltip("\n".join(self.shelf.notes))
        self._folders()

    def _nothing(self) -> None:
        if self.shelf.is_searching:
            return
        count = len(self.shelf.assets)
        imgui.text_disabled(
            tr("none of the {count} assets matches", count=count) if count else tr("nothing found")
        )

    # Folders of the user ------------------------------------------------------------------------

    def _folders(self) -> None:
        if not imgui.begin_popup("folders"):
            return
        for folder in own_folders():
            imgui.push_id(str(folder))
            if imgui.small_button("x##remove"):
                self._change(lambda folder=folder: remove_folder(folder))  # type: ignore[misc]
            imgui.pop_id()
            imgui.same_line()
            imgui.text_unformatted(str(folder))
        imgui.set_next_item_width(px(300.0))
        entered, self._folder = imgui.input_text_with_hint(
            "##folder",
            tr("a folder with models"),
            self._folder,
            imgui.InputTextFlags_.enter_returns_true,
        )
        imgui.same_line()
        if imgui.button(tr("Add")) or entered:
            text = self._folder.strip()
            if text and self._change(lambda: add_folder(Path(text))):
                self._folder = ""
        imgui.end_popup()

    def _change(self, change: Callable[[], None]) -> bool:
        done = self.state.attempt(change)
        if done:
            self.refresh()
        return done

    # Tiles --------------------------------------------------------------------------------------

    def _tiles(self, assets: list[Asset]) -> None:
        spacing = imgui.get_style().item_spacing.x
        columns = max(int(imgui.get_content_region_avail().x / (px(TILE[0]) + spacing)), 1)
        for i, asset in enumerate(assets):
            if i % columns:
                imgui.same_line()
            imgui.push_id(f"{asset.kind}:{asset.value}")
            self._tile(asset)
            imgui.pop_id()

    def _tile(self, asset: Asset) -> None:
        corner = imgui.get_cursor_screen_pos()
        double = imgui.SelectableFlags_.allow_double_click
        clicked, _ = imgui.selectable("##tile", False, double, size(*TILE))
        if clicked and imgui.is_mouse_double_clicked(0):
            self.use(asset)
        drag_source(self.state, asset.kind, asset.value, asset.name)
        if imgui.begin_popup_context_item("menu"):
            if imgui.menu_item_simple(tr("Copy path") if asset.path else tr("Copy name")):
                imgui.set_clipboard_text(str(asset.path or asset.value))
            imgui.end_popup()
        if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
            imgui.set_tooltip(self._about(asset))
        if imgui.is_rect_visible(corner, corner + size(*TILE)):
            self._picture(asset, corner)

    def _picture(self, asset: Asset, corner: ImVec2) -> None:
        """The thumbnail, or a plain tile in the colour of its kind."""
        canvas = imgui.get_window_draw_list()
        low = corner + size(2, 2)
        high = low + size(*PICTURE)
        texture = self._texture(asset)
        if texture is not None:
            canvas.add_image(imgui.ImTextureRef(texture), low, high)
        else:
            canvas.add_rect_filled(low, high, _COLOURS[asset.kind], px(4))
            canvas.add_text(low + size(6, 4), GREY, asset.kind)
            sign, large = icon_of_asset(asset.kind, asset.value), 1.8 * imgui.get_font_size()
            extent = imgui.calc_text_size(sign) * 1.8
            place = low + (high - low) * 0.5 - extent * 0.5 + size(0, 6)
            canvas.add_text(imgui.get_font(), large, place, WHITE, sign)
        below = ImVec2(low.x, high.y + px(3))
        canvas.push_clip_rect(below, ImVec2(high.x, below.y + px(20)), True)
        canvas.add_text(below, imgui.get_color_u32(imgui.Col_.text), asset.name)
        canvas.pop_clip_rect()

    def _texture(self, asset: Asset) -> int | None:
        """Texture of the thumbnail, once it is drawn and can be uploaded."""
        if asset.path is None or asset.kind not in _PICTURED:
            return None
        return self.pictures.texture(asset.path)

    def _about(self, asset: Asset) -> str:
        lines = [asset.name, asset.doc, str(asset.path or asset.root)]
        if asset.path is not None and self.thumbnails.why_not(asset.path):
            lines.append(tr("no picture: {why}", why=self.thumbnails.why_not(asset.path)))
        return "\n".join(line for line in lines if line)

    def use(self, asset: Asset) -> bool:
        """What a double click does: drop on what is selected, or in the middle of the floor."""
        return drop(self.state, asset.kind, asset.value, self.state.selection.actor)
