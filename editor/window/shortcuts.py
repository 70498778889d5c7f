"""Keyboard shortcuts of all commands, and the help sheet (F1) that lists them.

Single keys act over the viewport.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from imgui_bundle import imgui

from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.scene_description import path_of
from mjrig.editor.assets.actor_menu import MenuEntry
from mjrig.editor.panels.commands_panel import drive_keys
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import matches, tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.key_chords import Modifiers, escape_pressed, global_chord, single_key
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import bring_forward
from mjrig.editor.viewport import cameras
from mjrig.editor.window.window_commands import Command, WindowCommands
from mjrig.editor.window.window_parts import WindowParts

# Keys ---------------------------------------------------------------------------------------------
# Keyboard shortcuts: the keys of all commands; single ones act over the viewport.


_GLOBAL = imgui.InputFlags_.route_global
_ESCAPE = "Esc"
_ANY_POPUP = imgui.PopupFlags_.any_popup


@dataclass(frozen=True)
class _Bindings:
    """The keys that are asked for in every frame."""

    #: Chords that act anywhere, and how they are written in the command.
    anywhere: tuple[tuple[int, str], ...]
    #: Keys over the viewport: the key, whether with Shift, and how it is written.
    single: tuple[tuple[Any, bool, str], ...]
    #: Which of the single keys repeat while they are held, and which are off while keys drive.
    repeating: frozenset[str]
    driving: frozenset[str]


class Keys:
    """The keys of one window."""

    def __init__(self, parts: WindowParts, commands: WindowCommands) -> None:
        self.parts, self.commands = parts, commands
        #: What the desktop says of modifiers goes here too.
        self.modifiers = Modifiers()
        self._popup_before = False
        self._bindings: dict[bool, _Bindings] = {}

    def take(self, *, escape: bool = True) -> None:
        """Handle the keys pressed in this frame; Escape may be meant for another window."""
        bindings = self._bound()
        for chord, keys in bindings.anywhere:
            if imgui.shortcut(chord, _GLOBAL) or self.modifiers.missed(chord):
                self._command(keys).run()
        self._single_keys(bindings, frozenset() if escape else frozenset({_ESCAPE}))

    def _bound(self) -> _Bindings:
        """The keys of the commands there are now; those of the viewport need something drawn."""
        is_drawn = self.parts.viewport.drawing is not None
        if is_drawn not in self._bindings:
            self._bindings[is_drawn] = _bindings([c for c in self.commands.all() if c.keys])
        return self._bindings[is_drawn]

    def _command(self, keys: str) -> Command:
        """The command of a key, as it is now: making all of them takes longer than asking imgui."""
        return next(c for c in self.commands.all() if keys in (c.keys, c.other_keys))

    def _single_keys(self, bindings: _Bindings, off: frozenset[str]) -> None:
        """Those of MuJoCo's own viewer and a few more, while they are meant for the viewport."""
        io, parts = imgui.get_io(), self.parts
        # The popup that Escape closes is gone already; the key was meant for it nevertheless.
        popup_before, self._popup_before = self._popup_before, imgui.is_popup_open("", _ANY_POPUP)
        if popup_before or self._popup_before or self.modifiers.is_chord:
            return
        if not parts.viewport.takes_keys:
            return
        off |= bindings.driving if parts.commands.takes_keys else frozenset()
        for key, shift, keys in bindings.single:
            if shift != io.key_shift or keys in off:
                continue
            if imgui.is_key_pressed(key, keys in bindings.repeating) and self._is_meant(keys):
                command = self._command(keys)
                command.run()
                if command.notice is not None:
                    parts.viewport.notice.show(command.notice())

    def _is_meant(self, keys: str) -> bool:
        """Whether a key does something now: Escape frees a camera that is not free, once."""
        drawing = self.parts.viewport.drawing
        if keys == "Del":
            return self.parts.viewport.is_focused
        return keys != _ESCAPE or (drawing is not None and not cameras.is_free(drawing))


def _bindings(commands: list[Command]) -> _Bindings:
    """What to ask imgui for, of the commands that have keys."""
    anywhere: list[tuple[int, str]] = []
    single: list[tuple[Any, bool, str]] = []
    for command in commands:
        if not command.over_viewport and global_chord(command.keys) is not None:
            written = (command.keys, command.other_keys)
            chords = ((global_chord(keys), keys) for keys in written)
            anywhere += [(chord, keys) for chord, keys in chords if chord is not None]
            continue
        key, shift = single_key(command.keys)
        if key is not None:
            single.append((key, shift, command.keys))
    return _Bindings(
        tuple(anywhere),
        tuple(single),
        frozenset(c.keys for c in commands if c.repeats),
        frozenset(c.keys for c in commands if c.is_for_driving),
    )


# Help sheet ---------------------------------------------------------------------------------------
# The sheet of keys (F1): every command with its keys, and what the mouse does; searchable.


_SHEET_TITLE = "Keys and commands"


def gestures() -> tuple[tuple[str, str, str], ...]:
    """What the mouse does, and keys that act on what it points at: (where, what, with what)."""
    return (
        (tr("Viewport"), tr("Turn the camera"), tr("left drag")),
        (tr("Viewport"), tr("Move the camera"), tr("right drag")),
        (tr("Viewport"), tr("Move the camera horizontally"), tr("Shift+right drag")),
        (tr("Viewport"), tr("Zoom in: turn the wheel away from you"), tr("wheel up")),
        (tr("Viewport"), tr("Zoom out: turn the wheel towards you"), tr("wheel down")),
        (tr("Viewport"), tr("Select an actor; with Shift add it"), tr("click")),
        (tr("Viewport"), tr("Select a body to push"), tr("double click")),
        (tr("Viewport"), tr("Turn or pull the selected body"), tr("Ctrl+left or right drag")),
        (tr("Viewport"), tr("Drop a model, a component or a file"), tr("drag from Assets")),
        (tr("Hierarchy"), tr("Add to the selection"), tr("Ctrl+click")),
        (tr("Hierarchy"), tr("Reset to a keyframe"), tr("double click")),
        (tr("Numbers"), tr("Type a value"), tr("click")),
        (tr("Numbers"), tr("Change a value"), tr("drag")),
        (tr("Inspector"), tr("Copy, paste the value of a row"), tr("Ctrl+C, Ctrl+V")),
        (tr("Plots"), tr("Show a longer or shorter time"), tr("wheel")),
        (tr("Anything"), tr("The menu of what is under the mouse"), tr("right click")),
        *((tr("Drive"), what, keys) for what, keys in drive_keys()),
    )


class HelpSheet:
    """A window with all keys."""

    def __init__(self) -> None:
        self.is_open = False
        #: Whether Escape is meant for it.
        self.is_focused = False
        self._search = ""

    def toggle(self) -> None:
        """Show or hide it."""
        self.is_open = not self.is_open
        self.is_focused = False

    def rows(self, commands: WindowCommands) -> list[tuple[str, str, str]]:
        """What is listed: where, what it does, with which keys."""
        listed = [(c.menu.replace("/", " > "), c.label, _keys(c)) for c in commands.all() if c.keys]
        rows = [*listed, *gestures()]
        return [row for row in rows if matches(self._search, " ".join(row))]

    def draw(self, commands: WindowCommands) -> None:
        """Build it if it is open; call every frame, outside of other windows."""
        if not self.is_open:
            return
        centre = imgui.get_main_viewport().get_center()
        imgui.set_next_window_pos(centre, imgui.Cond_.appearing, imgui.ImVec2(0.5, 0.5))
        imgui.set_next_window_size(imgui.ImVec2(px(640), px(460)), imgui.Cond_.appearing)
        shown, stays = imgui.begin(_SHEET_TITLE, True, imgui.WindowFlags_.no_docking)
        self.is_open = bool(stays)
        is_typing = imgui.is_any_item_active()
        if shown:
            self._content(commands)
        self.is_focused = imgui.is_window_focused(imgui.FocusedFlags_.root_and_child_windows)
        if self.is_focused and not is_typing and escape_pressed():
            self.is_open = self.is_focused = False
        imgui.end()

    def _content(self, commands: WindowCommands) -> None:
        imgui.set_next_item_width(-1)
        _, self._search = imgui.input_text_with_hint("##search", tr("search"), self._search)
        imgui.push_text_wrap_pos(0.0)
        imgui.text_colored(GREY, tr("Single keys act while the mouse is over the viewport."))
        imgui.pop_text_wrap_pos()
        flags = imgui.TableFlags_.row_bg | imgui.TableFlags_.scroll_y
        if imgui.begin_table("keys", 3, flags | imgui.TableFlags_.sizing_fixed_fit):
            imgui.table_setup_scroll_freeze(0, 1)
            imgui.table_setup_column(tr("where"))
            imgui.table_setup_column(tr("what"), imgui.TableColumnFlags_.width_stretch)
            imgui.table_setup_column(tr("keys or mouse"))
            imgui.table_headers_row()
            for row in self.rows(commands):
                imgui.table_next_row()
                for column, text in enumerate(row):
                    imgui.table_set_column_index(column)
                    imgui.text_unformatted(text)
            imgui.end_table()


def _keys(command: Command) -> str:
    return f"{command.keys}, {command.other_keys}" if command.other_keys else command.keys


# Command palette ----------------------------------------------------------------------------------

_PALETTE_TITLE = "##palette"
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
        if not imgui.is_popup_open(_PALETTE_TITLE):
            imgui.open_popup(_PALETTE_TITLE)
        view = imgui.get_main_viewport()
        place = imgui.ImVec2(view.get_center().x, view.pos.y + px(60))
        imgui.set_next_window_pos(place, imgui.Cond_.always, imgui.ImVec2(0.5, 0.0))
        imgui.set_next_window_size(imgui.ImVec2(px(560), 0.0))
        if not imgui.begin_popup(_PALETTE_TITLE):
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
