"""Velocity setpoints that acted are found by the efforts, wherever they begin and end."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mjrig.data.recording.readers import read_recording
from tests.campaign import Tally
from tests.plugin.lab.fit.synthetic_logs import Robot, random_truth

SECONDS = 4.0
SAID = "velocity setpoints acted that are not in the log, by the efforts: "
SPANS = [(1.0, 1.0), (0.0, 1.0), (0.4, 1.0), (0.0, 0.6), (0.3, 0.7)]


@pytest.mark.campaign
def test_spans_with_velocity_setpoints_are_found(tmp_path: Path, tally: Tally) -> None:
    for k, rng in enumerate(tally.cases("unrecorded velocity setpoints", 3, 100, minutes=4)):
        first, last = SPANS[k] if k < len(SPANS) else sorted(rng.random() for _ in range(2))
        if 0.0 < last - first < 0.3 or 0.0 < first < 0.3 or 0.7 < last < 1.0:
            first, last = SPANS[k % len(SPANS)]  # a second at least of each
        seconds = SECONDS + (rng.uniform(0.0, 4.0) if k % 2 else 0.0)
        robot = Robot.random(tmp_path / str(k), rng)
        truth = replace(random_truth(rng), velocities=(first, last))
        run = replace(robot.run(truth, seconds, k), command_velocity=None)
        log = robot.log(tmp_path / str(k) / "bag", truth, run, k)
        notes = [n for n in read_recording(log).notes if n.startswith(SAID)]
        begin, end = first * seconds, last * seconds
        expected = () if first == last else (begin, end)
        found = _spans(notes, seconds)
        if len(found) != len(expected):
            tally.found(f"{first:.2f} to {last:.2f}: {notes}")
        elif any(abs(a - b) > 0.05 for a, b in zip(found, expected, strict=True)):
            tally.found(f"{begin:.2f} to {end:.2f} s: {notes}")


def _spans(notes: list[str], seconds: float) -> tuple[float, ...]:
    if not notes:
        return ()
    said = notes[0].removeprefix(SAID).split(";")[0]
    if said == "all the time":
        return 0.0, seconds
    numbers = [float(word) for word in said.split() if word.replace(".", "").isdigit()]
    return (*numbers, seconds) if said.endswith("on") else tuple(numbers)


def test_recorded_velocity_setpoints_are_left_alone(tmp_path: Path) -> None:
    rng = random.Random(1)
    robot, truth = Robot.random(tmp_path, rng), random_truth(rng)
    log = robot.log(tmp_path / "bag", truth, robot.run(truth, SECONDS, 1), 1)
    assert not any(n.startswith(SAID) for n in read_recording(log).notes)
