"""TerrainProp: tiles of terrain, rows of growing difficulty, from a seed."""

from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.props.prop_kinds import colour, extent, surface_friction
from mjrig.components.props.terrain_ground import Block, Ground, TerrainTile
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Vector
from mjrig.properties.nested_kinds import NestedList
from mjrig.properties.scalar_kinds import Float, Int
from mjrig.scene.prop import Prop

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
