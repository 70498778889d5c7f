"""Messages of the server read in Python: an independent reading of what the page gets."""

import struct
from typing import Any

import numpy as np


class Decoded:
    """The window as a page knows it after some messages."""

    def __init__(self) -> None:
        self.lists: dict[int, dict[str, Any]] = {}
        self.words = np.zeros(0, np.uint32)
        self.textures: dict[int, Any] = {}
        self.number = self.input = 0
        self.size = (0.0, 0.0, 0.0)
        self.background = (0, 0, 0)

    def take(self, message: bytes) -> None:
        """Take a binary message over."""
        kind = message[0]
        if kind == 1:
            self._frame(message)
        elif kind == 2:
            self._texture(message)
        elif kind == 3:
            self._scene(message)
        elif kind == 5:
            del self.textures[struct.unpack_from("<I", message, 4)[0]]
        else:
            assert kind == 6
            self.number, self.input = struct.unpack_from("<II", message, 4)

    def _frame(self, message: bytes) -> None:
        count, self.number, self.input = struct.unpack_from("<HII", message, 2)
        *size, unit = struct.unpack_from("<ffff", message, 12)
        self.size = (size[0], size[1], size[2])
        self.background = struct.unpack_from("<BBB", message, 36)
        at, now = 40 + 16 * count, {}
        for i in range(count):
            number, what, _, commands, vertices, indices = struct.unpack_from(
                "<IBBHII", message, 40 + 16 * i
            )
            known = dict(self.lists.get(number, {}))
            if what & 16:
                known["vertices"] = np.frombuffer(message, np.uint8, 20 * vertices, at)
                known["rows"], at = None, at + 20 * vertices
            elif what & 1:
                raw = np.frombuffer(message, np.uint8, 12 * vertices, at).reshape(2, 6, vertices)
                step = raw[0].astype(np.uint16) | raw[1].astype(np.uint16) << 8
                if what & 8:
                    known["rows"] = known["rows"] + step
                else:
                    known["rows"] = _summed(step, 4)
                known["unit"], at = unit, at + 12 * vertices
            if what & 2:
                size_of = 4 if what & 32 else 2
                steps = np.frombuffer(message, f"<u{size_of}", indices, at)
                known["indices"] = _summed(steps, 6).astype(np.uint32)
                at += size_of * indices
            if what & 4:
                known["commands"], at = message[at : at + 32 * commands], at + 32 * commands
            now[number] = known
        assert at == len(message)
        self.lists = now

    def _texture(self, message: bytes) -> None:
        channels, number = struct.unpack_from("<BxxI", message, 1)
        width, height, x, y, w, h = struct.unpack_from("<HHHHHH", message, 8)
        pixels = np.frombuffer(message, np.uint8, offset=20).reshape(h, w, channels)
        whole = self.textures.get(number)
        if whole is None or whole.shape != (height, width, channels):
            whole = np.zeros((height, width, channels), np.uint8)
        whole[y : y + h, x : x + w] = pixels
        self.textures[number] = whole

    def _scene(self, message: bytes) -> None:
        is_difference, count = message[1], struct.unpack_from("<I", message, 8)[0]
        planes = np.frombuffer(message, np.uint8, offset=12).reshape(4, count)
        words = np.ascontiguousarray(planes.T).view(np.uint32).ravel()
        self.words = self.words ^ words if is_difference else words


def _summed(steps: Any, apart: int) -> Any:
    """Numbers from their differences to the number some places before."""
    whole = steps.copy()
    for k in range(apart):
        whole[..., k::apart] = np.cumsum(steps[..., k::apart], axis=-1, dtype=steps.dtype)
    return whole
