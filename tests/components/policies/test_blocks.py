"""A policy in the loop steps in blocks between its ticks, with the bits of single steps."""

from pathlib import Path

import numpy as np
import pytest

from mjrig.core.control.policy import PolicyDisturbance
from mjrig.core.sim.world import World
from tests.plugin.lab.scenes import BUNDLED

ASSETS = BUNDLED.parents[1] / "assets"


def scene(folder: Path, more: str) -> Path:
    """The walking quadruped with more lines in its policy file."""
    text = (ASSETS / "walk/policy.yaml").read_text()
    text = text.replace("network: walk.onnx", f"network: {ASSETS / 'walk/walk.onnx'}")
    (folder / "policy.yaml").write_text(f"{text}\n{more}\n")
    text = (BUNDLED / "quadruped_walk.yaml").read_text()
    text = text.replace("../../assets/walk/policy.yaml", "policy.yaml")
    (folder / "scene.yaml").write_text(text.replace("../../assets", str(ASSETS)))
    return folder / "scene.yaml"


@pytest.mark.parametrize(
    "more",
    ["", "phase: after", "start: {duration: 0.05, target: default, kp: 60, kv: 2}"],
    ids=["before", "after", "stand"],
)
@pytest.mark.parametrize("latency", [0, 7, 33])
def test_blocks_have_the_bits_of_single_steps(tmp_path: Path, more: str, latency: int) -> None:
    path = scene(tmp_path, more)
    alone, together = World(path), World(path)
    for world in (alone, together):
        policy = world["quadruped"].components[-1]
        policy.disturb(PolicyDisturbance(np.zeros((1, 12)), latency))  # type: ignore[attr-defined]
    for _ in range(400):
        alone.step()
    for n in (1, 3, 57, 0, 19, 20, 300):
        together.step(n)
    assert together.steps == alone.steps == 400
    np.testing.assert_array_equal(together.data.qpos, alone.data.qpos)
    np.testing.assert_array_equal(together.data.ctrl, alone.data.ctrl)
    assert together["quadruped"].components[-1].ticks == alone["quadruped"].components[-1].ticks  # type: ignore[attr-defined]


def test_a_policy_switched_off_and_on_ticks_at_once(tmp_path: Path) -> None:
    world = World(scene(tmp_path, ""))
    policy = world["quadruped"].components[-1]
    policy.assign({"enabled": False})
    world.step(100)
    policy.assign({"enabled": True})
    before = policy.ticks  # type: ignore[attr-defined]
    world.step(41)
    assert policy.ticks - before == 3  # type: ignore[attr-defined]
