"""Motions that are designed to show parameters show them better than naive ones, and are safe."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.arrays import FloatArray
from mjrig.cli.main import main
from mjrig.errors import FitError
from mjrig.tuning.excitation.excite import Excitation, ExcitationLimits, excite
from mjrig.tuning.fitting.fit import fit
from tests.plugin.tuning.fitting.fit_worlds import noisy, record, swing, with_others

PD = "robot.PDController"
TRUE = {f"{PD}.kp": 34.0, f"{PD}.kv": 1.7}
ASKED = ["kp", "kv", "armature"]


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path)


def width(scene: mjrig.Scene, setpoints: FloatArray) -> float:
    """The mean relative width of the intervals of a fit to a motion, as a robot makes it."""
    world = mjrig.World(with_others(scene, TRUE))

    def command(time: float, values: FloatArray) -> None:
        values[0] = setpoints[min(round(time / world.timestep), len(setpoints) - 1)]

    log = noisy(record(world, command, len(setpoints) * world.timestep), 0, 5e-4, 5e-3)
    found = fit(scene, [log], ASKED, validate=None)
    return float(np.mean([(min(e.high, 9e9) - e.low) / abs(e.value) for e in found.estimates]))


@pytest.fixture
def designed(scene: mjrig.Scene) -> Excitation:
    limits = ExcitationLimits(speed=3.0, effort=0.05)
    return excite(scene, ASKED, duration=1.5, candidates=6, limits=limits)


def test_it_shows_more_than_a_sine_of_the_same_power(
    scene: mjrig.Scene, designed: Excitation
) -> None:
    time = designed.time
    sine = np.sin(2.0 * np.pi * time)
    sine *= np.std(designed.setpoints) / np.std(sine)
    assert width(scene, designed.setpoints) < 0.95 * width(scene, sine[:, None])
    assert designed.information >= max(designed.others)


def test_it_keeps_the_limits_where_it_is_simulated(
    scene: mjrig.Scene, designed: Excitation
) -> None:
    world = mjrig.World(scene)
    fastest = strongest = 0.0
    for row in designed.setpoints:
        world["robot"].setpoints.position[:] = row
        world.step()
        fastest = max(fastest, float(np.abs(world.data.qvel).max()))
        strongest = max(strongest, float(np.abs(world.data.qfrc_actuator).max()))
    assert fastest == pytest.approx(designed.speed)
    assert 0.5 < fastest <= 3.0
    assert strongest <= 0.05 * 100.0


def test_limits_that_nothing_keeps(scene: mjrig.Scene) -> None:
    with pytest.raises(FitError, match="keeps the limits"):
        excite(scene, ASKED, duration=1.2, candidates=1, limits=ExcitationLimits(effort=1e-9))


def test_the_command_writes_a_table_and_a_recording(
    scene: mjrig.Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.save(tmp_path / "scene.yaml")
    files = [str(tmp_path / name) for name in ("scene.yaml", "motion.csv", "motion.h5")]
    command = ["tune", "excite", files[0], "--duration", "1.2", "--candidates", "2"]
    assert main([*command, "--csv", files[1], "--record", files[2]]) == 0
    assert "no contact" in capsys.readouterr().out
    table = np.genfromtxt(files[1], delimiter=",", names=True)
    share = mjrig.read_recording(files[2]).actors["robot"]
    assert share.commands is not None
    np.testing.assert_allclose(share.commands.position[:, 0], table["swing"], atol=1e-8)
