"""Terrain: its surface is where its definition says, for every kind, and the same everywhere."""

import hashlib
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import TerrainProp
from tests.places import SCENES
from tests.wording import regex

KINDS = ("FlatTile", "StairsTile", "SlopeTile", "RoughTile", "WavesTile", "BoxGridTile",
         "ObstaclesTile", "StonesTile", "GapTile", "PitTile")  # fmt: skip


def compiled(**values: Any) -> tuple[TerrainProp, Any, Any]:
    """A terrain in a world of its own."""
    prop = TerrainProp(**values)
    scene = mjrig.Scene()
    scene.add_actor("land", prop=prop)
    world = mjrig.World(scene)
    return prop, world.model, world.data


def height(model: Any, data: Any, x: float, y: float) -> float:
    """The height of the ground, from a ray that falls on it."""
    start, down = np.array([x, y, 10.0]), np.array([0.0, 0.0, -1.0])
    far = mujoco.mj_ray(model, data, start, down, None, 1, -1, np.zeros(1, np.int32))
    return 10.0 - far if far >= 0.0 else -np.inf


def ring(x: float, y: float) -> float:
    """Distance from the middle, in squares."""
    return max(abs(x), abs(y))


def stairs(x: float, y: float) -> float:
    """Step 0.1 m high and 0.5 m deep, from 3 m from the middle on, platform of 2 m."""
    return 0.1 * min(max(int(np.ceil((3.0 - ring(x, y)) / 0.5)), 0), 5)


def slope(x: float, y: float) -> float:
    return 0.2 * (4.0 - max(ring(x, y), 1.0))


def gap(x: float, y: float) -> float:
    return -1.0 if 1.5 < ring(x, y) < 1.8 else 0.0


def pit(x: float, y: float) -> float:
    return -0.4 if ring(x, y) < 1.5 else 0.0


SAME = [1.0, 1.0]
#: The tiles of level 1 with seed 42.
PINNED = ["200bd9aa", "6489169f", "f535bd5e", "fad194bd"]


@pytest.mark.parametrize(
    ("tile", "truth"),
    [
        ({"type": "FlatTile"}, lambda x, y: 0.0),
        ({"type": "StairsTile", "step": [0.1, 0.1], "width": 0.5, "platform": 2}, stairs),
        ({"type": "StairsTile", "step": [0.1, 0.1], "width": 0.5, "platform": 2, "down": True},
         lambda x, y: -stairs(x, y)),
        ({"type": "SlopeTile", "slope": [0.2, 0.2]}, slope),
        ({"type": "SlopeTile", "slope": [0.2, 0.2], "down": True}, lambda x, y: -slope(x, y)),
        ({"type": "GapTile", "gap": [0.3, 0.3]}, gap),
        ({"type": "PitTile", "depth": [0.4, 0.4]}, pit),
    ],
)  # fmt: skip
def test_the_surface_is_the_definition(
    tile: dict[str, Any], truth: Callable[[float, float], float]
) -> None:
    _, model, data = compiled(tiles=[tile])
    points = np.random.default_rng(5).uniform(-4.0, 4.0, (300, 2))
    found = [height(model, data, x, y) for x, y in points]
    tolerance = 0.011 if tile["type"] == "SlopeTile" else 1e-9  # ridges of a grid of heights
    assert found == pytest.approx([truth(x, y) for x, y in points], abs=tolerance)
    assert height(model, data, 4.5, 0.0) == pytest.approx(0.0, abs=1e-9)  # the border
    assert height(model, data, 5.5, 0.0) == -np.inf


@pytest.mark.parametrize(
    ("tile", "most"),
    [
        ({"type": "RoughTile", "height": [0.0, 0.2]}, 0.2),
        ({"type": "WavesTile", "amplitude": [0.0, 0.2]}, 0.2),
        ({"type": "BoxGridTile", "height": [0.0, 0.2]}, 0.2),
        ({"type": "ObstaclesTile", "height": [0.0, 0.2]}, 0.2),
    ],
)
def test_a_level_is_as_rough_as_its_difficulty(tile: dict[str, Any], most: float) -> None:
    prop, model, data = compiled(tiles=[tile], levels=3, tile=4.0)
    rough = []
    for level in range(3):
        points = np.random.default_rng(level).uniform(-1.99, 1.99, (200, 2))
        points += prop.middle(level, 0)[:2]
        rough.append(max(abs(height(model, data, *point)) for point in points))
    assert rough[0] == pytest.approx(0.0, abs=1e-9)
    assert 0.25 * most <= rough[1] <= 0.5 * most + 1e-6
    assert 0.5 * most <= rough[2] <= most + 1e-6


def test_stones_are_as_wide_and_as_far_apart_as_told() -> None:
    stones = {"type": "StonesTile", "stone": [0.5, 0.5], "distance": [0.2, 0.2], "height": [0, 0]}
    _, model, data = compiled(tiles=[stones])
    line = np.array([height(model, data, x, 3.6) for x in np.arange(-3.9, 3.9, 0.01)])
    assert set(line.round(6).tolist()) == {0.0, -1.0}
    edges = np.flatnonzero(np.diff(line))
    widths = np.diff(edges) * 0.01
    assert widths[line[edges[:-1] + 1] == 0.0] == pytest.approx(0.5, abs=0.011)
    assert widths[line[edges[:-1] + 1] == -1.0] == pytest.approx(0.2, abs=0.011)


def digest(prop: TerrainProp, level: int, column: int) -> str:
    ground = prop.ground(level, column)
    numbers = [*map(list, ground.blocks), *([] if ground.heights is None else ground.heights)]
    text = ",".join(f"{number:.9f}" for row in numbers for number in row)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def test_a_seed_is_the_same_terrain_on_every_machine() -> None:
    kinds = ["RoughTile", "BoxGridTile", "ObstaclesTile", "StonesTile"]
    prop = TerrainProp(tiles=[{"type": kind} for kind in kinds], levels=2, seed=42)
    found = [digest(prop, 1, column) for column in range(4)]
    assert found == PINNED
    other = TerrainProp(tiles=[{"type": kind} for kind in kinds], levels=2, seed=43)
    assert not set(found) & {digest(other, 1, column) for column in range(4)}


def test_a_tile_does_not_depend_on_its_neighbours() -> None:
    alone = TerrainProp(tiles=[{"type": "RoughTile"}], seed=3)
    among = TerrainProp(tiles=[{"type": "RoughTile"}, {"type": "BoxGridTile"}], seed=3)
    assert digest(alone, 0, 0) == digest(among, 0, 0)


def test_rows_are_levels_along_x_and_columns_kinds_along_y() -> None:
    tiles = [{"type": "PitTile", "depth": [0.1, 0.3]}, {"type": "FlatTile"}]
    prop, model, data = compiled(tiles=tiles, levels=3, tile=4.0)
    found = [[height(model, data, *prop.middle(i, j)[:2]) for j in (0, 1)] for i in range(3)]
    assert np.array(found) == pytest.approx(np.array([[-0.1, 0], [-0.2, 0], [-0.3, 0]]), abs=1e-9)
    assert prop.middle(0, 0).tolist() == [-4.0, -2.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_saved_and_can_be_small(kind: str) -> None:
    scene = mjrig.Scene()
    scene.add_actor("land", prop=TerrainProp(tiles=[{"type": kind}], tile=1.0, difficulty=SAME))
    again = mjrig.Scene.from_data(scene.to_data())
    world = mjrig.World(again)
    assert world.model.ngeom >= 5
    assert height(world.model, world.data, 1.0, 0.0) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "needs tiles: one per …"),
        ({"tiles": [{"type": "StairTile"}]}, "StairTile…did you mean…StairsTile"),
        ({"tiles": [{"type": "BoxProp"}]}, "BoxProp"),
        ({"tiles": [{"type": "BoxGridTile", "width": 0.01}]}, "has more than 50000 boxes"),
        ({"tiles": [{"type": "FlatTile"}], "difficulty": [0, 2]}, "difficulty"),
        ({"tiles": [{"type": "StairsTile", "step": [-0.1, 0.2]}]}, "step"),
    ],
)
def test_what_cannot_be_built_is_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(mjrig.MjrigError, match=regex(problem)):
        compiled(**values)


def test_the_quadruped_of_the_example_climbs_the_stairs() -> None:
    world = mjrig.World(SCENES / "quadruped_terrain.yaml")
    heights = []
    for _ in range(10):
        world.step(500)
        heights.append(float(world.data.qpos[2]))
    assert max(heights) > heights[0] + 0.04  # on the platform, four steps of 2 cm up
    assert world.data.qpos[3] > 0.9 and world.data.qpos[0] > -4.8
