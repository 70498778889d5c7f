"""Four ways to execute, one behaviour: native, compiled and auto against python, bit for bit."""

import math
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mjrig
from mjrig.components import (
    Clamp,
    DCMotor,
    Delay,
    MaxEffort,
    PDController,
    PIDController,
    PositionTable,
)
from tests.campaign import amount, campaign_only
from tests.components.executions.chains import (
    CURVE,
    FAST,
    JOINTS,
    LONG,
    MOTORS,
    STACKS,
    bundled,
    chain,
    command,
    full,
    lockstep,
    maker,
    of,
    same_everywhere,
    stacked,
    trajectory,
)
from tests.worlds import GRIPPER, make_scene

pytest.importorskip("numba", reason="needs the extra 'fast'")


@pytest.mark.campaign
@pytest.mark.parametrize("stack", ["pd", "pid saturated", "delay 3", "pid and delay"])
@pytest.mark.parametrize(
    "robot", ["pendulum", "quadruped", pytest.param("humanoid", marks=campaign_only), "arm"]
)
def test_a_bundled_robot_moves_the_same_however_it_is_executed(robot: str, stack: str) -> None:
    scene = bundled(robot, stack)
    assert mjrig.World(scene).execution == "native"
    same_everywhere(lambda name: mjrig.World(scene, name), LONG, ("native", "compiled"))


@pytest.mark.campaign
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("stack", STACKS)
def test_gears_and_limits_change_no_bit(stack: str, damping: float) -> None:
    controller = stacked(stack, 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=2.0)
    make = maker(controller, xml=chain(damping=damping))
    assert make("auto").execution == "native"
    same_everywhere(make, LONG)


def test_every_limit_of_the_chain_acts() -> None:
    world = maker(stacked("pd", 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=2.0))("python")
    robot, rest = world["robot"], np.zeros(5)
    ours, theirs = np.zeros(5, np.bool_), np.zeros(5, np.bool_)
    for step in range(2000):
        command(robot, rest, step)
        world.step()
        ours |= robot.effort != robot.raw_effort
        theirs |= np.abs(robot.applied_effort - robot.effort) > 1e-9
    assert ours.tolist() == [True, True, True, False, True]
    assert theirs.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("execution", FAST)
def test_limits_that_exclude_each_other_leave_the_models_the_last_word(execution: str) -> None:
    motors = ('name="a" joint="one" ctrlrange="1 2"', 'name="b" joint="two" forcerange="-9 -3"')
    make = maker(PDController(kp=50, torque_limit=0.5), xml=chain(motors))
    lockstep(make, steps=20, names=[execution])
    world = make(execution)
    world.step()
    assert world["robot"].applied_effort.tolist() == [1.0, -3.0]


@pytest.mark.parametrize(("low", "high"), [(-0.1, math.inf), (-0.1, 0.7), (0.0, 0.5)])
def test_an_asymmetric_limit_is_the_same_natively(low: float, high: float) -> None:
    clamp = MaxEffort(high, low)
    controller = PDController(kp=30, torque_limit=math.inf, clamps=[clamp])
    make = maker(controller)
    assert make("auto").execution == "native"
    same_everywhere(make)


def test_a_native_dc_motor_agrees_to_rounding() -> None:
    motors = tuple(m.split(" ctrlrange")[0].split(" forcerange")[0] for m in MOTORS)
    make = maker(PDController(kp=30, kv=0.5, clamps=[DCMotor(**CURVE)]), xml=chain(motors))
    python, native = make("python"), make("native")
    assert native.execution == "native"
    rest, met = np.zeros(5), 0
    for step in range(500):
        native.data.qpos[:], native.data.qvel[:] = python.data.qpos, python.data.qvel
        for world in (python, native):
            command(world["robot"], rest, step)
            world.step()
        expected = python["robot"].applied_effort
        np.testing.assert_allclose(native["robot"].applied_effort, expected, rtol=0, atol=1e-12)
        assert np.array_equal(native["robot"].effort, python["robot"].effort)
        met += int((python["robot"].raw_effort != python["robot"].effort).sum())
    assert met > 500


def test_auto_does_not_run_a_dc_motor_natively() -> None:
    make = maker(PDController(clamps=[DCMotor(**CURVE)]))
    execution = of(make("auto")).execution
    assert execution.name == "compiled"
    assert execution.reason == "not native: MuJoCo's form of it differs in the last bits"
    same_everywhere(make, names=["auto", "compiled"])


@pytest.mark.campaign
@pytest.mark.parametrize("clamp_targets", [False, True])
@pytest.mark.parametrize("decimation", [1, 4])
def test_the_full_stack_is_compiled_bit_for_bit(decimation: int, clamp_targets: bool) -> None:
    joint = 'range="-0.2 0.15"' if clamp_targets else ""
    controller = full(decimation=decimation, clamp_targets=clamp_targets)
    make = maker(controller, xml=chain(damping=0.1, joint=joint))
    assert make("auto").execution == "compiled"
    same_everywhere(make, LONG, ["compiled", "auto"])
    lockstep(make, steps=150, names=["compiled"])


def test_targets_are_clamped_the_same_natively() -> None:
    make = maker(PDController(clamp_targets=True), xml=chain(joint='range="-0.2 0.15"'))
    assert make("auto").execution == "native"
    same_everywhere(make)


@pytest.mark.parametrize("actuators", ["[ace]", ["d", "b"], "e"])
def test_a_part_of_the_actuators_is_driven_the_same(actuators: str | list[str]) -> None:
    same_everywhere(maker(full(actuators=actuators)), names=["compiled", "auto"])
    same_everywhere(maker(PIDController(kp=30, ki=9, actuators=actuators, delay=Delay(2))))


@pytest.mark.campaign
def test_two_controllers_each_run_in_their_own_way() -> None:
    make = maker(PDController(kp=30, actuators="[ad]", delay=Delay(1)), full(actuators="[ce]"))
    world = make("auto")
    assert world.execution == "compiled+native"
    assert [c.execution.name for c in world["robot"].controllers] == ["native", "compiled"]
    same_everywhere(make, LONG, ["compiled", "auto"])
    lockstep(make, names=["auto"])


@pytest.mark.parametrize("execution", FAST)
def test_a_gripper_beside_a_controller_is_driven_directly(execution: str) -> None:
    make = maker(PIDController(kp=30, ki=5, delay=Delay(2)), xml=GRIPPER)
    same_everywhere(make, names=[execution])
    world = make(execution)
    world["robot"].set_targets({"grip": 0.25})
    world.step(1000)
    assert world.data.qpos[1] == pytest.approx(0.25, abs=1e-3)


def test_two_robots_are_driven_the_same() -> None:
    def make(execution: str) -> mjrig.World:
        actors: dict[str, dict[str, object]] = {
            "left": {"components": [PDController(kp=20, delay=Delay([0, 1, 2, 3, 4]))]},
            "right": {"components": [full()], "pose": {"position": [0, 3, 0]}},
        }
        with TemporaryDirectory() as folder:
            models = {"left": chain(), "right": chain(damping=0.2)}
            return mjrig.World(make_scene(models, folder, actors, None), execution)

    assert make("auto").execution == "compiled+native"
    same_everywhere(make, 1000, ["compiled", "auto"])


POSITIVE = st.floats(0.05, 3.0)
CLAMPS = st.one_of(
    st.builds(MaxEffort, POSITIVE, st.floats(-3.0, 0.0)),
    st.builds(MaxEffort, st.lists(POSITIVE, min_size=3, max_size=3)),
    st.builds(DCMotor, POSITIVE, st.floats(0.1, 5.0), st.one_of(POSITIVE, st.just(math.inf))),
    st.builds(
        lambda x, y: PositionTable(sorted(x), y[: len(x)]),
        st.lists(st.floats(-0.6, 0.6), min_size=2, max_size=5),
        st.lists(st.floats(0.0, 3.0), min_size=5, max_size=5),
    ),
)


@pytest.mark.campaign
@settings(max_examples=amount(10, 500), deadline=None)
@given(
    clamps=st.lists(CLAMPS, max_size=4),
    gears=st.lists(st.floats(0.2, 7.0), min_size=3, max_size=3),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3),
    ki=st.sampled_from([0.0, 15.0]),
    lag=st.lists(st.integers(0, 4), min_size=3, max_size=3),
)
def test_any_stack_in_any_order_is_compiled_bit_for_bit(
    clamps: list[Clamp], gears: list[float], signs: list[float], ki: float, lag: list[int]
) -> None:
    factors = [g * s for g, s in zip(gears, signs, strict=True)]
    motors = [
        f'name="{n}" joint="{j}" gear="{g!r}"'
        for n, j, g in zip("abc", JOINTS, factors, strict=False)
    ]
    controller = PIDController(kp=25, ki=ki, kv=0.4, delay=Delay(lag), clamps=clamps)
    make = maker(controller, xml=chain(motors))
    expected = trajectory(make("python"), 60)
    assert np.array_equal(trajectory(make("compiled"), 60), expected)
    assert np.array_equal(trajectory(make("auto"), 60), expected)
