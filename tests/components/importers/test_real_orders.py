"""Joint orders of vendors' policies: the right ones pass, swapped and shuffled ones are told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.lab.replay.diagnosis.order_hypotheses import mirrored
from mjrig.lab.replay.diagnosis.order_probe import (
    DECLARED,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)
from tests.campaign import several
from tests.components.importers.test_real_imports import CONFIGS, FIXTURES, ROBOTS

pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="no shared/robots beside the checkout")
#: The order the shuffled joints are found to have.
RIGHT = {
    "rlsar_go2_robotlab": "the model's actuator order",
    "pg_leap": "the model's joint order",
    "urllab_g1_velocity": "the joints breadth first",
}


def run_import(name: str, scene: Path, **more: Any) -> Imported:
    fixture = FIXTURES[name]
    configs = more.pop("configs", [CONFIGS / config for config in fixture.configs])
    model = ROBOTS / "models" / fixture.model / "scene.xml"
    return import_policy(configs, ROBOTS / "policies" / f"{name}.onnx", model, scene, **more)


def order_findings(imported: Imported) -> list[str]:
    return [f.text for f in imported.findings if f.kind == "order-probe"]


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("name", several(list(FIXTURES), 1))
def test_the_right_order_raises_no_alarm_and_others_do(name: str, tmp_path: Path) -> None:
    imported = run_import(name, tmp_path / "scene.yaml", probe=True)
    assert order_findings(imported) == []
    data = yaml.safe_load(imported.policy.read_text(encoding="utf-8"))
    joints = data["joints"]
    sides = mirrored(joints, "left and right")
    wrong = {}
    if sides is not None:
        wrong["swapped"] = sides
    if name in RIGHT:
        wrong["shuffled"] = np.random.default_rng(0).permutation(len(joints))
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    command = telling_command(imported.policy)
    for how, order in wrong.items():
        policy = imported.policy.with_name(f"{how}.yaml")
        policy.write_text(yaml.safe_dump({**data, "joints": [joints[i] for i in order]}))
        probes = order_probe(policy, world, command=command, seconds=2.0)
        best = "left and right swapped" if how == "swapped" else RIGHT[name]
        assert suspicion(probes)["order"] == best
        assert unclear([p for p in probes if p.name == DECLARED], command)


def test_motors_swapped_in_the_map_of_unitree_rl_lab_are_told(tmp_path: Path) -> None:
    text = (CONFIGS / "unitree_rl_lab/g1_velocity/params/deploy.yaml").read_text()
    start = text.index("joint_ids_map: [")
    end = text.index("]", start) + 1
    motors = yaml.safe_load(text[start:end])["joint_ids_map"]
    legs = {i: (i + 6) % 12 for i in range(12)}
    swapped = [legs.get(motor, motor) for motor in motors]
    deploy = tmp_path / "deploy.yaml"
    deploy.write_text(f"{text[:start]}joint_ids_map: {swapped}{text[end:]}")
    imported = run_import(
        "urllab_g1_velocity", tmp_path / "scene.yaml", configs=[deploy], probe=True
    )
    (finding,) = order_findings(imported)
    assert finding.startswith("the joint order looks wrong: as declared it falls after ")
