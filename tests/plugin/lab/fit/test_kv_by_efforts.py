"""kv and damping are told apart by efforts, whatever the torque constant is wrong by."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mjrig.lab.fit.effort_fit import told_apart
from mjrig.lab.fit.estimates import Estimate, Findings
from mjrig.lab.fit.identification import fit
from tests.campaign import CAMPAIGN
from tests.plugin.lab.fit.synthetic_logs import NAMES, Robot, Truth, random_truth

KINDS = ["kp", "kv", "delay", "armature", "damping", "frictionloss"]


def still(truth: Truth) -> Truth:
    """Velocities are never commanded."""
    return replace(truth, velocities=(1.0, 1.0))


@pytest.mark.parametrize("seed", [1, 2] if CAMPAIGN else [1])
def test_both_are_found_in_a_log_without_velocity_setpoints(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    robot, truth = Robot.random(tmp_path, rng), still(random_truth(rng))
    log = robot.log(tmp_path / "bag", truth, robot.run(truth, 3.0, seed), seed)
    found = fit(robot.scene, [log], KINDS, bounds={"delay": (0, 14)})
    assert not found.rejection
    for name in NAMES:
        kv, damping = found[name, "kv"], found[name, "damping"]
        assert kv.identifiable and damping.identifiable
        assert kv.reason == "told apart from damping by the recorded efforts"
        assert kv.value == pytest.approx(truth.joints[name]["kv"], rel=0.02)
        both = truth.joints[name]["kv"] + truth.joints[name]["damping"]
        assert kv.value + damping.value == pytest.approx(both, rel=0.01)


def test_velocity_setpoints_that_acted_and_are_not_in_the_log(tmp_path: Path) -> None:
    rng = random.Random(4)
    robot, truth = Robot.random(tmp_path, rng), random_truth(rng)
    run = replace(robot.run(truth, 3.0, 4), command_velocity=None)
    log = robot.log(tmp_path / "bag", truth, run, 4)
    found = fit(robot.scene, [log], KINDS, bounds={"delay": (0, 14)})
    assert not found.rejection
    for name in NAMES:  # they are rebuilt by the efforts
        assert found[name, "kp"].value == pytest.approx(truth.joints[name]["kp"], rel=0.02)
        assert found[name, "kv"].value == pytest.approx(truth.joints[name]["kv"], rel=0.02)
    silent = replace(run, tau=np.zeros((len(run.time), 0)))
    log = robot.log(tmp_path / "silent", truth, silent, 4)
    found = fit(robot.scene, [log], ["kp", "kv"])
    assert "velocity setpoints that were not recorded" in found.rejection


def one(name: str, value: float, half: float, **more: object) -> Estimate:
    made = Estimate("knee", "knee", name, value, 1.0, value - half, value + half)
    return replace(made, **more)  # type: ignore[arg-type]


def test_the_ratio_of_gains_by_efforts_is_free_of_the_torque_constant() -> None:
    rng = random.Random(0)
    for _ in range(200):
        kp, kv, damping, scene, wrong = (rng.uniform(0.1, 3.0) for _ in range(5))
        motion = Findings(
            (
                one("kp", kp, 0.01),
                one("kv", kv + damping - scene, 0.02, reason="if damping is as in the scene"),
                one("damping", scene, 0.0, identifiable=False, reason="kv has the same effect"),
            )
        )
        efforts = [one("kp", wrong * kp, 0.01), one("kv", wrong * kv, 0.01)]
        found = {e.parameter: e for e in told_apart(motion, efforts).estimates}
        assert found["kv"].value == pytest.approx(kv)
        assert found["damping"].value == pytest.approx(damping)
        assert found["damping"].identifiable and found["damping"].high > damping
        assert found["damping"].high - damping > found["kv"].high - kv  # both errors are in it


def test_nothing_is_told_apart_of_a_rejected_model_or_without_efforts() -> None:
    motion = Findings(
        (
            one("kp", 2.0, 0.1),
            one("kv", 1.0, 0.1, reason="if damping is as in the scene"),
            one("damping", 0.1, 0.0, identifiable=False),
        )
    )
    efforts = [one("kp", 2.0, 0.1), one("kv", 0.5, 0.1)]
    rejected = replace(motion, rejection="the model is rejected")
    assert told_apart(rejected, efforts) is rejected
    for lacking in ([], efforts[:1], efforts[1:]):
        assert told_apart(motion, lacking).estimates == motion.estimates
