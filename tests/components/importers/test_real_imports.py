"""Vendors' own files, unchanged, import and say what their vendors' loops do."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, RefusedError, import_policy
from mjrig.components.importers.recordings.motion_recordings import read_motion_csv, read_motion_npz
from mjrig.components.policies.policy_file import PolicyFile
from tests.places import SHARED
from tests.wording import mentions

ROBOTS = SHARED / "robots"
CONFIGS = ROBOTS / "configs"
pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="no shared/robots beside the checkout")
SECONDS = 2.0


@dataclass(frozen=True)
class Fixture:
    """A policy's files and what its recording says."""

    model: str
    configs: tuple[str, ...] = ()
    size: int = 0
    phase: str = "before"
    stack: str = ""
    limits: tuple[str, float, float] = ("ctrlrange", 0.0, 0.0)


FIXTURES = {
    "urlgym_g1": Fixture(
        "g1_12dof_rlgym", ("unitree_rl_gym/g1.yaml",), 47, "after", "unitree_rl_gym",
        ("actuatorfrcrange", 88, 139),
    ),
    "rlsar_go2_robotlab": Fixture(
        "go2_unitree", ("rl_sar/go2/base.yaml", "rl_sar/go2/robot_lab/config.yaml"), 45,
        stack="rl_sar", limits=("ctrlrange", 23.7, 23.7),
    ),
    "pg_go1": Fixture(
        "go1_playground", (), 48, "inside", "mujoco_playground", ("forcerange", 23.7, 23.7)
    ),
    "booster_t1": Fixture(
        "t1_12dof_booster", ("booster_gym/envs/T1.yaml",), 47, stack="booster_gym",
        limits=("ctrlrange", 45, 45),
    ),
    "urllab_g1_velocity": Fixture(
        "g1_29dof_unitree", ("unitree_rl_lab/g1_velocity/params/deploy.yaml",), 480,
        stack="unitree_rl_lab", limits=("ctrlrange", 88, 88),
    ),
    "pg_leap": Fixture("leap_cube_playground", (), 57, "inside", "mujoco_playground"),
    "rlsar_go2w_robotlab": Fixture(
        "go2w_unitree", ("rl_sar/go2w/robot_lab/config.yaml",), 57, stack="rl_sar",
        limits=("ctrlrange", 23.7, 23.7),
    ),
}  # fmt: skip
Import = Callable[[str], Imported]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Import:
    """Import a fixture, once."""
    folder = tmp_path_factory.mktemp("imports")

    @cache
    def once(name: str) -> Imported:
        fixture = FIXTURES[name]
        return import_policy(
            [CONFIGS / config for config in fixture.configs],
            ROBOTS / "policies" / f"{name}.onnx",
            ROBOTS / "models" / fixture.model / "scene.xml",
            folder / name / "scene.yaml",
        )

    return once


@cache
def meta(name: str) -> dict[str, Any]:
    with np.load(ROBOTS / "recordings" / f"{name}.npz") as file:
        found: dict[str, Any] = json.loads(str(file["meta"]))
    return found


@pytest.mark.parametrize("name", FIXTURES)
def test_a_vendor_s_files_say_what_its_loop_does(imported: Import, name: str) -> None:
    fixture, found, said = FIXTURES[name], imported(name).found, meta(name)
    policy = PolicyFile.load(imported(name).policy)
    assert found.stack == fixture.stack
    assert (policy.timestep, policy.decimation) == (said["timestep"], said["decimation"])
    assert policy.phase == fixture.phase
    assert found.observation_size == fixture.size
    names = said.get("joint_names_policy") or [
        j for j in said["joint_names_mj"] if j in policy.joints
    ]
    assert [imported(name).matched.aliases.get(j, j) for j in names] == list(policy.joints)
    np.testing.assert_allclose(policy.default, said["default_pos"], atol=1e-7)
    scale = np.broadcast_to(np.asarray(found.action["scale"]), (found.count,))
    np.testing.assert_allclose(scale, np.broadcast_to(said["action_scale"], (found.count,)))
    if found.kp is not None and found.kv is not None:
        np.testing.assert_allclose(found.kp, np.broadcast_to(said["kp"], (found.count,)))
        np.testing.assert_allclose(found.kv, np.broadcast_to(said["kd"], (found.count,)))
    place, *limits = fixture.limits
    if any(limits):
        first = [imported(name).robot.limit(joint) for joint in policy.joints[:2]]
        assert [where for _, where in first] == [place, place]
        assert [limit for limit, _ in first] == pytest.approx(limits)


@pytest.mark.parametrize("name", FIXTURES)
def test_what_was_written_stays_up_in_the_loop(imported: Import, name: str) -> None:
    world = mjrig.World(mjrig.Scene.load(imported(name).scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    if name != "pg_leap":
        policy.follow([(0.0, (0.0, 0.0, 0.0)), (0.5, (0.4, 0.0, 0.0))])
    world.step(round(SECONDS / world.model.opt.timestep))
    assert policy.ticks > 20
    if name == "pg_leap":
        assert world.data.body("robot/cube").xpos[2] > -0.02
        return
    _, x, y, _ = world.data.qpos[3:7]
    assert 1.0 - 2.0 * (x * x + y * y) > 0.98


def test_a_configuration_drives_another_vendor_s_model(imported: Import, tmp_path: Path) -> None:
    other = import_policy(
        [CONFIGS / "rl_sar/go2/robot_lab/config.yaml"],
        ROBOTS / "policies" / "rlsar_go2_robotlab.onnx",
        ROBOTS / "models" / "go2_menagerie" / "scene.xml",
        tmp_path / "scene.yaml",
    )
    assert other.matched.joints == imported("rlsar_go2_robotlab").matched.joints
    assert other.robot.motors != other.matched.joints


@pytest.mark.parametrize(
    ("config", "network", "model", "reason"),
    [
        ("unitree_rl_gym/g1.yaml", "urlgym_g1", "go2_unitree",
         "the default pose is … FL_calf_joint 0"),
        ("unitree_rl_gym/g1.yaml", "urlgym_g1", "h1_rlgym",
         "the policy moves 12 joints …"),
        ("unitree_rl_gym/h1.yaml", "urlgym_g1", "h1_rlgym",
         "urlgym_g1.onnx gives 12 actions for 10 joints"),
        ("unitree_rl_lab/g1_velocity/params/deploy.yaml", "urllab_g1_velocity", "go2_unitree",
         "the policy moves 29 joints …"),
        ("rl_sar/go2/robot_lab/config.yaml", "rlsar_go2_robotlab", "g1_29dof_unitree",
         "0 of the policy's 12 joints … g1_29dof_unitree/scene.xml"),
        ("booster_gym/envs/T1.yaml", "booster_t1", "g1_12dof_rlgym",
         "control.stiffness: has no entry for left_hip_pitch_joint"),
        ("booster_gym/deploy/T1.yaml", "booster_t1", "t1_12dof_booster",
         "is the configuration of …"),
        ("", "synthetic_beyondmimic_g1", "go2_unitree",
         "0 of the policy's 29 joints … go2_unitree/scene.xml"),
        ("", "pg_go1", "panda_menagerie",
         "gives 12 actions, but panda_menagerie/scene.xml has 7 …"),
    ],
)  # fmt: skip
def test_a_wrong_robot_is_refused_with_the_reason(
    tmp_path: Path, config: str, network: str, model: str, reason: str
) -> None:
    with pytest.raises((mjrig.SceneError, mjrig.BindingError, RefusedError)) as caught:
        import_policy(
            [CONFIGS / config] if config else [],
            ROBOTS / "policies" / f"{network}.onnx",
            ROBOTS / "models" / model / "scene.xml",
            tmp_path / "out" / "scene.yaml",
        )
    assert mentions(str(caught.value), reason)
    assert not (tmp_path / "out").exists()


def test_beyond_mimic_recovers_limits_and_armature_and_says_the_model_differs(
    tmp_path: Path,
) -> None:
    mimic = import_policy(
        [],
        ROBOTS / "policies" / "synthetic_beyondmimic_g1.onnx",
        ROBOTS / "models" / "g1_29dof_unitree" / "scene.xml",
        tmp_path / "scene.yaml",
    )
    found = mimic.found
    efforts = dict(zip(found.names, found.trained["torque_limit"], strict=True))
    armature = dict(zip(found.names, found.trained["armature"], strict=True))
    expected = {
        "left_hip_pitch_joint": (88, 0.010178),
        "left_knee_joint": (139, 0.025102),
        "waist_roll_joint": (50, 0.00722),
        "left_elbow_joint": (25, 0.00361),
        "left_wrist_yaw_joint": (5, 0.00425),
    }
    for joint, (effort, inertia) in expected.items():
        assert efforts[joint] == pytest.approx(effort, rel=0.002)
        assert armature[joint] == pytest.approx(inertia, rel=0.001)
    assert found.recovered == ("torque_limit", "armature")
    differs = [f for f in mimic.findings if f.kind == "plant-differs"]
    assert {j for f in differs for j in f.names} == set(found.names)
    assert differs[0].text.startswith("armature is 0.01 kg·m² in the model, ")
    world = mjrig.World(mjrig.Scene.load(mimic.scene))
    world.step(20)
    assert np.isfinite(world.data.qpos).all()


def test_a_swapped_order_is_found_by_short_runs(tmp_path: Path) -> None:
    name = "rlsar_go2_robotlab"
    base = (CONFIGS / "rl_sar/go2/base.yaml").read_text()
    for a, b in (("FR_", "XX_"), ("FL_", "FR_"), ("XX_", "FL_"), ("RR_", "XX_"), ("RL_", "RR_")):
        base = base.replace(a, b)
    (tmp_path / "base.yaml").write_text(base.replace("XX_", "RL_"))
    swapped = import_policy(
        [tmp_path / "base.yaml", CONFIGS / "rl_sar/go2/robot_lab/config.yaml"],
        ROBOTS / "policies" / f"{name}.onnx",
        ROBOTS / "models" / "go2_unitree" / "scene.xml",
        tmp_path / "scene.yaml",
        probe=True,
    )
    assert swapped.matched.joints[0] == "FL_hip_joint"
    (finding,) = [f for f in swapped.findings if f.kind == "order-probe"]
    assert finding.evidence["fell"] and finding.evidence["order"] == "left and right swapped"


def test_the_same_clip_as_npz_and_csv_is_the_same_motion(imported: Import) -> None:
    names = imported("urllab_g1_velocity").matched.joints  # the same interleaved order
    motions = ROBOTS / "motions"
    npz = read_motion_npz(motions / "synthetic_g1_wave.npz", {"joints": list(names)})
    csv = read_motion_csv(motions / "synthetic_g1_wave.csv", {"fps": 50})
    assert npz is not None and csv is not None
    assert npz.timestep == csv.timestep == 0.02
    a, b = npz.actors["robot"], csv.actors["robot"]
    assert {j.name for j in a.joints} == {j.name for j in b.joints}
    columns = {j.name: j.qpos for j in b.joints}
    for joint in a.joints:
        np.testing.assert_allclose(a.qpos[:, joint.qpos], b.qpos[:, columns[joint.name]], atol=1e-5)
