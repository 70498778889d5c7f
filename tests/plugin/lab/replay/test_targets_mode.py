"""Recorded setpoints once more: the same physics gives the same bits, and what differs is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.data.recording.recording import GainChange, Recording
from mjrig.lab.replay.diagnosis.order_hypotheses import (
    mirrored,
    shifted,
    with_names,
    with_order,
    with_signs,
)
from tests.plugin.lab.replay.recorded import BIPED, biped, from_world, wave
from tests.wording import matches, mentions
from tests.worlds import GRIPPER, hinge, make_scene, make_world, make_worlds, pd_of, refused

STEPS = 200


@pytest.fixture(scope="module")
def run() -> Recording:
    return from_world(biped(), STEPS)


def first(result: mjrig.Replay) -> tuple[str, str]:
    return result.diagnosis[0].kind, result.diagnosis[0].where


@pytest.mark.parametrize("execution", ["python", "native"])
def test_the_same_scene_matches_to_the_bit(execution: str) -> None:
    run = from_world(biped(execution=execution), STEPS)
    result = mjrig.replay(run, biped(execution=execution))
    assert result.verdict == "matches"
    assert result.bit_exact is True
    assert result.max_abs_position_error == 0.0
    assert result.first_divergence is None
    assert result.diagnosis == []
    assert result.duration == pytest.approx(0.4)
    assert set(result.joints) == {"root", "left_hip", "left_knee", "right_hip", "right_knee"}
    assert result.joints["left_knee"]["rmse_position"] == 0.0
    assert result.joints["left_knee"]["rmse_effort"] == 0.0


@pytest.mark.parametrize("execution", ["python", "native"])
@pytest.mark.parametrize("steps", [1, 37, STEPS])
def test_the_first_seconds_are_those_of_a_shorter_run(execution: str, steps: int) -> None:
    run, short = (from_world(biped(execution=execution), n) for n in (STEPS, steps))
    seconds, world = steps * run.timestep, biped(execution=execution)
    result = mjrig.replay(run, world, duration=seconds)
    assert result.bit_exact
    assert result.duration == pytest.approx(seconds)
    whole = biped(execution=execution)
    assert mjrig.replay(short, whole).bit_exact
    assert np.array_equal(world.data.qpos, whole.data.qpos)
    shown = mjrig.replay(run, biped(), "kinematic", duration=seconds)
    assert shown.duration == pytest.approx(seconds)


def test_seconds_that_a_recording_has_not_are_said(run: Recording) -> None:
    result = mjrig.replay(run, biped(), duration=3.0)
    assert result.bit_exact
    assert mentions(result.notes, "the recording ends after 0.4 … 3 …")
    with refused(mjrig.RecordingError, f"{run.path}: 0 s is less than … 0.002 …"):
        mjrig.replay(run, biped(), duration=0.0)


def test_a_difference_in_the_first_seconds_is_diagnosed_in_them(run: Recording) -> None:
    world = biped(kp={"left_knee": 40.0, "default": 80.0})
    result = mjrig.replay(run, world, duration=0.2)
    assert result.duration == pytest.approx(0.2)
    assert not result.bit_exact and result.diagnosis


@pytest.mark.parametrize("mode", ["targets", "kinematic"])
@pytest.mark.parametrize(
    "given",
    [{"policy": "p.yaml"}, {"command": [1, 0]}, {"schedule": []}, {"trials": 3}, {"seed": 1}],
)
def test_what_only_a_policy_takes_is_refused(
    run: Recording, mode: str, given: dict[str, Any]
) -> None:
    with pytest.raises(
        mjrig.RecordingError, match=f"{next(iter(given))} is for a policy .* mode policy"
    ):
        mjrig.replay(run, biped(), mode, **given)


def test_things_without_actuators_are_met_too() -> None:
    ball = """<mujoco><worldbody><body pos="1 0 0.4"><freejoint name="root"/>
      <geom size="0.1"/></body></worldbody></mujoco>"""

    def world() -> mjrig.World:
        pd = PDController(kp=80, kv=3)
        return make_worlds({"ball": ball, "robot": BIPED}, robot={"components": [pd]})

    result = mjrig.replay(from_world(world(), 50), world())
    assert (result.verdict, result.bit_exact) == ("matches", True)
    assert {"ball/root", "robot/left_hip"} <= set(result.joints)


def test_nothing_to_command_is_refused() -> None:
    ball = """<mujoco><worldbody><body><freejoint name="root"/><geom size="0.1"/></body>
      </worldbody></mujoco>"""
    run = from_world(make_world(ball), 3)
    told = "run.h5: 'robot' has no actuators; replay …"
    with refused(mjrig.RecordingError, told):
        mjrig.replay(run, make_world(ball))


@pytest.mark.parametrize("mode", ["targets", "kinematic"])
def test_a_recording_without_a_row_is_refused(run: Recording, mode: str) -> None:
    actor = run.actors["robot"]
    none = replace(actor, step=actor.step[:0], time=actor.time[:0], qpos=actor.qpos[:0])
    cut = replace(run, steps=0, actors={"robot": none})
    with refused(mjrig.RecordingError, "run.h5: it has no rows … 'robot'"):
        mjrig.replay(cut, biped(), mode=mode)


def test_a_gain_that_was_changed_by_a_fifth_is_named_first(run: Recording) -> None:
    world = biped(kp={"right_knee": 96.0, "default": 80.0})
    result = mjrig.replay(run, world)
    assert result.verdict == "differs"
    assert result.first_divergence is not None
    finding = result.diagnosis[0]
    assert (finding.kind, finding.where) == ("kp", "right_knee")
    assert (finding.expected, finding.here) == (80.0, 96.0)
    assert (finding.form, finding.share) == ("undone", pytest.approx(1.0, abs=5e-3))
    assert pd_of(world["robot"]).authored("kp") == {"right_knee": 96.0, "default": 80.0}


def test_a_gain_that_was_changed_in_the_running_world_is_named_too(run: Recording) -> None:
    world = biped(execution="native")
    pd_of(world["robot"]).patch(kp={"left_hip": 64.0})
    result = mjrig.replay(run, world)
    assert first(result) == ("kp", "left_hip")


@pytest.mark.parametrize(
    ("xml", "what", "where"),
    [
        (BIPED.replace('armature="0.02"', 'armature="0.05"'), "armature", "left_hip"),
        (BIPED.replace('damping="0.2"', 'damping="1"'), "damping", "left_hip"),
        (BIPED.replace('range="-2 2"', 'range="-2 2" frictionloss="2"'), "frictionloss", ""),
        (BIPED.replace('ctrlrange="-40 40"', 'ctrlrange="-4 4"'), "torque_limit", "left_hip"),
        (BIPED.replace("<option ", '<option integrator="implicit" '), "integrator", ""),
        (BIPED.replace("<option ", '<option iterations="1" '), "iterations", ""),
    ],
)
def test_what_differs_in_the_model_is_named(
    run: Recording, xml: str, what: str, where: str
) -> None:
    result = mjrig.replay(run, biped(xml=xml))
    finding = next(f for f in result.diagnosis if f.kind == what)
    assert where in finding.where
    if what not in ("integrator", "iterations"):  # which change little here
        assert result.diagnosis[0] is finding
        assert finding.share is not None and finding.share > 0.9


def test_a_delay_is_named(run: Recording) -> None:
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0, delay={"steps": 4})])
    result = mjrig.replay(run, world)
    assert result.diagnosis[0].kind == "delay"
    assert result.diagnosis[0].here == pytest.approx(0.008)
    assert result.diagnosis[0].share == pytest.approx(1.0)


def test_the_larger_of_two_differences_comes_first(run: Recording) -> None:
    world = biped(kp={"right_knee": 160.0, "default": 80.0}, kv={"left_hip": 3.01, "default": 3})
    result = mjrig.replay(run, world)
    assert [f.kind for f in result.diagnosis] == ["kp", "kv"]
    assert any(n.startswith("undoing all differences together removes") for n in result.notes)


def test_joints_that_only_matter_together_are_named_together(run: Recording) -> None:
    result = mjrig.replay(run, biped(kp={".*_knee": 120.0, "default": 80.0}))
    assert first(result) == ("kp", "2 joints: left_knee, right_knee")
    assert {f.where for f in result.diagnosis[1:]} == {"left_knee", "right_knee"}


def test_undoing_leaves_the_model_as_it_was(run: Recording) -> None:
    world = biped(xml=BIPED.replace('armature="0.02"', 'armature="0.05"'))
    before = world.model.dof_armature.copy(), world.model.dof_invweight0.copy()
    mjrig.replay(run, world)
    assert np.array_equal(world.model.dof_armature, before[0])
    assert np.array_equal(world.model.dof_invweight0, before[1])


# Orders, signs, phase -----------------------------------------------------------------------------


def test_swapped_sides_are_found(run: Recording) -> None:
    order = mirrored(run.actors["robot"].driven, "left and right")
    assert order is not None
    result = mjrig.replay(with_order(run, "robot", order), biped())
    assert result.diagnosis[0].kind == "joint order"
    evidence = result.diagnosis[0].evidence
    assert (evidence["subject"], evidence["order"]) == ("setpoints", "left and right swapped")
    assert evidence["columns"] == "right_hip, right_knee, left_hip, left_knee"
    assert result.diagnosis[0].share == pytest.approx(1.0, abs=5e-3)


def test_sides_that_are_swapped_in_states_and_setpoints_are_found(run: Recording) -> None:
    order = mirrored(run.actors["robot"].driven, "left and right")
    assert order is not None
    swapped = with_names(run, "robot", order)
    swapped = replace(swapped, states=None)
    result = mjrig.replay(swapped, biped())
    assert matches(result.diagnosis[0].here, "joints and setpoints: left …")


def test_a_permuted_order_is_found(run: Recording) -> None:
    result = mjrig.replay(with_order(run, "robot", np.array([1, 2, 3, 0])), biped())
    assert matches(result.diagnosis[0].here, "setpoints: as setpoints fit what …")


def test_a_wrong_sign_is_found(run: Recording) -> None:
    result = mjrig.replay(with_signs(run, "robot", [3]), biped())
    assert first(result) == ("sign", "right_knee")


def test_setpoints_that_come_one_step_late_are_found(run: Recording) -> None:
    actor = run.actors["robot"]
    assert actor.commands is not None
    rows = np.arange(0, STEPS, 10)  # as ticks: a shift of every row would leave no trace
    c = actor.commands
    ticks = replace(
        c,
        step=c.step[rows],
        position=c.position[rows],
        velocity=c.velocity[rows],
        feedforward=c.feedforward[rows],
    )
    at_ticks = replace(run, actors={"robot": replace(actor, commands=ticks)})
    assert mjrig.replay(at_ticks, biped()).bit_exact
    result = mjrig.replay(shifted(at_ticks, 1), biped())
    finding = result.diagnosis[0]
    assert (finding.kind, finding.here) == ("tick phase", "one step earlier")
    assert finding.share == pytest.approx(1.0, abs=5e-3)


def test_a_source_that_wrote_into_its_state_is_found() -> None:
    def edited(step: int, world: mjrig.World) -> None:
        wave(step, world)
        if step and step % 20 == 0:
            world.data.qvel[7] = 0.0

    run = from_world(biped(), 200, edited)
    result = mjrig.replay(run, biped())
    assert first(result) == ("state edited by the source", "left_knee")


def test_rounding_is_no_finding(run: Recording) -> None:
    actor = run.actors["robot"]
    off = actor.qpos.copy()
    off[:, 7] += 1e-13
    result = mjrig.replay(
        replace(run, actors={"robot": replace(actor, qpos=off)}, states=None), biped()
    )
    assert result.verdict == "matches within tolerance"
    assert result.diagnosis == []
    assert any(n.startswith("the difference comes from rounding") for n in result.notes)


# Gains and commands -------------------------------------------------------------------------------


def test_changes_of_gains_are_repeated_and_taken_back() -> None:
    def drive(step: int, world: mjrig.World) -> None:
        wave(step, world)
        if step in (0, 100):
            pd_of(world["robot"]).kp = 200.0 if step == 0 else 80.0

    run = from_world(biped(), 200, drive)
    stiff = {"kp": np.array([200.0, 200.0, np.nan, 200.0])}
    changes = (GainChange(0, {"kp": np.full(4, 200.0)}), GainChange(100, None))
    told = replace(run, actors={"robot": replace(run.actors["robot"], gain_changes=changes)})
    world = biped()
    assert mjrig.replay(told, world).bit_exact
    assert pd_of(world["robot"]).authored("kp") == 80.0
    partly = (GainChange(0, stiff), GainChange(100, None))
    told = replace(run, actors={"robot": replace(run.actors["robot"], gain_changes=partly)})
    assert not mjrig.replay(told, world, diagnose=False).bit_exact


def test_what_commands_by_itself_is_switched_off_meanwhile(run: Recording) -> None:
    class Shaker(mjrig.ActorComponent):
        from mjrig.core.properties.scalar_kinds import Bool

        enabled = Bool(True)

        def attach(self, articulation: Any) -> None:
            self._robot = articulation

        def before_controls(self, time: float) -> None:
            if self.enabled:
                self._robot.setpoints.values[0, :] = 1.0

    world = biped()
    world["robot"].add_component(Shaker())
    result = mjrig.replay(run, world)
    assert result.bit_exact
    assert mentions(result.notes, "robot.Shaker was disabled during the …")
    shaker = world["robot"].components[1]
    assert isinstance(shaker, Shaker) and shaker.enabled
    assert len(world["robot"].components) == 2


def test_somebody_elses_lease_is_respected(run: Recording) -> None:
    world = biped()
    with (
        world["robot"].take(holder="me"),
        refused(
            mjrig.LeaseError,
            "robot: 'left_hip' is held by 'me' (SCRIPT); release …",
        ),
    ):
        mjrig.replay(run, world)


# Worlds -------------------------------------------------------------------------------------------


def test_two_robots_of_the_same_model_are_replayed_at_once() -> None:
    def made(kp: float = 40.0) -> mjrig.World:
        return make_worlds(
            {"a": hinge(), "b": hinge()},
            a={"components": [PDController(kp=40.0)]},
            b={"components": [PDController(kp=kp)], "pose": {"position": [0, 2, 0]}},
        )

    run = from_world(made(), 100)
    result = mjrig.replay(run, made())
    assert result.bit_exact
    assert set(result.joints) == {"a/swing", "b/swing"}
    result = mjrig.replay(run, made(48.0))
    assert first(result) == ("kp", "swing")
    assert result.joints["a/swing"]["rmse_position"] == 0.0
    assert (result.joints["b/swing"]["rmse_position"] or 0.0) > 0.0


def test_a_gripper_on_a_tendon_is_replayed() -> None:
    def made() -> mjrig.World:
        return make_world(GRIPPER, [PDController(kp=40.0)])

    def drive(step: int, world: mjrig.World) -> None:
        world["robot"].set_targets({"leg": 0.3, "grip": 0.02 * (step > 50)})

    assert mjrig.replay(from_world(made(), 100, drive), made()).bit_exact


def test_a_pendulum_has_no_base_and_cannot_fall() -> None:
    run = from_world(make_world(hinge(), [PDController()]), 50)
    result = mjrig.replay(run, make_world(hinge(), [PDController()]))
    assert (result.fell, result.base_start, result.base_drift) == (False, None, None)


def test_a_base_that_topples_has_fallen() -> None:
    def push(step: int, world: mjrig.World) -> None:
        world["robot"].set_targets({".*_hip": -1.5})

    result = mjrig.replay(from_world(biped(), 600, push), biped())
    assert result.bit_exact
    assert result.fell
    assert result.fell_at is not None and 0.0 < result.fell_at < 1.2


def test_other_robots_stay_where_they_are() -> None:
    run = from_world(make_worlds({"a": hinge()}, a={"components": [PDController()]}), 50)
    world = make_worlds(
        {"a": hinge(), "other": hinge(option="", joint="")},
        a={"components": [PDController()]},
        other={"joints": {"swing": 0.4}, "pose": {"position": [0, 2, 0]}},
        sim={"gravity": [0, 0, 0], "timestep": 0.001},
    )
    mjrig.replay(run, world)
    assert world.data.qpos[world["other"].model_map.qpos] == 0.4


def test_only_the_time_before_a_reset_is_replayed(run: Recording) -> None:
    actor = run.actors["robot"]
    qpos = actor.qpos.copy()
    qpos[120:, 7:] = 0.0
    cut = replace(run, segments=(0, 120), actors={"robot": replace(actor, qpos=qpos)})
    assert not mjrig.replay(replace(cut, segments=(0,)), biped(), diagnose=False).bit_exact
    result = mjrig.replay(cut, biped())
    assert result.bit_exact
    assert result.duration == pytest.approx(0.24)
    assert mentions(result.notes, "the state was reset … 0.24 … 0.4 …")


# Refusals -----------------------------------------------------------------------------------------


def test_another_timestep_is_refused(run: Recording) -> None:
    with refused(
        mjrig.RecordingError,
        "run.h5: was recorded with a … 0.002 … 0.001 … sim.timestep … 0.002, … (--resample)",
    ):
        mjrig.replay(run, biped(sim={"timestep": 0.001}))


def test_another_timestep_can_be_allowed_and_is_diagnosed(run: Recording, tmp_path: Path) -> None:
    actor: dict[str, object] = {"components": [PDController(kp=80.0, kv=3.0)]}
    scene = make_scene({"robot": BIPED}, str(tmp_path), {"robot": actor}, {"timestep": 0.001})
    result = mjrig.replay(run, mjrig.World(scene), resample=True)
    assert result.duration == pytest.approx(0.4)
    assert result.verdict == "differs"
    assert result.diagnosis[0].kind == "timestep"
    assert result.diagnosis[0].share == pytest.approx(1.0)


def test_a_rate_that_is_no_multiple_is_refused(run: Recording) -> None:
    with refused(
        mjrig.RecordingError,
        "run.h5: its timestep of 0.002 s … 0.0015 …",
    ):
        mjrig.replay(run, biped(sim={"timestep": 0.0015}), resample=True)


def test_another_robot_is_refused(run: Recording) -> None:
    with refused(
        mjrig.RecordingError,
        "run.h5: the recorded 'robot' is another … 'robot' … 0 … 4 … left_hip, "
        "left_knee, right_hip, right_knee; …",
    ):
        mjrig.replay(run, make_world(hinge(), [PDController()]))


def test_a_recording_without_setpoints_is_refused(run: Recording) -> None:
    bare = replace(run, actors={"robot": replace(run.actors["robot"], commands=None)})
    with refused(
        mjrig.RecordingError,
        "run.h5: no setpoints of 'robot' were …",
    ):
        mjrig.replay(bare, biped())


def test_a_robot_without_actuators_is_refused() -> None:
    run = from_world(make_world(hinge(), [PDController()]), 10)
    with refused(mjrig.RecordingError, "run.h5: none of the actuators … 'robot' …"):
        mjrig.replay(run, make_world(hinge(actuator="")))


def test_an_unknown_mode_is_refused(run: Recording) -> None:
    with refused(mjrig.RecordingError, "unknown mode 'target'; did you … 'targets'?"):
        mjrig.replay(run, biped(), mode="target")
