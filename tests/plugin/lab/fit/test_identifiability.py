"""What data cannot say is said."""

from pathlib import Path

import pytest

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.identification import fit
from tests.plugin.lab.fit.fit_worlds import chirp, noisy, record, swing, with_others

PD = "robot.PDController"


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path)


def still(time: float, setpoints: FloatArray) -> None:
    """Hold the pose."""


def test_a_limit_that_is_never_reached_is_bounded_from_below(scene: mjrig.Scene) -> None:
    clean = record(mjrig.World(scene), chirp(0.2, 0.5, 3.0, 1.0), 1.0)
    e = fit(scene, [noisy(clean, 0, 1e-4, 1e-3)], ["torque_limit"])["swing", "torque_limit"]
    assert not e.identifiable
    assert (e.value, e.high) == (100.0, float("inf"))
    assert e.reason.startswith(f"never reached: it is above {e.low:.4g} N·m;")
    assert 1.0 < e.low < 30.0


def test_a_limit_that_is_reached_is_found_from_far_away(scene: mjrig.Scene) -> None:
    other = with_others(scene, {f"{PD}.torque_limit": 5.0})
    clean = record(mjrig.World(other), chirp(0.5, 0.5, 3.0, 1.0), 1.0)
    e = fit(scene, [noisy(clean, 0, 1e-3, 1e-2)], ["torque_limit"])["swing", "torque_limit"]
    assert e.identifiable
    assert e.value == pytest.approx(5.0, rel=0.01)


def test_gains_of_a_joint_that_never_moves_are_unknown(scene: mjrig.Scene) -> None:
    clean = record(mjrig.World(scene), still, 0.5)
    found = fit(scene, [noisy(clean, 0, 1e-3, 1e-2)], ["kp", "kv", "frictionloss"])
    assert [(e.identifiable, e.reason) for e in found.estimates] == [
        (False, "the joint never moves")
    ] * 3
    assert found["swing", "kp"].value == 40.0


def test_a_joint_that_only_settles_by_a_little_tells_nothing(scene: mjrig.Scene) -> None:
    def nudge(time: float, setpoints: FloatArray) -> None:
        setpoints[0] = 0.008

    clean = record(mjrig.World(with_others(scene, {f"{PD}.kp": 55.0})), nudge, 2.5)
    found = fit(scene, [noisy(clean, 0, 1e-5, 1e-3)], ["kp", "kv"])
    assert {e.reason for e in found.estimates} == {
        "its setpoint never changes, and the joint hardly moves"
    }
    assert [e.value for e in found.estimates] == [40.0, 2.0]


def test_a_constant_setpoint_says_nothing_about_a_delay(scene: mjrig.Scene) -> None:
    e = fit(scene, [record(mjrig.World(scene), still, 0.5)], ["delay"])["swing", "delay"]
    assert (e.identifiable, e.value, e.low, e.high) == (False, 0, 0, 20)
    assert e.reason == "the setpoint never changes: any delay fits"


def test_damping_and_kv_cannot_be_told_apart_by_position_setpoints(scene: mjrig.Scene) -> None:
    other = with_others(scene, {f"{PD}.kv": 1.5})
    clean = record(mjrig.World(other), chirp(0.3, 0.5, 4.0, 1.0), 1.0)
    found = fit(scene, [noisy(clean, 0, 1e-2, 1e-1)], ["kv", "damping"])
    damping, kv = found["swing", "damping"], found["swing", "kv"]
    assert not damping.identifiable
    assert damping.value == damping.old == 0.05
    assert damping.reason == (
        "kv has the same effect on the motion (correlation -0.999); "
        "velocity setpoints other than 0 would separate them"
    )
    assert kv.value == pytest.approx(1.5, rel=0.03)
    assert kv.reason == "if damping is as in the scene"


def test_friction_of_a_joint_that_never_turns_back_is_unknown(scene: mjrig.Scene) -> None:
    def creep(time: float, setpoints: FloatArray) -> None:
        setpoints[0] += 0.3 * time

    scene.set("sim.gravity", [0.0, 0.0, 0.0])
    clean = record(mjrig.World(scene), creep, 1.0)
    found = fit(scene, [noisy(clean, 0, 1e-3, 1e-2)], ["kp", "kv", "frictionloss"])
    assert not found["swing", "frictionloss"].identifiable
