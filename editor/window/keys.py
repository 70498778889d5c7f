"""Keyboard shortcuts of the window, and the keys of MuJoCo's own viewer."""

from collections.abc import Callable
from typing import Any

import mujoco
from imgui_bundle import imgui

from mjrig.editor.ui.chords import chord
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.window.toolbar import neighbour
from mjrig.editor.window.window_parts import WindowParts

_CTRL, _SHIFT = imgui.Key.mod_ctrl, imgui.Key.mod_shift
_GLOBAL = imgui.InputFlags_.route_global
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

    def __init__(self, parts: WindowParts) -> None:
        self.parts = parts

    def take(self) -> None:
        """Handle the keys pressed in this frame."""
        parts, keys = self.parts, imgui.Key
        chords: tuple[tuple[int, Callable[[], Any]], ...] = (
            (chord(_CTRL, keys.z), parts.edits.undo),
            (chord(_CTRL, keys.y), parts.edits.redo),
            (chord(_CTRL, _SHIFT, keys.z), parts.edits.redo),
            (chord(_CTRL, keys.s), parts.files.save_first),
            (chord(_CTRL, _SHIFT, keys.s), parts.files.ask_save),
            (chord(_CTRL, keys.o), parts.files.ask_open),
            (chord(_CTRL, keys.d), parts.edits.duplicate),
            (chord(_CTRL, keys.r), parts.recording.toggle),
            (chord(_CTRL, keys.a), self._align),
            (chord(_CTRL, keys.q), parts.close),
            (chord(_CTRL, keys._1), lambda: self._use(Tool.SELECT)),
            (chord(_CTRL, keys._2), lambda: self._use(Tool.MOVE)),
            (chord(_CTRL, keys._3), lambda: self._use(Tool.TURN)),
            (chord(keys.f12), parts.captures.take_picture),
        )
        for keys_together, run in chords:
            if imgui.shortcut(keys_together, _GLOBAL):
                run()
        io = imgui.get_io()
        if not io.want_text_input and not io.key_ctrl and not io.key_alt:
            self._plain_keys()

    def _plain_keys(self) -> None:
        """The keys of MuJoCo's own viewer."""
        parts, key = self.parts, imgui.Key
        simulation = parts.state.simulation
        drawing = parts.viewport.drawing
        if imgui.is_key_pressed(key.space, False):
            parts.toolbar.toggle()
        drives = parts.commands.takes_keys  # then arrows and letters are commands
        if imgui.is_key_pressed(key.right_arrow) and not drives:
            parts.state.attempt(simulation.step_once)
        if imgui.is_key_pressed(key.left_arrow) and not drives:
            back = simulation.frame.time - 1.0 / 30.0
            parts.state.attempt(lambda: simulation.go_to(back))
        if imgui.is_key_pressed(key.backspace, False):
            parts.state.attempt(simulation.reset)
        for pressed, way in ((key.minus, -1), (key.equal, 1)):
            if imgui.is_key_pressed(pressed, False):
                simulation.set_speed(neighbour(simulation.speed, way))
        if imgui.is_key_pressed(key.delete, False) and parts.viewport.is_focused:
            parts.edits.delete()
        if drawing is not None and not drives:
            self._drawing_keys(drawing)

    def _drawing_keys(self, drawing: Drawing) -> None:
        key, option = imgui.Key, drawing.option
        if imgui.is_key_pressed(key.home, False):
            drawing.frame_on(self.parts.state.selection.actor)
        if imgui.is_key_pressed(key.escape, False):
            cameras.look_freely(drawing)
        for pressed, way in ((key.left_bracket, -1), (key.right_bracket, 1)):
            if imgui.is_key_pressed(pressed, False):
                cameras.cycle(drawing, way)
        if imgui.is_key_pressed(key.f6, False):
            option.frame = (option.frame + 1) % int(mujoco.mjtFrame.mjNFRAME)
        if imgui.is_key_pressed(key.f7, False):
            option.label = (option.label + 1) % int(mujoco.mjtLabel.mjNLABEL)
        groups = option.sitegroup if imgui.get_io().key_shift else option.geomgroup
        for i in range(len(groups)):
            if imgui.is_key_pressed(getattr(key, f"_{i}"), False):
                groups[i] = 0 if groups[i] else 1
        for _, strings, flags in drawing.flag_tables():
            for i, (_, _, sign) in enumerate(strings):
                pressed = _key_of(sign)
                if pressed is not None and imgui.is_key_pressed(pressed, False):
                    flags[i] = 0 if flags[i] else 1
                    return  # one sign stands for two in MuJoCo's tables

    def _align(self) -> None:
        """Look at everything, as at the start."""
        if self.parts.viewport.drawing is not None:
            self.parts.viewport.drawing.frame_on(None)

    def _use(self, tool: Tool) -> None:
        self.parts.viewport.gizmo.tool = tool


def _key_of(sign: str) -> Any:
    """The key of a sign in MuJoCo's tables; None where there is none."""
    return getattr(imgui.Key, _SIGNS.get(sign, sign.lower()), None) if sign.strip() else None
