"""A wrong model is noticed, and correlated noise is not taken for one."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.data.recording.recording import Recording
from mjrig.lab.fit import search
from mjrig.lab.fit.estimates import Estimate
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.fit.problem import Unknown
from mjrig.lab.fit.report import fit_report, report_data
from mjrig.lab.fit.search import Profile
from mjrig.lab.fit.solution_estimates import with_other_lags
from mjrig.lab.fit.solver import Solution, Spread, solve
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.lab.fit.fit_worlds import chirp, noisy, record, with_others

ARM = """
<mujoco>
  <option timestep="0.002" integrator="Euler"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" armature="0.02" damping="0.1" frictionloss="0.05"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="{}"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" armature="0.01" damping="0.05" frictionloss="0.05"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.025" mass="{}"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="shoulder" joint="shoulder"/><motor name="elbow" joint="elbow"/></actuator>
</mujoco>"""
MASSES = 1.5, 0.8
#: Shares of wrong verdicts that are accepted.
FALSE_ALARMS, MISSED = 0.05, 0.10


def arm(folder: Path, name: str, masses: tuple[float, float] = MASSES) -> mjrig.Scene:
    (folder / name).write_text(ARM.format(*masses))
    return mjrig.Scene.parse(
        f"""
mjrig: 1
actors:
  - name: robot
    model: {name}
    components:
      - {{type: PDController, kp: 60, kv: 3, torque_limit: 100}}
""",
        folder,
    )


def fitted(folder: Path, rng: random.Random, *, wrong: bool, memory: float) -> Fit:
    """A fit of kp and kv to an arm with other gains, and other masses if the model is wrong."""
    errors = [rng.choice((-1, 1)) * rng.uniform(0.05, 0.1) * wrong for _ in MASSES]
    first, second = (m * (1.0 + e) for m, e in zip(MASSES, errors, strict=True))
    true = {
        "robot.PDController.kp": [rng.uniform(40, 90) for _ in MASSES],
        "robot.PDController.kv": [rng.uniform(1.5, 5) for _ in MASSES],
    }
    world = mjrig.World(with_others(arm(folder, "true.xml", (first, second)), true))
    seconds = 2.0 if CAMPAIGN else 1.0
    clean = record(world, chirp(0.3, 0.5, 6.0, seconds), seconds)
    noise = noisy(clean, rng.randrange(10**6), 1e-3, 2e-2, memory)
    return fit(arm(folder, "arm.xml"), [noise], ["kp", "kv"])


@pytest.mark.campaign
@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_a_right_model_is_not_rejected_however_correlated_the_noise(
    tmp_path: Path, tally: Tally, memory: float
) -> None:
    alarms = [
        fitted(tmp_path, rng, wrong=False, memory=memory).rejection
        for rng in tally.cases(f"fits of a right model, noise {memory}", 1, 100)
    ]
    if sum(map(bool, alarms)) > FALSE_ALARMS * len(alarms):
        tally.found(f"{sum(map(bool, alarms))} of {len(alarms)} rejected: {max(alarms)}")


@pytest.mark.campaign
def test_wrong_masses_are_noticed_and_intervals_withheld(tmp_path: Path, tally: Tally) -> None:
    missed = 0
    for rng in tally.cases("fits of wrong masses", 1, 100):
        found = fitted(tmp_path, rng, wrong=True, memory=0.0)
        missed += not found.rejection
        if found.rejection and not all(np.isnan(e.low) for e in found.estimates):
            tally.found("intervals of a rejected model")
    if missed > MISSED * tally.tried:
        tally.found(f"{missed} of {tally.tried} missed")


@pytest.mark.campaign
def test_a_fit_from_far_away_finds_the_truth(tmp_path: Path, tally: Tally) -> None:
    """From the scene's values alone, many of these end at other delays, with no armature left."""
    held = wanted = 0
    for rng in tally.cases("fits that begin far away", 1, 60):
        truth: dict[str, list[float]] = {
            "kp": [rng.uniform(20, 240) for _ in MASSES],
            "kv": [rng.uniform(1.5, 8) for _ in MASSES],
            "armature": [rng.uniform(0.005, 0.08) for _ in MASSES],
            "frictionloss": [rng.uniform(0.05, 0.5) for _ in MASSES],
            "delay": [rng.randrange(9) for _ in MASSES],
        }
        found = fit(arm(tmp_path, "arm.xml"), [far_away(tmp_path, rng, truth)], list(truth))
        for name, values in truth.items():
            for joint, value in zip(("shoulder", "elbow"), values, strict=True):
                one = found[joint, name]
                held += bool(one.low <= value <= one.high)
                wanted += 1
                if name == "kp" and abs(one.value / value - 1.0) > 0.05:
                    tally.found(f"kp of {joint} {one.value:.4g} for {value:.4g}: {found.notes}")
    if held < 0.9 * wanted:
        tally.found(f"{held} of {wanted} intervals hold the truth")


def far_away(folder: Path, rng: random.Random, truth: dict[str, list[float]]) -> Recording:
    """What the arm does with other values of everything."""
    joints = ("shoulder", "elbow")
    path, dynamics = "robot.PDController", "robot.dynamics"
    values: dict[str, object] = {f"{path}.{n}": truth[n] for n in ("kp", "kv")}
    values[f"{path}.delay"] = {"steps": truth["delay"]}
    for name in ("armature", "frictionloss"):
        values[f"{dynamics}.{name}"] = dict(zip(joints, truth[name], strict=True))
    world = mjrig.World(with_others(arm(folder, "true.xml"), values))
    clean = record(world, chirp(0.3, 0.5, 8.0, 1.5), 1.5)
    return noisy(clean, rng.randrange(10**6), 1e-3, 2e-2)


def test_an_interval_holds_what_other_delays_that_fit_as_well_make_of_it() -> None:
    unknowns = [Unknown("armature", 0, 0.0, 1.0, 0.01)]
    problem: Any = SimpleNamespace(unknowns=unknowns, block_of=lambda place: 0)
    values = np.array([[0.03], [0.011], [0.004], [-0.001]])
    profile = Profile(0, (2, 3, 4, 5), (90.0, 10.6, 10.0, 12.0), values)
    one = np.ones(1)
    errors = Spread(
        np.array([0.0002]), np.eye(1), one, inflation=one, covariance=np.eye(1), counted=one
    )
    found = Estimate("knee", "knee", "armature", 0.004, 0.02, 0.0036, 0.0044)
    wide = with_other_lags(found, problem, 0, [profile], errors)
    assert wide.low == 0.0
    assert wide.high == pytest.approx(0.011 + 1.96 * 0.0002)


def test_a_rejected_model_says_so_in_words_and_data(tmp_path: Path) -> None:
    found = fitted(tmp_path, random.Random(3), wrong=True, memory=0.0)
    assert found.rejection.startswith("the model is rejected: the residuals go ")
    data = json.loads(json.dumps(report_data(found)))
    assert data["rejection"] == found.rejection and data["converged"] is True
    assert {(e["low"], e["high"]) for e in data["estimates"]} == {(None, None)}
    assert "no interval: the model is rejected" in data["estimates"][0]["reason"]
    assert fit_report(found).splitlines()[0].endswith(found.rejection)


def test_a_search_that_ends_on_the_way_identifies_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = solve

    def short(*given: object, **options: object) -> Solution:
        return usual(*given, **{**options, "most": 1})  # type: ignore[arg-type]

    monkeypatch.setattr(search, "solve", short)
    found = fitted(tmp_path, random.Random(1), wrong=False, memory=0.0)
    assert not found.converged
    assert not any(e.identifiable for e in found.estimates)
    assert any(note.startswith("the search did not converge") for note in found.notes)
