"""Draw lists and textures of Dear ImGui as bytes for the page, mostly as differences.

A vertex is six rows of 16 bits (x, y, u, v, colour low, colour high), so that the page gives
the rows to WebGL as they are. The layout of the messages is described in page/messages.js.
"""

import ctypes
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

# Textures -----------------------------------------------------------------------------------------


TEXTURE, FREE = 2, 5
#: The number of the texture that the page draws the world into.
WORLD = 1
_TEXTURE_HEAD = struct.Struct("<BBHIHHHHHH")
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
    head = _TEXTURE_HEAD.pack(TEXTURE, channels, 0, number, size[1], size[0], *at, width, height)
    return head + pixels.tobytes()


# Draw lists ---------------------------------------------------------------------------------------


#: What a list of a frame brings: its parts, and how they are written.
VERTICES, INDICES, COMMANDS, DIFFERENCE, FLOATS, WIDE = 1, 2, 4, 8, 16, 32
#: Vertices may lie that far outside of the window at the left and the top [pixels].
MARGIN = 1024.0
FRAME, SCENE_ONLY = 1, 6
_FRAME_HEAD = struct.Struct("<BBHIIffffbBBBHHBBBB")
_LIST = struct.Struct("<IBBHII")
_COMMAND = struct.Struct("<ffffIIII")
_FULL = 65535
Rows = npt.NDArray[np.uint16]
Bytes = npt.NDArray[np.uint8]


@dataclass
class _List:
    """One draw list as it was sent last."""

    number: int
    vertices: bytes = b""
    indices: bytes = b""
    commands: bytes = b""
    #: The six rows; None: a vertex lies too far away, and floats are sent.
    rows: Rows | None = None
    #: What changed in the last frame, and whether there was none before.
    changed: int = 0
    before: Rows | None = None


@dataclass(frozen=True)
class Look:
    """What goes along with a frame: sizes, the shape of the cursor, whether text is typed."""

    width: float
    height: float
    ratio: float
    cursor: int
    types: bool
    #: Where text is typed, for input methods [pixels].
    typed_at: tuple[int, int]
    #: What lies below all lists: docked panels do not fill it, see `App` (red, green, blue).
    background: tuple[int, int, int]


class DrawLists:
    """The draw lists of one window.

    `take` reads them after every frame; `difference` and `whole` are the messages for pages that
    have the frame before, and for those that have none.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[str, int], _List] = {}
        self._numbers = 0
        self._look: Look | None = None
        self._before: tuple[object, ...] = ()
        self._unit = 16.0
        self.has_changed = False

    def take(self, look: Look) -> None:
        """Read the lists of the frame that was just rendered."""
        if look != self._look:
            self._resize(look)
        seen: dict[str, int] = {}
        now = {}
        for drawn in imgui.get_draw_data().cmd_lists:
            owner = drawn._owner_name or ""
            count = seen[owner] = seen.get(owner, -1) + 1
            known = self._lists.get((owner, count))
            if known is None:
                self._numbers += 1
                known = _List(self._numbers)
            self._read(known, drawn)
            now[owner, count] = known
        order = tuple(kept.number for kept in now.values())
        self._lists = now
        state = (look, order)
        self.has_changed = state != self._before or any(kept.changed for kept in now.values())
        self._before = state

    def _resize(self, look: Look) -> None:
        reach = max(look.width, look.height) + 2.0 * MARGIN
        unit = 2.0 ** np.floor(np.log2(_FULL / max(reach, 1.0)))
        if unit != self._unit:  # all coordinates are written anew
            self._unit = float(unit)
            self._lists.clear()
        self._look = look

    def _read(self, kept: _List, drawn: Any) -> None:
        vertices = _memory(drawn.vtx_buffer, imgui.VERTEX_SIZE)
        indices = _memory(drawn.idx_buffer, imgui.INDEX_SIZE)
        commands = b"".join(
            _COMMAND.pack(*c.clip_rect, c.get_tex_id(), c.vtx_offset, c.idx_offset, c.elem_count)
            for c in drawn.cmd_buffer
        )
        kept.changed = 0
        if vertices != kept.vertices:
            kept.changed |= VERTICES
            kept.before, kept.vertices = kept.rows, vertices
            kept.rows = _rows(vertices, self._unit)
        if indices != kept.indices:
            kept.changed |= INDICES
            kept.indices = indices
        if commands != kept.commands:
            kept.changed |= COMMANDS
            kept.commands = commands

    def difference(self, seq: int, inputs: int) -> bytes:
        """The frame for pages that have the one before."""
        return self._message(seq, inputs, whole=False)

    def whole(self, seq: int, inputs: int) -> bytes:
        """The frame for pages that have none."""
        return self._message(seq, inputs, whole=True)

    def _message(self, seq: int, inputs: int, *, whole: bool) -> bytes:
        look = self._look
        assert look is not None
        head = _FRAME_HEAD.pack(
            FRAME, whole, len(self._lists), seq, inputs, look.width, look.height, look.ratio,
            self._unit, look.cursor, look.types, 0, 0, *look.typed_at,
            *look.background, 0,
        )  # fmt: skip
        heads, bodies = [head], []
        for kept in self._lists.values():
            what, body = _parts(kept, whole=whole)
            counts = len(kept.commands) // _COMMAND.size, len(kept.vertices) // imgui.VERTEX_SIZE
            heads.append(
                _LIST.pack(kept.number, what, 0, *counts, len(kept.indices) // imgui.INDEX_SIZE)
            )
            bodies.append(body)
        return b"".join((*heads, *bodies))


def scene_only(seq: int, inputs: int) -> bytes:
    """A frame in which no list changed."""
    return struct.pack("<BBHII", SCENE_ONLY, 0, 0, seq, inputs)


def _memory(buffer: Any, size: int) -> bytes:
    count = buffer.size()
    return ctypes.string_at(buffer.data_address(), count * size) if count else b""


def _rows(vertices: bytes, unit: float) -> Rows | None:
    """Six rows of 16 bits; None where a vertex does not fit."""
    floats = np.frombuffer(vertices, np.float32).reshape(-1, 5)
    if not len(floats):
        return np.zeros((6, 0), np.uint16)
    scaled = np.empty((4, len(floats)), np.float32)
    np.multiply(floats[:, :2].T, unit, out=scaled[:2])
    scaled[:2] += MARGIN * unit + 0.5
    np.multiply(floats[:, 2:4].T, float(_FULL), out=scaled[2:])
    scaled[2:] += 0.5
    # A position that does not fit is no number or far away; minimum and maximum see both.
    if not (scaled.min() >= 0.0 and scaled.max() < _FULL + 1.0):
        return None
    rows = np.empty((6, len(floats)), np.uint16)
    rows[:4] = scaled
    rows[4:] = np.frombuffer(vertices, np.uint16).reshape(-1, 10)[:, 8:].T
    return rows


def _parts(kept: _List, *, whole: bool) -> tuple[int, bytes]:
    """What a list brings, and its bytes."""
    what = VERTICES | INDICES | COMMANDS if whole else kept.changed
    bodies = []
    if what & VERTICES:
        before = None if whole else kept.before
        if kept.rows is None:
            what |= FLOATS
            bodies.append(kept.vertices)
        elif before is not None and before.shape == kept.rows.shape:
            what |= DIFFERENCE
            bodies.append(_planes(kept.rows - before))
        else:
            bodies.append(_planes(_stepped(kept.rows, 4)))
    if what & INDICES:
        numbers = np.frombuffer(kept.indices, f"<u{imgui.INDEX_SIZE}").astype(np.uint32)
        if len(numbers) and int(numbers.max()) > _FULL:
            what |= WIDE
            bodies.append(_stepped(numbers, 6).tobytes())
        else:
            bodies.append(_stepped(numbers.astype(np.uint16), 6).tobytes())
    if what & COMMANDS:
        bodies.append(kept.commands)
    return what, b"".join(bodies)


def _stepped(numbers: Any, step: int) -> Any:
    """Differences to the number some places before."""
    stepped = numbers.copy()
    stepped[..., step:] -= numbers[..., :-step]
    return stepped


def _planes(rows: Rows) -> bytes:
    """All low bytes, then all high ones: they compress better apart."""
    halves = np.ascontiguousarray(rows).view(np.uint8).reshape(-1, 2)
    return np.ascontiguousarray(halves.T).tobytes()
