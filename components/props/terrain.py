"""Uneven ground: a height field, or terrain of tiles with rows of growing difficulty.

Numbers of the tiles are those of the rough terrains of Isaac Lab, mjlab and legged_gym.
"""

from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from mjrig.components.props.solids import colour, extent, surface_friction
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Samples, Vector
from mjrig.core.properties.component import Component
from mjrig.core.properties.hooks import required
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.scalar_kinds import Bool, FilePath, Float, Int
from mjrig.core.scene.actor_description import Prop

# Height field -------------------------------------------------------------------------------------


class HeightFieldProp(Prop):
    """Uneven ground around its origin; it cannot move.

    Heights come from `heights`, or from the brightness of an image, black 0 and white `top`.
    Its name is `geom`.
    """

    size = Vector(
        [4.0, 4.0], min=1e-6, unit="m", structural=True, category="Shape", doc="Extent in x and y."
    )
    heights = Samples(
        [],
        unit="m",
        structural=True,
        category="Shape",
        doc="Rows of heights as on a map: the first row is at +y, the first column at −x.",
    )
    file = FilePath(
        suffixes=(".png",), structural=True, category="Shape", doc="Image, instead of heights."
    )
    top = extent(0.2, "Height of the brightest pixel in the image.")
    base = extent(0.1, "Thickness below the lowest point.")
    rgba = colour([0.62, 0.60, 0.55, 1.0])
    friction = surface_friction("terrain")

    def validate(self) -> None:
        if self.is_authored("heights"):
            if self.file is not None:
                raise PropertyError(f"{self.label}: has both heights and file; give one", ("file",))
            if self.heights.ndim != 2 or min(self.heights.shape) < 2:
                raise PropertyError(
                    f"{self.label}.heights: must be at least two rows of two numbers", ("heights",)
                )
            if np.ptp(self.heights) == 0.0:
                raise PropertyError(
                    f"{self.label}.heights: are all equal; use a GroundProp", ("heights",)
                )
        if self.is_authored("top") and self.file is None:
            raise PropertyError(f"{self.label}.top: is for a file only", ("top",))

    def fill(self, spec: Any) -> None:
        field = spec.add_hfield(name="field")
        bottom, span = 0.0, self.top
        if self.file is not None:
            try:
                field.file = str(self.find_file(self.file).absolute())
            except PropertyError as error:
                raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        elif self.is_authored("heights"):
            # NOTE: MuJoCo stretches the data to 0…1, and its first row is at −y.
            bottom, span = float(self.heights.min()), float(np.ptp(self.heights))
            field.nrow, field.ncol = self.heights.shape
            field.userdata = self.heights[::-1].reshape(-1)
        else:
            raise PropertyError(f"{self.label}: needs heights or a file")
        field.size = [*(self.size / 2.0), span, self.base]
        spec.worldbody.add_geom(
            name="geom",
            type=mujoco.mjtGeom.mjGEOM_HFIELD,
            hfieldname="field",
            pos=[0.0, 0.0, bottom],
            rgba=self.rgba,
            friction=self.friction,
        )


# Terrain ground -----------------------------------------------------------------------------------


#: Lowest x, highest x, lowest y, highest y and top of a box [m], from the middle of the tile.
Block = tuple[float, float, float, float, float]


@dataclass
class Ground:
    """What a tile is made of: boxes for exact edges, heights for uneven ground.

    Attributes:
        half: half the edge of the tile [m].
        difficulty: from 0, the easiest, to 1.
        random: the tile's own random numbers.
        blocks: boxes; they reach down below the lowest top.
        heights: rows from −y, columns from −x, over the whole tile; None: boxes alone.
    """

    half: float
    difficulty: float
    random: np.random.Generator
    blocks: list[Block] = field(default_factory=list)
    heights: FloatArray | None = None

    def between(self, limits: FloatArray) -> float:
        """The value of a pair at this difficulty."""
        easy, hard = float(limits[0]), float(limits[1])
        return easy + (hard - easy) * self.difficulty

    def square(self, half: float, top: float) -> None:
        """A box in the middle."""
        if half > 0.0:
            self.blocks.append((-half, half, -half, half, top))

    def frame(self, outer: float, inner: float, top: float) -> None:
        """Four boxes around the middle."""
        if outer > inner:
            self.blocks += [
                (-outer, outer, inner, outer, top),
                (-outer, outer, -outer, -inner, top),
                (inner, outer, -inner, inner, top),
                (-outer, -inner, -inner, inner, top),
            ]

    def clipped(self) -> list[Block]:
        """The boxes, without what is beyond the tile."""
        low, high = -self.half, self.half
        cut = [
            (max(float(a), low), min(float(b), high), max(float(c), low), min(float(d), high), top)
            for a, b, c, d, top in self.blocks
        ]
        return [(a, b, c, d, float(top)) for a, b, c, d, top in cut if b - a > 1e-9 < d - c]

    def grid(self, step: float) -> tuple[FloatArray, FloatArray]:
        """Coordinates of a grid of heights over the tile: x along columns, y along rows."""
        count = max(2, round(2.0 * self.half / step) + 1)
        axis = np.linspace(-self.half, self.half, count)
        x, y = np.meshgrid(axis, axis)
        return x, y


class TerrainTile(Component):
    """One kind of ground on a square; pairs of numbers hold at difficulty 0 and 1.

    A subclass adds boxes or heights to an empty `Ground`; the height of the surroundings is 0.
    """

    @required()
    def build(self, ground: Ground) -> None:
        """Hook: fill the square."""
        raise NotImplementedError


def from_easy_to_hard(easy: float, hard: float, doc: str, *, unit: str = "") -> Vector:
    """A pair: the value at difficulty 0 and at difficulty 1."""
    return Vector(
        [easy, hard], min=0.0, unit=unit, structural=True, doc=f"{doc}, at difficulty 0 and 1."
    )


def length(default: float, doc: str, *, above: bool = False) -> Float:
    """A length that does not depend on the difficulty."""
    return Float(default, min=0.0, above=above, unit="m", structural=True, doc=doc)


# Terrain tiles ------------------------------------------------------------------------------------
# The kinds of terrain: stairs, slopes, rough ground, waves, boxes, stones, gaps and pits.
#
# Numbers are those of the rough terrains of Isaac Lab, mjlab and legged_gym.


class FlatTile(TerrainTile):
    """Flat ground."""

    def build(self, ground: Ground) -> None:
        ground.square(ground.half, 0.0)


class StairsTile(TerrainTile):
    """A pyramid of stairs up to a platform in the middle, or down to it."""

    step = from_easy_to_hard(0.05, 0.23, "Height of a step", unit="m")
    width = length(0.3, "Depth of a step.", above=True)
    platform = length(3.0, "Edge of the platform that the stairs lead to.")
    border = length(1.0, "Width of the flat border.")
    down = Bool(False, structural=True, doc="Stairs down to the middle.")

    def build(self, ground: Ground) -> None:
        outer = max(ground.half - self.border, 0.0)
        count = max(int((outer - self.platform / 2.0) / self.width + 1e-9), 0)
        rise = ground.between(self.step) * (-1.0 if self.down else 1.0)
        ground.frame(ground.half, outer, 0.0)
        for i in range(count):
            inner = outer - self.width
            ground.frame(outer, inner, (i + 1) * rise)
            outer = inner
        ground.square(outer, (count + 1) * rise if count else 0.0)


class SlopeTile(TerrainTile):
    """A pyramid of slopes up to a platform in the middle, or down to it."""

    slope = from_easy_to_hard(0.0, 0.4, "Height per length")
    platform = length(2.0, "Edge of the platform that the slopes lead to.")
    resolution = length(0.1, "Distance of the heights on the slopes.", above=True)
    down = Bool(False, structural=True, doc="Slopes down to the middle.")

    def build(self, ground: Ground) -> None:
        x, y = ground.grid(self.resolution)
        away = np.maximum(np.maximum(np.abs(x), np.abs(y)), self.platform / 2.0)
        rise = np.maximum(ground.half - away, 0.0) * ground.between(self.slope)
        ground.heights = -rise if self.down else rise


class RoughTile(TerrainTile):
    """Random heights."""

    height = from_easy_to_hard(0.02, 0.1, "Largest height above and below 0", unit="m")
    quantum = length(0.005, "Heights are multiples of it.", above=True)
    spacing = length(0.1, "Distance of the random heights; linear in between.", above=True)
    border = length(0.25, "Width of the flat border.")

    def build(self, ground: Ground) -> None:
        x, y = ground.grid(self.spacing)
        most = int(ground.between(self.height) / self.quantum + 1e-9)
        heights = ground.random.integers(-most, most + 1, x.shape) * self.quantum
        flat = np.maximum(np.abs(x), np.abs(y)) > ground.half - self.border - 1e-9
        ground.heights = np.where(flat, 0.0, heights)


class WavesTile(TerrainTile):
    """Waves in x and y."""

    amplitude = from_easy_to_hard(0.0, 0.2, "Amplitude", unit="m")
    waves = Float(4.0, min=0.0, above=True, structural=True, doc="Waves along an edge.")
    resolution = length(0.1, "Distance of the heights on the waves.", above=True)

    def build(self, ground: Ground) -> None:
        x, y = ground.grid(self.resolution)
        turn = np.pi * self.waves / ground.half
        both = np.cos(turn * (x + ground.half)) + np.sin(turn * (y + ground.half))
        ground.heights = 0.5 * ground.between(self.amplitude) * both


class BoxGridTile(TerrainTile):
    """A grid of boxes of random heights around a platform."""

    width = length(0.45, "Edge of a box.", above=True)
    height = from_easy_to_hard(0.05, 0.2, "Largest height of a box above and below 0", unit="m")
    platform = length(2.0, "Edge of the platform among the boxes.")

    def build(self, ground: Ground) -> None:
        count = max(int(2.0 * ground.half / self.width + 1e-9), 1)
        edges = (np.arange(count + 1) - count / 2.0) * self.width
        most = ground.between(self.height)
        tops = ground.random.uniform(-most, most, (count, count))
        for i in range(count):
            for j in range(count):
                box = edges[i], edges[i + 1], edges[j], edges[j + 1], tops[i, j]
                ground.blocks.append(box)
        ground.frame(ground.half, float(edges[-1]), 0.0)
        ground.square(self.platform / 2.0, most)


class ObstaclesTile(TerrainTile):
    """Boxes at random places on flat ground, none on the platform."""

    count = Int(40, min=0, max=10_000, structural=True, doc="How many boxes.")
    width = from_easy_to_hard(1.0, 0.3, "Largest edge of a box; the smallest is half", unit="m")
    height = from_easy_to_hard(0.05, 0.3, "Largest height of a box; the smallest is half", unit="m")
    platform = length(2.0, "Edge of the platform without boxes.")

    def build(self, ground: Ground) -> None:
        ground.square(ground.half, 0.0)
        width, height = ground.between(self.width), ground.between(self.height)
        for _ in range(self.count):
            a, b = ground.random.uniform(0.25, 0.5, 2) * width
            x, y = ground.random.uniform(-1.0, 1.0, 2) * [ground.half - a, ground.half - b]
            top = float(ground.random.uniform(0.5, 1.0) * height)
            if abs(x) - a >= self.platform / 2.0 or abs(y) - b >= self.platform / 2.0:
                ground.blocks.append((x - a, x + a, y - b, y + b, top))


class StonesTile(TerrainTile):
    """Stepping stones over a pit, around a platform."""

    stone = from_easy_to_hard(0.8, 0.4, "Edge of a stone", unit="m")
    distance = from_easy_to_hard(0.1, 0.4, "Distance between stones", unit="m")
    height = from_easy_to_hard(0.0, 0.05, "Largest height of a stone above and below 0", unit="m")
    depth = length(1.0, "Depth of the pit.", above=True)
    platform = length(2.0, "Edge of the platform among the stones.")

    def build(self, ground: Ground) -> None:
        edge, gap = ground.between(self.stone), ground.between(self.distance)
        most = ground.between(self.height)
        ground.square(ground.half, -self.depth)
        ground.square(self.platform / 2.0, 0.0)
        pitch = max(edge + gap, 0.02)
        count = max(int((2.0 * ground.half + gap) / pitch + 1e-9), 1)
        first = -0.5 * (count * pitch - gap)
        for i in range(count):
            for j in range(count):
                x, y = first + i * pitch, first + j * pitch
                top = float(ground.random.uniform(-most, most))
                reach = max(abs(x), abs(x + edge), abs(y), abs(y + edge))
                if reach > self.platform / 2.0:
                    ground.blocks.append((x, x + edge, y, y + edge, top))


class GapTile(TerrainTile):
    """A gap around a platform."""

    gap = from_easy_to_hard(0.1, 0.4, "Width of the gap", unit="m")
    depth = length(1.0, "Depth of the gap.", above=True)
    platform = length(3.0, "Edge of the platform inside the gap.")

    def build(self, ground: Ground) -> None:
        inner = min(self.platform / 2.0, ground.half)
        outer = min(inner + ground.between(self.gap), ground.half)
        ground.square(inner, 0.0)
        ground.frame(outer, inner, -self.depth)
        ground.frame(ground.half, outer, 0.0)


class PitTile(TerrainTile):
    """A pit in the middle."""

    depth = from_easy_to_hard(0.05, 0.5, "Depth of the pit", unit="m")
    platform = length(3.0, "Edge of the pit.")

    def build(self, ground: Ground) -> None:
        inner = min(self.platform / 2.0, ground.half)
        ground.square(inner, -ground.between(self.depth))
        ground.frame(ground.half, inner, 0.0)


# Terrain ------------------------------------------------------------------------------------------


_MAX_GEOMS = 50_000
_MAX_HEIGHTS = 4_000_000


class TerrainProp(Prop):
    """Terrain around its origin: one column along y per kind, one row along x per level.

    The ground around it is at height 0. The same seed gives the same terrain everywhere; a
    tile depends on the seed, its level and its column alone. It cannot move. Names are
    `tile_LEVEL_COLUMN_PIECE`, counted from 0.
    """

    tiles = NestedList(TerrainTile, structural=True, category="Shape", doc="A column per kind.")
    tile = extent(8.0, "Edge of a tile.")
    levels = Int(
        1, min=1, max=100, structural=True, category="Shape", doc="Rows, from easy to hard."
    )
    difficulty = Vector(
        [0.0, 1.0],
        min=0.0,
        max=1.0,
        structural=True,
        category="Shape",
        doc="Difficulty of the first and the last level; a single level has the first.",
    )
    seed = Int(0, min=0, max=2**63 - 1, structural=True, category="Shape", doc="Random seed.")
    border = Float(
        1.0,
        min=0.0,
        unit="m",
        structural=True,
        category="Shape",
        doc="Width of the flat ground around the tiles.",
    )
    base = extent(0.2, "Thickness below the lowest point of a tile.")
    rgba = colour(
        [0.62, 0.60, 0.55, 1.0], "Red, green, blue and opacity; some boxes are a shade darker."
    )
    friction = surface_friction("tiles")

    def middle(self, level: int, column: int) -> FloatArray:
        """The middle of a tile at height 0, in the actor's frame [m]."""
        x = (level - (self.levels - 1) / 2.0) * self.tile
        y = (column - (len(self.tiles) - 1) / 2.0) * self.tile
        return np.array([x, y, 0.0])

    def ground(self, level: int, column: int) -> Ground:
        """What a tile is made of."""
        share = level / (self.levels - 1) if self.levels > 1 else 0.0
        easy, hard = map(float, self.difficulty)
        random = np.random.default_rng([self.seed, level, column])
        ground = Ground(self.tile / 2.0, easy + (hard - easy) * share, random)
        self.tiles[column].build(ground)
        return ground

    def fill(self, spec: Any) -> None:
        if not self.tiles:
            raise PropertyError(f"{self.label}: needs tiles: one per kind of terrain", ("tiles",))
        pieces = 0
        for level in range(self.levels):
            for column in range(len(self.tiles)):
                ground = self.ground(level, column)
                pieces += len(ground.blocks)
                heights = 0 if ground.heights is None else ground.heights.size
                if pieces > _MAX_GEOMS or heights > _MAX_HEIGHTS:
                    raise PropertyError(
                        f"{self.label}: has more than {_MAX_GEOMS} boxes or {_MAX_HEIGHTS} heights "
                        "in a tile; take fewer or coarser tiles",
                        ("tiles",),
                    )
                self._put(spec, ground, f"tile_{level}_{column}", self.middle(level, column))
        self._put_border(spec)

    def _put(self, spec: Any, ground: Ground, name: str, middle: FloatArray) -> None:
        blocks = ground.clipped()
        if ground.heights is not None:
            if np.ptp(ground.heights) > 0.0:
                self._put_heights(spec, ground.heights, name, middle)
            else:  # MuJoCo's height fields have a range; this one is a box
                half = ground.half
                blocks.append((-half, half, -half, half, float(ground.heights.flat[0])))
        bottom = min((block[4] for block in blocks), default=0.0) - self.base
        for i, block in enumerate(blocks):
            self._put_box(spec, f"{name}_{i}", middle, block, bottom)

    def _put_box(
        self, spec: Any, name: str, middle: FloatArray, block: Block, bottom: float
    ) -> None:
        x0, x1, y0, y1, top = block
        shade = 0.92 if sum(map(ord, name)) % 2 else 1.0  # neighbours can be told apart
        spec.worldbody.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=middle + np.array([x0 + x1, y0 + y1, top + bottom]) / 2.0,
            size=[(x1 - x0) / 2.0, (y1 - y0) / 2.0, (top - bottom) / 2.0],
            rgba=[*(self.rgba[:3] * shade), self.rgba[3]],
            friction=self.friction,
        )

    def _put_heights(self, spec: Any, heights: FloatArray, name: str, middle: FloatArray) -> None:
        lowest, span = float(heights.min()), float(np.ptp(heights))
        field = spec.add_hfield(name=name)
        field.nrow, field.ncol = heights.shape
        field.userdata = heights.reshape(-1)
        field.size = [self.tile / 2.0, self.tile / 2.0, span, self.base]
        spec.worldbody.add_geom(
            name=f"{name}_0",
            type=mujoco.mjtGeom.mjGEOM_HFIELD,
            hfieldname=name,
            pos=middle + np.array([0.0, 0.0, lowest]),
            rgba=self.rgba,
            friction=self.friction,
        )

    def _put_border(self, spec: Any) -> None:
        if self.border == 0.0:
            return
        x, y = self.levels * self.tile / 2.0, len(self.tiles) * self.tile / 2.0
        far_x, far_y = x + self.border, y + self.border
        sides = [
            (-far_x, far_x, y, far_y, 0.0),
            (-far_x, far_x, -far_y, -y, 0.0),
            (x, far_x, -y, y, 0.0),
            (-far_x, -x, -y, y, 0.0),
        ]
        for i, side in enumerate(sides):
            self._put_box(spec, f"border_{i}", np.zeros(3), side, -self.base)
