"""Motions that are designed to show parameters show them better than naive ones, and are safe."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import FitError
from mjrig.lab.fit.excitation import Excitation, ExcitationLimits, excite
from mjrig.lab.fit.identification import fit
from tests.plugin.lab.fit.fit_worlds import SWING, noisy, record, swing, with_others

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
    assert fastest == pytest.approx(max(designed.speeds))
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


# Any robot --------------------------------------------------------------------------------------


def arm(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Hinges and slides with ranges of any size, some of which begin at an end of them."""
    bodies, motors, kinds = "", "", []
    for k in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(["hinge", "slide"]))
        size = float(np.exp(rng.uniform(np.log(0.02), np.log(2.0))))
        low = float(rng.choice([0.0, -0.5 * size, -size]))
        bodies += (
            f'<body><joint name="j{k}" type="{kind}" axis="0 {k % 2} {1 - k % 2}" limited="true" '
            f'range="{low} {low + size}" damping="1" armature="0.1"/>'
            '<geom size="0.05" mass="0.5" contype="0" conaffinity="0"/>'
        )
        motors += f'<motor name="j{k}" joint="j{k}" ctrlrange="-50 50" ctrllimited="true"/>'
        kinds.append(kind)
    return (
        '<mujoco><compiler angle="radian"/><option timestep="0.002" gravity="0 0 0"/><worldbody>'
        f"{bodies}{'</body>' * len(kinds)}</worldbody><actuator>{motors}</actuator></mujoco>"
    ), kinds


@pytest.mark.parametrize("seed", range(8))
def test_every_joint_moves_inside_its_limits_in_bare_mujoco(tmp_path: Path, seed: int) -> None:
    text, kinds = arm(np.random.default_rng(seed))
    scene = swing(tmp_path, model=text, PDController__kp=40.0, PDController__kv=4.0)
    found = excite(scene, ["kp", "armature"], duration=1.5, candidates=2, seed=seed)
    assert found.still == () and found.effort is not None
    assert found.units == tuple({"hinge": "rad", "slide": "m"}[kind] for kind in kinds)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    low, high = model.jnt_range.T
    fastest = np.zeros(model.nv)
    for row in found.setpoints:
        data.ctrl[:] = 40.0 * (row - data.qpos) - 4.0 * data.qvel
        mujoco.mj_step(model, data)
        fastest = np.maximum(fastest, np.abs(data.qvel))
        assert (np.abs(data.qfrc_actuator) <= 0.8 * 50.0).all()
        assert (np.minimum(data.qpos - low, high - data.qpos) > -0.011 * (high - low)).all()
    np.testing.assert_allclose(fastest, found.speeds, rtol=1e-6)
    assert (fastest <= 8.0).all()
    assert (np.ptp(found.setpoints, axis=0) > 0.2 * (high - low)).any()


def test_a_start_outside_of_a_range_is_named(tmp_path: Path) -> None:
    away = SWING.replace('<joint name="swing"', '<joint name="swing" limited="true" range="20 60"')
    with pytest.raises(FitError, match=r"range of swing \(at 0, range 0.349 to 1.05 rad\)"):
        excite(swing(tmp_path, model=away), ASKED)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"duration": float("nan")}, "duration: must be above 1"),
        ({"duration": 1e9}, "duration: must be above 1"),
        ({"candidates": 0}, "candidates: must be 1 or more"),
        ({"limits": ExcitationLimits(speed=float("nan"))}, "speed: must be above 0"),
        ({"limits": ExcitationLimits(speed=-1.0)}, "speed: must be above 0"),
        ({"limits": ExcitationLimits(effort=float("nan"))}, "effort: must be above 0"),
        ({"limits": ExcitationLimits(effort=1.5)}, "effort: must be above 0"),
    ],
)
def test_wrong_numbers_are_refused(scene: mjrig.Scene, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(FitError, match=said):
        excite(scene, ASKED, **wrong)


def test_what_is_there_is_kept_unless_told_otherwise(
    scene: mjrig.Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.save(tmp_path / "scene.yaml")
    (tmp_path / "motion.h5").write_text("mine")
    files = [str(tmp_path / name) for name in ("scene.yaml", "motion.csv", "motion.h5")]
    command = ["tune", "excite", files[0], "--duration", "1.2", "--candidates", "1"]
    command += ["--csv", files[1], "--record", files[2]]
    assert main(command) == 1
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert not (tmp_path / "motion.csv").exists()
    assert main([*command, "--overwrite"]) == 0
    assert mjrig.read_recording(files[2]).steps == 600
