"""Palette (Ctrl+P): type a few letters of a command, panel, action or property, press Enter."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from imgui_bundle import imgui

from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.scene_paths import path_of
from mjrig.editor.assets.actor_menu import MenuEntry
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import matches, tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import bring_forward
from mjrig.editor.window.window_commands import Command, WindowCommands

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
        reveal: called with the path of a property or action, which the inspector then shows.
        menu_entries: what the menus of actors offer, with the path of what it is for.
    """

    def __init__(
        self,
        state: EditorState,
        commands: WindowCommands,
        reveal: Callable[[str], object] = lambda path: None,
        menu_entries: Callable[[], Iterable[tuple[str, MenuEntry]]] = lambda: (),
    ) -> None:
        self.state, self.commands = state, commands
        self._reveal, self._menu_entries = reveal, menu_entries
        self.is_open = False
        self.typed, self._chosen = "", 0
        self._entries: list[PaletteLine] = []

    def open(self) -> None:
        """Show it with the next frame."""
        self.is_open, self.typed, self._chosen = True, "", 0
        self._entries = self.entries()

    def entries(self) -> list[PaletteLine]:
        """Everything it can find now: commands first, then what is selected, then the rest."""
        known = [self._of_command(c) for c in self.commands.all() if c.enabled]
        chosen = self.state.selection.paths
        below = tuple(f"{path}." for path in chosen)
        objects = sorted(
            self._objects(), key=lambda o: not (o[0] in chosen or o[0].startswith(below))
        )
        lines = [line for path, obj in objects for line in self._of_object(path, obj)]
        return [*known, *self._of_menus(), *lines, *self._elements()]

    def _of_menus(self) -> list[PaletteLine]:
        """What the menus of actors offer; of the selected ones first."""
        chosen = {path.partition(".")[0] for path in self.state.selection.paths}
        entries = sorted(self._menu_entries(), key=lambda e: e[0].partition(".")[0] not in chosen)
        return [
            PaletteLine(f"{e.below.partition('/')[0]} {e.label}".strip(), e.run, path)
            for path, e in entries
        ]

    def _of_command(self, command: Command) -> PaletteLine:
        path = command.menu.replace("/", " > ")
        run = partial(bring_forward, command.panel) if command.panel else command.run
        return PaletteLine(command.label, run, command.keys or path)

    def _objects(self) -> Iterator[tuple[str, HasProperties]]:
        """Whatever has properties, by path: the scene, actors, components, and all parts."""
        scene = self.state.scene
        yield from _with_parts(scene)
        for path in self.state.selection.paths:  # elements of the model, if they have any
            obj = self.state.described(path)
            if obj is not None and path_of(obj) != path:
                yield path, obj

    def _elements(self) -> Iterator[PaletteLine]:
        """Joints and actuators, to select them."""
        for name, robot in self.state.simulation.world.articulations.items():
            for joint in robot.joint_names:
                path = f"{name}.joint:{joint}"
                yield PaletteLine(path, partial(self._show, path, ""), tr("joint"))
            for binding in robot.actuators:
                path = f"{name}.actuator:{binding.actuator}"
                yield PaletteLine(path, partial(self._show, path, ""), tr("actuator"))

    def _of_object(self, path: str, obj: HasProperties) -> Iterator[PaletteLine]:
        yield PaletteLine(path, partial(self._show, path, ""), type(obj).__name__)
        live = self.state.live(path)
        for action in () if live is None else type(live).actions():
            show = partial(self._show, path, action.name)
            yield PaletteLine(f"{path}.{action.name}", show, tr("action"))
        for prop in obj.properties():
            if prop.shown:
                show = partial(self._show, path, prop.name)
                yield PaletteLine(f"{path}.{prop.name}", show, prop.unit or tr("property"))

    def _show(self, path: str, name: str) -> None:
        """Select an object, and bring the inspector forward with one property or action of it."""
        self.state.selection.only(path)
        self._reveal(f"{path}.{name}" if name else "")
        bring_forward("Inspector")

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
        hint = tr("command, panel, action or property")
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
            imgui.text_colored(GREY, tr("nothing of that name"))
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


def _with_parts(obj: HasProperties) -> Iterator[tuple[str, HasProperties]]:
    """An object and everything nested in it, by path."""
    yield path_of(obj), obj
    for prop in obj.properties():
        if isinstance(prop, Nested | NestedList):
            value = vars(obj)[prop.name]
            for part in value if isinstance(value, tuple) else (value,):
                if part is not None:
                    yield from _with_parts(part)
