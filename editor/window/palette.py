"""Palette (Ctrl+P): type a few letters of a command, panel, action or property, press Enter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from imgui_bundle import hello_imgui, imgui

from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.scale import px
from mjrig.editor.ui.text_filter import matches
from mjrig.editor.window.window_commands import Command, WindowCommands
from mjrig.properties.has_properties import HasProperties

_TITLE = "##palette"
#: Most lines that are listed at once.
_LINES = 14


@dataclass(frozen=True)
class PaletteLine:
    """One line: what it is, what it does, and what stands at its right."""

    text: str
    run: Callable[[], object]
    about: str = ""


class Palette:
    """A field over the window that finds whatever can be done.

    Args:
        state: state of the editor.
        commands: the commands of the window.
        search_inspector: called with a property's name: the inspector then shows only that.
    """

    def __init__(
        self,
        state: EditorState,
        commands: WindowCommands,
        search_inspector: Callable[[str], object] = lambda name: None,
    ) -> None:
        self.state, self.commands = state, commands
        self._search_inspector = search_inspector
        self.is_open = False
        self.typed, self._chosen = "", 0
        self._entries: list[PaletteLine] = []

    def open(self) -> None:
        """Show it with the next frame."""
        self.is_open, self.typed, self._chosen = True, "", 0
        self._entries = self.entries()

    def entries(self) -> list[PaletteLine]:
        """Everything it can find now: commands first, then what is in the scene."""
        known = [_of_command(c) for c in self.commands.all() if c.enabled]
        return [*known, *self._in_scene()]

    def _in_scene(self) -> Iterator[PaletteLine]:
        scene = self.state.scene
        yield from self._of_object("scene", scene)
        for actor in scene.actors:
            yield from self._of_object(actor.name, actor)
            for component in actor.components:
                yield from self._of_object(f"{actor.name}.{component.role}", component)

    def _of_object(self, path: str, obj: HasProperties) -> Iterator[PaletteLine]:
        yield PaletteLine(path, partial(self._show, path, ""), type(obj).__name__)
        live = self.state.live(path)
        for action in () if live is None else type(live).actions():
            yield PaletteLine(f"{path}.{action.name}", partial(self._show, path, ""), "action")
        for prop in obj.properties():
            show = partial(self._show, path, prop.name)
            yield PaletteLine(f"{path}.{prop.name}", show, prop.unit or "property")

    def _show(self, path: str, prop: str) -> None:
        """Select an object, and bring the inspector to the front with one of its properties."""
        self.state.selection.only(path)
        self._search_inspector(prop)
        for window in hello_imgui.get_runner_params().docking_params.dockable_windows:
            if window.label == "Inspector":
                window.is_visible = window.focus_window_at_next_frame = True

    def found(self) -> Sequence[PaletteLine]:
        """What fits the typed text; what begins with it comes first."""
        wanted = self.typed.casefold()
        fits = [e for e in self._entries if matches(self.typed, f"{e.text} {e.about}")]
        return sorted(fits, key=lambda e: not e.text.casefold().startswith(wanted))[:_LINES]

    # Widgets ------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Build it if it is open; call every frame, outside of other windows."""
        if not self.is_open:
            return
        if not imgui.is_popup_open(_TITLE):
            imgui.open_popup(_TITLE)
        view = imgui.get_main_viewport()
        place = imgui.ImVec2(view.get_center().x, view.pos.y + px(60))
        imgui.set_next_window_pos(place, imgui.Cond_.always, imgui.ImVec2(0.5, 0.0))
        imgui.set_next_window_size(imgui.ImVec2(px(560), 0.0))
        if not imgui.begin_popup(_TITLE):
            self.is_open = False
            return
        self._content()
        if not self.is_open:
            imgui.close_current_popup()
        imgui.end_popup()

    def _content(self) -> None:
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(-1)
        hint = "command, panel, action or property"
        changed, self.typed = imgui.input_text_with_hint("##typed", hint, self.typed)
        entries = self.found()
        self._chosen = 0 if changed else min(self._chosen, max(len(entries) - 1, 0))
        for key, way in ((imgui.Key.down_arrow, 1), (imgui.Key.up_arrow, -1)):
            if imgui.is_key_pressed(key) and entries:
                self._chosen = (self._chosen + way) % len(entries)
        enter = imgui.is_key_pressed(imgui.Key.enter) or imgui.is_key_pressed(
            imgui.Key.keypad_enter
        )
        for i, entry in enumerate(entries):
            if self._line(i, entry) or (enter and i == self._chosen):
                self.is_open = False
                entry.run()
        if not entries:
            imgui.text_colored(GREY, "nothing of that name")
        if imgui.is_key_pressed(imgui.Key.escape):
            self.is_open = False

    def _line(self, index: int, entry: PaletteLine) -> bool:
        imgui.push_id(index)
        clicked, _ = imgui.selectable(entry.text, index == self._chosen)
        if entry.about:
            width = imgui.calc_text_size(entry.about).x
            imgui.same_line(imgui.get_window_width() - width - px(12))
            imgui.text_colored(GREY, entry.about)
        imgui.pop_id()
        return clicked


def _of_command(command: Command) -> PaletteLine:
    path = command.menu.replace("/", " > ")
    return PaletteLine(command.label, command.run, command.keys or path)
