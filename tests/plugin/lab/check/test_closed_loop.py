"""The linear form of a closed loop against what MuJoCo and the controllers do."""

from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController, PIDController
from mjrig.lab.check.closed_loop import (
    Carrier,
    LinearPlant,
    Loop,
    growing_joints,
    growth,
    largest,
    transition,
)
from mjrig.lab.check.feedback_loops import groups
from tests.worlds import FLOATING, arm, hinge, make_world

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
GAINS: dict[str, Any] = {"kp": [300, 120], "kv": [9, 5], "torque_limit": 1e9}
GEARED = '<motor name="a" joint="shoulder" gear="3"/><motor name="b" joint="elbow" gear="-0.5"/>'
SERVOS = """
<position name="a" joint="shoulder" gear="3" kp="50" kv="2"/>
<pid name="b" joint="elbow" kp="200" kv="4" input="pos"/>"""
SMALL = 1e-7


def slides(integrator: str) -> str:
    """Two slides, one on the other: coupled, and linear however far they move."""
    return arm(GEARED, option=option(integrator), joint='type="slide" stiffness="3"').replace(
        'axis="0 1 0"', 'axis="1 0 0"'
    )


def seen(world: mjrig.World, ticks: int, push: float = SMALL) -> Any:
    """The transition matrix as it is found by pushing every joint a little."""
    size = 2 * world.model.nv
    columns = []
    for i in range(size):
        world.reset()
        world["robot"].set_targets(0.0)
        state = np.zeros(size)
        state[i] = push
        world.data.qpos[:], world.data.qvel[:] = np.split(state, 2)
        world.step(ticks)
        columns.append(np.concatenate([world.data.qpos, world.data.qvel]) / push)
    return np.array(columns).T


def expected(world: mjrig.World) -> Any:
    (group,) = groups(world)
    return transition(group.plant, group.loops())


def option(integrator: str, more: str = "") -> str:
    return f'{FLOATING} integrator="{integrator}" {more}'


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("decimation", [1, 4])
def test_a_law_before_the_step(integrator: str, decimation: int) -> None:
    xml = arm(GEARED, option=option(integrator), joint='stiffness="3"')
    world = make_world(xml, [PDController(decimation=decimation, **GAINS)])
    assert seen(world, decimation) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("decimation", [1, 4])
def test_a_law_solved_for_the_end_of_the_step(integrator: str, decimation: int) -> None:
    law = PDController(decimation=decimation, effort="implicit", **GAINS)
    world = make_world(slides(integrator), [law])
    # The solve stops at a tolerance: only a large push shows what it tends to.
    found = seen(world, decimation, push=1e3)
    assert found == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast", "discrete"])
def test_a_law_that_mujoco_runs(integrator: str) -> None:
    xml = arm(GEARED, option=option(integrator))
    sim = {"actuation": "implicit"}
    world = make_world(xml, [PDController(**GAINS)], sim=sim, execution="native")
    assert world.execution == "native"
    assert seen(world, 1) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_actuators_with_feedback_of_their_own(integrator: str) -> None:
    world = make_world(arm(SERVOS, option=option(integrator)))
    assert seen(world, 1) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


def test_the_integral_is_part_of_the_state() -> None:
    world = make_world(arm(GEARED), [PIDController(ki=[500, 90], **GAINS)])
    found = expected(world)
    assert found.shape == (6, 6)
    # Two ticks from an integral of zero.
    assert seen(world, 2) == pytest.approx((found @ found)[:4, :4], rel=1e-4, abs=1e-4)


def test_ticks_of_different_lengths_have_a_common_period() -> None:
    laws = [
        PDController(actuators="a", kp=300, kv=9, decimation=2, torque_limit=1e9),
        PDController(actuators="b", kp=120, kv=5, decimation=3, torque_limit=1e9),
    ]
    world = make_world(arm(GEARED), laws)
    assert seen(world, 6) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


def test_a_law_on_a_tendon_acts_on_all_its_joints() -> None:
    xml = arm('<motor name="pull" tendon="cable" gear="2"/>')
    world = make_world(xml, [PDController(kp=40, kv=2, torque_limit=1e9, transmissions="all")])
    assert seen(world, 1) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


def test_damping_of_an_actuator_and_no_implicit_damping() -> None:
    motors = '<motor name="a" joint="shoulder" damping="2"/><motor name="b" joint="elbow"/>'
    xml = arm(motors).replace(
        "<worldbody>", '<option><flag eulerdamp="disable"/></option><worldbody>'
    )
    world = make_world(xml, [PDController(**GAINS)])
    assert seen(world, 1) == pytest.approx(expected(world), rel=1e-4, abs=1e-4)


def test_a_delayed_command_changes_nothing() -> None:
    """Commands are delayed, measurements are not: the loop is the same."""
    plain = make_world(arm(), [PDController(**GAINS)])
    late = make_world(arm(), [PDController(delay={"steps": 5}, **GAINS)])
    assert seen(late, 1) == pytest.approx(expected(plain), rel=1e-4, abs=1e-4)
    assert np.array_equal(expected(late), expected(plain))


# Judgement --------------------------------------------------------------------------------------


def one_joint(kp: float, kv: float, every: int = 1, **plant: Any) -> tuple[LinearPlant, list[Loop]]:
    one = np.ones((1, 1))
    given: dict[str, Any] = {
        "damping": 0.0 * one,
        "stiffness": 0.0 * one,
        "step": 0.001,
        "integrator": "Euler",
    }
    loop = Loop(one, np.array([kp]), np.array([kv]), np.zeros(1), every, Carrier.HELD)
    return LinearPlant(mass=0.01 * one, **given | plant), [loop]


@pytest.mark.parametrize(
    ("kp", "kv"), [(0.0, 20.0), (40000.0, 0.0), (20000.0, 10.0), (4000.0, 18.0)]
)
def test_one_joint_has_the_textbook_bound(kp: float, kv: float) -> None:
    assert growth(*one_joint(0.999 * kp, 0.999 * kv)) <= 1.0 + 1e-9
    assert growth(*one_joint(1.001 * kp, 1.001 * kv)) > 1.0005


def test_a_held_effort_needs_damping() -> None:
    """b > a (1 − 1/k) / 2, with a = kp T²/I, b = kv T/I and k steps per tick T."""
    k, kp = 10, 40.0
    kv = 0.5 * kp * k * 0.001 * (1.0 - 1.0 / k)
    assert growth(*one_joint(kp, 1.01 * kv, k)) < 1.0
    assert growth(*one_joint(kp, 0.99 * kv, k)) > 1.0


def test_only_the_joint_that_shakes_is_named() -> None:
    loop = Loop(np.eye(2), np.zeros(2), np.array([1.0, 21.0]), np.zeros(2))
    nothing = np.zeros((2, 2))
    plant = LinearPlant(0.01 * np.eye(2), nothing, nothing, 0.001, "Euler")
    assert growing_joints(plant, [loop]).tolist() == [False, True]


def test_gains_beyond_all_numbers_are_unstable() -> None:
    assert growth(*one_joint(1e308, 1e308)) > 1e10


def test_the_largest_stable_value_is_found_to_one_percent() -> None:
    assert largest(lambda f: f < 0.3, 1e-4, 1.0) == pytest.approx(0.3, rel=0.01)


def test_robots_that_do_not_touch_are_groups_of_their_own() -> None:
    world = make_world(hinge(), [PDController()])
    assert len(groups(world)) == 1
    two = hinge('<motor name="drive" joint="swing"/><motor name="other" joint="other"/>').replace(
        "</worldbody>",
        '<body name="b"><joint name="other"/><geom size="0.1"/></body></worldbody>',
    )
    assert [len(g.dofs) for g in groups(make_world(two, [PDController()]))] == [1, 1]
