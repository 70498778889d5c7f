"""WebView: the worlds of a model, drawn by the connected pages.

`SceneWords` writes an MjvScene as words of 32 bits, mostly differences to the last one. The
layout is described in page/messages.js; keep both alike.
"""

import ctypes
import itertools
import struct
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

from mjrig.editor.viewport.drawing import camera_matrices
from mjrig.editor.viewport.overlays import Rect
from mjrig.editor.viewport.scene_renderer import Photographed
from mjrig.editor.web.draw_lists import WORLD

# Scene words --------------------------------------------------------------------------------------
# SceneWords: an MjvScene as words of 32 bits for the page, mostly what differs from the last one.
#
# Where words stand is described in page/messages.js; keep both alike.


Words = npt.NDArray[np.uint32]
SCENE = 3
HEAD, LIGHT, GEOM = 24, 24, 36
#: The fixed-function renderer knows no more lights.
MOST_LIGHTS = 8
_ROW = 256
#: The word whose second byte begins the label of a geom.
_LABEL = 35
#: Words of MuJoCo's own geom that are sent: numbers, floats from size to texrepeat, bound.
_NUMBERS = (0, 1, 3, 4, 5, 6, 7, 8, 9)
_SENT = (*_NUMBERS, *range(10, 35), 62)
_NAMES = (
    "type", "dataid", "objid", "category", "matid", "texid", "texuniform", "texcoord", "segid",
)  # fmt: skip
_FLOATS = (
    "size", "pos", "mat", "rgba", "emission", "specular", "shininess", "reflectance", "texrepeat",
    "modelrbound",
)  # fmt: skip


class SceneWords:
    """The scenes of one MjvScene."""

    def __init__(self, scene: Any) -> None:
        self.scene = scene
        self._geoms = scene.geoms  # makes an object per geom: only once
        self._rows: Words | None = None
        self._is_checked = False
        self.words: Words = np.zeros(0, np.uint32)
        self._before: Words = self.words

    def take(self, width: int, height: int) -> None:
        """Read the scene as it is now."""
        scene = self.scene
        lights = scene.lights[: min(scene.nlight, MOST_LIGHTS)]
        parts = (
            _head(scene, width, height, len(lights)),
            *(_light(light) for light in lights),
            self._geom_words().ravel(),
            _soft_bodies(scene),
        )
        self.words = np.concatenate(parts)

    def _geom_words(self) -> Words:
        count = int(self.scene.ngeom)
        words = np.zeros((count, GEOM), np.uint32)
        if count and not self._is_checked:
            self._is_checked = True
            self._rows = _rows_in_memory(self._geoms, count)
        if self._rows is not None:
            words[:, : len(_SENT)] = self._rows[:count, _SENT]
        else:
            for i in range(count):
                words[i, : len(_SENT)] = _by_name(self._geoms[i])
        return words

    def labels(self) -> list[tuple[str, Any]]:
        """Texts beside geoms, and where; pages leave them to the window."""
        count = int(self.scene.ngeom)
        if self._rows is not None:
            marked = np.flatnonzero(self._rows[:count, _LABEL] >> 8 & 255).tolist()
        else:
            marked = [i for i in range(count) if self._geoms[i].label]
        return [(self._geoms[i].label, np.array(self._geoms[i].pos)) for i in marked]

    def message(self, texture: int, generation: int, *, whole: bool) -> bytes:
        """The scene for pages that have none, or the one that the last difference led to."""
        words, before = self.words, self._before
        is_difference = not whole and len(before) == len(words)
        sent = words ^ before if is_difference else words
        if not whole:
            self._before = words
        head = struct.pack("<BBHII", SCENE, is_difference, texture, generation, len(words))
        planes = np.ascontiguousarray(sent.view(np.uint8).reshape(-1, 4).T)
        return head + planes.tobytes()


def _rows_in_memory(geoms: Any, count: int) -> Words | None:
    """All geoms as rows of words in MuJoCo's memory; None where it is laid out otherwise."""
    if len(geoms) < 2:
        return None
    first, second = (int(np.asarray(geoms[i].pos).ctypes.data) for i in range(2))
    if second - first != _ROW:
        return None
    memory = (ctypes.c_uint32 * (len(geoms) * _ROW // 4)).from_address(first - 13 * 4)
    rows: Words = np.ctypeslib.as_array(memory).reshape(len(geoms), _ROW // 4)
    for i in (0, count - 1):
        if not np.array_equal(rows[i, _SENT], _by_name(geoms[i])):
            return None
    return rows


def _by_name(geom: Any) -> Words:
    numbers = np.array([int(getattr(geom, name)) for name in _NAMES], np.int32)
    floats = [np.ravel(np.asarray(getattr(geom, name), np.float32)) for name in _FLOATS]
    return np.concatenate([numbers.view(np.uint32), np.concatenate(floats).view(np.uint32)])


def _head(scene: Any, width: int, height: int, lights: int) -> Words:
    left, right = scene.camera[0], scene.camera[1]

    def mean(name: str) -> Any:
        return (np.asarray(getattr(left, name)) + np.asarray(getattr(right, name))) * 0.5

    flags = sum(1 << i for i, flag in enumerate(scene.flags) if flag)
    flex = int(scene.flexvertopt) | int(scene.flexedgeopt) << 1 | int(scene.flexfaceopt) << 2
    flex |= int(scene.flexskinopt) << 3
    head = np.zeros(HEAD, np.uint32)
    head[:8] = (
        width, height, flags, scene.ngeom, lights, flex, int(left.orthographic), scene.nskin,
    )  # fmt: skip
    frustum = [
        float(mean(f"frustum_{name}"))
        for name in ("center", "width", "bottom", "top", "near", "far")
    ]
    floats = np.concatenate([mean("pos"), _unit(mean("forward")), _unit(mean("up")), frustum])
    head[8:23] = floats.astype(np.float32).view(np.uint32)
    return head


def _unit(vector: Any) -> Any:
    return vector / max(float(np.linalg.norm(vector)), 1e-10)


def _light(light: Any) -> Words:
    words = np.zeros(LIGHT, np.float32)
    words[0] = float(int(light.type))
    words[1] = float(bool(light.castshadow))
    words[2] = 1.0 if int(light.type) in _DRAWN_LIGHTS else 0.0
    words[3:6], words[6:9], words[9:12] = light.pos, light.dir, light.attenuation
    words[12], words[13] = light.cutoff, light.exponent
    words[14:17], words[17:20], words[20:23] = light.ambient, light.diffuse, light.specular
    return words.view(np.uint32)


_DRAWN_LIGHTS = (
    int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL),
    int(mujoco.mjtLightType.mjLIGHT_SPOT),
)


def _soft_bodies(scene: Any) -> Words:
    """Vertices and normals of skins, then what is drawn of flexes."""
    parts = []
    if scene.nskin:
        parts += [scene.skinvert, scene.skinnormal]
    if scene.nflex:
        used = np.asarray(scene.flexfaceused, np.float32)
        parts += [used, scene.flexvert, scene.flexface, scene.flexnormal, scene.flextexcoord]
    if not parts:
        return np.zeros(0, np.uint32)
    return np.concatenate([np.ravel(np.asarray(p, np.float32)) for p in parts]).view(np.uint32)


# Labels -------------------------------------------------------------------------------------------
# Labels of geoms, which MuJoCo writes into its picture; here the window writes them over it.


_WHITE, _BLACK = 0xFFFFFFFF, 0xFF000000


def draw_labels(words: SceneWords, rect: Rect) -> None:
    """Write the labels of a scene that is shown in a rectangle of the current window."""
    labels = words.labels()
    if not labels:
        return
    x, y, width, height = rect
    view, projection = camera_matrices(words.scene, width / height)
    matrix, paint = projection @ view, imgui.get_window_draw_list()
    for text, point in labels:
        clip = matrix @ np.append(point, 1.0)
        if clip[3] <= 0.0 or np.abs(clip[:2]).max() > clip[3]:
            continue
        left = x + (clip[0] / clip[3] + 1.0) / 2.0 * width
        low = y + (1.0 - clip[1] / clip[3]) / 2.0 * height
        top = low - imgui.get_font_size()
        paint.add_text(imgui.ImVec2(left + 1.0, top + 1.0), _BLACK, text)
        paint.add_text(imgui.ImVec2(left, top), _WHITE, text)


# Web view -----------------------------------------------------------------------------------------


_generations = itertools.count(1)


class WebView:
    """A `SceneRenderer` that keeps the numbers of a scene; pages draw them.

    Args:
        model: the model.
        photograph: asks a page for a picture.
    """

    def __init__(self, model: Any, photograph: Callable[[Photographed], None]) -> None:
        self.model = model
        self.generation = next(_generations)
        self.words: SceneWords | None = None
        self.has_changed = False
        self.size = (1, 1)
        self._photograph = photograph

    def render(self, scene: Any, width: int, height: int) -> int:
        """Read a scene and return the texture that pages draw it into."""
        if self.words is None or self.words.scene is not scene:
            self.words = SceneWords(scene)
        self.words.take(width, height)
        self.size = (width, height)
        self.has_changed = True
        return WORLD

    def photograph(self, then: Photographed) -> None:
        """Call with a picture of what was drawn last, once a page has sent it."""
        self._photograph(then)

    def free(self) -> None:
        """Nothing to free."""
