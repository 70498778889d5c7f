"""Fits of random logs with known truth: how often intervals hold it."""

from pathlib import Path

import pytest

from mjrig.lab.fit.identification import fit
from tests.campaign import Tally
from tests.plugin.lab.fit.synthetic_logs import NAMES, Robot, random_truth

PARAMETERS = ["kp", "kv", "armature", "damping", "frictionloss"]
#: Of the numbers in all fits together, so many must lie in their intervals of 95 %.
COVERED = 0.9


@pytest.mark.campaign
def test_intervals_hold_the_truth_of_random_logs(tmp_path: Path, tally: Tally) -> None:
    hits = count = 0
    worst: dict[str, float] = {}
    for k, rng in enumerate(tally.cases("fits of random logs", 2, 30, minutes=20)):
        robot, truth = Robot.random(tmp_path / str(k), rng), random_truth(rng)
        log = robot.log(tmp_path / str(k) / "bag", truth, robot.run(truth, 1.9, k), k)
        bounds = {"delay": (0, 14)}
        found = fit(robot.scene, [log], ["delay", *PARAMETERS], together=False, bounds=bounds)
        if found.rejection:
            tally.found(found.rejection)
            continue
        # The fastest message takes 1 ms, and a command acts from the next physics step on.
        expected = (truth.delay + 0.001) / 0.001
        for name in NAMES:
            delay = found[name, "delay"]
            if delay.identifiable and abs(delay.value - expected) > 0.75:
                tally.found(f"delay of {name} {delay.value:.2f} instead of {expected:.2f}")
            for parameter in PARAMETERS:
                e, true = found[name, parameter], truth.joints[name][parameter]
                if e.identifiable:
                    count += 1
                    hits += e.low <= true <= e.high
                    worst[parameter] = max(worst.get(parameter, 0.0), abs(e.value / true - 1.0))
    said = ", ".join(f"{name} at most {100 * share:.1f} % off" for name, share in worst.items())
    print(f"{hits} of {count} intervals hold the truth; {said}")
    assert hits >= COVERED * count, said
