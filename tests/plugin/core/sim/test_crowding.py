"""Very many bodies at one place: refused before their contacts are solved."""

import random
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.errors import SceneError
from mjrig.core.sim.world import MAX_CONTACTS, crowded_body
from tests.resource_limits import memory_limit

BOX = '<body pos="{} {} 0"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
BALL = '<body pos="{} {} 0"><freejoint/><geom size=".1"/></body>'
SCENE = """mjrig: 1
actors:
  - {name: a, prop: {type: BoxProp}, pose: {position: [9, 0, 0]}}
  - {name: b, model: m.xml}
"""


def compiled(body: str, places: list[tuple[float, float]], head: str = "") -> mujoco.MjModel:
    inner = "".join(body.format(*place) for place in places)
    return mujoco.MjModel.from_xml_string(f"<mujoco>{head}<worldbody>{inner}</worldbody></mujoco>")


def contacts(model: mujoco.MjModel) -> int:
    """How many there are, by MuJoCo alone."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    return int(data.ncon)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_refused_where_mujoco_has_too_many_contacts(seed: int) -> None:
    rng = random.Random(seed)
    body, count = rng.choice((BOX, BALL)), rng.choice((120, 180, 240))
    width = rng.choice((0.0, 0.1, 0.5, 3.0))
    places = [(rng.uniform(0, width), rng.uniform(0, width)) for _ in range(count)]
    model = compiled(body, places)
    found = crowded_body(model, mujoco.MjData(model))
    assert (found is not None) == (contacts(model) > MAX_CONTACTS)


def test_contacts_of_thousands_are_not_even_looked_for() -> None:
    model = compiled(BALL, [(0, 0)] * 1000)
    data = mujoco.MjData(model)
    with memory_limit(100.0):  # their contacts would take 290
        assert crowded_body(model, data) is not None
    assert data.ncon == 0


def test_bodies_that_do_not_collide_may_lie_in_each_other() -> None:
    for head in (
        '<default><geom contype="1" conaffinity="2"/></default>',
        '<option><flag contact="disable"/></option>',
    ):
        model = compiled(BALL, [(0, 0)] * 300, head)
        assert crowded_body(model, mujoco.MjData(model)) is None


def test_many_bodies_beside_each_other_are_fine() -> None:
    for places in ([(i, 0.0) for i in range(400)], [(i % 20, i // 20) for i in range(400)]):
        model = compiled(BALL, [(0.21 * x, 0.21 * y) for x, y in places])
        data = mujoco.MjData(model)
        assert crowded_body(model, data) is None
        fresh = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        mujoco.mj_forward(model, fresh)
        assert np.array_equal(data.qacc, fresh.qacc)


def test_the_place_is_named(tmp_path: Path) -> None:
    inner = BALL.format(0, 0) * 220
    (tmp_path / "m.xml").write_text(f"<mujoco><worldbody>{inner}</worldbody></mujoco>")
    (tmp_path / "s.yaml").write_text(SCENE)
    with pytest.raises(SceneError) as caught:
        mjrig.World(tmp_path / "s.yaml")
    assert str(caught.value).startswith(
        f"{tmp_path}/s.yaml:4:5: actors[1]: the world would begin with more than 20000 contacts, "
        "most of them at the body 'b/"
    )
