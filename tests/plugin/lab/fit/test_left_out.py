"""A push that no log knows of is found, said and left out, wherever it is."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mjrig.lab.fit.identification import Fit, fit
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.lab.fit.synthetic_logs import Robot, Truth, random_truth

SECONDS = 6.0
PARAMETERS = ("kp", "kv", "delay", "armature", "damping", "frictionloss")
SAID = "short spans with most of what no values explain are left out: "


def _fitted(folder: Path, rng: random.Random, truth: Truth) -> Fit:
    robot, seed = Robot.random(folder, rng), rng.randrange(1000)
    log = robot.log(folder / "bag", truth, robot.run(truth, SECONDS, seed), seed)
    return fit(robot.scene, [log], list(PARAMETERS), together=True)


def _spans(found: Fit) -> list[tuple[float, float]]:
    said = next((note for note in found.notes if note.startswith(SAID)), "")
    return [(float(a), float(b)) for a, b in re.findall(r"from ([0-9.]+) to ([0-9.]+) s", said)]


@pytest.mark.campaign
def test_a_push_is_left_out(tmp_path: Path, tally: Tally) -> None:
    # What is held out lies between 2.8 and 4.4 s: a fit does not see it.
    for k, rng in enumerate(tally.cases("pushes left out", 1, 30, minutes=3)):
        begin = (
            (1.2, 5.85)[k] if k < 2 else rng.choice([rng.uniform(0.5, 2.5), rng.uniform(4.6, 5.85)])
        )
        end = begin + rng.uniform(0.06, 0.15)
        truth = random_truth(rng)
        pushed = replace(truth, pushed=(begin, end, rng.uniform(2.0, 5.0)))
        found = _fitted(tmp_path / str(k), rng, pushed)
        spans = _spans(found)
        about = f"pushed from {begin:.2f} to {end:.2f} s: {spans}"
        if not any(a < end and b > begin for a, b in spans):
            tally.found(f"{about}, {found.rejection}")
            continue
        if sum(b - a for a, b in spans) > 0.1 * SECONDS:
            tally.found(f"{about} is too much")
        for e in found.estimates:
            true = truth.joints[e.joint].get(e.parameter)
            if true is None or e.low is None or e.high is None:
                continue
            reach = e.high - e.low  # an interval of 95 % may miss
            if not e.low - reach < true < e.high + reach:
                tally.found(f"{about}: {e.parameter} {e.value:g} instead of {true:g}")


@pytest.mark.skipif(not CAMPAIGN, reason="takes long; runs in `make campaign`")
@pytest.mark.campaign
def test_nothing_is_left_out_otherwise(tmp_path: Path, tally: Tally) -> None:
    for k, rng in enumerate(tally.cases("nothing to leave out", 1, 30, minutes=3)):
        found = _fitted(tmp_path / str(k), rng, random_truth(rng))
        if _spans(found) or found.rejection:
            tally.found(f"{_spans(found)} {found.rejection}")


@pytest.mark.skipif(not CAMPAIGN, reason="takes long; runs in `make campaign`")
def test_a_push_while_held_out_is_said(tmp_path: Path) -> None:
    rng = random.Random(1)
    found = _fitted(tmp_path, rng, replace(random_truth(rng), pushed=(3.5, 3.6, 4.0)))
    said = [note for note in found.notes if "what was held out is in short spans" in note]
    assert said and not _spans(found)
    first, end = (float(t) for t in re.findall(r"from ([0-9.]+) to ([0-9.]+) s", said[0])[0])
    assert first < 3.6 and end > 3.5
