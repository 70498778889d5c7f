"""Edits, leases, events and efforts while a world runs: the same in every execution."""

import math
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import (
    PID,
    ArticulationController,
    DCMotor,
    Delay,
    LawController,
    MaxEffort,
    PDController,
    PIDController,
)
from mjrig.core.errors import NeedsNewWorld
from tests.components.executions.chains import (
    ALL,
    FAST,
    MOTORS,
    TABLE,
    Edit,
    Twice,
    assign,
    chain,
    command,
    full,
    lockstep,
    maker,
    of,
    pid,
    pid_of,
    stacked,
    state_of,
    trajectory,
    with_delay,
)
from tests.worlds import refused

pytest.importorskip("numba", reason="needs the extra 'fast'")


def swap_law(world: mjrig.World, law: object) -> None:
    """Another law instead of the controller's own, whose gains mean nothing then."""
    controller = of(world)
    with controller.changes():
        for name in controller.own_gains:
            controller.unset(name)
        controller.assign({"law": law})


EDITS: dict[str, dict[int, list[Edit]]] = {
    "kp": {20: [assign(kp=33)]},
    "kv": {20: [assign(kv=[0, 1, 2, 3, 4])]},
    "torque_limit": {20: [assign(torque_limit={"[ab]": 0.3, "default": 1})]},
    "ki": {20: [assign(ki=5)]},
    "integral_max": {20: [assign(integral_max=0.003)], 40: [assign(integral_max=math.inf)]},
    "delay": {20: [with_delay(steps=5)], 40: [with_delay(steps=[0, 1, 2, 3, 6])]},
    "delay while filling": {2: [with_delay(steps=6)], 4: [with_delay(steps=1)]},
    "delay beyond its room": {20: [with_delay(max_steps=0), with_delay(steps=9)]},
    "seconds": {20: [assign(delay={"seconds": 0.004})]},
    "defaults": {20: [assign(kp=None, default_kp=70)], 30: [assign(default_torque_limit=3)]},
    "patch": {20: [lambda w: of(w).patch(kp={"c": 80}, torque_limit={"a|e": 0.2})]},
    "set_gains": {
        20: [lambda w: pid_of(w).set_gains([1, 2, 3, 4, 5], [0.1] * 5, [0.4] * 5)],
    },
    "several at once": {20: [assign(kp=50, ki=1), with_delay(steps=1), assign(kv=0.2)]},
    "off and on": {20: [assign(enabled=False)], 35: [assign(enabled=True)]},
    "off and on while filling": {2: [assign(enabled=False)], 4: [assign(enabled=True)]},
    "off, edit, on": {
        20: [assign(enabled=False)],
        25: [assign(kp=40), with_delay(steps=1)],
        30: [assign(enabled=True)],
    },
    "off, reset, on": {
        20: [assign(enabled=False)],
        25: [lambda w: w.reset("bent")],
        30: [assign(enabled=True)],
    },
    "removed": {20: [lambda w: w["robot"].remove_component(of(w))]},
    "removed and added": {
        20: [lambda w: w["robot"].remove_component(of(w))],
        30: [lambda w: w["robot"].add_component(pid(kp=50))],
    },
    "hold": {
        20: [lambda w: w["robot"].hold("bent")],
        40: [lambda w: w["robot"].release_hold()],
    },
    "clear": {20: [lambda w: w["robot"].clear()]},
    "keyframe": {20: [lambda w: w.reset("bent")], 40: [lambda w: w.reset()]},
    "owned actuators": {20: [assign(actuators="[bd]")], 40: [assign(actuators=".*")]},
    "clamps": {20: [assign(clamps=[{"type": "MaxEffort", "max_effort": 0.3}])]},
    "tables": {20: [assign(clamps=[{"type": "PositionTable", **TABLE}])]},
    "no delay": {20: [assign(delay=None)]},
    "decimation": {20: [assign(decimation=3)]},
    "clamp_targets": {20: [assign(clamp_targets=True)], 30: [assign(clamp_targets=False)]},
    "implicit": {20: [assign(effort="implicit")], 30: [assign(effort="explicit")]},
    "float32": {20: [assign(precision="float32")], 30: [assign(precision="float64")]},
    "own law": {20: [lambda w: swap_law(w, {"type": "PD", "kp": 9})]},
    "python law": {20: [lambda w: swap_law(w, Twice())]},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_live_edit_acts_the_same_in_every_execution(edit: str) -> None:
    lockstep(maker(pid(), xml=chain(joint='range="-1 1"')), EDITS[edit])


@pytest.mark.parametrize("edit", ["kp", "delay", "off and on", "keyframe", "hold", "clamps"])
def test_a_live_edit_of_the_full_stack_acts_the_same(edit: str) -> None:
    more = {"delay": {"steps": 3, "max_steps": 6}}
    lockstep(maker(full(**more)), EDITS[edit], names=["compiled", "auto"])
    lockstep(maker(full(**more, decimation=4)), EDITS[edit], names=["compiled", "auto"])


@pytest.mark.parametrize("execution", FAST)
def test_an_edit_of_a_law_or_clamp_inside_reaches_what_runs(execution: str) -> None:
    def edit(world: mjrig.World) -> None:
        controller = of(world)
        assert controller.law is not None
        controller.law.assign({"kp": 60})
        controller.clamps[0].assign({"max_effort": 0.2})

    make = maker(LawController(law=PID(kp=20, ki=9), clamps=[MaxEffort(1.0)]))
    _, world = lockstep(make, {20: [edit]}, names=[execution])
    assert world.execution == ("native" if execution == "auto" else execution)


@pytest.mark.parametrize("execution", FAST)
def test_an_edit_leaves_the_efforts_of_the_last_step_alone(execution: str) -> None:
    world = maker(pid())(execution)
    trajectory(world, 10)
    before = state_of(world)
    of(world).assign({"kp": 99, "ki": 2, "torque_limit": 0.1})
    with_delay(steps=1)(world)
    for name, values in state_of(world).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_what_only_mujoco_can_run_does_not_leave_it() -> None:
    make = maker(PIDController(kp=20, ki=3, integration="integrator", delay=Delay(2)))
    world, other = make("auto"), make("auto")
    assert world.execution == "native"
    reason = "integration: integrator needs MuJoCo's integrator"
    text = f"robot.PIDController: {reason}, and its structure changed while it ran"
    with refused(mjrig.PropertyError, text):
        of(world).assign({"clamp_targets": True})
    text = f"robot.PIDController: {reason}, and it has no room for a delay of 5 steps"
    with refused(mjrig.PropertyError, text):
        with_delay(steps=5)(world)
    assert np.array_equal(trajectory(world, 50), trajectory(other, 50))
    stepped = maker(PIDController(kp=20, ki=3))("python")
    with refused(NeedsNewWorld, f"robot.PIDController: {reason}: it needs a new world"):
        of(stepped).assign({"integration": "integrator"})
    plain = maker(PIDController(kp=20, ki=3))("python")
    assert np.array_equal(trajectory(stepped, 50), trajectory(plain, 50))


def test_what_no_longer_fits_runs_on_elsewhere_and_says_why() -> None:
    world = maker(pid())("native")
    with_delay(max_steps=0)(world)
    with_delay(steps=9)(world)
    reason = "no longer native: it has no room for a delay of 9 steps"
    assert (of(world).execution.name, of(world).execution.reason) == ("compiled", reason)
    other = maker(pid())("native")
    of(other).assign({"precision": "float32"})
    reason = "no longer native: its structure changed while it ran"
    assert (of(other).execution.name, of(other).execution.reason) == ("python", reason)
    compiled = maker(pid())("compiled")
    of(compiled).assign({"precision": "float32"})
    reason = "not compiled: the kernel computes in float64"
    assert (of(compiled).execution.name, of(compiled).execution.reason) == ("python", reason)


@pytest.mark.parametrize("execution", ALL)
def test_a_delay_above_its_room_is_refused_and_changes_nothing(execution: str) -> None:
    make = maker(pid())
    world, other = make(execution), make(execution)
    text = "robot.PIDController.delay: a delay of 7 steps is above max_steps 6"
    with refused(mjrig.PropertyError, text):
        with_delay(steps=7)(world)
    assert np.array_equal(trajectory(world, 40), trajectory(other, 40))


@pytest.mark.parametrize("execution", FAST)
def test_an_added_component_runs_in_python_on_what_was_lowered(execution: str) -> None:
    world = maker(pid())(execution)
    world["robot"].remove_component(of(world))
    world["robot"].add_component(pid())
    assert world.execution == "python"


def test_a_lease_is_followed_in_every_execution() -> None:
    def take(world: mjrig.World) -> None:
        lease = world["robot"].take(mjrig.Source.POLICY)
        lease.set_targets({"[ab]": 0.2, "c": -0.3}, feedforward={"d": 0.1})

    def end(world: mjrig.World) -> None:
        world["robot"].setpoints.leases[0].release()

    lockstep(maker(pid()), {10: [take], 30: [end]})


@pytest.mark.parametrize("row", ["position", "velocity", "feedforward"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_setpoint_that_is_not_finite_is_replaced_the_same(row: str, value: float) -> None:
    def spoil(world: mjrig.World) -> None:
        getattr(world["robot"].setpoints, row)[1] = value

    worlds = lockstep(maker(pid()), {20: [spoil], 21: [spoil]}, steps=40)
    for world in worlds:
        assert [e.kind for e in world.events] == ["non-finite setpoint"] * 2
        assert [e.joint for e in world.events] == ["two"] * 2


@pytest.mark.parametrize("execution", ALL)
def test_a_huge_but_finite_setpoint_is_no_event(execution: str) -> None:
    world = maker(PDController(kp=1))(execution)
    world["robot"].setpoints.position[0] = 1e9
    world.step(3)
    assert world.events == ()
    assert world["robot"].effort[0] == world["robot"].applied_effort[0] == 200.0


@pytest.mark.parametrize("execution", ALL)
def test_a_setpoint_mujoco_takes_for_no_number_is_held_back(execution: str) -> None:
    """Beyond 1e10 MuJoCo would zero the ctrl of every actuator."""
    world = maker(PDController(kp=1, kv=0.1))(execution)
    robot = world["robot"]
    robot.set_targets(0.5)
    world.step(3)
    robot.setpoints.position[0] = 1e11
    world.step()
    assert [e.kind for e in world.events] == ["non-finite setpoint"]
    assert robot.setpoints.position[0] == 0.5
    assert robot.applied_effort[1] != 0.0


def test_clamps_of_a_native_law_are_all_counted_if_asked_for() -> None:
    def make(execution: str) -> mjrig.World:
        controller = PDController(kp=50, kv=1, torque_limit=2, count_clamps=True)
        return maker(controller)(execution)

    counts = []
    for execution in ("python", "native", "compiled"):
        world = make(execution)
        world["robot"].set_targets(1.0)
        world.step(50)
        world["robot"].set_targets(-1.0)
        world.step(25)
        counts.append(of(world).clamp_counts["torque_limit"].tolist())
    assert counts[0] == counts[1] == counts[2]
    assert max(counts[0]) > 10


@pytest.mark.parametrize("decimation", [1, 3])
def test_an_effort_that_is_not_finite_is_held_back_the_same(decimation: int) -> None:
    def spoil(world: mjrig.World) -> None:
        world["robot"].setpoints.position[0] = 1e9
        world["robot"].setpoints.velocity[0] = -1e9

    controller = PIDController(kp=1e300, kv=1e300, ki=2, decimation=decimation)
    make = maker(controller, xml=chain(MOTORS[:2]))
    with np.errstate(all="ignore"):
        worlds = lockstep(make, {9: [spoil]}, steps=20, names=["compiled"], moving=False)
    for world in worlds:
        assert {e.kind for e in world.events} == {"non-finite effort"}
        assert {e.joint for e in world.events} == {"one"}
        assert np.isfinite(world.data.ctrl).all()
        assert np.isfinite(of(world).pipeline.state.integral).all()


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize(
    "components",
    [
        [pid()],
        [PDController(kp=9)],
        [full()],
        [full(decimation=4)],
        [PDController(kp=9, decimation=4)],
        [PDController(kp=9, actuators="[ab]"), full(actuators="[cd]")],
        [PDController(kp=9, actuators="[ab]"), full(actuators="[cd]", decimation=3)],
        [PDController(kp=9, actuators="[ab]"), LawController(law=Twice(), actuators="[cd]")],
        [PDController(kp=9, enabled=False)],
    ],
    ids=lambda c: "+".join(type(x).__name__ for x in c),
)
def test_what_others_write_into_ctrl_is_overwritten(
    components: list[ArticulationController], moving: bool
) -> None:
    def write(world: mjrig.World) -> None:
        world.data.ctrl[:] = 7.0

    def spoil(world: mjrig.World) -> None:
        world.data.ctrl[:] = math.nan

    edits = {k: [write] for k in range(10, 20)} | {k: [spoil] for k in range(20, 24)}
    make = maker(*components)
    clean = make("python")  # nobody writes into this one
    worlds = [make(name) for name in ("python", "compiled", "auto")]
    for step in range(30):
        for world in (clean, *worlds):
            if moving:
                command(world["robot"], np.zeros(5), 5 * step)
        for world in worlds:
            for edit in edits.get(step, ()):
                edit(world)
        for world in (clean, *worlds):
            world.step()
        for world in worlds:
            assert np.array_equal(world.data.qpos, clean.data.qpos), (world.execution, step)


@pytest.mark.parametrize("stack", ["pd", "delay mixed", "pid and delay"])
def test_efforts_and_clamps_mean_the_same_in_every_execution(stack: str) -> None:
    controller = stacked(stack, 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=1.0,
                         clamps=[MaxEffort(1.5, -0.5)])  # fmt: skip
    worlds = lockstep(maker(controller), steps=300)
    counts = of(worlds[0]).clamp_counts
    assert list(counts) == ["clamps[0]", "torque_limit"]
    assert (counts["clamps[0]"] > 0).all()
    assert (counts["torque_limit"] > 0).all()


@pytest.mark.parametrize("execution", ALL)
def test_there_is_no_effort_before_the_first_step(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=3, delay=Delay(2)))(execution)
    world["robot"].set_targets(0.7)
    for keyframe in (None, "bent"):
        world.reset(keyframe)
        assert world["robot"].effort.tolist() == [0.0] * 5
        assert world["robot"].raw_effort.tolist() == [0.0] * 5
        world.step(5)
        assert world["robot"].effort.all() == (keyframe is not None)


def test_the_memory_of_a_pipeline_can_be_seen_in_every_execution() -> None:
    python, *others = (maker(pid())(name) for name in ALL)
    expected = [trajectory(python, 2), trajectory(python, 50)]
    for other in others:
        assert np.array_equal(trajectory(other, 2), expected[0])
        trajectory(other, 50)
        seen, known = of(other).pipeline.state, of(python).pipeline.state
        assert np.array_equal(seen.integral, known.integral)
        assert np.array_equal(seen.delay_count, known.delay_count)


DC_LIMITS = ("saturation_effort", "velocity_limit")


@pytest.mark.parametrize(
    ("controller", "spoil"),
    [
        (
            PDController(clamps=[DCMotor(6, 4, 6)], kp=20, kv=1),
            lambda c: c.clamps[0].assign(dict.fromkeys(DC_LIMITS, np.inf)),
        ),
        (
            PDController(kp=20, kv=1, delay={"max_steps": 5, "steps": 1}),
            lambda c: (c.delay.unset("steps"), c.delay.assign({"random": [2, 4]})),
        ),
        (
            PDController(law={"type": "PD", "kp": 20, "kv": 1}),
            lambda c: setattr(c.law, "constant_effort", 3.0),
        ),
    ],
    ids=["no speed limit", "random delay", "constant effort"],
)
def test_an_edit_mujoco_cannot_follow_leaves_native(controller: Any, spoil: Any) -> None:
    def edit(world: mjrig.World) -> None:
        spoil(of(world))

    make = maker(controller)
    world = make("native")
    world.step(5)
    edit(world)
    world.step(20)
    assert of(world).execution.name in ("compiled", "python")
    assert of(world).execution.reason.startswith("no longer native: ")
    assert np.isfinite(world.data.qpos).all()
    assert world.events == ()


@pytest.mark.parametrize("execution", FAST)
@pytest.mark.parametrize("delay", [None, {"steps": 1}, {"steps": 0, "max_steps": 3}])
def test_forces_are_those_of_python_after_a_reset(execution: str, delay: Any) -> None:
    make = maker(PIDController(kp=20, ki=2, kv=1, delay=delay))
    worlds = [make(name) for name in ("python", execution)]
    for keyframe in ("bent", None, "bent"):
        for world in worlds:
            world.step(3)
            world.reset(keyframe)
        python, other = worlds
        expected = python["robot"].applied_effort
        np.testing.assert_array_equal(other["robot"].applied_effort, expected)
        np.testing.assert_array_equal(other.data.qacc, python.data.qacc)


@pytest.mark.parametrize("execution", ALL)
def test_forces_are_those_of_python_before_the_first_step(execution: str) -> None:
    world = maker(PDController(kp=20, kv=1))(execution)
    assert world["robot"].applied_effort.tolist() == [0.0] * len(world["robot"].bindings)
    python = maker(PDController(kp=20, kv=1))("python")
    np.testing.assert_allclose(world.data.qacc, python.data.qacc, atol=1e-12)
