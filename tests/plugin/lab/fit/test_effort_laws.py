"""Efforts say which law gave them, whatever the robot touches."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import FitError
from mjrig.data.recording.recording import Recording
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.fit.report import fit_report
from tests.campaign import campaign_only
from tests.plugin.lab.fit.fit_worlds import (
    SWING,
    TUMBLER,
    chirp,
    edited,
    measured,
    swing,
    taken,
    with_efforts,
    with_others,
)
from tests.plugin.lab.scenes import BUNDLED
from tests.worlds import GRIPPER, refused

pytest.importorskip("h5py")
PD = "robot.PDController"
TRUE = {f"{PD}.kp": 31.0, f"{PD}.kv": 1.4, f"{PD}.delay": {"steps": 3}}
#: Noise of positions, velocities and efforts.
NOISE = (5e-4, 1e-2, 0.05)
REPETITIONS = 24


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path)


def swung(scene: mjrig.Scene, values: Mapping[str, object], steps: int = 500) -> Recording:
    """A chirp of the scene with other values."""
    world = mjrig.World(with_others(scene, values))
    return taken(world, Path(scene.base), chirp(0.4, 0.5, 4.0, 0.002 * steps), steps)


def values(found: Fit, name: str) -> FloatArray:
    return np.array([e.value for e in found.estimates if e.parameter == name])


# Robots that touch the ground -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gait", ["trot", "walk"])
def test_gains_within_a_hundredth_and_delays_to_the_step(
    tmp_path: Path, gait: str, seed: int
) -> None:
    if gait == "walk":
        pytest.importorskip("onnxruntime")
    random = np.random.default_rng(seed)
    kp, kv = random.uniform(120, 240, 12), random.uniform(4, 6, 12)
    lags = random.integers(0, 4, 12)
    scene, path = mjrig.Scene.load(BUNDLED / f"quadruped_{gait}.yaml"), "quadruped.PDController"
    true = {
        f"{path}.kp": kp.tolist(),
        f"{path}.kv": kv.tolist(),
        f"{path}.delay": {"steps": lags.tolist()},
    }
    world = mjrig.World(with_others(scene, true))
    world.step(500)
    recording = measured(taken(world, tmp_path, None, 1500), seed, NOISE)
    found = fit(scene, [recording], ["kp", "kv", "delay"])
    assert {e.evidence for e in found.estimates} == {"efforts"}
    np.testing.assert_allclose(values(found, "kp"), kp, rtol=0.01)
    np.testing.assert_allclose(values(found, "kv"), kv, rtol=0.01)
    told = np.arange(12) % 3 > (0 if gait == "trot" else -1)  # hips of a trot are told to stay
    np.testing.assert_array_equal(values(found, "delay")[told], lags[told])
    known = [e.identifiable for e in found.estimates if e.parameter == "delay"]
    assert known == told.tolist()
    assert found.notes == ()
    assert found.rms_after == {}
    assert max(found.effort_after.values()) < 0.25 < max(found.effort_before.values())


def test_joints_move_by_what_the_efforts_said_when_the_rest_is_fitted(tmp_path: Path) -> None:
    scene = swing(tmp_path, model=TUMBLER)
    true = {**TRUE, "robot.dynamics.armature": {"swing": 0.03}}
    recording = swung(scene, true, 100)
    names = ["armature", "kp", "kv", "delay"]
    found = fit(scene, [recording], names, bounds={"delay": (0, 6)})
    assert [e.evidence for e in found.estimates] == ["motion", "efforts", "efforts", "efforts"]
    np.testing.assert_allclose([e.value for e in found.estimates], [0.03, 31, 1.4, 3], rtol=0.01)
    assert found["swing", "armature"].old == 0.01
    assert found["swing", "kp"].old == 40.0


def test_without_efforts_the_motion_of_a_free_robot_must_do_and_a_note_says_so(
    tmp_path: Path,
) -> None:
    scene = swing(tmp_path, model=TUMBLER)
    recording = edited(swung(scene, {f"{PD}.kp": 31.0}, 60), efforts=None)
    found = fit(scene, [recording], ["kp"])
    assert found["swing", "kp"].value == pytest.approx(31.0, rel=0.01)
    assert found["swing", "kp"].evidence == "motion"
    assert found.notes[0] == "found by motion, not by efforts: all joints: no efforts are recorded"
    assert found.notes[1] == (
        "the base is free: impacts make the cost rough, so that the search can end beside the "
        "best values, delays one step off, and the intervals are too narrow; record efforts, or "
        "suspend the robot to be sure"
    )


# Noise ------------------------------------------------------------------------------------------


@pytest.mark.campaign
@pytest.mark.parametrize("memory", [pytest.param(0.0, marks=campaign_only), 0.8])
def test_nineteen_of_twenty_intervals_hold_the_truth(scene: mjrig.Scene, memory: float) -> None:
    """Intervals of 95 % have 20 hits of 24 or more in 99 of 100 cases, those of 80 % in 46."""
    clean = swung(scene, {**TRUE, f"{PD}.torque_limit": 8.0}, 1000)
    true = {"kp": 31.0, "kv": 1.4, "torque_limit": 8.0}
    hits = dict.fromkeys(true, 0)
    for seed in range(REPETITIONS):
        recording = measured(clean, seed, (3e-3, 3e-2, 0.1), memory)
        found = fit(
            scene, [recording], [*true, "delay"], evidence="efforts", bounds={"delay": (1, 5)}
        )
        assert found["swing", "delay"].value == 3
        for name, value in true.items():
            e = found["swing", name]
            assert e.identifiable
            hits[name] += e.low <= value <= e.high
    assert all(count >= 20 for count in hits.values()), hits


def test_noise_does_not_make_gains_smaller(scene: mjrig.Scene) -> None:
    """Plain least squares finds kp 11 % too small here."""
    clean = swung(scene, {f"{PD}.kp": 31.0, f"{PD}.kv": 1.4})
    found = [
        fit(scene, [measured(clean, seed, (5e-2, 1e-2, 0.0))], ["kp", "kv"], evidence="efforts")
        for seed in range(12)
    ]
    assert np.mean([f["swing", "kp"].value for f in found]) == pytest.approx(31.0, rel=0.02)


def test_noise_that_the_law_saw_does_no_harm(scene: mjrig.Scene) -> None:
    """An encoder's noise is in what is recorded and in what the law gave."""
    clean = swung(scene, {f"{PD}.kp": 31.0, f"{PD}.kv": 1.4}, 500)
    noisy = measured(clean, 0, (2e-2, 1e-1, 0.0))
    share = noisy.actors["robot"]
    assert share.commands is not None and share.qvel is not None
    seen = 31.0 * (share.commands.position - share.qpos[:-1]) - 1.4 * share.qvel[:-1]
    found = fit(scene, [with_efforts(noisy, lambda _: seen)], ["kp", "kv"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4], rtol=1e-6)


# Laws -------------------------------------------------------------------------------------------


def test_limits_are_read_off_motors_that_saturate(scene: mjrig.Scene) -> None:
    names = ["kp", "kv", "delay", "torque_limit"]
    clean = swung(scene, {**TRUE, f"{PD}.torque_limit": 4.0})
    found = fit(scene, [measured(clean, 0, NOISE)], names, evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31, 1.4, 3, 4], rtol=0.01)
    exact = fit(scene, [clean], names, evidence="efforts")
    np.testing.assert_allclose([e.value for e in exact.estimates], [31, 1.4, 3, 4], rtol=1e-6)


def test_limits_that_are_not_reached_are_bounded_from_below(scene: mjrig.Scene) -> None:
    recording = swung(scene, TRUE)
    efforts = recording.actors["robot"].efforts
    assert efforts is not None
    most = float(np.abs(efforts.effort).max())
    e = fit(scene, [recording], ["torque_limit", "kp"], evidence="efforts")["swing", "torque_limit"]
    assert not e.identifiable  # a law with another delay does not look like a limit
    names = ["kp", "kv", "delay", "torque_limit"]
    e = fit(scene, [recording], names, evidence="efforts")["swing", "torque_limit"]
    assert (e.identifiable, e.value, e.high) == (False, 100.0, np.inf)
    assert e.low == pytest.approx(most)
    assert e.reason.startswith(f"never reached: it is above {e.low:.4g} N·m;")


def test_the_models_own_limit_is_not_taken_for_the_laws(tmp_path: Path) -> None:
    model = SWING.replace('joint="swing"/>', 'joint="swing" ctrlrange="-4 4" ctrllimited="true"/>')
    scene = swing(tmp_path, model=model)
    clean = swung(scene, {**TRUE, f"{PD}.torque_limit": 4.0})
    e = fit(scene, [clean], ["torque_limit", "kp", "kv", "delay"], evidence="efforts")
    limit = e["swing", "torque_limit"]
    assert (limit.identifiable, limit.low) == (False, 4.0)
    assert limit.reason == "the model's own limit of 4 N·m acts first"
    assert e["swing", "kp"].value == pytest.approx(31.0)


def test_an_integral_is_found_along(tmp_path: Path) -> None:
    scene, path = swing(tmp_path, "PIDController"), "robot.PIDController"
    true = {f"{path}.kp": 31.0, f"{path}.kv": 1.4, f"{path}.ki": 25.0}
    world = mjrig.World(with_others(scene, {**true, f"{path}.delay": {"steps": 2}}))
    world.step(100)  # it is not 0 when the recording begins
    clean = taken(world, tmp_path, chirp(0.4, 0.5, 4.0, 2.0), 1000)
    found = fit(scene, [measured(clean, 0, NOISE)], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 2], rtol=0.01)
    exact = fit(scene, [clean], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in exact.estimates], [31.0, 1.4, 2], rtol=1e-6)


def test_a_bound_of_the_integral_is_kept(tmp_path: Path) -> None:
    scene, path = swing(tmp_path, "PIDController"), "robot.PIDController"
    scene.set(f"{path}.integral_max", 0.01)
    true = {f"{path}.kp": 31.0, f"{path}.kv": 1.4, f"{path}.ki": 100.0}
    found = fit(scene, [swung(scene, true)], ["kp", "kv"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4], rtol=1e-6)


def test_what_a_motors_curve_cut_off_is_seen_in_raw_efforts(scene: mjrig.Scene) -> None:
    curve = {"type": "DCMotor", "saturation_effort": 6, "velocity_limit": 10, "max_effort": 5}
    scene.set(f"{PD}.clamps", [curve])
    world = mjrig.World(with_others(scene, TRUE), "python")
    clean = taken(world, Path(scene.base), chirp(0.4, 0.5, 4.0, 1.0), 500)
    found = fit(scene, [clean], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)
    without = with_efforts(clean, lambda effort: effort)
    text = "robot: efforts cannot be used: all joints: recorded efforts are clamped, and raw "
    with refused(FitError, text + "efforts are not recorded"):
        fit(scene, [without], ["kp"], evidence="efforts")
    text = "robot: efforts cannot be used: all joints: its clamps limit efforts too"
    with refused(FitError, text):
        fit(scene, [clean], ["torque_limit"], evidence="efforts")


def test_a_law_that_runs_every_other_step_and_holds_targets_inside(scene: mjrig.Scene) -> None:
    limited = SWING.replace('axis="0 1 0"', 'axis="0 1 0" limited="true" range="-8 20"')
    scene = swing(Path(scene.base), model=limited)
    scene.set(f"{PD}.decimation", 2)
    scene.set(f"{PD}.clamp_targets", True)
    found = fit(scene, [swung(scene, TRUE)], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)


def test_gains_that_are_not_asked_for_are_the_scenes(scene: mjrig.Scene) -> None:
    scene.set(f"{PD}.kv", 1.4)
    scene.set(f"{PD}.delay", {"steps": 3})
    found = fit(scene, [swung(scene, TRUE)], ["kp"], evidence="efforts")
    assert found["swing", "kp"].value == pytest.approx(31.0, rel=1e-6)
    assert found["swing", "kp"].reason == ""


def test_a_gain_that_nothing_shows_is_left_alone(scene: mjrig.Scene) -> None:
    recording = measured(swung(scene, TRUE), 0, NOISE)
    share = recording.actors["robot"]
    still = edited(recording, qvel=np.zeros_like(share.qvel))
    found = fit(scene, [still], ["kp", "kv"], evidence="efforts")
    kv = found["swing", "kv"]
    assert (kv.identifiable, kv.value) == (False, 2.0)
    assert kv.reason == "it has no effect on what was recorded"
    assert found["swing", "kp"].reason == "if kv is as in the scene"


# Robots -----------------------------------------------------------------------------------------


def test_two_robots_of_the_same_model(tmp_path: Path) -> None:
    (tmp_path / "swing.xml").write_text(SWING)
    text = "mjrig: 1\nactors:\n"
    for name in ("left", "right"):
        text += f"  - {{name: {name}, model: swing.xml, components: [{{type: PDController}}]}}\n"
    scene = mjrig.Scene.parse(text, tmp_path)
    true = {"left.PDController.kp": 31.0, "right.PDController.kp": 53.0}
    recording = swung(scene, true)
    for name, kp in (("left", 31.0), ("right", 53.0)):
        found = fit(scene, [recording], ["kp", "kv"], actor=name, evidence="efforts")
        assert found["swing", "kp"].value == pytest.approx(kp, rel=1e-6)


def test_a_gripper_on_a_tendon_is_no_hindrance(tmp_path: Path) -> None:
    scene = swing(tmp_path, model=GRIPPER)
    found = fit(scene, [swung(scene, TRUE)], ["kp", "kv", "delay"], evidence="efforts")
    assert [e.joint for e in found.estimates] == ["knee"] * 3
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)


def test_gears_make_no_difference(tmp_path: Path) -> None:
    model = SWING.replace('joint="swing"/>', 'joint="swing" gear="-7"/>')
    scene = swing(tmp_path, model=model)
    found = fit(scene, [swung(scene, TRUE)], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)


# What is said -----------------------------------------------------------------------------------


def test_efforts_that_did_not_move_the_joint_are_noticed(scene: mjrig.Scene) -> None:
    recording = measured(swung(scene, TRUE), 0, NOISE)
    names = ["kp", "kv", "delay"]
    found = fit(scene, [recording], names, bounds={"delay": (0, 6)})
    assert {e.evidence for e in found.estimates} == {"motion"}
    assert found.notes == ()
    scaled = with_efforts(recording, lambda effort: 0.8 * effort)
    scaled_found = fit(scene, [scaled], names, bounds={"delay": (0, 6)})
    assert [e.value for e in scaled_found.estimates] == [e.value for e in found.estimates]
    (note,) = scaled_found.notes
    assert re.fullmatch(
        r"recorded efforts imply kp of swing 24\.\d+ instead of 3[01]\.\d+, kv of swing 1\.1\d+ "
        r"instead of 1\.[34]\d*: they are not what moved the joints, their torque constant is "
        r"wrong \(fit torque_gain\), or the model differs from the recorded robot",
        note,
    )


def test_efforts_of_another_law_are_noticed(scene: mjrig.Scene) -> None:
    random = np.random.default_rng(0)
    recording = with_efforts(swung(scene, TRUE), lambda e: e + random.normal(size=e.shape))
    found = fit(scene, [recording], ["kp", "kv"], evidence="efforts")
    (note,) = found.notes
    assert note.startswith("much of the recorded efforts is unexplained: swing (")
    assert note.endswith(
        " %); they come from another law, or belong to another step than the one they are "
        "recorded with"
    )


def test_the_report_says_what_each_value_rests_on(scene: mjrig.Scene) -> None:
    lines = fit_report(
        fit(scene, [swung(scene, TRUE)], ["kp", "kv"], evidence="efforts")
    ).splitlines()
    assert any(line.split()[-1:] == ["by"] for line in lines)
    rows = [line.split() for line in lines if line.split()[:1] == ["swing"]]
    assert [(row[1], row[-1]) for row in rows] == [("kp", "efforts"), ("kv", "efforts")]
    assert any("largest rms error of a joint: efforts " in line for line in lines)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"efforts": None}, "no efforts are recorded"),
        ({"qvel": None}, "no velocities are recorded"),
    ],
)
def test_what_is_not_recorded_is_named(
    scene: mjrig.Scene, change: dict[str, object], reason: str
) -> None:
    recording = edited(swung(scene, TRUE, 100), **change)
    with refused(FitError, f"robot: efforts cannot be used: all joints: {reason}"):
        fit(scene, [recording], ["kp"], evidence="efforts")


def test_efforts_that_are_not_numbers_are_left_out(scene: mjrig.Scene) -> None:
    recording = swung(scene, TRUE)

    def torn(effort: FloatArray) -> FloatArray:
        torn = effort.copy()
        torn[100:150], torn[200] = np.nan, np.inf
        return torn

    names = ["kp", "kv", "delay"]
    found = fit(scene, [with_efforts(recording, torn)], names, evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)
    nothing = with_efforts(recording, lambda e: np.full_like(e, np.nan))
    text = "robot: efforts cannot be used: all joints: no efforts are recorded"
    with refused(FitError, text):
        fit(scene, [nothing], ["kp"], evidence="efforts")


def test_an_implicit_effort_is_of_a_state_nobody_recorded(scene: mjrig.Scene) -> None:
    scene.set(f"{PD}.effort", "implicit")
    recording = swung(scene, {}, 100)
    text = "robot: efforts cannot be used: all joints: its effort is implicit, "
    with refused(FitError, text + "computed from a state that is not recorded"):
        fit(scene, [recording], ["kp"], evidence="efforts")


def test_efforts_say_nothing_about_joints(scene: mjrig.Scene) -> None:
    recording = swung(scene, TRUE, 100)
    text = "efforts cannot identify armature, damping; use motion, or auto"
    with refused(FitError, text):
        fit(scene, [recording], ["kp", "armature", "damping"], evidence="efforts")


def test_evidence_that_does_not_exist(scene: mjrig.Scene) -> None:
    with refused(FitError, "unknown evidence 'effort'; did you mean 'efforts'?"):
        fit(scene, [], ["kp"], evidence="effort")


def test_several_stretches_and_recordings_count_together(scene: mjrig.Scene) -> None:
    one = swung(scene, TRUE)
    two = replace(one, segments=(0, 220))
    found = fit(scene, [one, two], ["kp", "kv", "delay"], evidence="efforts")
    np.testing.assert_allclose([e.value for e in found.estimates], [31.0, 1.4, 3], rtol=1e-6)
    assert found.recordings == ("walk.h5", "walk.h5")
