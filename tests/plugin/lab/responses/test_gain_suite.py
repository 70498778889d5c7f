"""The gain test suite against second-order theory and against bare MuJoCo."""

import json
import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from mjrig.cli.gain_command import TESTS
from mjrig.cli.main import main
from mjrig.core.errors import BindingError, MjrigError, SceneError
from mjrig.core.scene.editing.scene import Scene
from mjrig.lab.responses.gain_suite import CYCLES, check_gains
from mjrig.lab.responses.gain_test import GainResult, GainTest, GainVerdict
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.signals import BAND
from tests.campaign import Tally
from tests.plugin.lab.scenes import PD, write_scene
from tests.worlds import GRIPPER, arm, hinge

INERTIA = 0.5
Output = pytest.CaptureFixture[str]


def pd(kp: float, kv: float, limit: float = math.inf) -> str:
    return f"{{type: PDController, kp: {kp!r}, kv: {kv!r}, torque_limit: {limit!r}}}"


def judged(path: Path, thresholds: str) -> Path:
    """The scene with `gain_tests` on its first actor."""
    text = path.read_text().replace("robot.xml", f"robot.xml\n    gain_tests: {thresholds}", 1)
    path.write_text(text)
    return path


def coarse(folder: Path, xml: str, *controllers: str, **about: Any) -> Path:
    """A scene with few steps, where the numbers do not matter."""
    return write_scene(folder, xml, *controllers, sim="{timestep: 0.004}", **about)


def only(path: Path, *tests: str, **options: Any) -> GainResult:
    (found,) = check_gains(path, tests=tests, **options).results
    return found


def numbers(result: GainResult) -> dict[str, float | None]:
    return {m.name: m.value for m in result.measures}


def kinds(result: GainResult) -> list[str]:
    return [finding.kind for finding in result.findings]


def slide(inertia: float) -> str:
    """The same as `hinge`, with a slide of that mass."""
    return (
        hinge()
        .replace('name="swing" axis', 'name="swing" type="slide" axis')
        .replace('mass="1"', f'mass="{inertia}"')
    )


def stepped(natural: float, zeta: float, h: float) -> float:
    """Overshoot of x'' = ω²(1 − x) − 2ζω x', with the force held over steps as by Euler."""
    x = v = most = 0.0
    for _ in range(round(10.0 / (zeta * natural * h))):
        v += h * (natural**2 * (1.0 - x) - 2.0 * zeta * natural * v)
        x += h * v
        most = max(most, x)
    return most - 1.0


# Steps and sines --------------------------------------------------------------------------------


@pytest.mark.campaign
def test_steps_and_sines_are_those_of_a_second_order_system(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("gain tests, second order", 1, 60):
        natural, zeta = float(rng.uniform(8.0, 25.0)), float(rng.uniform(0.25, 0.9))
        kp, kv = INERTIA * natural**2, 2.0 * zeta * natural * INERTIA
        hertz = float(rng.uniform(0.5, 3.0))
        xml = hinge() if rng.random() < 0.5 else slide(INERTIA)
        path = judged(
            write_scene(tmp_path, xml, pd(kp, kv)), f"{{frequency: {hertz}, amplitude: 0.02}}"
        )
        step, sine = check_gains(path, tests=["sine", "step"]).results
        overshoot = math.exp(-zeta * math.pi / math.sqrt(1.0 - zeta**2))
        # A response counts as ended within 0.3 % of its end, by which overshoots are off.
        assert numbers(step)["overshoot"] == pytest.approx(overshoot, rel=0.05, abs=6e-3)
        assert numbers(step)["overshoot"] == pytest.approx(stepped(natural, zeta, 1e-3), abs=4e-3)
        assert (overshoot > 0.21) <= (step.verdict is GainVerdict.FAIL)
        w = 2.0 * math.pi * hertz
        h = kp / complex(kp - INERTIA * w**2, kv * w)
        assert numbers(sine)["gain"] == pytest.approx(abs(h), rel=0.01)
        assert numbers(sine)["lag"] == pytest.approx(-math.degrees(np.angle(h)), abs=1.0)
        fine = abs(abs(h) - 1.0) < 0.1 and -math.degrees(np.angle(h)) < 45.0
        if not fine == (sine.verdict is GainVerdict.PASS):
            tally.found(f"{natural=} {zeta=} {hertz=}: {sine.findings}")


def test_a_threshold_that_is_null_is_not_judged(tmp_path: Path) -> None:
    path = coarse(tmp_path, hinge(), pd(50.0, 2.0))  # ζ 0.2
    found = only(path, "step")
    assert found.verdict is GainVerdict.FAIL
    overshoot, settling = found.findings
    assert (overshoot.kind, overshoot.where, overshoot.unit) == ("overshoot", found.label, "%")
    assert overshoot.here == 100.0 * (numbers(found)["overshoot"] or 0.0) > overshoot.expected
    assert (settling.kind, settling.expected, settling.unit) == ("settling", 1.0, "s")
    judged(path, "{overshoot: null, settling_time: 5}")
    assert only(path, "step").verdict is GainVerdict.PASS


def test_a_saturated_joint_fails(tmp_path: Path) -> None:
    path = coarse(tmp_path, hinge(), pd(200.0, 20.0, 0.3))
    found = only(path, "step")
    assert found.verdict is GainVerdict.FAIL
    assert (numbers(found)["saturated"] or 0.0) > 0.9
    assert "saturated" in kinds(found)


# Limits -----------------------------------------------------------------------------------------


def bare(xml: str, kp: float, kv: float, target: float, seconds: float) -> np.ndarray[Any, Any]:
    """Positions of a hinge under PD control, by MuJoCo alone."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    positions = []
    for _ in range(round(seconds / model.opt.timestep)):
        data.ctrl[0] = kp * (target - data.qpos[0]) - kv * data.qvel[0]
        mujoco.mj_step(model, data)
        positions.append(float(data.qpos[0]))
    return np.array(positions)


def test_both_ends_of_a_range_are_reached_as_in_bare_mujoco(tmp_path: Path) -> None:
    kp, kv, ends = 60.0, 2.0, (-0.5, 0.8)  # ζ 0.18: it hits the stops
    xml = hinge(joint='range="-0.5 0.8" solreflimit="0.1 0.3"')
    path = write_scene(tmp_path, xml, pd(kp, kv))
    found = check_gains(path, tests=["limits"]).results
    assert [r.case for r in found] == ["low", "high"]
    for result, end in zip(found, ends, strict=True):
        assert result.trace is not None
        truth = bare(xml, kp, kv, end, result.trace.time[-1])
        assert result.trace.position == pytest.approx(truth, abs=1e-9)
        beyond = max(0.0, (truth / end).max() - 1.0) * abs(end) / 1.3
        assert numbers(result)["beyond"] == pytest.approx(beyond, abs=1e-9)
        assert beyond > 0.02 and result.verdict is GainVerdict.FAIL
        way = bare(xml, kp, kv, end, 4.0 * result.trace.time[-1])[-1]
        outside = np.flatnonzero(np.abs(truth - way) > BAND * abs(way))
        settling = (outside[-1] + 1.5) * 1e-3
        assert numbers(result)["settling"] == pytest.approx(settling, abs=2e-3)


def test_a_limit_that_cannot_be_reached_fails_and_says_why(tmp_path: Path) -> None:
    xml = hinge(joint='range="-1 1" stiffness="50"')
    low, high = check_gains(write_scene(tmp_path, xml, pd(50.0, 10.0)), tests=["limits"]).results
    for result in (low, high):
        assert numbers(result)["error"] == pytest.approx(0.5, rel=0.01)
        assert result.verdict is GainVerdict.FAIL
        assert kinds(result)[-2:] == ["error", "joint spring"]


def test_without_a_range_there_is_nothing_to_reach(tmp_path: Path, capsys: Output) -> None:
    path = coarse(tmp_path, hinge(), PD)
    report = check_gains(path, tests=["limits"])
    assert [r.verdict for r in report.results] == [GainVerdict.SKIPPED]
    assert not report.is_passed
    assert main(["tune", "test", str(path), "--tests", "limits"]) == 1
    assert "1 skipped: nothing was tested" in capsys.readouterr().out
    assert main(["tune", "test", str(path), "--tests", "limits", "load"]) == 0


def test_signals_stay_inside_the_range(tmp_path: Path) -> None:
    xml = hinge(joint='range="-0.04 0.02"')
    path = coarse(tmp_path, xml, PD)
    step, sine = check_gains(path, tests=["step", "sine"]).results
    assert step.trace is not None and sine.trace is not None
    assert step.trace.target[-1] == pytest.approx(-0.036)
    assert sine.trace.target.max() == pytest.approx(0.018, rel=1e-3)
    at_end = hinge(joint='range="0 0.5"')
    found = check_gains(coarse(tmp_path, at_end, pd(20.0, 10.0)), tests=["limits", "sine"]).results
    assert [(r.case, r.verdict) for r in found] == [
        ("low", GainVerdict.SKIPPED),
        ("high", GainVerdict.PASS),
        ("", GainVerdict.SKIPPED),
    ]


def test_a_batch_and_the_bench_agree_on_joints_with_ranges_of_their_own(tmp_path: Path) -> None:
    xml = arm().replace('name="shoulder"', 'name="shoulder" range="-0.3 1"')
    path = coarse(tmp_path, xml.replace('name="elbow"', 'name="elbow" range="-2 0.1"'), PD)
    batch = check_gains(path, tests=["limits"]).results
    alone = check_gains(path, tests=["limits"], execution="python").results
    assert len(batch) == 4
    for one, other in zip(batch, alone, strict=True):
        assert (one.label, one.case, one.verdict) == (other.label, other.case, other.verdict)
        assert one.trace is not None and other.trace is not None
        assert np.array_equal(one.trace.position, other.trace.position)


# Load -------------------------------------------------------------------------------------------


def lever() -> str:
    """A massless lever of 0.4 m that points sideways, with 1 kg at its end."""
    text = hinge(option="")
    return text.replace('pos="0 0 0" mass', 'pos="0.4 0 0" mass').replace(
        "0.5 0.5 0.5", "1e-3 " * 3
    )


def sag(mass: float, kp: float) -> float:
    """kp e = m g L cos e."""
    error = 0.0
    for _ in range(50):
        error = mass * 9.81 * 0.4 * math.cos(error) / kp
    return error


@pytest.mark.parametrize("payload", [0.0, 2.5])
def test_a_load_pulls_by_its_torque_over_the_stiffness(tmp_path: Path, payload: float) -> None:
    kp, limit = 400.0, 20.0
    path = write_scene(tmp_path, lever(), pd(kp, 20.0, limit))
    if payload:
        judged(path, f"{{payload: {{arm: {payload}}}}}")
    found = only(path, "load")
    error = sag(1.0 + payload, kp)
    assert numbers(found)["error"] == pytest.approx(error, rel=1e-2)
    assert numbers(found)["effort"] == pytest.approx(kp * error, rel=1e-2)
    assert numbers(found)["of limit"] == pytest.approx(kp * error / limit, rel=1e-2)
    assert found.verdict is (GainVerdict.FAIL if payload else GainVerdict.PASS)


def test_compensated_gravity_does_not_compensate_a_payload(tmp_path: Path) -> None:
    xml = lever().replace('name="arm"', 'name="arm" gravcomp="1"')
    path = judged(write_scene(tmp_path, xml, pd(400.0, 20.0)), "{payload: {arm: 2}}")
    assert numbers(only(path, "load"))["error"] == pytest.approx(sag(2.0, 400.0), rel=1e-2)


def test_a_payload_on_no_body_is_refused(tmp_path: Path) -> None:
    path = judged(write_scene(tmp_path, lever(), PD), "{payload: {arn: 2}}")
    with pytest.raises(BindingError, match="did you mean 'arm'"):
        only(path, "load")


# Timesteps --------------------------------------------------------------------------------------


def test_gains_that_are_unstable_at_twice_the_timestep_are_found(tmp_path: Path) -> None:
    # kv·h/I is 1.4, at twice the timestep 2.8; the bound is 2.
    path = write_scene(tmp_path, hinge(), pd(7000.0, 700.0, 1e4))
    half, twice = check_gains(path, tests=["timestep"]).results
    assert (half.case, twice.case) == ("h/2", "2h")
    assert half.verdict is GainVerdict.PASS and twice.verdict is GainVerdict.FAIL
    assert twice.findings[0].kind in ("change", "not simulated")


def test_a_result_at_another_timestep_is_that_of_a_scene_with_it(tmp_path: Path) -> None:
    path = coarse(tmp_path, hinge(), PD)
    _, twice = check_gains(path, tests=["timestep"]).results
    slow = Scene.load(path)
    slow.set("sim.timestep", 0.008)
    (alone,) = respond(slow)
    assert alone.response.trace is not None and twice.trace is not None
    assert np.array_equal(alone.response.trace.position, twice.trace.position)


# What is tested ---------------------------------------------------------------------------------

NATIVE = '<position name="drive" joint="swing" kp="50" kv="5"/>'


@pytest.mark.parametrize(
    ("xml", "controllers"),
    [
        (hinge(), [PD]),
        (hinge(), []),
        (hinge(NATIVE), []),
        (hinge(NATIVE), [PD]),
        (GRIPPER, [PD]),
    ],
)
def test_it_runs_on_whatever_a_response_test_accepts(
    tmp_path: Path, xml: str, controllers: list[str]
) -> None:
    path = coarse(tmp_path, xml, *controllers)
    try:
        responses = [r.label for r in respond(path) if not r.response.problem]
    except MjrigError as error:
        with pytest.raises(type(error)) as refusal:
            check_gains(path, tests=["load"])
        assert str(refusal.value) == str(error)
        return
    assert [r.label for r in check_gains(path, tests=["load"]).results] == responses


def test_thresholds_are_those_of_each_actor(tmp_path: Path) -> None:
    path = coarse(tmp_path, hinge(), PD, actors=("a", "b"))
    judged(path, "{overshoot: 0.001}")
    one, two = check_gains(path, tests=["step"]).results
    assert (one.label, one.verdict) == ("a.drive", GainVerdict.FAIL)
    assert (two.label, two.verdict) == ("b.drive", GainVerdict.PASS)
    assert check_gains(path, actor="b", tests=["step"]).is_passed


def test_a_wrong_threshold_is_refused_with_its_line(tmp_path: Path) -> None:
    path = judged(write_scene(tmp_path, hinge(), PD), "{overshoot: -1}")
    with pytest.raises(
        SceneError, match=r"scene.yaml:5:\d+: .*robot.gain_tests.overshoot: must be >= 0"
    ):
        Scene.load(path)


# Command ----------------------------------------------------------------------------------------


def test_the_command_knows_every_test() -> None:
    assert tuple(GainTest) == TESTS
    assert CYCLES % 2 == 0


def test_the_command_says_what_failed_and_writes_a_report(tmp_path: Path, capsys: Output) -> None:
    path = judged(coarse(tmp_path, arm(), PD), "{settling_time: 0.1}")
    page = tmp_path / "out.html"
    command = ["tune", "test", str(path), "--joints", "elbow", "--tests", "step", "load"]
    assert main([*command, "--report", str(page)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("1 passed, 1 failed")
    assert lines[2].startswith("step: a step, overshoot at most 20 %, settling at most 0.1 s")
    assert lines[3].split()[0] == "joint" and lines[3].split()[-1] == "result"
    assert lines[4].split()[0] == "robot.b" and lines[4].split()[-1] == "FAIL"
    assert lines[5].startswith("  robot.b: settling: ")
    data = json.loads(page.with_suffix(".json").read_text())
    assert not data["passed"]
    step, load = data["results"]
    assert step["verdict"] == "fail" and step["measures"]["settling"]["most"] == 0.1
    assert load["verdict"] == "pass"
    html = page.read_text()
    assert html.count("<svg") == 2 and "1 passed, 1 failed" in html and 'class="bad above"' in html
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == data


def test_wrong_usage_is_told_apart_from_failures(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    with pytest.raises(SystemExit) as stopped:
        main(["tune", "test", str(path), "--tests", "stpe"])
    assert stopped.value.code == 2
    assert main(["tune", "test", str(path), "--joints", "swing", "swng"]) == 1
    assert "'swng' matches no actuator or joint" in capsys.readouterr().err
