"""Time, resets, snapshots and executions of a world."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import PassthroughController, PDController, PIDController
from tests.places import SCENES
from tests.wording import regex
from tests.worlds import (
    GRIPPER,
    MOTORS,
    ROVER,
    ZOO,
    arm,
    hinge,
    make_robot,
    make_world,
    make_worlds,
    pd_of,
    refused,
)

BENT = '<key name="bent" qpos="0.5 -0.4"/>'
TENDON = MOTORS + '<motor name="t" tendon="cable"/>'
INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")


def state_of(world: mjrig.World) -> list[float]:
    data = world.data
    return [data.time, *data.qpos, *data.qvel, *data.act, *data.ctrl, *data.qacc_warmstart]


# Stepping ---------------------------------------------------------------------------------------


def test_many_steps_at_once_are_many_single_steps() -> None:
    worlds = [make_world(arm(), [PDController()]) for _ in range(2)]
    for world in worlds:
        world["robot"].set_targets(0.7)
    worlds[0].step(50)
    for _ in range(50):
        worlds[1].step()
    assert state_of(worlds[0]) == state_of(worlds[1])
    assert worlds[0].data.qpos.any()


def test_controllers_see_every_step_of_many() -> None:
    world, robot = make_robot(hinge(), PDController(kp=10, kv=1))
    robot.set_targets(1.0)
    world.step(19)
    before = world.data.qpos[0], world.data.qvel[0]
    world.step(1)
    assert world.data.ctrl[0] == pytest.approx(10 * (1.0 - before[0]) - before[1])


def test_step_counts() -> None:
    world = make_world(arm())
    assert world.step(0) == 0
    assert world.step(3) == 3
    assert world.steps == 3
    assert world.time == pytest.approx(0.003)


def test_a_world_goes_on_from_the_time_of_another() -> None:
    old, new = make_world(arm()), make_world(arm())
    old.step(3)
    new.adopt_time(old)
    new.step()
    assert new.steps == 4
    assert new.time == pytest.approx(0.004)


def test_stepping_backward_is_refused() -> None:
    with refused(ValueError, "step: must be a whole … 0 … -1"):
        make_world(arm()).step(-1)


def test_an_empty_scene_is_a_world() -> None:
    world = mjrig.World(mjrig.Scene())
    world.step(2)
    world.reset()
    assert dict(world.articulations) == {}


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_law_on_a_tendon_sees_the_current_state(integrator: str) -> None:
    pd = PDController(actuators="t", transmissions="all", kp=30, kv=2)
    world, robot = make_robot(arm(TENDON), pd, sim={"integrator": integrator})
    robot.set_targets({"t": 0.5})
    world.step(40)
    (q0, q1), (v0, v1) = world.data.qpos.tolist(), world.data.qvel.tolist()
    world.step()
    effort = 30 * (0.5 - (q0 + 0.5 * q1)) - 2 * (v0 + 0.5 * v1)
    assert world.data.ctrl[2] == pytest.approx(effort, rel=1e-12)
    assert abs(v0) > 0.01


def test_a_law_on_a_tendon_runs_on_actuator_length() -> None:
    xml = arm('<motor name="t" tendon="cable" gear="3"/>')
    pd = PDController(transmissions="all", kp=10, kv=0)
    world, robot = make_robot(xml, pd, joints={"shoulder": 0.2})
    assert robot.setpoints.position == pytest.approx([0.6])
    robot.set_targets(1.0)
    world.step()
    assert robot.effort == pytest.approx([4.0])
    assert world.data.actuator_force == pytest.approx([4.0])


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_watching_for_events_does_not_change_the_motion(integrator: str) -> None:
    states = []
    for watching in (False, True):
        world = make_world(
            arm(), [PDController()], sim={"integrator": integrator}, pause_on_event=watching
        )
        world["robot"].set_targets(0.4)
        world.step(100)
        states.append(state_of(world))
    assert states[0] == states[1]


def test_an_event_can_pause_the_world() -> None:
    world = make_world(arm(), [PDController()], pause_on_event=True)
    robot = world["robot"]
    world.step(5)
    robot.setpoints.position[0] = np.nan
    assert world.step(10) == 1
    assert world.paused
    assert world.step(10) == 0
    world.resume()
    assert world.step(10) == 10
    assert world.steps == 16


def test_without_being_told_to_the_world_does_not_pause() -> None:
    world, robot = make_robot(arm(), PDController())
    robot.setpoints.position[0] = np.nan
    assert world.step(10) == 10
    assert not world.paused
    assert len(world.events) == 1


def test_reset_ends_a_pause() -> None:
    world = make_world(arm(), [PDController()], pause_on_event=True)
    world["robot"].setpoints.position[0] = np.nan
    world.step()
    world.reset()
    assert world.step(3) == 3


# What it is -------------------------------------------------------------------------------------


def test_an_unknown_actor_is_refused_with_the_nearest_name() -> None:
    world = make_world(arm())
    with refused(mjrig.BindingError, "the world has no … 'robo'; … 'robot'?"):
        world["robo"]


def test_articulations_are_in_scene_order() -> None:
    world = make_worlds({"zebra": arm(), "ant": arm()})
    assert list(world.articulations) == ["zebra", "ant"]
    assert world.articulations["ant"] is world["ant"]
    assert repr(world) == "World(zebra, ant; t=0 s)"


def test_a_world_does_not_share_components_with_its_scene() -> None:
    component = PDController(kp=10)
    world = make_world(arm(), [component])
    pd_of(world["robot"]).kp = 99
    assert component.authored("kp") == 10
    assert not component.is_bound


@pytest.mark.parametrize("execution", ["auto", "python", "native", "compiled"])
def test_a_world_without_a_controller_runs_as_python(execution: str) -> None:
    assert make_world(arm(), execution=execution).execution == "python"


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_world_runs_as_it_was_asked_to(execution: str) -> None:
    if execution == "compiled":
        pytest.importorskip("numba", reason="needs the extra 'fast'")
    assert make_world(arm(), [PDController()], execution=execution).execution == execution


def test_an_unknown_execution_is_refused() -> None:
    message = "unknown execution mode 'pyhton'; did … 'python'?"
    with refused(mjrig.ExecutionError, message):
        make_world(arm(), execution="pyhton")


# Reset ------------------------------------------------------------------------------------------


def test_reset_is_the_initial_state_again() -> None:
    world, robot = make_robot(arm(), PDController(), joints={"elbow": 0.2})
    first = state_of(world)
    robot.set_targets(1.0)
    world.step(30)
    world.reset()
    assert state_of(world) == first
    assert (world.steps, world.time) == (0, 0.0)


def test_the_future_after_a_reset_is_the_same() -> None:
    world, robot = make_robot(arm(option=""), PDController())
    runs = []
    for _ in range(2):
        world.reset()
        robot.set_targets(1.0)
        world.step(50)
        runs.append(state_of(world))
    assert runs[0] == runs[1]


def test_reset_forgets_activations() -> None:
    world, robot = make_robot(ZOO)
    robot.set_targets({"filtered": 1.0, "muscle": 1.0})
    world.step(10)
    assert world.data.act.any()
    world.reset()
    assert not world.data.act.any()


def test_reset_to_a_keyframe_moves_the_actors_that_have_it() -> None:
    world = make_worlds({"one": arm(keys=BENT), "two": arm()}, two={"joints": {"elbow": 0.1}})
    world.reset(keyframe="bent")
    assert world.data.qpos.tolist() == [0.5, -0.4, 0.0, 0.1]
    world.reset()
    assert world.data.qpos.tolist() == [0.0, 0.0, 0.0, 0.1]


def test_a_keyframe_no_actor_has_is_refused() -> None:
    world = make_worlds({"one": arm(keys=BENT), "two": arm()})
    world.step(3)
    with refused(mjrig.BindingError, "no actor has a … 'bnet'; … 'bent'?"):
        world.reset(keyframe="bnet")
    assert world.steps == 3


def test_each_robot_has_its_keyframe_at_its_own_place_and_rotation() -> None:
    turned = {"position": [10.0, 0.0, 0.0], "euler_deg": [0.0, 0.0, 90.0]}
    world = make_worlds({"one": ROVER, "two": ROVER}, two={"pose": turned})
    world.reset("home")
    one, two = world.data.qpos[:8], world.data.qpos[8:]
    assert one == pytest.approx([0.1, 0, 0.5, 1, 0, 0, 0, 0.3])
    half = np.sqrt(0.5)
    assert two == pytest.approx([10, 0.1, 0.5, half, 0, 0, half, 0.3])


def test_a_keyframes_base_velocity_turns_with_the_actor() -> None:
    turned = {"position": [10.0, 0.0, 0.0], "euler_deg": [0.0, 0.0, 90.0]}
    world, _ = make_robot(ROVER, pose=turned)
    world.reset("home")
    # NOTE: linear velocity is in the world's frame, angular velocity in the body's.
    assert world.data.qvel == pytest.approx([0, 2, 0, 0, 0, 0.7, 0])


def test_resetting_one_key_of_a_robot_leaves_the_other_robot_initial() -> None:
    world = make_worlds({"one": arm(keys=BENT), "two": ROVER})
    world.reset("bent")
    assert world.data.qpos[2:] == pytest.approx([0, 0, 0.5, 1, 0, 0, 0, 0])


# Snapshots --------------------------------------------------------------------------------------


def test_restore_rewinds_bit_for_bit() -> None:
    world, robot = make_robot(arm(option=""), PDController())
    robot.set_targets({"a": 0.5}, velocity={"b": 0.1}, feedforward={"b": 0.2})
    world.step(30)
    saved, then = world.snapshot(), state_of(world)
    world.step(40)
    future = state_of(world)
    robot.set_targets(-1.0)
    world.step(17)
    world.restore(saved)
    assert state_of(world) == then
    world.step(40)
    assert state_of(world) == future


def test_a_restored_world_is_ready_to_be_looked_at() -> None:
    world, _ = make_robot(arm(), PDController(), joints={"shoulder": 0.5})
    saved, positions = world.snapshot(), world.data.site_xpos.copy()
    world["robot"].set_targets(-1.0)
    world.step(200)
    world.restore(saved)
    assert np.array_equal(world.data.site_xpos, positions)


def test_a_snapshot_holds_setpoints_and_steps() -> None:
    world, robot = make_robot(ZOO, PDController())
    robot.set_targets({"motor": 0.5})
    robot.setpoints.inputs["orientation"][:] = [0.0, 1.0, 0.0, 0.0]
    world.step(4)
    saved = world.snapshot()
    robot.set_targets({"motor": 0.9})
    robot.setpoints.inputs["orientation"][:] = [0.0, 0.0, 1.0, 0.0]
    world.step(4)
    world.restore(saved)
    assert world.steps == 4
    assert robot.setpoints.position[robot.actuator_names.index("motor")] == 0.5
    assert robot.setpoints.inputs["orientation"].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_snapshot_holds_the_keyframe_hold() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    robot.hold("bent")
    saved = world.snapshot()
    robot.release_hold()
    robot.set_targets(1.0)
    world.step()
    world.restore(saved)
    assert robot.held == "bent"
    world.step()
    assert robot.setpoints.position.tolist() == [0.5, -0.4]


def test_a_snapshot_without_a_hold_ends_one() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    saved = world.snapshot()
    robot.hold("bent")
    world.restore(saved)
    assert robot.held == ""


def test_a_snapshot_holds_the_last_finite_setpoints() -> None:
    world, robot = make_robot(arm(), PDController())
    robot.set_targets({"a": 0.5})
    world.step()
    robot.setpoints.position[0] = np.nan
    saved = world.snapshot()
    robot.set_targets({"a": 0.9})
    world.step()
    world.restore(saved)
    world.step()
    assert robot.setpoints.position[0] == 0.5


def test_a_snapshot_holds_the_effort_before_clamps() -> None:
    world, robot = make_robot(arm(), PDController(torque_limit=1))
    robot.set_targets(1.0)
    world.step()
    saved, raw = world.snapshot(), robot.raw_effort.tolist()
    world.step(20)
    world.restore(saved)
    assert robot.raw_effort.tolist() == raw
    assert robot.effort.tolist() == [1.0, 1.0]


def test_gains_enabled_and_leases_are_edits_and_stay() -> None:
    world, robot = make_robot(arm(), PDController(kp=10))
    pd = pd_of(robot)
    saved = world.snapshot()
    pd.kp = 20
    pd.enabled = False
    lease = robot.take(Source.UI)
    world.restore(saved)
    assert pd.kp.tolist() == [20.0, 20.0]
    assert not pd.enabled
    assert lease.is_held


def test_a_snapshot_is_not_changed_by_the_future() -> None:
    world, robot = make_robot(arm(), PDController())
    robot.set_targets(0.5)
    world.step(3)
    saved, then = world.snapshot(), state_of(world)
    for _ in range(3):
        world.restore(saved)
        robot.set_targets(2.0)
        world.step(10)
    world.restore(saved)
    assert state_of(world) == then


def test_a_snapshot_of_another_world_is_refused() -> None:
    one, other = make_world(arm()), make_worlds({"pole": hinge()})
    sizes = [w.snapshot().integration.size for w in (one, other)]
    message = f"the snapshot is of … {sizes[0]} … {sizes[1]}"
    with refused(mjrig.PropertyError, message):
        other.restore(one.snapshot())


def test_a_snapshot_of_other_components_is_refused_and_nothing_is_changed() -> None:
    given = {"components": [PDController()]}
    world = make_worlds({"one": arm(), "two": arm()}, two=given)
    saved = world.snapshot()
    pd_of(world["two"]).actuators = "b"
    world["one"].set_targets(0.5)
    world.step(3)
    before = state_of(world)
    message = "two: the snapshot is of … PDController … PDController …"
    with refused(mjrig.PropertyError, message):
        world.restore(saved)
    assert state_of(world) == before
    assert world["one"].setpoints.position.tolist() == [0.5, 0.5]


def test_a_snapshot_of_a_component_of_another_type_is_refused() -> None:
    world, robot = make_robot(arm(), PDController())
    saved = world.snapshot()
    robot.remove_component(robot.components[0])
    robot.add_component(PassthroughController())
    message = "robot: the snapshot is of … PDController … PassthroughController …"
    with refused(mjrig.PropertyError, message):
        world.restore(saved)


# Scenes with a text -----------------------------------------------------------------------------


def scene_text(*components: str) -> str:
    lines = ["mjrig: 1", "actors:", "  - name: dog", "    model: dog.xml", "    components:"]
    return "\n".join([*lines, *(f"      - {c}" for c in components)]) + "\n"


def test_an_overlap_in_a_file_is_at_the_second_claimants_line(tmp_path: Path) -> None:
    (tmp_path / "dog.xml").write_text(arm())
    file = tmp_path / "scene.yaml"
    file.write_text(scene_text("type: PDController", "type: PassthroughController"))
    message = (
        f"{file}:7:9: actors[0].components[1]: dog: actuator 'a' is claimed by components[0] "
        "PDController ('.*') … components[1] PassthroughController ('.*'); …"
    )
    with refused(mjrig.SceneError, message):
        mjrig.World(file)


def test_a_gain_that_does_not_fit_is_a_scene_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "dog.xml").write_text(arm())
    file = tmp_path / "scene.yaml"
    file.write_text(scene_text("type: PDController\n        kp: {shouldre: 3}"))
    message = (
        f"{file}:7:14: actors[0].components[0].kp: dog.PDController.kp: 'shouldre' matches "
        "no actuator or … 'dog'; … 'shoulder'?"
    )
    with refused(mjrig.SceneError, message):
        mjrig.World(file)


def test_two_components_that_command_the_same_are_a_scene_error(tmp_path: Path) -> None:
    legs = "".join(
        f'<motor name="{leg}_{part}" joint="shoulder"/>'
        for leg in ("FL", "FR", "RL", "RR")
        for part in ("hip", "thigh", "calf")
    )
    (tmp_path / "dog.xml").write_text(arm(legs))
    file = tmp_path / "scene.yaml"
    file.write_text(scene_text("type: TrotGait", "type: TrotGait"))
    message = (
        f"{file}:7:9: actors[0].components[1]: dog: 'FL_hip' is held by 'dog.TrotGait' "
        "(SCRIPT); release …"
    )
    with refused(mjrig.SceneError, message):
        mjrig.World(file)


def test_the_original_error_is_the_cause(tmp_path: Path) -> None:
    (tmp_path / "dog.xml").write_text(GRIPPER)
    scene = mjrig.Scene.parse(scene_text("{type: PDController, actuators: grip}"), tmp_path)
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.World(scene)
    assert isinstance(info.value.__cause__, mjrig.BindingError)


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
@pytest.mark.parametrize("n", [1.5, -2, "3", None, 2.0])
def test_steps_that_are_no_whole_number_are_refused(execution: str, n: Any) -> None:
    world = mjrig.World(SCENES / "pendulum.yaml", execution)
    with refused(mjrig.PropertyError, f"step: must be a whole … 0 … {n!r}"):
        world.step(n)
    assert world.steps == 0 and world.time == 0.0


@pytest.mark.parametrize("given", [[[0, 0.3, 0, 0]], 1.0, "walk", {"position": 1}])
def test_what_is_followed_is_a_function(given: Any) -> None:
    robot = next(iter(mjrig.World(SCENES / "pendulum.yaml").articulations.values()))
    with pytest.raises(mjrig.PropertyError, match=regex("follow takes a function …")):
        robot.follow(given)


def test_a_rewind_keeps_the_accelerations_of_bodies_that_sleep() -> None:
    """They stay as they were in their last step awake, and a forward pass gives other ones."""
    scene = mjrig.Scene.parse(
        "mjrig: 1\n"
        "sim: {sleep: enable, sleep_tolerance: 0.1}\n"
        "actors:\n"
        "  - {name: ball, prop: {type: SphereProp, radius: 0.1, free: true}}\n"
    )
    world = mjrig.World(scene)
    world.step(40)
    asleep = world.data.tree_asleep.copy()
    snapshot, size = world.snapshot(), world.model.nv
    assert snapshot.sleep is not None
    world.data.qacc_smooth[:] = np.arange(size)  # as if the last step awake had been another one
    other = world.snapshot()
    assert snapshot.sleep is not None
    for taken, first in ((other, 0.0), (snapshot, snapshot.sleep["qacc_smooth"][0])):
        world.reset()
        world.restore(taken)
        assert world.data.qacc_smooth[0] == first
        assert np.array_equal(world.data.tree_asleep, asleep)


@pytest.mark.parametrize("execution", ["python", "compiled", "native"])
@pytest.mark.parametrize("kp", [40, 400, 1e9])  # diverges after three steps, two, and one
@pytest.mark.parametrize(("before", "count"), [(0, 2), (3, 5), (17, 50)])
def test_many_steps_are_as_often_one_step_even_if_the_world_diverges(
    execution: str, kp: float, before: int, count: int
) -> None:
    if execution == "compiled":
        pytest.importorskip("numba", reason="needs the extra 'fast'")
    pid = PIDController(kp=kp, kv=0, ki=3.0, torque_limit=1e12)
    one, many = (
        make_world(hinge(inertia=1e-6), [pid.copy()], execution=execution) for _ in range(2)
    )
    for world in (one, many):
        world.step(before)
        world["robot"].set_targets({"swing": 1.0})
    for _ in range(count):
        one.step(1)
    many.step(count)
    assert (one.steps, one.time, one.events) == (many.steps, many.time, many.events)
    assert np.array_equal(one.data.qpos, many.data.qpos)
    assert (count < 3 and kp == 40) or one.events
