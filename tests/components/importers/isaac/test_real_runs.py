"""Runs and bundles of others, as they are: they reach their recordings, value by value."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.policies.policy_file import PolicyFile
from tests.campaign import CAMPAIGN
from tests.components.importers import biped
from tests.places import SHARED
from tests.wording import mentions

ROBOTS = SHARED / "robots"
CONFIGS = ROBOTS / "configs"
pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="no shared/robots beside the checkout")


@dataclass(frozen=True)
class Run:
    """Files of a run, the recording they must reach, and how near they come."""

    model: str
    files: tuple[str, ...]
    end: tuple[float, float]
    within: float
    upright: float
    recording: str = ""
    size: int = 0
    said: dict[str, Any] = field(default_factory=dict)


RUNS = {
    "isaaclab_go2_stairs": Run(
        "go2_stairs_rlgym", ("configs/isaaclab/go2_stairs", "policies/isaaclab_go2_stairs.onnx"),
        (6.249, -0.514), 0.02, 0.982, size=412,
    ),
    "isaaclab_g1_velocity": Run(
        "g1_29dof_unitree",
        ("configs/isaaclab/g1_velocity/params/env.yaml", "policies/urllab_g1_velocity.onnx"),
        (4.641, 0.348), 0.02, 0.998, size=480,
    ),
    "leapp_g1_velocity": Run(
        "g1_29dof_unitree", ("policies/leapp_g1_velocity",), (4.594, 0.377), 1e-3, 0.998,
        "urllab_g1_velocity", said={"height": 0.79},
    ),
    "go2gym_go2_stairs": Run(
        "go2_stairs_rlgym", ("configs/go2_rl_gym/go2.yaml", "policies/go2gym_go2_stairs.onnx"),
        (6.257, 0.411), 0.05, 0.970, size=225,
    ),
    "urlmjlab_g1_velocity": Run(
        "g1_29dof_unitree",
        ("configs/unitree_rl_mjlab/g1_velocity/params/deploy.yaml",
         "policies/urlmjlab_g1_velocity/policy.onnx"),
        (3.947, 1.048), 0.01, 0.998, size=96, said={"height": 0.79},
    ),
}  # fmt: skip
#: Ticks that are run in `make test`; a campaign runs to the end.
TICKS = 15


def imported(name: str, folder: Path) -> Imported:
    run = RUNS[name]
    return import_policy(
        [ROBOTS / file for file in run.files], None, ROBOTS / "models" / run.model / "scene.xml",
        folder / "scene.yaml", overrides=Overrides(**run.said), copy=True,
    )  # fmt: skip


def schedule(meta: dict[str, Any]) -> list[tuple[float, Sequence[float]]]:
    rows = meta["command_schedule"]
    return [(r[0], r[1] if len(r) == 2 else r[1:]) for r in rows]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_reaches_its_recording(name: str, tmp_path: Path) -> None:
    run = RUNS[name]
    with np.load(ROBOTS / "recordings" / f"{run.recording or name}.npz") as file:
        recorded = {key: file[key] for key in file.files}
    meta: dict[str, Any] = json.loads(str(recorded["meta"]))
    found = imported(name, tmp_path)
    world = mjrig.World(mjrig.Scene.load(found.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    policy.follow(schedule(meta))
    # To the bit: 1e-10 rad more at the start of isaaclab_go2_stairs is centimetres at its end.
    np.testing.assert_array_equal(world.data.qpos, recorded["qpos0"])
    np.testing.assert_array_equal(world.data.qvel, recorded["qvel0"])
    ticks = {int(step): i for i, step in enumerate(recorded["policy_step"])}
    steps = meta["n_physics_steps"] if CAMPAIGN else TICKS * meta["decimation"]
    for step in range(steps):
        tick = ticks.get(step, -1)
        if tick >= 0:
            np.testing.assert_allclose(world.data.qpos, recorded["tick_qpos"][tick], atol=1e-6)
        world.step(1)
        if tick >= 0 and run.size and recorded["policy_obs"][tick].any():
            np.testing.assert_array_equal(policy.observation, recorded["policy_obs"][tick])
            np.testing.assert_allclose(policy.action, recorded["policy_action"][tick], atol=1e-5)
        _, x, y, _ = world.data.qpos[3:7]
        assert 1.0 - 2.0 * (x * x + y * y) >= run.upright
    if CAMPAIGN:
        assert world.data.qpos[:2] == pytest.approx(run.end, abs=run.within)


def test_implicit_actuators_do_not_saturate(tmp_path: Path) -> None:
    world = mjrig.World(mjrig.Scene.load(imported("isaaclab_g1_velocity", tmp_path).scene))
    limits = world.model.actuator_forcerange[:, 1]
    for _ in range(15):
        world.step(4)
        assert (np.abs(world.data.actuator_force) < limits).all()


def refusal(files: Sequence[Path], model: str, folder: Path, **said: Any) -> str:
    with pytest.raises(mjrig.MjrigError) as caught:
        import_policy(
            files, None, ROBOTS / "models" / model / "scene.xml", folder / "scene.yaml",
            overrides=Overrides(**said),
        )  # fmt: skip
    return str(caught.value)


def test_descriptors_alone_are_told_what_they_lack(tmp_path: Path) -> None:
    files = [
        CONFIGS / "isaaclab/go2_stairs/io_descriptors/IO_descriptors.yaml",
        ROBOTS / "policies/isaaclab_go2_stairs.onnx",
    ]
    said = refusal(files, "go2_stairs_rlgym", tmp_path)
    assert mentions(said, "it describes 225 of the 412 … isaaclab_go2_stairs.onnx")
    assert mentions(said, "stiffness and damping are 0 … FL_hip_joint")
    anymal = [CONFIGS / "isaaclab/anymal_d_flat/IO_descriptors.yaml", files[1]]
    assert mentions(
        refusal(anymal, "go2_unitree", tmp_path), "stiffness and damping are 0 … LF_HAA"
    )


def test_descriptors_of_others_import_with_a_network_that_fits(tmp_path: Path) -> None:
    config = CONFIGS / "wbc_agile/unitree_g1_velocity_height_recurrent_student.yaml"
    model = ROBOTS / "models/g1_29dof_unitree/scene.xml"
    assert "there is no network" in refusal([config], "g1_29dof_unitree", tmp_path)
    network = biped.network(tmp_path / "policy.onnx", 80, 12)
    found = import_policy([config], network, model, tmp_path / "out/scene.yaml")
    policy = PolicyFile.load(found.policy)
    assert (len(policy.joints), len(policy.observed)) == (12, 17)
    assert policy.action_recipe.scale[0] == pytest.approx(0.5475464463)
    assert policy.command is not None and policy.command.size == 4
    world = mjrig.World(mjrig.Scene.load(found.scene))
    world.step(8)


def test_a_direct_run_names_its_actuators_and_its_gap(tmp_path: Path) -> None:
    run = [CONFIGS / "isaaclab_direct/go2_dls"]
    said = refusal(run, "go2_stairs_rlgym", tmp_path)
    assert "'hip' is IdentifiedActuatorElectric (effort_limit 23.7" in said
    found = import_policy(
        run, None, ROBOTS / "models/go2_stairs_rlgym/scene.xml", tmp_path / "scene.yaml",
        overrides=Overrides(actuators="dc"),
    )  # fmt: skip
    codes = {finding.kind for finding in found.findings}
    assert {"gap", "not-taken-over", "not-imported"} <= codes
    assert set(PolicyFile.load(found.policy).action_recipe.scale) == {0.5}


@pytest.mark.parametrize(("name", "size"), [("flat", 48), ("rough", 235)])
def test_files_of_mjlab_s_own_dumper_are_read(name: str, size: int, tmp_path: Path) -> None:
    network = biped.network(tmp_path / "policy.onnx", size, 12)
    found = import_policy(
        [CONFIGS / f"mjlab/go1_{name}_env.yaml"], network,
        ROBOTS / "models/go1_playground/scene.xml", tmp_path / "out/scene.yaml",
    )  # fmt: skip
    assert found.found.observation_size == size
    world = mjrig.World(mjrig.Scene.load(found.scene))
    world.step(4)
