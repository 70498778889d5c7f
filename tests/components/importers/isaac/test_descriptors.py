"""IO descriptors without the env.yaml of their run."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.policies.policy_file import PolicyFile
from tests.components.importers import biped
from tests.components.importers.isaac import runs
from tests.wording import mentions

SIZE = 27


def imported(folder: Path, told: runs.Data, size: int = SIZE, count: int = 5) -> Imported:
    config = runs.write(folder, told, "IO_descriptors.yaml")
    network = biped.network(folder / "policy.onnx", size, count)
    return import_policy([config], network, runs.model(folder), folder / "out" / "scene.yaml")


def test_complete_descriptors_do_what_the_run_does(tmp_path: Path) -> None:
    data = runs.env()
    data["scene"]["robot"]["actuators"]["legs"]["armature"] = 0.02
    found = imported(tmp_path, runs.descriptors())
    scene = mjrig.Scene.load(found.scene)
    world = mjrig.World(scene)
    assert world.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    world.data.qpos[2] = 0.75  # descriptors have no start height
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    policy.follow([(0.0, (0.3, 0.0, 0.1))])
    world.step(12)
    (weights,) = runs.onnx_weights(tmp_path / "policy.onnx")
    wanted = runs.reference(tmp_path / "walker.xml", data, weights, 3, (0.3, 0.0, 0.1))
    np.testing.assert_allclose(policy.observation, wanted.observation, atol=2e-6)
    np.testing.assert_allclose(world.data.qpos, wanted.qpos, atol=1e-6)


def test_missing_terms_and_gains_are_counted_and_named_together(tmp_path: Path) -> None:
    told = runs.descriptors()
    robot = told["articulations"]["robot"]
    robot["default_joint_stiffness"] = robot["default_joint_damping"] = [0.0] * 5
    with pytest.raises(mjrig.SceneError) as caught:
        imported(tmp_path, told, SIZE + 15)
    said = str(caught.value)
    assert mentions(said, "it describes 27 of the 42 … policy.onnx")
    assert mentions(said, "stiffness and damping are 0 … right_hip_joint")
    assert said.endswith("Give params/env.yaml of the run too")


@pytest.mark.parametrize("scale", [0.5, [0.5] * 5, [[0.5] * 5], [0.5]])
def test_scales_are_numbers_lists_or_tensors_of_one_environment(tmp_path: Path, scale: Any) -> None:
    told = runs.descriptors()
    told["actions"][0] |= {"scale": scale, "clip": [[-6.0, 6.0]] * 5}
    recipe = PolicyFile.load(imported(tmp_path, told).policy).action_recipe
    assert set(recipe.scale) == {0.5}
    low, high = recipe.clip_target  # type: ignore[misc]
    assert (set(np.ravel(low)), set(np.ravel(high))) == ({-6.0}, {6.0})


def test_joints_that_are_only_observed_keep_their_pose(tmp_path: Path) -> None:
    told = runs.descriptors()
    moved = list(runs.JOINTS[:2])
    told["actions"][0] |= {"joint_names": moved, "offset": [-0.2, -0.2], "shape": [2]}
    told["observations"]["policy"][-1]["shape"] = [2]
    found = imported(tmp_path, told, SIZE - 3, 2)
    policy = PolicyFile.load(found.policy)
    assert policy.joints == tuple(moved)
    assert dict(policy.observed) == {
        "arm_joint": 0.0, "right_knee_joint": 0.4, "left_knee_joint": 0.4
    }  # fmt: skip
    world = mjrig.World(mjrig.Scene.load(found.scene))
    seen: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    world.step(8)
    knees = world.data.joint("robot/left_knee_joint").qpos[0]
    world.step(0)
    assert abs(knees - 0.4) < 0.1
    assert seen.observation.size == SIZE - 3


def test_an_unknown_function_is_a_command_if_it_is_declared_so(tmp_path: Path) -> None:
    told = runs.descriptors()
    terms = told["observations"]["policy"]
    terms[3] |= {"name": "walk", "full_path": "agile.mdp.walk", "shape": [4]}
    found = imported(tmp_path, told, SIZE + 1)
    assert PolicyFile.load(found.policy).command.size == 4  # type: ignore[union-attr]
    terms[3]["observation_type"] = "RootState"
    with pytest.raises(mjrig.SceneError, match=r"'walk' \(agile.mdp:walk\): unknown function"):
        import_policy(
            [runs.write(tmp_path, told, "IO_descriptors.yaml")], tmp_path / "policy.onnx",
            tmp_path / "walker.xml", tmp_path / "b" / "scene.yaml",
        )  # fmt: skip
