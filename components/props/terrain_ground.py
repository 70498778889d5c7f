"""TerrainTile: one square of a terrain, and the ground it is made of."""

from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.properties.array_kinds import Vector
from mjrig.properties.component import Component
from mjrig.properties.hooks import required
from mjrig.properties.scalar_kinds import Float

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
