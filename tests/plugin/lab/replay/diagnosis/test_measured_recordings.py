"""Causes of what a replay of a robot's log misses: none where it is noise, none beyond belief."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mjrig
from mjrig.lab.replay.diagnosis.body_hypotheses import BodyFits
from mjrig.lab.replay.diagnosis.predictions import ParameterFit
from mjrig.lab.replay.result import WITHIN, Replay
from tests.places import SCENES
from tests.plugin.data.robot_logs import simulated as sim
from tests.plugin.lab.replay.diagnosis.test_body_hypotheses import OneSided

#: Position, velocity and effort of a good and of a poor robot [rad, rad/s, N·m].
NOISE = ((1e-4, 5e-3, 0.02), (1e-3, 3e-2, 0.1))


def _replayed(folder: Path, run: sim.Run, kp: float, tolerance: float) -> Replay:
    law = f"kp: {kp}, kv: {sim.KV}, delay: {{steps: 6}}"
    (folder / "arm.xml").write_text(sim.MODEL)
    (folder / "arm.yaml").write_text(sim.SCENE.replace("kp: 40, kv: 2", law))
    store = sim.ros2()
    log = sim.write_rosbag2(folder / "bag", sim.joint_messages(run, store), store, "SQLITE3")
    recording = mjrig.read_recording(log, timestep=0.001)
    return mjrig.replay(recording, mjrig.World(folder / "arm.yaml"), tolerance=tolerance)


def _noisy(run: sim.Run, size: tuple[float, float, float], seed: int) -> sim.Run:
    rng = np.random.default_rng(seed)
    q, dq, tau = (
        values + s * rng.standard_normal(values.shape)
        for values, s in zip((run.q, run.dq, run.tau), size, strict=True)
    )
    return replace(run, q=q, dq=dq, tau=tau)


@pytest.mark.parametrize("kp", [sim.KP, 1.02 * sim.KP])
@pytest.mark.parametrize("noise", NOISE)
def test_within_the_tolerance_no_cause_is_sought(
    tmp_path: Path, noise: tuple[float, float, float], kp: float
) -> None:
    run = _noisy(sim.simulated(1.5), noise, 1)
    result = _replayed(tmp_path, run, kp, 0.05)
    assert result.verdict == WITHIN and not result.diagnosis
    assert any("within the tolerance: no cause is sought" in note for note in result.notes)


@pytest.mark.parametrize("noise", NOISE)
def test_noise_above_the_tolerance_has_no_cause(
    tmp_path: Path, noise: tuple[float, float, float]
) -> None:
    """The same robot, law and delay: what is missed is noise, which nothing explains."""
    run = _noisy(sim.simulated(1.5), noise, 2)
    result = _replayed(tmp_path, run, sim.KP, 0.2 * noise[0])
    assert result.verdict != WITHIN
    assert not [f for f in result.diagnosis if (f.share or 0.0) > 0.1]


@pytest.mark.parametrize(
    ("old", "new"), [('mass="0.4"', 'mass="0.8"'), ('damping="0.1"', 'damping="1.1"')]
)
def test_a_wrong_cause_that_explains_short_predictions_is_not_named(
    tmp_path: Path, old: str, new: str
) -> None:
    """Predictions from noisy states with a delay fit an armature of 0.2 to 0.5; runs do not."""
    run = _noisy(sim.simulated(1.5, sim.MODEL.replace(old, new)), NOISE[0], 3)
    result = _replayed(tmp_path, run, sim.KP, 1e-3)
    assert result.verdict != WITHIN
    assert "armature" not in {finding.kind for finding in result.diagnosis}


@pytest.mark.parametrize(("change", "is_named"), [(0.4, True), (46.0, False)])
def test_a_change_that_no_robot_has_is_not_named(change: float, is_named: bool) -> None:
    class Fitted(OneSided):
        def fit(self, *_: object, **__: object) -> ParameterFit:
            return ParameterFit(change, self.size, 0.3 * self.size)

    world = mjrig.World(SCENES / "quadruped_trot.yaml")
    robot = next(iter(world.articulations.values()))
    recorded = SimpleNamespace(plant=SimpleNamespace(joints={}, overall={}))
    pair = SimpleNamespace(robot=robot, base=object(), joints=(), recorded=recorded)
    found = BodyFits(Fitted(pair, 0.1, 0.5, 0.7), world).run()  # type: ignore[arg-type]
    assert ("payload" in {finding.kind for finding, _ in found}) == is_named
