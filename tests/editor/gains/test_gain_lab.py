"""Tests of responses run on a copy in the background, and on the running robot through a lease."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import LeaseError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.gains.response_tests import GainLab, Jog, LiveTest, in_force, only_gains
from mjrig.editor.session.state import EditorState
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.editor.gains.test_gain_edits import QUADRUPED, legs, set_one
from tests.editor.ui_driver import editor_state
from tests.wording import matches

STEP = Signal(amplitude=0.05, duration=0.2)


@pytest.fixture
def lab() -> Iterator[GainLab]:
    made = GainLab(debounce=0.02)
    yield made
    made.close()


def ask(lab: GainLab, state: EditorState, *actuators: str, signal: Signal = STEP) -> None:
    robot = next(iter(state.simulation.world.articulations.values()))
    lab.request(lab.job(state.session, robot, actuators, signal))


def run(lab: GainLab, state: EditorState, *actuators: str) -> None:
    ask(lab, state, *actuators)
    assert lab.wait()


def positions(lab: GainLab, actuator: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    assert lab.result is not None and not lab.result.problem
    response = lab.result.of(actuator)
    assert response is not None and response.trace is not None
    return response.trace.position


# On a copy --------------------------------------------------------------------------------------


def test_the_copy_does_what_a_bench_does_and_the_running_world_stays(lab: GainLab) -> None:
    state = editor_state(Scene.load(QUADRUPED))
    before = state.simulation.world.data.qpos.copy()
    run(lab, state, "FL_hip")
    (expected,) = Bench(World(QUADRUPED)).run("quadruped", ["FL_hip"], STEP)
    assert expected.trace is not None
    assert np.array_equal(positions(lab, "FL_hip"), expected.trace.position)
    assert np.array_equal(state.simulation.world.data.qpos, before)


def test_an_edit_of_gains_keeps_the_copy_and_the_result_before_it(
    lab: GainLab, models: Path
) -> None:
    state = legs(models)
    run(lab, state, "left_hip")
    first, bench = lab.result, lab._bench
    set_one(state, "left_hip", kp=5.0)
    run(lab, state, "left_hip")
    assert lab.before is first
    assert lab._bench is bench
    assert first is not None
    old = first.of("left_hip")
    assert old is not None and old.trace is not None
    assert not np.array_equal(positions(lab, "left_hip"), old.trace.position)


def test_tests_of_one_drag_replace_each_other(lab: GainLab, models: Path) -> None:
    state = legs(models)
    run(lab, state, "left_hip")
    first = lab.result
    for kp in (5.0, 6.0):
        with state.session.edit("Drag", merge="drag") as scene:
            scene.set("dog.PDController.kp", kp)
        run(lab, state, "left_hip")
    assert lab.before is first


def test_another_scene_makes_another_copy(lab: GainLab, models: Path) -> None:
    state = legs(models)
    run(lab, state, "left_hip")
    bench = lab._bench
    state.session.set("sim.timestep", 0.001)
    run(lab, state, "left_hip")
    assert lab._bench is not bench
    assert lab.result is not None and lab.result.responses[0].trace is not None
    assert lab.result.responses[0].trace.time[0] == pytest.approx(0.001)


def test_of_many_requests_the_latest_is_run(models: Path) -> None:
    state = legs(models)
    lab = GainLab(debounce=0.5)
    for name in ("left_hip", "left_knee", "right_hip"):
        ask(lab, state, name)
    lab._debounce = 0.0
    ask(lab, state, "right_knee")
    assert lab.wait()
    assert lab.result is not None
    assert [r.actuator for r in lab.result.responses] == ["right_knee"]
    assert lab.before is None
    lab.close()
    assert not [t for t in threading.enumerate() if t.name == "mjrig-lab"]


def test_what_goes_wrong_is_the_result(lab: GainLab, models: Path) -> None:
    state = legs(models)
    run(lab, state, "left_hop")
    assert lab.result is not None
    assert matches(lab.result.problem, "dog has no actuator 'left_hop'; … 'left_hip'?")
    run(lab, state, "left_hip")
    assert len(positions(lab, "left_hip"))


def test_only_values_of_gains_are_only_gains(models: Path) -> None:
    state = legs(models)
    robot = state.simulation.world["dog"]
    before = state.session.data
    state.scene.set("dog.PDController.default_kp", 3)
    assert only_gains(state.session.edits_since(before), robot)
    state.scene.set("dog.PDController.delay", {"steps": 2})
    assert not only_gains(state.session.edits_since(before), robot)


# On the running robot ---------------------------------------------------------------------------


def live(state: EditorState, *actuators: str, signal: Signal = STEP) -> LiveTest:
    lab = GainLab()
    robot = next(iter(state.simulation.world.articulations.values()))
    return LiveTest(lab.job(state.session, robot, actuators, signal))


def test_a_live_test_commands_through_a_lease_and_gives_it_back(models: Path) -> None:
    state = legs(models)
    simulation = state.simulation
    setpoints = simulation.world["dog"].setpoints
    before = setpoints.values.copy()
    test = live(state, "left_hip", "right_hip")
    test.start(simulation)
    simulation.step_once(50)
    assert simulation.frame.robots["dog"].holders == ("response test",)
    assert setpoints.values[0, 0] == before[0, 0] + 0.05
    assert 0.4 < test.progress < 0.6
    with pytest.raises(LeaseError, match="response test"):
        simulation.world["dog"].set_targets({"left_hip": 1.0})
    simulation.step_once(60)
    assert test.is_done and not test.problem
    assert not list(simulation.frame.robots["dog"].holders)
    assert np.array_equal(setpoints.values, before)
    assert simulation._drivers == ()
    assert test.result is not None and test.result.where == "live"
    assert [r.actuator for r in test.result.responses] == ["left_hip", "right_hip"]
    response = test.result.of("left_hip")
    assert response is not None and response.trace is not None and response.metrics is not None
    assert len(response.trace.time) == 100
    assert response.trace.time[-1] == pytest.approx(0.2)
    assert response.metrics.rmse > 0.0


def test_a_live_test_is_refused_while_somebody_else_commands(models: Path) -> None:
    state = legs(models)
    lease = state.simulation.world["dog"].take(holder="gait")
    with pytest.raises(LeaseError, match="'left_hip' is held by 'gait'"):
        live(state, "left_hip").start(state.simulation)
    lease.release()


def test_a_live_test_can_be_cancelled(models: Path) -> None:
    state = legs(models)
    test = live(state, "left_hip")
    test.start(state.simulation)
    state.simulation.step_once(10)
    test.cancel(state.simulation)
    state.simulation.step_once(1)
    assert (test.is_done, test.problem, test.result) == (True, "cancelled", None)
    assert not list(state.simulation.frame.robots["dog"].holders)


@pytest.mark.parametrize("before", [0, 10])
def test_a_reset_ends_a_live_test(models: Path, before: int) -> None:
    state = legs(models)
    state.simulation.step_once(before)
    test = live(state, "left_hip")
    test.start(state.simulation)
    state.simulation.step_once(10)
    state.simulation.reset()
    state.simulation.step_once(1)
    assert matches(test.problem, "the world was rebuilt …")
    assert not list(state.simulation.frame.robots["dog"].holders)


def test_a_sine_on_the_running_robot_follows_its_shape(models: Path) -> None:
    state = legs(models)
    test = live(state, "left_hip", signal=Signal(Kind.SINE, 0.1, frequency=2.0, duration=0.5))
    test.start(state.simulation)
    state.simulation.step_once(260)
    assert test.result is not None
    response = test.result.of("left_hip")
    assert response is not None and response.trace is not None
    assert response.trace.target.max() == pytest.approx(response.trace.target[0] + 0.1, abs=0.002)


def test_a_jog_moves_the_setpoint_while_it_is_held(models: Path) -> None:
    state = legs(models)
    jog = Jog(state.simulation, "dog", "left_knee")
    jog.to(0.2)
    jog.to(0.3)
    state.simulation.step_once()
    assert state.simulation.frame.robots["dog"].setpoint[0, 1] == 0.3
    assert state.simulation.frame.robots["dog"].holders == ("jog",)
    jog.release()
    state.simulation.step_once()
    assert not list(state.simulation.frame.robots["dog"].holders)
    assert state.simulation.frame.robots["dog"].setpoint[0, 1] == 0.3


def test_the_gains_in_force_are_read_only(models: Path) -> None:
    robot = legs(models).simulation.world["dog"]
    assert not in_force(robot)["PDController"]["kp"].flags.writeable
