"""Modifiers: whether a key that was just pressed is part of a chord, by all that is known.

imgui knows of Ctrl only what its window saw: if it was pressed before the window got the focus, or
the focus left and came back meanwhile, `Ctrl+S` arrives as a bare `S`. The desktop says with every
key which modifiers are held; where it does, that counts too.
"""

import time

from imgui_bundle import imgui

#: How long after a modifier a key still belongs to it: fingers leave Ctrl before S [s, frames].
#: Keys may arrive frames after their modifier, when clicks came between.
_SECONDS, _FRAMES = 0.15, 3
#: Bits of the modifiers that make a chord, as GLFW and browsers number them in `heard`.
CTRL, ALT, SUPER = 2, 4, 8
#: The bits of a chord that are its key.
_KEYS = ~int(imgui.Key.mod_mask_)
_NAMES = {CTRL: imgui.Key.mod_ctrl, ALT: imgui.Key.mod_alt, SUPER: imgui.Key.mod_super}


class Modifiers:
    """Follows the modifiers of one window, frame by frame."""

    def __init__(self) -> None:
        self._frames, self._until = 0, 0.0
        self._heard = 0

    def heard(self, bits: int) -> None:
        """The desktop reported a key press with these modifiers."""
        self._heard = bits
        if bits & (CTRL | ALT | SUPER):
            self._keep()

    def tick(self) -> None:
        """Once per frame, before keys are looked at."""
        io = imgui.get_io()
        self._frames = max(self._frames - 1, 0)
        if io.key_ctrl or io.key_alt or io.key_super:
            self._keep()
        elif not self.is_chord:
            self._heard = 0

    def _keep(self) -> None:
        self._frames, self._until = _FRAMES, time.monotonic() + _SECONDS

    @property
    def is_chord(self) -> bool:
        """Whether a key that is pressed now belongs to a modifier: it is no single key."""
        return self._frames > 0 or time.monotonic() < self._until

    def missed(self, chord: int) -> bool:
        """Whether a chord was pressed whose modifiers imgui did not see.

        Args:
            chord: a key with modifiers, as imgui writes it.
        """
        io = imgui.get_io()
        mods = sum(int(key) for bit, key in _NAMES.items() if self._heard & bit)
        mods += int(imgui.Key.mod_shift) * (self._heard & 1)
        unseen = bool(self._heard & CTRL) and not io.key_ctrl and not io.want_text_input
        if not unseen or chord & ~_KEYS != mods:
            return False
        return imgui.is_key_pressed(imgui.Key(chord & _KEYS), False)
