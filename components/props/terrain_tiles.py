"""The kinds of terrain: stairs, slopes, rough ground, waves, boxes, stones, gaps and pits.

Numbers are those of the rough terrains of Isaac Lab, mjlab and legged_gym.
"""

import numpy as np

from mjrig.components.props.terrain_ground import Ground, TerrainTile, from_easy_to_hard, length
from mjrig.properties.scalar_kinds import Bool, Float, Int


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
