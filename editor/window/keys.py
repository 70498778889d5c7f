"""Keyboard shortcuts: the keys of all commands; single ones act over the viewport."""

from dataclasses import dataclass
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.ui.chords import global_chord, single_key
from mjrig.editor.ui.modifiers import Modifiers
from mjrig.editor.viewport import cameras
from mjrig.editor.window.command import Command
from mjrig.editor.window.window_commands import WindowCommands
from mjrig.editor.window.window_parts import WindowParts

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
