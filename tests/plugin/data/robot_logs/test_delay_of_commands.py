"""A delay that is said holds the true one, whatever the motion, the rates and the noise."""

import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from tests.campaign import CAMPAIGN
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions

STEP, SECONDS = 0.0005, 3.0
MOTIONS = ("chirp", "slow", "steps", "many")
#: Motions that tell when commands act, without noise and by rows that are not too far apart.
TELLING, DENSE = ("chirp", "steps", "many"), 0.004


@dataclass(frozen=True)
class Case:
    """Commands about every `period`, that act `delay` later, seen every `row` [s]."""

    motion: str
    row: float
    period: float
    delay: float
    noise: float
    seed: int


def _cases() -> list[Case]:
    rng = np.random.default_rng(3)
    found = []
    for seed, (motion, row) in enumerate(product(MOTIONS, (0.002, 0.004, 0.008))):
        for noise in (0.0, 1.0):
            period, delay = rng.choice([0.002, 0.005, 0.01, 0.02]), rng.uniform(0.0, 0.025)
            found.append(Case(motion, row, float(period), float(delay), noise, seed))
    return found if CAMPAIGN else found[::5]


def _wanted(motion: str, at: Any, rng: np.random.Generator) -> Any:
    if motion == "chirp":
        phase = 2 * np.pi * (0.4 * at + 0.6 * at**2)
        return np.stack([0.4 * np.sin(phase), 0.5 * np.sin(1.3 * phase)], axis=1)
    if motion == "slow":
        return np.stack([0.4 * np.sin(2.0 * at), 0.5 * np.sin(2.7 * at)], axis=1)
    if motion == "steps":
        return np.stack(
            [0.4 * np.sign(np.sin(3 * at)), 0.3 * np.sign(np.sin(4.1 * at + 1))], axis=1
        )
    rates = rng.uniform(2.0, 40.0, (6, 2))
    return sum(0.1 * np.sin(at[:, None] * rate + k) for k, rate in enumerate(rates))


def _simulated(case: Case) -> dict[str, Any]:
    """States every `row`, commands and when they were sent."""
    rng = np.random.default_rng(case.seed)
    model = mujoco.MjModel.from_xml_string(sim.MODEL)
    model.opt.timestep = STEP
    data = mujoco.MjData(model)
    sent = np.arange(-0.5, SECONDS, case.period)
    sent[1:] += case.period * rng.uniform(-0.2, 0.2, len(sent) - 1)
    command = _wanted(case.motion, np.maximum(sent, 0.0), rng)
    time = np.arange(round(SECONDS / STEP)) * STEP
    acting = command[np.searchsorted(sent + case.delay, time + 1e-9, side="right") - 1]
    rows = []
    every = round(case.row / STEP)
    for k, goal in enumerate(acting):
        tau = sim.KP * (goal - data.qpos) - sim.KV * data.qvel
        if k % every == 0:
            rows.append([*data.qpos, *data.qvel, *tau])
        data.ctrl[:] = tau
        mujoco.mj_step(model, data)
    size = case.noise * np.repeat([1e-3, 2e-2, 5e-2], 2)
    table = np.array(rows) + size * rng.standard_normal((len(rows), 6))
    return {"time": time[::every], "table": table, "sent": sent, "command": command}


def _write(path: Path, columns: dict[str, Any]) -> None:
    table = np.stack(list(columns.values()), axis=1)
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")


def _columns(word: str, values: Any) -> dict[str, Any]:
    return {f"{word}_{name}": values[:, k] for k, name in enumerate(sim.NAMES)}


def _states(run: dict[str, Any]) -> dict[str, Any]:
    parts = (("q", slice(0, 2)), ("dq", slice(2, 4)), ("tau", slice(4, 6)))
    found = {"t": run["time"]}
    for word, own in parts:
        found |= _columns(word, run["table"][:, own])
    return found


def _check(log: Path, case: Case) -> None:
    """The range that is said holds the truth; or nothing is said, with the reason."""
    notes = mjrig.read_recording(log).notes
    said = [n for n in notes if n.startswith("commands act")]
    reasons = [n for n in notes if n.startswith("when commands act is not known: ")]
    assert len(said) + len(reasons) == 1, notes
    assert not any("velocity setpoints acted" in n for n in notes), notes
    if said:
        hit = re.search(r"act (-?[\d.]+) ± ([\d.]+) ms after", said[0])
        assert hit is not None
        delay, error = (1e-3 * float(text) for text in hit.groups())
        assert abs(delay - case.delay) <= error + 1e-5, (said, case)
    is_clear = case.motion in TELLING and not case.noise and case.row <= DENSE
    assert said or not is_clear, (notes, case)


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_commands_that_rows_hold(tmp_path: Path, case: Case) -> None:
    run = _simulated(case)
    held = np.searchsorted(run["sent"], run["time"] + 1e-9, side="right") - 1
    log = tmp_path / "run.csv"
    _write(log, _states(run) | _columns("cmd", run["command"][held]))
    _check(log, case)
    notes = mjrig.read_recording(log).notes
    assert not any("only every" in n for n in notes)
    is_timed = any("commands of another clock" in n for n in notes)
    assert is_timed or not any(mentions(n, "by which they are …") for n in notes)


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_commands_with_stamps_of_their_own(tmp_path: Path, case: Case) -> None:
    run = _simulated(case)
    log = tmp_path / "log"
    log.mkdir()
    _write(log / "states.csv", _states(run))
    _write(log / "commands.csv", {"t": run["sent"]} | _columns("cmd", run["command"]))
    _check(log, case)
