"""The whole way, with other people's robots: import, re-simulate a recording, run the policy."""

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import import_policy
from tests.places import SHARED

ROBOTS = SHARED / "robots"
pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="no shared/robots beside the checkout")
pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")


@dataclass(frozen=True)
class Fixture:
    """What its README says.

    `window` is how long another build of MuJoCo stays within `tolerance` [s]; `ends` how far from
    the recorded place the base may end with the policy in the loop [m].
    """

    model: str
    configs: tuple[str, ...] = ()
    tolerance: float = 1e-6
    window: float = 0.5
    ends: float = 0.01


FIXTURES = {
    "urlgym_g1": Fixture("g1_12dof_rlgym", ("unitree_rl_gym/g1.yaml",), window=5.0),
    "rlsar_go2_robotlab": Fixture(
        "go2_unitree",
        ("rl_sar/go2/base.yaml", "rl_sar/go2/robot_lab/config.yaml"),
        window=11.0,
        ends=0.15,
    ),
    "pg_go1": Fixture("go1_playground", window=5.0),
    "booster_t1": Fixture("t1_12dof_booster", ("booster_gym/envs/T1.yaml",), window=3.0),
    "urllab_g1_velocity": Fixture(
        "g1_29dof_unitree", ("unitree_rl_lab/g1_velocity/params/deploy.yaml",), window=5.0
    ),
    "pg_leap": Fixture("leap_cube_playground", window=0.5),
    "rlsar_go2w_robotlab": Fixture(
        "go2w_unitree",
        ("rl_sar/go2w/base.yaml", "rl_sar/go2w/robot_lab/config.yaml"),
        window=0.9,
        ends=0.15,
    ),
}


def meta_of(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        found: dict[str, Any] = json.loads(str(file["meta"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXTURES)
def test_a_policy_of_another_stack_runs_here_as_there(name: str, tmp_path: Path) -> None:
    fixture, recording = FIXTURES[name], ROBOTS / "recordings" / f"{name}.npz"
    imported = import_policy(
        [ROBOTS / "configs" / config for config in fixture.configs],
        ROBOTS / "policies" / f"{name}.onnx",
        ROBOTS / "models" / fixture.model / "scene.xml",
        tmp_path / "scene.yaml",
    )
    meta = meta_of(recording)
    here = (platform.machine(), mujoco.__version__)
    same_build = here == (meta["machine"], meta["mujoco"])

    told = mjrig.replay(recording, mjrig.World(imported.scene), mode="targets")
    assert told.comparison is not None
    early = told.comparison.time <= fixture.window
    assert told.comparison.error[early].max() < fixture.tolerance
    assert not told.fell
    if same_build:
        assert (told.verdict, told.bit_exact, told.diagnosis) == ("matches", True, [])

    looped = mjrig.replay(
        recording,
        mjrig.World(imported.scene),
        mode="policy",
        trials=0,
        diagnose=False,
    )
    assert (looped.verdict, looped.fell) == ("stays up", False)
    assert looped.duration == pytest.approx(meta["n_physics_steps"] * meta["timestep"])
    if name == "pg_leap":
        assert looped.comparison is not None and looped.comparison.error.max() < 0.01
        return
    with np.load(recording) as file:
        ended = file["final_qpos"][:3]
    near = fixture.ends if same_build else 0.25
    assert np.linalg.norm(np.asarray(looped.base_end) - ended) < near
