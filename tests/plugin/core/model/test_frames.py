"""Named frames, and poses relative to where something starts."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from tests.plugin.composing import scene_of, world_of
from tests.worlds import ROVER, refused

FRAMES = """frames:
  - {name: shelf, position: [1, 0, 1], euler_deg: [0, 0, 90]}
  - {name: corner, on: shelf, position: [0.5, 0, 0]}
  - {name: tool, on: arm/flange, position: [0, 0, 0.1]}
  - {name: palm, on: arm/hand}
actors:
  - {name: arm, model: arm.xml, keyframe: home, joints: {elbow: 0.7},
     pose: {relative_to: shelf, position: [0, 0, 0.2]}}
"""


def test_frames_are_sites_of_their_plain_name(tmp_path: Path) -> None:
    world = world_of(tmp_path, FRAMES)
    site = world.data.site
    assert site("shelf").xpos == pytest.approx([1, 0, 1])
    assert site("corner").xpos == pytest.approx([1, 0.5, 1])
    assert site("palm").xpos == pytest.approx(world.data.body("arm/hand").xpos)
    flange = world.data.site("arm/flange")
    turn = flange.xmat.reshape(3, 3)
    assert site("tool").xpos == pytest.approx(flange.xpos + turn @ [0, 0, 0.1])
    assert site("tool").xmat == pytest.approx(flange.xmat)


def test_a_frame_on_a_body_moves_with_it(tmp_path: Path) -> None:
    world = world_of(tmp_path, FRAMES)
    before = world.data.site("palm").xpos.copy()
    world.data.qvel[:] = 1.0
    world.step(10)
    assert not np.allclose(before, world.data.site("palm").xpos, atol=1e-4)
    assert world.model.site("palm").bodyid[0] == world.model.body("arm/hand").id


def test_a_pose_is_relative_to_a_frame(tmp_path: Path) -> None:
    world = world_of(tmp_path, FRAMES)
    assert world.data.body("arm/base").xpos == pytest.approx([1, 0, 1.7])
    assert world.data.body("arm/base").xmat.reshape(3, 3)[:, 0] == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("place", ["arm/hand", "arm/flange", "tool"])
def test_a_pose_is_relative_to_where_something_starts(tmp_path: Path, place: str) -> None:
    text = FRAMES.replace(
        "actors:\n",
        "actors:\n  - {name: rover, model: rover.xml, keyframe: home,\n"
        f"     pose: {{relative_to: {place}, position: [0, 0, 0.3]}}}}\n",
    )
    world = world_of(tmp_path, text, rover=ROVER)
    data = world.data
    target = data.body(place) if place == "arm/hand" else data.site(place)
    turn = target.xmat.reshape(3, 3)
    # The keyframe puts the base at (0.1, 0, 0.5) of the rover's own frame.
    expected = target.xpos + turn @ [0.1, 0, 0.8]
    assert data.body("rover/base").xpos == pytest.approx(expected, abs=1e-12)
    assert data.body("rover/base").xmat == pytest.approx(target.xmat, abs=1e-12)
    # It is not welded there.
    assert world["rover"].joint_names == ("root", "turn")
    goal = target.xpos + turn @ [1, 0, 0.3]
    assert data.body("rover/goal").xpos == pytest.approx(goal, abs=1e-12)


def test_a_chain_of_relative_poses_follows_free_bodies(tmp_path: Path) -> None:
    text = """actors:
  - {name: b, model: rover.xml, pose: {relative_to: a/mast}}
  - {name: a, model: rover.xml, keyframe: far, pose: {position: [0, 1, 0]}}
"""
    world = world_of(tmp_path, text, rover=ROVER)
    assert world.data.body("b/base").xpos == pytest.approx([5, 1, 1.2])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("on: shelf", "on: shlef",
         "4:24: frames[1].on: scene.frames[1].on: there is no 'shlef'; did … 'shelf'?"),
        ("on: arm/flange", "on: arm/flnge",
         "5:22: frames[2].on: scene.frames[2].on: 'arm' has no body or … 'flnge'; … "
         "'flange'?"),
        ("relative_to: shelf", "relative_to: palm",
         "6:22: frames[3].on: scene.frames[3].on: is circular: arm → palm → …"),
        ("relative_to: shelf", "relative_to: amr/hand",
         "9:26: actors[0].pose.relative_to: arm.pose.relative_to: there is no "
         "'amr/hand'; did … 'arm/hand'?"),
        ("{name: shelf,", "{name: shelf, on: corner,",
         "4:24: frames[1].on: scene.frames[1].on: is circular: shelf → corner → …"),
    ],
)  # fmt: skip
def test_a_wrong_place_is_refused_where_it_stands(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in FRAMES
    scene = scene_of(tmp_path, FRAMES.replace(old, new, 1))
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)
