"""Textures: Dear ImGui's font atlas and the window's own pictures, as messages for the page."""

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

TEXTURE, FREE = 2, 5
#: The number of the texture that the page draws the world into.
WORLD = 1
_HEAD = struct.Struct("<BBHIHHHHHH")
Pixels = npt.NDArray[np.uint8]


class Textures:
    """All textures of one window; numbers are the window's own."""

    def __init__(self) -> None:
        self._last = WORLD
        self._atlases: dict[int, Any] = {}
        self._pictures: dict[int, Pixels] = {}
        self._news: list[bytes] = []

    def upload(self, picture: Pixels) -> int:
        """A (height, width, 3) picture as a texture; returns its number."""
        number = self._next()
        self._pictures[number] = np.ascontiguousarray(picture)
        self._news.append(_message(number, self._pictures[number], picture.shape[:2], (0, 0)))
        return number

    def _next(self) -> int:
        self._last += 1
        return self._last

    def take(self) -> list[bytes]:
        """What changed since the last time; after every frame, before its commands are read."""
        status = imgui.ImTextureStatus
        for texture in imgui.get_platform_io().textures:
            if texture.status == status.want_create:
                number = self._next()
                texture.set_tex_id(number)
                self._atlases[number] = texture
                self._news.append(_atlas(number, texture))
                texture.set_status(status.ok)
            elif texture.status == status.want_updates:
                box = texture.update_rect
                part = box.x, box.y, box.w, box.h
                self._news.append(_atlas(int(texture.get_tex_id()), texture, part))
                texture.set_status(status.ok)
            elif texture.status == status.want_destroy and texture.unused_frames > 0:
                number = int(texture.get_tex_id())
                self._atlases.pop(number, None)
                self._news.append(struct.pack("<BBHI", FREE, 0, 0, number))
                texture.set_tex_id(0)
                texture.set_status(status.destroyed)
        news, self._news = self._news, []
        return news

    def whole(self) -> list[bytes]:
        """All of them, for a page that has none."""
        atlases = [_atlas(number, texture) for number, texture in self._atlases.items()]
        pictures = [_message(n, p, p.shape[:2], (0, 0)) for n, p in self._pictures.items()]
        return [*atlases, *pictures]


def _atlas(number: int, texture: Any, part: tuple[int, int, int, int] | None = None) -> bytes:
    """A font atlas or a part of it; where it is white, only how opaque."""
    width, height = texture.width, texture.height
    pixels = texture.get_pixels_array().reshape(height, width, texture.bytes_per_pixel)
    x, y, w, h = part or (0, 0, width, height)
    cut = pixels[y : y + h, x : x + w]
    if not texture.use_colors and texture.bytes_per_pixel == 4:
        cut = cut[:, :, 3:]
    return _message(number, np.ascontiguousarray(cut), (height, width), (x, y))


def _message(number: int, pixels: Pixels, size: tuple[int, ...], at: tuple[int, int]) -> bytes:
    height, width, channels = pixels.shape
    head = _HEAD.pack(TEXTURE, channels, 0, number, size[1], size[0], *at, width, height)
    return head + pixels.tobytes()
