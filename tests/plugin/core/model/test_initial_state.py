"""What an actor starts as: velocities, free bodies, and what goes on top of what."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from tests.plugin.composing import scene_of
from tests.worlds import ROVER, make_robot, refused

TURNED = {"position": [10.0, 0.0, 0.0], "euler_deg": [0.0, 0.0, 90.0]}
#: A robot and two loose things in one model.
TABLE = """
<mujoco>
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <body name="arm"><joint name="swing" axis="0 0 1"/><geom size="0.1"/></body>
    <body name="cup" pos="1 0 0"><freejoint name="cup"/><geom size="0.05"/></body>
    <body name="plate" pos="2 0 0"><freejoint/><geom size="0.05"/></body>
  </worldbody>
</mujoco>"""


def test_a_free_root_starts_with_a_velocity() -> None:
    velocity = {"linear": [1, 2, 3], "angular": [0.1, 0.2, 0.3]}
    world, _ = make_robot(ROVER, velocity=velocity, pose=TURNED)
    # Linear in the world, whatever the pose; angular in the body.
    assert world.data.qvel.tolist() == [1, 2, 3, 0.1, 0.2, 0.3, 0]
    world.step(3)
    world.reset()
    assert world.data.qvel.tolist() == [1, 2, 3, 0.1, 0.2, 0.3, 0]


def test_what_a_velocity_leaves_out_is_the_keyframes() -> None:
    world, _ = make_robot(ROVER, velocity={"linear": [1, 0, 0]}, keyframe="home")
    assert world.data.qvel.tolist() == [1, 0, 0, 0, 0, 0.7, 0]


def test_joint_velocities_are_patterns() -> None:
    world, _ = make_robot(ROVER, joint_velocities={"t.*": 0.5})
    assert world.data.qvel.tolist() == [0, 0, 0, 0, 0, 0, 0.5]


def test_free_bodies_start_where_they_are_put_in_the_actors_frame() -> None:
    world, _ = make_robot(
        TABLE,
        pose=TURNED,
        free_bodies=[
            {"body": "cup", "position": [0, 0, 1], "linear": [0, 0, 2]},
            {"body": "plate", "euler_deg": [0, 0, 90], "angular": [0, 0, 3]},
        ],
    )
    half = np.sqrt(0.5)
    assert world.data.qpos == pytest.approx(
        [0, 10, 0, 1, half, 0, 0, half, 10, 2, 0, 0, 0, 0, 1], abs=1e-12
    )
    assert world.data.qvel.tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("joint_velocities: {swng: 1}",
         "4:25: actors[0].joint_velocities: t.joint_velocities: 'swng' matches no hinge "
         "or … 't'; … 'swing'?"),
        ("velocity: {linear: [1, 0, 0]}",
         "4:16: actors[0].velocity: t.velocity: 't' has several free bodies … "
         "free_bodies"),
        ("free_bodies: [{body: cpu}]",
         "4:27: actors[0].free_bodies[0].body: t.free_bodies[0].body: 't' has no body "
         "'cpu' with … 'cup'?"),
        ("free_bodies: [{body: arm}]",
         "4:27: actors[0].free_bodies[0].body: t.free_bodies[0].body: 't' has no body "
         "'arm' with …"),
    ],
)  # fmt: skip
def test_a_wrong_start_is_refused_at_its_place(tmp_path: Path, line: str, message: str) -> None:
    text = f"actors:\n  - {{name: t, model: table.xml,\n     {line}}}\n"
    scene = scene_of(tmp_path, text, table=TABLE)
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)


def test_a_fixed_base_has_no_velocity() -> None:
    message = "robot.velocity: 'robot' has no free root; …"
    with refused(mjrig.PropertyError, message):
        make_robot(ROVER, base="fixed", velocity={"linear": [1, 0, 0]})
