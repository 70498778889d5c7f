"""Snapshots, divergence, ticks and implicit effort: the same in every execution."""

import math

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import (
    PD,
    Delay,
    MaxEffort,
    PDController,
    PIDController,
    Pipeline,
)
from tests.components.executions.chains import (
    ALL,
    Array,
    command,
    full,
    maker,
    of,
    pid,
    state_of,
    trajectory,
    with_delay,
)
from tests.worlds import arm, hinge, make_world

pytest.importorskip("numba", reason="needs the extra 'fast'")


# Snapshots --------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ALL)
@pytest.mark.parametrize("at", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("controller", ["pid", "full", "decimated"])
def test_a_snapshot_is_a_bit_exact_rewind(execution: str, at: int, controller: str) -> None:
    parts = {"pid": pid(), "full": full(), "decimated": full(decimation=4)}
    name = execution if controller == "pid" or execution != "native" else "auto"
    world = maker(parts[controller])(name)
    rest = np.zeros(5)

    def go(first: int, count: int) -> list[dict[str, Array]]:
        found = [state_of(world)]
        for step in range(first, first + count):
            command(world["robot"], rest, 7 * step)
            world.step()
            found.append(state_of(world))
        return found

    go(0, at)
    state = world.snapshot()
    first = go(at, 30)
    for keyframe in (None, "bent", ""):
        if keyframe is not None:  # else simply rewound
            world.reset(keyframe or None)
        world.step(len(keyframe or ""))
        world.restore(state)
        for one, two in zip(first, go(at, 30), strict=True):
            for key, values in one.items():
                np.testing.assert_array_equal(two[key], values, err_msg=key)


@pytest.mark.parametrize("execution", ALL)
@pytest.mark.parametrize("at", [2, 30])
@pytest.mark.parametrize(("then", "now"), [(True, False), (False, True), (False, False)])
def test_a_snapshot_outlives_a_switch(execution: str, at: int, then: bool, now: bool) -> None:
    """What the law remembers is in it, whether it was enabled then or is now."""

    def run(name: str) -> Array:
        world = maker(pid())(name)
        trajectory(world, at)
        of(world).enabled = then
        trajectory(world, 4)
        state = world.snapshot()
        of(world).enabled = now
        trajectory(world, 7)
        world.restore(state)
        first = trajectory(world, 10)
        of(world).enabled = True
        return np.concatenate([first, trajectory(world, 20)])

    assert np.array_equal(run(execution), run("python"))


@pytest.mark.parametrize("execution", ALL)
def test_a_snapshot_outlives_a_delay_that_grew(execution: str) -> None:
    def run(name: str) -> Array:
        world = maker(pid(delay={"steps": 3}))(name)
        trajectory(world, 40)
        state = world.snapshot()
        trajectory(world, 5)
        with_delay(steps=8)(world)
        trajectory(world, 15)
        world.restore(state)
        return trajectory(world, 30)

    assert np.array_equal(run(execution), run("python"))


# Divergence -------------------------------------------------------------------------------------

#: NOTE: a ctrl above 1e10 MuJoCo would not take, and zero all of them.
WILD = {"kp": 1e9, "kv": 0.0, "torque_limit": 9e9}


@pytest.mark.parametrize("chunk", [1, 20])
@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_world_that_diverges_says_which_joint(execution: str, chunk: int) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution)
    world["robot"].set_targets(0.1)
    for _ in range(100 // chunk):
        world.step(chunk)
        if world.events:
            break
    event = world.events[0]
    assert (event.kind, event.actor, event.joint) == ("diverged", "robot", "swing")
    assert event.message == (
        "robot.swing: diverged: its acceleration became too large; the world was reset"
    )


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_divergence_in_the_first_step_is_seen_once(execution: str) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution)
    world["robot"].set_targets(1e4)
    world.step()
    assert [e.kind for e in world.events] == ["diverged"]
    world["robot"].set_targets(0.0)
    world.step(5)
    world.reset()
    world.step(5)
    assert len(world.events) == 1


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_divergence_pauses_a_world_that_asked_for_it(execution: str) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution, pause_on_event=True)
    world["robot"].set_targets(0.1)
    taken = world.step(100)
    assert 0 < taken < 100
    assert world.paused
    assert [e.kind for e in world.events] == ["diverged"]
    assert world.step(10) == 0


@pytest.mark.parametrize("execution", ALL)
def test_an_event_pauses_every_execution_at_the_same_step(execution: str) -> None:
    world = maker(pid(), pause_on_event=True)(execution)
    assert world.step(5) == 5
    world["robot"].setpoints.position[2] = math.nan
    assert world.step(5) == 1
    world.resume()
    assert world.step(5) == 5


# Decimation -------------------------------------------------------------------------------------


def ticks(world: mjrig.World, steps: int) -> list[float]:
    """The first actuator's effort in each step, while its target moves in every step."""
    found = []
    for _ in range(steps):
        world["robot"].setpoints.feedforward[:] = float(world.steps + 1)
        world.step()
        found.append(float(world["robot"].effort[0]))
    return found


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_ticks_fall_on_every_kth_step_after_a_reset(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=3))(execution)
    assert ticks(world, 8) == [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 7.0, 7.0]
    world.reset()
    assert ticks(world, 4) == [1.0, 1.0, 1.0, 4.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_the_phase_is_in_a_snapshot(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=3))(execution)
    ticks(world, 4)
    state = world.snapshot()
    assert ticks(world, 4) == [4.0, 4.0, 7.0, 7.0]
    world.reset()
    ticks(world, 2)
    world.restore(state)
    assert ticks(world, 4) == [4.0, 4.0, 7.0, 7.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_delay_counts_ticks(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=2, delay=Delay(2)))(execution)
    assert ticks(world, 10) == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 5.0, 5.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_an_integral_grows_by_the_tick(execution: str) -> None:
    controller = PIDController(kp=0, kv=0, ki=1, decimation=5, torque_limit=1e-9)
    world = make_world(hinge(), [controller], execution=execution)
    world["robot"].set_targets(1.0)
    world.step(11)  # ticks on steps 0, 5 and 10
    assert of(world).pipeline.state.integral[0] == pytest.approx(3 * 0.005, rel=1e-6)
    assert of(world).raw_effort == pytest.approx([3 * 0.005], rel=1e-6)


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_delay_in_seconds_is_rounded_to_ticks(execution: str) -> None:
    controller = PDController(kp=0, kv=0, decimation=2, delay=Delay(seconds=0.004))
    assert ticks(maker(controller)(execution), 8) == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0]


# Implicit effort --------------------------------------------------------------------------------


def test_implicit_effort_keeps_stiff_gains_stable() -> None:
    def ends(effort: str) -> mjrig.World:
        controller = PDController(kp=5e4, kv=500, torque_limit=9e9, effort=effort)
        world = make_world(hinge(inertia=0.5), [controller], sim={"timestep": 0.01})
        world["robot"].set_targets(0.3)
        world.step(200)
        return world

    assert any(e.kind == "diverged" for e in ends("explicit").events)
    stable = ends("implicit")
    assert stable.events == ()
    assert stable.data.qpos[0] == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize("gears", [("1", "1"), ("3", "-0.5")])
def test_implicit_effort_is_that_of_the_pipeline(gears: tuple[str, str]) -> None:
    motors = "".join(
        f'<motor name="{n}" joint="{j}" gear="{g}"/>'
        for n, j, g in zip("ab", ("shoulder", "elbow"), gears, strict=True)
    )
    controller = PDController(kp=[400, 300], kv=[9, 4], torque_limit=20, effort="implicit")
    world = make_world(arm(motors, option=""), [controller])
    robot = world["robot"]
    robot.set_targets([0.4, -0.2], velocity=[0.1, 0.2], feedforward=[0.5, -0.5])
    for _ in range(20):
        mujoco.mj_forward(world.model, world.data)
        inverse = np.zeros((2, 2))
        mujoco.mj_solveM(world.model, world.data, inverse, np.eye(2))
        pipe = Pipeline(PD([400, 300], [9, 4]), clamps=[MaxEffort(20)], size=2)
        at, targets = (world.data.qpos, world.data.qvel), robot.setpoints
        expected = pipe.step_implicit(
            *at, targets.position, targets.velocity, targets.feedforward, 0.001, inverse
        )
        world.step()
        assert robot.effort == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("execution", ALL)
def test_restoring_after_a_structural_change_is_refused_whole(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=2, kv=1, delay={"steps": 3}))(execution)
    world["robot"].set_targets(0.4)
    world.step(20)
    snapshot = world.snapshot()
    of(world).delay = None
    world["robot"].set_targets(-0.4)
    world.step(5)
    before = world.data.qpos.copy(), world["robot"].setpoints.values.copy()
    with pytest.raises(mjrig.PropertyError, match="the snapshot is of another structure"):
        world.restore(snapshot)
    np.testing.assert_array_equal(world.data.qpos, before[0])
    np.testing.assert_array_equal(world["robot"].setpoints.values, before[1])


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_structural_edit_keeps_the_memory_that_still_fits(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=2, kv=1))(execution)
    world["robot"].set_targets(0.4)
    world.step(20)
    before = of(world).pipeline.state.integral.copy()
    assert before.any()
    of(world).clamp_targets = True
    np.testing.assert_array_equal(of(world).pipeline.state.integral, before)


@pytest.mark.parametrize("execution", ALL)
def test_a_divergence_resets_everything_alike(execution: str) -> None:
    world = maker(PIDController(kp=1e9, ki=1e6, torque_limit=9e9))(execution)
    world["robot"].set_targets(0.4)
    for _ in range(50):
        world.step()
        if world.events:
            break
    assert [e.kind for e in world.events] == ["diverged"]
    assert world.time == 0.0
    fresh = maker(PIDController(kp=1e9, ki=1e6, torque_limit=9e9))(execution)
    np.testing.assert_array_equal(world.data.qpos, fresh.data.qpos)
    np.testing.assert_array_equal(world["robot"].setpoints.values, fresh["robot"].setpoints.values)


def test_ticks_stay_on_their_grid_while_disabled() -> None:
    world = maker(PDController(kp=20, kv=1, decimation=5))("python")
    robot = world["robot"]
    world.step(8)
    of(world).enabled = False
    world.step()
    of(world).enabled = True
    ticked = []
    for step in range(9, 21):
        robot.set_targets(0.01 * step)
        before = robot.raw_effort.copy()
        world.step()
        if not np.array_equal(before, robot.raw_effort):
            ticked.append(step)
    assert ticked == [10, 15, 20]
