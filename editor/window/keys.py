"""Keyboard shortcuts of the window, and the keys of MuJoCo's own viewer."""

from typing import Any

import mujoco
from imgui_bundle import imgui

from mjrig.editor.ui.chords import chord, global_chord
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing
from mjrig.editor.window.toolbar import neighbour, speed_text
from mjrig.editor.window.window_commands import WindowCommands
from mjrig.editor.window.window_parts import WindowParts

#: The other way to redo.
_REDO = chord(imgui.Key.mod_ctrl, imgui.Key.mod_shift, imgui.Key.z)
_GLOBAL = imgui.InputFlags_.route_global
_ANY_POPUP = imgui.PopupFlags_.any_popup
#: Keys of MuJoCo's viewer that are not letters.
_SIGNS = {
    "`": "grave_accent",
    "'": "apostrophe",
    ",": "comma",
    "/": "slash",
    ";": "semicolon",
    "\\": "backslash",
}


class Keys:
    """The keys of one window."""

    def __init__(self, parts: WindowParts, commands: WindowCommands) -> None:
        self.parts, self.commands = parts, commands
        self._popup_before = False

    def take(self) -> None:
        """Handle the keys pressed in this frame."""
        for command in self.commands.all():
            pressed = global_chord(command.keys)
            if pressed is not None and imgui.shortcut(pressed, _GLOBAL):
                command.run()
        if imgui.shortcut(_REDO, _GLOBAL):
            self.parts.edits.redo()
        self._single_keys()

    def _single_keys(self) -> None:
        """The keys of MuJoCo's own viewer, while they are meant for the viewport."""
        io, parts = imgui.get_io(), self.parts
        # The popup that Escape closes is gone already; the key was meant for it nevertheless.
        popup_before, self._popup_before = self._popup_before, imgui.is_popup_open("", _ANY_POPUP)
        if popup_before or self._popup_before or io.key_ctrl or io.key_alt:
            return
        if not parts.viewport.takes_keys:
            return
        drives = parts.commands.takes_keys  # then arrows and letters are commands
        self._time_keys(drives)
        if imgui.is_key_pressed(imgui.Key.delete, False) and parts.viewport.is_focused:
            parts.edits.delete()
        drawing = parts.viewport.drawing
        if drawing is not None:
            self._camera_keys(drawing)
            if not drives:
                self._drawing_keys(drawing)

    def _time_keys(self, drives: bool) -> None:
        parts, key, simulation = self.parts, imgui.Key, self.parts.state.simulation
        if imgui.is_key_pressed(key.space, False):
            parts.toolbar.toggle()
            self._tell("Playing; Space pauses" if simulation.playing else "Paused; Space plays")
        if imgui.is_key_pressed(key.right_arrow) and not drives:
            parts.state.attempt(simulation.step_once)
        if imgui.is_key_pressed(key.left_arrow) and not drives:
            back = simulation.frame.time - 1.0 / 30.0
            parts.state.attempt(lambda: simulation.go_to(back))
        if imgui.is_key_pressed(key.backspace, False):
            parts.state.attempt(simulation.reset)
            self._tell("Reset to the start")
        for pressed, way, other in ((key.minus, -1, "="), (key.equal, 1, "-")):
            if imgui.is_key_pressed(pressed, False):
                simulation.set_speed(neighbour(simulation.speed, way))
                self._tell(f"Speed {speed_text(simulation.speed)}; {other} goes back")

    def _camera_keys(self, drawing: Drawing) -> None:
        key = imgui.Key
        if imgui.is_key_pressed(key.home, False):
            drawing.frame_on(self.parts.state.selection.actor)
            self._tell(f"Camera on {self.parts.state.selection.actor or 'everything'}")
        if imgui.is_key_pressed(key.escape, False) and not cameras.is_free(drawing):
            cameras.look_freely(drawing)
            self._tell("Camera free; [ and ] choose another")
        for pressed, way, back in ((key.left_bracket, -1, "]"), (key.right_bracket, 1, "[")):
            if imgui.is_key_pressed(pressed, False):
                cameras.cycle(drawing, way)
                self._tell(f"Camera {cameras.text(drawing)}; {back} goes back")

    def _drawing_keys(self, drawing: Drawing) -> None:
        key, option = imgui.Key, drawing.option
        if imgui.is_key_pressed(key.f6, False):
            option.frame = (option.frame + 1) % int(mujoco.mjtFrame.mjNFRAME)
            self._tell(f"Frames: {_name(mujoco.mjtFrame, option.frame)}; F6 shows others")
        if imgui.is_key_pressed(key.f7, False):
            option.label = (option.label + 1) % int(mujoco.mjtLabel.mjNLABEL)
            self._tell(f"Labels: {_name(mujoco.mjtLabel, option.label)}; F7 shows others")
        sites = imgui.get_io().key_shift
        groups = option.sitegroup if sites else option.geomgroup
        for i in range(len(groups)):
            if imgui.is_key_pressed(getattr(key, f"_{i}"), False):
                groups[i] = 0 if groups[i] else 1
                kind, press = ("Site", f"Shift+{i}") if sites else ("Geom", str(i))
                self._tell_switch(f"{kind} group {i}", bool(groups[i]), press)
        for _, strings, flags in drawing.flag_tables():
            for i, (name, _, sign) in enumerate(strings):
                pressed = _key_of(sign)
                if pressed is not None and imgui.is_key_pressed(pressed, False):
                    flags[i] = 0 if flags[i] else 1
                    self._tell_switch(name.replace("&", ""), bool(flags[i]), sign)
                    return  # one sign stands for two in MuJoCo's tables

    def _tell(self, text: str) -> None:
        self.parts.viewport.notice.show(text)

    def _tell_switch(self, what: str, shown: bool, press: str) -> None:
        self._tell(f"{what} {'shown' if shown else 'hidden'}; {press} switches back")


def _key_of(sign: str) -> Any:
    """The key of a sign in MuJoCo's tables; None where there is none."""
    return getattr(imgui.Key, _SIGNS.get(sign, sign.lower()), None) if sign.strip() else None


def _name(enum: Any, value: int) -> str:
    """The name of one of MuJoCo's numbers: `body` for mjFRAME_BODY."""
    return str(enum(value).name).partition("_")[2].lower()
