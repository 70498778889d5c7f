"""The grid lies on the floor of any model, and costs nothing while nothing about it changes."""

import mujoco
import numpy as np
import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.viewport.drawing import REACH, SPACINGS, Drawing, floor_height, spacing

LINES = 2 * (2 * REACH + 1)
_MODELS = {
    "": 0.0,
    "<geom type='plane' size='0 0 1' pos='0 0 -.3'/>": -0.3,
    "<geom type='plane' size='1 1 1' euler='0 90 0'/>": 0.0,  # a wall
    "<geom size='1'/><geom type='plane' size='0 0 1' pos='0 0 2' euler='0 0 30'/>": 2.0,
    "<body pos='0 0 5'><geom type='plane' size='1 1 1'/></body>": 0.0,
}


@pytest.mark.parametrize(("inside", "height"), _MODELS.items())
def test_the_height_is_that_of_the_floor(inside: str, height: float) -> None:
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    assert floor_height(model) == pytest.approx(height)


def test_on_a_height_field_there_is_none() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 .1'/></asset>"
        "<worldbody><geom type='hfield' hfield='h'/></worldbody></mujoco>"
    )
    assert floor_height(model) is None


def test_lines_are_finer_from_nearby() -> None:
    near = [spacing(0.01 * 1.3**i) for i in range(45)]
    assert near == sorted(near) and set(near) == set(SPACINGS)


def test_the_same_lines_are_drawn_however_often_and_wherever_one_looks() -> None:
    scene = Scene()
    drawing = Drawing(World(scene, "python"), 0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        drawing.camera.lookat[:] = rng.uniform(-5.0, 5.0, 3)
        drawing.camera.distance = 10.0 ** rng.uniform(-1.0, 2.0)
        drawing.update()
        once = _lines(drawing)
        drawing.update()
        assert drawing.scene.ngeom == LINES
        assert np.array_equal(_lines(drawing), once)
        fresh = Drawing(World(scene, "python"), 0)
        fresh.look_like(drawing)
        fresh.update()
        assert np.array_equal(_lines(fresh), once)
    drawing.has_grid = False
    drawing.update()
    assert drawing.scene.ngeom == 0


def _lines(drawing: Drawing) -> np.ndarray:
    geoms = [drawing.scene.geoms[i] for i in range(drawing.scene.ngeom)]
    return np.array([[*g.pos, *np.ravel(g.mat), *g.size, *g.rgba] for g in geoms])
