"""Actors of one model share its meshes, and are what they would be with their own."""

from pathlib import Path

import mujoco
import numpy as np

import mjrig
from tests.worlds import make_scene

MODEL = """
<mujoco>
  <asset>
    <mesh name="rock" builtin="sphere" params="2" scale="0.1 0.2 {scale}"/>
    <mesh name="rod" vertex="0 0 0  1 0 0  0 1 0  0 0 {scale}" scale="0.1 0.1 0.1"/>
  </asset>
  <worldbody>
    <body name="a" pos="0 0 1">
      <freejoint/>
      <geom name="g" type="mesh" mesh="rock"/>
      <geom type="mesh" mesh="rod" pos="0 0 0.3"/>
      <body name="b" pos="0 0 -0.4">
        <joint name="j" axis="0 1 0"/>
        <geom type="mesh" mesh="rock" pos="0.1 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m" joint="j"/></actuator>
</mujoco>"""


def bare(texts: list[str]) -> mujoco.MjModel:
    """The same by MuJoCo alone, every actor with its own meshes."""
    world = mujoco.MjSpec()
    for i, text in enumerate(texts):
        frame = world.worldbody.add_frame(pos=[2.0 * i, 0, 0])
        world.attach(mujoco.MjSpec.from_string(text), prefix=f"r{i}/", frame=frame)
    return world.compile()


def world_of(folder: Path, scales: list[float]) -> tuple[mjrig.World, mujoco.MjModel]:
    texts = [MODEL.format(scale=scale) for scale in scales]
    for scale, text in zip(scales, texts, strict=True):
        (folder / f"{scale}.xml").write_text(text)
    scene = mjrig.Scene()
    for i, scale in enumerate(scales):
        pose = {"position": [2.0 * i, 0, 0]}
        scene.add_actor(f"r{i}", model=folder / f"{scale}.xml", pose=pose)
    return mjrig.World(scene), bare(texts)


def test_meshes_of_one_model_are_there_once(tmp_path: Path) -> None:
    world, alone = world_of(tmp_path, [0.3, 0.3, 0.7, 0.3])
    assert (world.model.nmesh, alone.nmesh) == (4, 8)
    names = [world.model.mesh(i).name for i in range(4)]
    assert names == ["r0/rock", "r0/rod", "r2/rock", "r2/rod"]


def test_the_physics_is_that_of_actors_with_their_own_meshes(tmp_path: Path) -> None:
    world, alone = world_of(tmp_path, [0.3, 0.3, 0.7, 0.3])
    for field in dir(alone):
        if field.startswith(("body_", "geom_", "dof_")) and field not in ("geom_dataid",):
            mine, theirs = getattr(world.model, field), getattr(alone, field)
            if isinstance(theirs, np.ndarray) and "adr" not in field:
                assert np.array_equal(mine, theirs), field
    data = mujoco.MjData(alone)
    mujoco.mj_forward(alone, data)
    for _ in range(50):
        world.step()
        mujoco.mj_step(alone, data)
    assert np.array_equal(world.data.qpos, data.qpos)


def test_an_actor_alone_keeps_the_names_of_its_meshes(tmp_path: Path) -> None:
    scene = make_scene({"one": MODEL.format(scale=0.3)}, str(tmp_path), {}, None)
    model = mjrig.World(scene).model
    assert [model.mesh(i).name for i in range(model.nmesh)] == ["one/rock", "one/rod"]


def test_a_mesh_that_a_sensor_refers_to_stays(tmp_path: Path) -> None:
    sensor = '<sensor><tactile name="skin" geom="g" mesh="rock"/></sensor>'
    (tmp_path / "m.xml").write_text(
        MODEL.format(scale=0.3).replace("</mujoco>", f"{sensor}</mujoco>")
    )
    scene = mjrig.Scene()
    for i in range(2):
        pose = {"position": [2.0 * i, 0, 0]}
        scene.add_actor(f"r{i}", model=tmp_path / "m.xml", pose=pose)
    model = mjrig.World(scene).model
    assert [model.sensor(i).name for i in range(model.nsensor)] == ["r0/skin", "r1/skin"]
    assert [model.mesh(i).name for i in range(model.nmesh)] == ["r0/rock", "r0/rod", "r1/rock"]
