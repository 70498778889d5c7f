"""Keyboard shortcuts: the keys of all commands; single ones act over the viewport."""

from imgui_bundle import imgui

from mjrig.editor.ui.chords import global_chord, single_key
from mjrig.editor.viewport import cameras
from mjrig.editor.window.command import Command
from mjrig.editor.window.window_commands import WindowCommands
from mjrig.editor.window.window_parts import WindowParts

_GLOBAL = imgui.InputFlags_.route_global
_ANY_POPUP = imgui.PopupFlags_.any_popup


class Keys:
    """The keys of one window."""

    def __init__(self, parts: WindowParts, commands: WindowCommands) -> None:
        self.parts, self.commands = parts, commands
        self._popup_before = False

    def take(self) -> None:
        """Handle the keys pressed in this frame."""
        commands = [c for c in self.commands.all() if c.keys]
        anywhere = [c for c in commands if not c.over_viewport and global_chord(c.keys) is not None]
        for command in anywhere:
            chords = [global_chord(keys) for keys in (command.keys, command.other_keys)]
            if any(chord is not None and imgui.shortcut(chord, _GLOBAL) for chord in chords):
                command.run()
        self._single_keys([c for c in commands if c not in anywhere])

    def _single_keys(self, commands: list[Command]) -> None:
        """Those of MuJoCo's own viewer and a few more, while they are meant for the viewport."""
        io, parts = imgui.get_io(), self.parts
        # The popup that Escape closes is gone already; the key was meant for it nevertheless.
        popup_before, self._popup_before = self._popup_before, imgui.is_popup_open("", _ANY_POPUP)
        if popup_before or self._popup_before or io.key_ctrl or io.key_alt:
            return
        if not parts.viewport.takes_keys:
            return
        drives = parts.commands.takes_keys  # then arrows and letters are commands
        for command in commands:
            key, shift = single_key(command.keys)
            if key is None or shift != io.key_shift or (drives and command.is_for_driving):
                continue
            if imgui.is_key_pressed(key, command.repeats) and self._is_meant(command):
                command.run()
                if command.notice is not None:
                    parts.viewport.notice.show(command.notice())

    def _is_meant(self, command: Command) -> bool:
        """Whether a key does something now: Escape frees a camera that is not free, once."""
        drawing = self.parts.viewport.drawing
        if command.keys == "Del":
            return self.parts.viewport.is_focused
        return command.keys != "Esc" or (drawing is not None and not cameras.is_free(drawing))
