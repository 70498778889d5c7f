"""Contacts, positions of feet, and depth images."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from tests.components.policies.terms.test_terms import watched
from tests.wording import regex

ROBOT = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom type="box" size="0.2 0.3 0.2" pos="1.2 0.2 0.2" euler="10 20 30"/>
    <body name="base" pos="0 0 0.5" euler="0 8 25"><freejoint/>
      <geom name="hull" size="0.1"/>
      <camera name="eye" pos="0.15 0.05 0.02" xyaxes="0 -1 0 0.3 0 1" fovy="58" resolution="16 9"/>
      <body name="leg" pos="0.1 0 -0.3"><joint name="turn" axis="0 1 0"/>
        <geom name="foot" size="0.05" pos="0 0 -0.1"/><site name="tip" pos="0 0 -0.15"/>
      </body>
      <body name="tail" pos="-0.2 0 0"><geom name="end" size="0.02"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
  <sensor><rangefinder name="depth" camera="eye" data="DATA"/></sensor>
</mujoco>
"""


def seen(folder: Path, term: dict[str, Any], height: float = 0.5, data: str = "depth") -> Any:
    """What a term says of the robot at some height, and the state it was in."""
    xml = ROBOT.replace("DATA", data)
    policy, world = watched(folder, term, xml=xml, joints=["turn"])
    world.data.qpos[2] = height
    state = mujoco.MjData(world.model)
    state.qpos[:] = world.data.qpos
    mujoco.mj_forward(world.model, state)
    world.step()
    return policy.observation.astype(np.float64), world.model, state


@pytest.mark.parametrize(("height", "touches"), [(0.5, 0.0), (0.44, 1.0)])
def test_a_foot_touches_the_floor_or_not(tmp_path: Path, height: float, touches: float) -> None:
    term = {"type": "ContactTerm", "bodies": ["leg", "tail"], "geoms": ["hull"]}
    found, _, state = seen(tmp_path, term, height)
    low = state.geom("robot/foot").xpos[2] - 0.05
    assert (low < 0.0) == bool(touches)
    assert found.tolist() == [touches, 0.0, 0.0]


def test_feet_are_where_they_are_in_the_frame_of_the_base(tmp_path: Path) -> None:
    term = {"type": "FootPositions", "bodies": ["leg"], "sites": ["tip"]}
    found, _, _ = seen(tmp_path, term)
    assert found.tolist() == pytest.approx([0.1, 0.0, -0.3, 0.1, 0.0, -0.45], abs=1e-6)


@pytest.mark.parametrize(("kind", "data"), [("plane", "depth"), ("range", "dist")])
def test_a_depth_image_is_that_of_a_rangefinder(tmp_path: Path, kind: str, data: str) -> None:
    term = {"type": "DepthImage", "camera": "eye", "size": [16, 9], "far": 3.0, "kind": kind}
    found, _, state = seen(tmp_path, term, data=data)
    wanted = np.array(state.sensordata)
    wanted = np.where(wanted < 0.0, 3.0, np.minimum(wanted, 3.0))
    assert len(set(wanted.round(3))) > 40 and 3.0 in wanted
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-6)


def test_an_image_is_cropped_averaged_and_normalised(tmp_path: Path) -> None:
    term = {"type": "DepthImage", "camera": "eye", "size": [16, 9], "far": 3.0, "near": 0.2,
            "crop": [1, 0, 2, 6], "smaller": [2, 4], "normalise": True, "shift": -0.5}  # fmt: skip
    found, _, state = seen(tmp_path, term)
    image = np.array(state.sensordata).reshape(9, 16)
    image = np.clip(np.where(image < 0.0, 3.0, image), 0.2, 3.0)[1:, 2:10]
    wanted = [image[4 * i : 4 * i + 4, 2 * j : 2 * j + 2].mean() for i in (0, 1) for j in range(4)]
    assert found.tolist() == pytest.approx([(v - 0.2) / 2.8 - 0.5 for v in wanted], abs=1e-6)


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        ({"type": "ContactTerm"}, "needs bodies or geoms"),
        ({"type": "ContactTerm", "geoms": ["fot"]}, "there is no geom 'fot'; … 'foot'"),
        (
            {"type": "ContactTerm", "bodies": ["leg"], "geoms": ["foot"]},
            "of the body 'leg' already",
        ),
        ({"type": "FootPositions"}, "needs bodies or sites"),
        ({"type": "FootPositions", "sites": ["tp"]}, "there is no site 'tp'; … 'tip'"),
        ({"type": "DepthImage"}, "needs a camera"),
        ({"type": "DepthImage", "camera": "eyes"}, "no camera 'eyes'; did you … 'eye'"),
        ({"type": "DepthImage", "camera": "eye", "crop": [0, 0, 60, 9]}, "crop: leaves no pixel"),
        ({"type": "DepthImage", "camera": "eye", "smaller": [5, 1]}, "does not divide the 64 × 36"),
        ({"type": "DepthImage", "camera": "eye", "near": 3}, "far: must be more than …"),
    ],
)
def test_what_cannot_be_seen_is_refused(tmp_path: Path, term: Any, problem: str) -> None:
    with pytest.raises(mjrig.MjrigError, match=regex(problem)):
        seen(tmp_path, term)
