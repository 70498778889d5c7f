"""The pre-flight on vendors' robots with vendors' gains: true, useful, and no more than that."""

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from tests.places import SHARED
from tests.preflight import found

ROBOTS = SHARED / "robots"
pytestmark = [
    pytest.mark.skipif(not ROBOTS.exists(), reason="no shared/robots beside the checkout"),
    # What a model says of memory sizes is lost when it is attached, and MuJoCo says so.
    pytest.mark.filterwarnings("ignore:Attach conflict"),
]
DRIVEN = {
    "urlgym_g1": "g1_12dof_rlgym",
    "rlsar_go2_robotlab": "go2_unitree",
    "booster_t1": "t1_12dof_booster",
    "urllab_g1_velocity": "g1_29dof_unitree",
    "rlsar_go2w_robotlab": "go2w_unitree",
}


def model_of(name: str) -> Path:
    return ROBOTS / "models" / name / "scene.xml"


def vendor_world(fixture: str, **law: Any) -> mjrig.World:
    """A robot in the pose and with the gains and timestep its recording starts with."""
    path = model_of(DRIVEN[fixture])
    recording = np.load(ROBOTS / "recordings" / f"{fixture}.npz")
    meta = json.loads(str(recording["meta"]))
    first = {key: recording[f"gain_{key}"][0] for key in ("kp", "kd")} if (
        "gain_kp" in recording
    ) else meta  # fmt: skip
    model = mujoco.MjModel.from_xml_path(str(path))
    names = {model.joint(j).name: j for j in range(model.njnt) if model.jnt_type[j] == 3}
    aliases = [n if n in names else n.replace("foot", "wheel") for n in meta["joint_names_policy"]]
    gains = {
        ours: dict(zip(aliases, np.broadcast_to(first[key], len(aliases)).tolist(), strict=True))
        for ours, key in (("kp", "kp"), ("kv", "kd"))
    }
    pose = {n: float(recording["qpos0"][model.jnt_qposadr[j]]) for n, j in names.items()}
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": meta["timestep"]}})
    scene.add_actor("robot", model=path, joints=pose, components=[PDController(**gains, **law)])
    return mjrig.World(scene)


def bare_world(model: str, **actor: Any) -> mjrig.World:
    scene = mjrig.Scene()
    scene.add_actor("robot", model=model_of(model), **actor)
    return mjrig.World(scene)


@pytest.mark.parametrize("fixture", DRIVEN)
def test_gains_that_walk_are_not_called_unstable(fixture: str) -> None:
    assert found(vendor_world(fixture), "unstable-pd") == []


def test_the_wrists_of_the_g1_are_at_their_bound() -> None:
    """kv·dt/I is 1.93 there, of 2."""
    (finding,) = found(vendor_world("urllab_g1_velocity"), "close-to-unstable")
    assert "left_wrist_yaw" in finding.names
    assert "1.0" in finding.text.partition("bound, ")[2]


def test_held_over_two_steps_they_are_beyond_it() -> None:
    (finding,) = found(vendor_world("urllab_g1_velocity", decimation=2), "unstable-pd")
    assert "decimation: 1 at most" in finding.fix


def test_the_pandas_first_link_is_heavier_than_it_is_wide() -> None:
    (finding,) = found(bare_world("panda_menagerie", keyframe="home"), "inertia-too-large")
    assert finding.names == ("link1",)


@pytest.mark.parametrize("model", ["go2_menagerie", "panda_menagerie"])
def test_a_start_out_of_range_names_the_keyframe_that_is_not(model: str) -> None:
    (finding,) = found(bare_world(model), "start-out-of-range")
    assert finding.fix == "keyframe: home"
    assert found(bare_world(model, keyframe="home"), "start-out-of-range") == []


@pytest.mark.parametrize(
    "model", sorted(p.parent.name for p in ROBOTS.glob("models/*/scene.xml")) or ["none"]
)
def test_no_robot_gets_a_storm_of_findings(model: str) -> None:
    from mjrig.lab.check.preflight import findings

    world = bare_world(model, components=[PDController()])
    assert len(findings(world)) <= 6
