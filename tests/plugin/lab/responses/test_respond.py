"""All joints follow a signal at once, each as if it were alone on the bench."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from mjrig.cli.main import main
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.responses import joint_response
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.campaign import campaign_only
from tests.plugin.lab.scenes import BUNDLED, PD, write_scene
from tests.worlds import GRIPPER, arm, hinge, refused

SHORT = Signal(duration=0.3)
Output = pytest.CaptureFixture[str]


def test_a_batch_does_what_the_bench_does() -> None:
    path = BUNDLED / "quadruped.yaml"
    names = ["FL_hip", "RR_calf"]
    alone = Bench(World(path)).run("quadruped", names, SHORT)
    found = respond(path, joint="|".join(names), signal=SHORT)
    for one, other in zip(alone, [f.response for f in found], strict=True):
        assert (one.actuator, one.joint) == (other.actuator, other.joint)
        assert one.trace is not None and other.trace is not None
        assert np.array_equal(one.trace.position, other.trace.position)
        assert np.array_equal(one.trace.target, other.trace.target)
        for name in ("time", "effort", "raw_effort", "applied_effort"):
            assert getattr(one.trace, name) == pytest.approx(getattr(other.trace, name), abs=1e-9)
        assert [cause.kind for cause in one.causes] == [cause.kind for cause in other.causes]
        loads = [cause.here for cause in other.causes]
        assert [cause.here for cause in one.causes] == pytest.approx(loads, rel=1e-5)


def test_limits_show_in_a_batch(tmp_path: Path) -> None:
    geared = '<motor name="drive" joint="swing" gear="-3"/>'
    weak = "{type: PDController, kp: 50, kv: 5, torque_limit: 2}"
    path = write_scene(tmp_path, hinge(geared), weak)
    (alone,) = Bench(World(path)).run("robot", ["drive"], SHORT)
    (found,) = respond(path, signal=SHORT)
    assert alone.trace is not None and found.response.trace is not None
    assert found.response.metrics is not None and alone.metrics is not None
    assert found.response.metrics.saturation == alone.metrics.saturation > 0.1
    for name in ("position", "effort", "raw_effort", "applied_effort"):
        values = getattr(found.response.trace, name)
        assert values == pytest.approx(getattr(alone.trace, name), abs=1e-9)


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_every_execution_gives_the_same(tmp_path: Path, execution: str) -> None:
    if execution == "compiled":
        pytest.importorskip("numba")
    path = write_scene(tmp_path, arm(), "{type: PDController, kp: 20, kv: 2}")
    found = respond(path, signal=SHORT, execution=execution)
    usual = respond(path, signal=SHORT)
    for one, other in zip(found, usual, strict=True):
        assert one.response.trace is not None and other.response.trace is not None
        assert np.array_equal(one.response.trace.position, other.response.trace.position)
        assert one.margins == other.margins


@pytest.mark.campaign
@campaign_only
@pytest.mark.slow
def test_processes_give_what_the_bench_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint_response, "WORTH_A_PROCESS", 100)
    path = write_scene(tmp_path, arm(), "{type: PIDController, kp: $k, ki: 2, kv: 2}")
    path.write_text(
        path.read_text().replace("$k", "'${k}'").replace("sim", "sim") + "vars: {k: 1}\n"
    )
    scene = Scene.load(path, vars={"k": 30})
    scene.set("robot.PIDController.kv", 3)
    found = respond(scene, signal=SHORT, execution="python", workers=2)
    alone = Bench(World(scene, "python")).run("robot", ["a", "b"], SHORT)
    for one, other in zip(found, alone, strict=True):
        assert one.response.trace is not None and other.trace is not None
        assert np.array_equal(one.response.trace.position, other.trace.position)
        assert one.response.metrics == other.metrics


def test_two_robots_of_one_model_are_told_apart(tmp_path: Path) -> None:
    path = write_scene(tmp_path, arm(), PD, actors=("left", "right"))
    assert [f.label for f in respond(path, joint="elbow", signal=SHORT)] == ["left.b", "right.b"]
    only = respond(path, actor="right", signal=SHORT)
    assert [f.label for f in only] == ["right.a", "right.b"]


def test_what_no_law_drives_is_told_with_the_reason(tmp_path: Path) -> None:
    found = respond(write_scene(tmp_path, GRIPPER, PD), signal=SHORT)
    assert [f.label for f in found] == ["robot.leg", "robot.grip"]
    assert found[1].response.problem == "drives the tendon 'grip', not a joint"
    assert found[1].response.metrics is None


def test_a_law_on_a_tendon_is_tested(tmp_path: Path) -> None:
    xml = GRIPPER.replace(
        '<position name="grip" tendon="grip" kp="50" kv="3"/>', '<motor name="grip" tendon="grip"/>'
    )
    law = "{type: PDController, transmissions: all, kp: 50, kv: 5}"
    found = respond(write_scene(tmp_path, xml, law), joint="grip", signal=SHORT)
    assert found[0].response.metrics is not None
    assert found[0].margins is not None


def test_a_joint_that_diverges_says_so(tmp_path: Path) -> None:
    wild = "{type: PDController, kp: 50, kv: 5000, torque_limit: .inf}"
    (found,) = respond(write_scene(tmp_path, hinge(), wild), signal=Signal(duration=1.0))
    assert "diverged" in found.response.problem
    assert found.response.trace is None


def test_a_chirp_comes_with_frequencies_and_a_step_with_margins(tmp_path: Path) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    (chirp,) = respond(path, signal=Signal(Kind.CHIRP, 0.1, 0.5, 10.0, 2.0))
    assert chirp.measured is not None and chirp.linear is not None
    assert np.abs(chirp.measured.value - chirp.linear.value).max() < 2e-3
    (step,) = respond(path, signal=SHORT)
    assert step.measured is None
    assert step.margins == chirp.margins
    assert step.margins is not None and step.margins.phase_margin == pytest.approx(51.7, abs=0.1)


# Refusals ---------------------------------------------------------------------------------------


def test_a_scene_without_actuators_is_refused(tmp_path: Path) -> None:
    with refused(BindingError, "nothing to tune: no actor has an actuator (actors: robot)"):
        respond(write_scene(tmp_path, hinge("")))


def test_actuators_without_a_law_are_refused(tmp_path: Path) -> None:
    path = write_scene(tmp_path, hinge())
    with refused(BindingError, "nothing to tune: robot.drive: no controller owns it"):
        respond(path)
    path = write_scene(tmp_path, hinge(), "{type: PDController, enabled: false}")
    with refused(BindingError, "nothing to tune: robot.drive: PDController is disabled"):
        respond(path)


def test_a_pattern_without_a_match_names_the_nearest(tmp_path: Path) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    text = "'swng' matches no actuator or joint of 'robot'; did you mean 'swing'?"
    with refused(BindingError, text):
        respond(path, joint="swng")


def test_a_frequency_the_physics_cannot_show_is_refused(tmp_path: Path) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    text = "the test signal's frequency must be below half the rate of the physics, 500 Hz, got 600"
    with refused(PropertyError, text):
        respond(path, signal=Signal(Kind.SINE, frequency=600.0))


# The command ------------------------------------------------------------------------------------


def test_the_command_prints_a_table(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, GRIPPER, PD)
    assert main(["tune", "respond", str(path), "--duration", "0.3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:4] == ["joint", "rise", "[s]", "overshoot"]
    assert lines[3].startswith("  robot.leg")
    assert lines[-1] == "  robot.grip: drives the tendon 'grip', not a joint"


def test_the_command_writes_json_csv_and_plots(tmp_path: Path, capsys: Output) -> None:
    pytest.importorskip("matplotlib")
    path = write_scene(tmp_path, hinge(), PD)
    picture, table = tmp_path / "new" / "f.png", tmp_path / "new" / "f.csv"
    command = ["tune", "respond", str(path), "--signal", "chirp", "--duration", "1", "--json"]
    assert main([*command, "--plot", str(picture), "--csv", str(table)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["actuator"] == "drive" and found["joint"] == "swing"
    assert len(found["measured"]["gain"]) == len(found["linear"]["phase"])
    assert found["margins"]["phase_margin"] == pytest.approx(51.7, abs=0.1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert float(rows[-1]["time"]) == pytest.approx(0.001 * len(rows))
    assert len(rows) > 1000  # until it is at rest


def test_a_sine_prints_gain_and_phase(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    command = ["tune", "respond", str(path), "--signal", "sine", "--frequency", "2"]
    assert main([*command, "--set", "robot.PDController.kv=6", "--duration", "2"]) == 0
    _, _, header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:5] == ["joint", "frequency", "[Hz]", "gain", "phase"]
    assert row.split()[1] == "2"


def test_wrong_numbers_are_one_line(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    assert main(["tune", "respond", str(path), "--amplitude", "nan"]) == 1
    expected = "mjrig: the test signal's amplitude must be a number other than 0, got nan\n"
    assert capsys.readouterr().err == expected
    assert main(["tune", "respond", str(tmp_path / "none.yaml")]) == 1
    with pytest.raises(SystemExit) as stopped:
        main(["tune", "respond", str(path), "--workers", "0"])
    assert stopped.value.code == 2
