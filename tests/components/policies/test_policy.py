"""Policy on a robot: when it ticks, what it commands, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig import BindingError, LeaseError, PropertyError, SceneError, Source
from mjrig.components import PDController, Policy
from tests.components.policies.small import (
    JOINTS,
    constants,
    counting,
    linear,
    make,
    policy_of,
    write,
)
from tests.wording import regex
from tests.worlds import GRIPPER, MOTORS, arm, make_robot, make_worlds, pd_of, refused

ONE = constants(1.0)


def ticks_by_step(world: mjrig.World, policy: Policy, steps: int) -> list[int]:
    """The steps a tick falls on."""
    found = []
    for step in range(steps):
        before = policy.ticks
        world.step()
        found += [step] * (policy.ticks - before)
    return found


# Time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("before", [0, 3, 6, 9]), ("inside", [2, 5, 8]), ("after", [3, 6, 9])],
)
def test_ticks_fall_on_their_steps(phase: str, expected: list[int], tmp_path: Path) -> None:
    world, _, policy = make(tmp_path, decimation=3, phase=phase)
    assert ticks_by_step(world, policy, 10) == expected
    assert policy.tick_steps == 3


def test_a_target_acts_in_the_step_of_its_tick(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[0.5, -0.5]])
    world, robot, _ = make(tmp_path, phase="inside", decimation=2, observation=ONE)
    world.step()
    assert robot.setpoints.position.tolist() == [0.0, 0.0]
    world.step()
    assert robot.setpoints.position.tolist() == [0.5, -0.5]
    assert world.data.ctrl.tolist() == [5.0, -5.0]


def test_only_inside_a_step_it_sees_sensors_of_the_present_state(tmp_path: Path) -> None:
    xml = arm().replace("<actuator>", '<sensor><framepos name="tip" objtype="site" objname="tip"/>'
                        "</sensor><actuator>")  # fmt: skip
    linear(tmp_path / "policy.onnx", np.zeros((3, 2)))
    seen = {}
    for phase in ("inside", "before"):
        terms = {"terms": [{"type": "SensorTerm", "sensor": "tip"}]}
        world, _, policy = make(tmp_path, xml=xml, phase=phase, observation=terms)
        world.step()
        world.data.qpos[0] = np.pi / 2
        world.step()
        seen[phase] = policy.observation.astype(float).round(3).tolist()
    assert seen == {"inside": [0.0, 0.0, -0.6], "before": [0.6, 0.0, 0.0]}


def test_an_edit_of_the_file_changes_how_the_world_steps(tmp_path: Path) -> None:
    world, robot, policy = make(tmp_path)
    assert not robot.needs_position_stage
    write(tmp_path, phase="inside")
    policy.reload()
    assert robot.needs_position_stage
    policy.enabled = False
    assert not robot.needs_position_stage
    world.step()
    assert policy.ticks == 0


def test_a_long_run_never_misses_a_tick(tmp_path: Path) -> None:
    """Time is a sum of rounded steps: 0.1 ms ones drift from their multiples."""
    world, _, policy = make(tmp_path, decimation=7, actor={"sim": {"timestep": 0.0007}})
    world.step(7001)
    assert policy.ticks == 1001


def test_another_timestep_is_refused(tmp_path: Path) -> None:
    message = "robot.Policy.file: the policy needs a … 0.005 … 0.001 … {timestep: 0.005} …"
    with refused(BindingError, message):
        make(tmp_path, timestep=0.005)


# The start --------------------------------------------------------------------------------------

STAND: dict[str, Any] = {
    "default": [0.3, -0.2],
    "start": {"duration": 0.005, "kp": 80, "kv": [3, 4]},
    "action": {"dtype": "float64"},
}


def test_it_stands_with_gains_of_its_own_first(tmp_path: Path) -> None:
    world, robot, policy = make(tmp_path, decimation=2, **STAND)
    pd = pd_of(robot)
    assert robot.setpoints.position.tolist() == [0.3, -0.2]
    assert (pd.kp.tolist(), pd.kv.tolist()) == ([80, 80], [3, 4])
    world.step()
    assert world.data.ctrl.tolist() == [24.0, -16.0]
    world.step(4)
    assert (policy.ticks, pd.kp.tolist()) == (0, [80, 80])
    world.step()
    assert (policy.ticks, pd.kp.tolist(), pd.kv.tolist()) == (1, [10, 10], [1, 1])
    world.reset()
    assert (policy.ticks, pd.kp.tolist()) == (0, [80, 80])


def test_the_gains_of_the_stand_are_nobodys_edit(tmp_path: Path) -> None:
    _, robot, _ = make(tmp_path, **STAND)
    pd = pd_of(robot)
    assert pd.kp.tolist() == [80, 80]
    assert pd.authored("kp") == 10
    assert pd.to_data() == {"type": "PDController", "kp": 10, "kv": 1}


def test_gains_edited_during_the_stand_hold_after_it(tmp_path: Path) -> None:
    world, robot, _ = make(tmp_path, **STAND)
    pd_of(robot).kp = 25
    world.step(6)
    assert pd_of(robot).kp.tolist() == [25, 25]


def test_switched_off_it_leaves_the_gains_of_the_scene(tmp_path: Path) -> None:
    _, robot, policy = make(tmp_path, **STAND)
    policy.enabled = False
    assert pd_of(robot).kp.tolist() == [10, 10]


def test_a_start_without_duration_holds_the_default_until_the_first_tick(tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "default": [0.5, -0.25],
        "start": {"duration": 0},
        "phase": "after",
        "decimation": 4,
    }
    world, robot, _ = make(tmp_path, **said)
    world.step(3)
    assert robot.setpoints.position.tolist() == [0.5, -0.25]


def test_without_a_start_the_pose_is_held_until_the_first_tick(tmp_path: Path) -> None:
    world, robot, _ = make(
        tmp_path, default=[0.5, 0.5], phase="after", decimation=4,
        actor={"joints": {"shoulder": 0.125}},
    )  # fmt: skip
    world.step(3)
    assert robot.setpoints.position.tolist() == [0.125, 0.0]


def test_a_start_that_is_no_multiple_of_the_step_is_refused(tmp_path: Path) -> None:
    message = "robot.Policy.file: policy.start.duration: 0.0015 s is not a … 0.001 …"
    with refused(BindingError, message):
        make(tmp_path, start={"duration": 0.0015})


def test_gains_of_the_stand_need_a_controller_that_has_them(tmp_path: Path) -> None:
    message = "policy.start.kp: no controller of 'robot' has … 'a'"
    xml = arm('<position name="a" joint="shoulder"/><position name="b" joint="elbow"/>')
    own = Policy(file=str(write(tmp_path, **STAND)))
    with refused(BindingError, message):
        make_robot(xml, own)


# Actions ----------------------------------------------------------------------------------------


def commanded(folder: Path, ticks: int = 1, **action: Any) -> list[float]:
    """Positions after some ticks of a network that always says 1 and −2."""
    linear(folder / "policy.onnx", [[1.0, -2.0]])
    said: dict[str, Any] = {"observation": ONE, "default": [0.5, 0.25], "action": action}
    world, robot, _ = make(
        folder, actor={"joints": {"elbow": 0.125}}, pd={"kp": 0, "kv": 0}, **said
    )
    world.step(ticks)
    found: list[float] = robot.setpoints.position.tolist()
    return found


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({}, [1.5, -1.75]),
        ({"scale": 0.5}, [1.0, -0.75]),
        ({"scale": {"elbow": 0.5}}, [1.5, -0.75]),
        ({"offset": 0}, [1.0, -2.0]),
        ({"offset": [1, 2]}, [2.0, 0.0]),
        ({"clip": 1.5}, [1.5, -1.25]),
        ({"clip": [[0, -1], [0.5, 0]]}, [1.0, -0.75]),
        ({"clip_target": [-1, 1]}, [1.0, -1.0]),
        ({"smoothing": 0.25}, [0.75, -0.25]),
        ({"mode": "delta"}, [1.0, -1.875]),
        ({"mode": "measured"}, [1.0, -1.875]),
    ],
)
def test_an_action_becomes_a_target(
    action: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    assert commanded(tmp_path, **action) == expected


def test_deltas_add_up_and_stop_at_the_range(tmp_path: Path) -> None:
    assert commanded(tmp_path, 3, mode="delta", scale=0.25) == [0.75, -1.375]
    assert commanded(tmp_path, 9, mode="delta", scale=0.25, clip_target=1) == [1.0, -1.0]


def test_smoothing_goes_on_from_the_action_before(tmp_path: Path) -> None:
    assert commanded(tmp_path, 2, smoothing=0.5, offset=0) == [0.75, -1.5]


@pytest.mark.parametrize(("word", "expected"), [("ctrlrange", [0.5, -0.5]),
                                                ("joint_range", [0.25, -0.25])])  # fmt: skip
def test_targets_stay_inside_a_range_of_the_model(
    word: str, expected: list[float], tmp_path: Path
) -> None:
    motors = MOTORS.replace("/>", ' ctrlrange="-0.5 0.5"/>')
    xml = arm(motors, joint='range="-0.25 0.25"')
    linear(tmp_path / "policy.onnx", [[1.0, -2.0]])
    world, robot, _ = make(tmp_path, xml=xml, observation=ONE, action={"clip_target": word})
    world.step()
    assert robot.setpoints.position.tolist() == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [("raw", [1.0, -2.0]), ("smoothed", [0.5, -1.0]), ("clipped", [0.5, -0.75])],
)
def test_the_next_tick_sees_the_action_in_the_form_it_was_trained_with(
    last: str, expected: list[float], tmp_path: Path
) -> None:
    linear(tmp_path / "policy.onnx", [[1.0, -2.0], [0.0, 0.0], [0.0, 0.0]])
    terms = {"terms": [{"type": "Constant", "values": 1}, {"type": "LastAction"}]}
    action = {"last": last, "smoothing": 0.5, "clip": 0.75}
    world, _, policy = make(tmp_path, observation=terms, action=action)
    world.step()
    assert policy.observation.tolist() == [1.0, 0.0, 0.0]
    world.step()
    assert policy.observation.tolist() == [1.0, *expected]


def test_velocities_and_efforts_go_to_the_law(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[1.0, -2.0]])
    action = {"targets": {"shoulder": "velocity", "elbow": "effort"}}
    world, robot, _ = make(tmp_path, observation=ONE, default=[5, 5], action=action)
    world.step()
    assert robot.setpoints.values.tolist() == [[0, 0], [1, 0], [0, -2]]
    assert world.data.ctrl.tolist() == [1.0, -2.0]


def test_an_actuator_without_a_law_takes_its_target_whatever_it_is(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[1.0, -2.0]])
    xml = arm('<velocity name="a" joint="shoulder" kv="1"/><motor name="b" joint="elbow"/>')
    action = {"targets": {"shoulder": "velocity", "elbow": "effort"}}
    own = Policy(file=str(write(tmp_path, observation=ONE, action=action)))
    world, _ = make_robot(xml, own)
    world.step()
    assert world.data.ctrl.tolist() == [1.0, -2.0]


def test_float32_targets_are_rounded_and_float64_ones_are_not(tmp_path: Path) -> None:
    third = commanded(tmp_path, scale=1 / 3, offset=0)[0]
    assert third == float(np.float32(1 / 3))
    assert commanded(tmp_path, scale=1 / 3, offset=0, dtype="float64")[0] == 1 / 3


def test_joints_are_found_by_name_in_the_order_of_the_policy(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[1.0, -2.0]])
    world, robot, policy = make(tmp_path, joints=["elbow", "a"], observation=ONE)
    world.step()
    assert robot.setpoints.position.tolist() == [-2.0, 1.0]
    assert policy.joints == ("elbow", "shoulder")


def test_what_no_joint_names_keeps_its_setpoint_and_stays_free(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[1.0]])
    own = Policy(file=str(write(tmp_path, joints=["knee"], observation=ONE)))
    world, robot = make_robot(GRIPPER, PDController(), own)
    robot.set_targets({"grip": 0.02})
    world.step()
    assert robot.setpoints.position.tolist() == [1.0, 0.02]
    assert robot.source is Source.POLICY
    with refused(
        LeaseError,
        "robot: 'leg' is held by 'robot.Policy' (POLICY); release …",
    ):
        robot.set_targets({"leg": 0.0})


def test_a_tendon_can_be_a_joint_of_a_policy(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", [[0.5]])
    terms = {"terms": [{"type": "JointPositions"}]}
    own = Policy(file=str(write(tmp_path, joints=["grip"], observation=terms)))
    world, robot = make_robot(GRIPPER, own, joints={"finger": 0.25})
    world.step()
    assert policy_of(robot).observation.tolist() == [0.25]
    assert robot.setpoints.position.tolist()[1] == 0.125


# Commands ---------------------------------------------------------------------------------------

COMMANDED: dict[str, Any] = {
    "observation": {"terms": [{"type": "CommandTerm", "scale": [2, 1]}]},
    "command": {"names": ["vx", "wz"], "default": [0.5, 0], "schedule": [[0.003, 1, -1]]},
}


def test_a_schedule_holds_from_its_times_on_and_the_default_before(tmp_path: Path) -> None:
    world, _, policy = make(tmp_path, **COMMANDED)
    seen = []
    for _ in range(5):
        world.step()
        seen.append(policy.observation.tolist())
    assert seen == [[1, 0]] * 3 + [[2, -1]] * 2


def test_the_time_of_a_schedule_begins_after_the_stand(tmp_path: Path) -> None:
    world, _, policy = make(tmp_path, start={"duration": 0.01}, **COMMANDED)
    world.step(13)
    assert policy.observation.tolist() == [1, 0]
    world.step()
    assert policy.observation.tolist() == [2, -1]


def test_a_command_wins_until_a_schedule_is_followed(tmp_path: Path) -> None:
    world, _, policy = make(tmp_path, policy={"command": [0.25, 0.125]}, **COMMANDED)
    world.step(5)
    assert policy.observation.tolist() == [0.5, 0.125]
    policy.command = [0, 3]
    world.step()
    assert policy.observation.tolist() == [0, 3]
    policy.follow([(0.0, [7, 7]), (0.008, [8, 8])])
    world.step()
    assert (policy.observation.tolist(), policy.command_now.tolist()) == ([14, 7], [7, 7])
    world.step(2)
    assert policy.command_now.tolist() == [8, 8]


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 3.0]])
def test_a_command_of_another_size_is_refused(values: list[float], tmp_path: Path) -> None:
    _, _, policy = make(tmp_path, **COMMANDED)
    before = policy.command_now.tolist()
    message = f"robot.Policy.command: must have 2 values (vx, wz), got {len(values)}"
    with refused(PropertyError, message):
        policy.command = values
    with refused(PropertyError, message):
        policy.follow([(0.0, values)])
    assert policy.command_now.tolist() == before


# Memory -----------------------------------------------------------------------------------------

REMEMBERING: dict[str, Any] = {
    "decimation": 3,
    "start": {"duration": 0.004, "kp": 50},
    "observation": {
        "history": {"length": 3},
        "terms": [
            {"type": "JointPositions"},
            {"type": "LastAction", "history": 2},
            {"type": "GaitPhase", "frequency": 3, "standing": "stop"},
            {"type": "CommandTerm", "history": 1},
        ],
    },
    "action": {"mode": "delta", "scale": 0.01, "smoothing": 0.5},
    "command": {"names": ["v"], "schedule": [[0, 0], [0.005, 1]]},
}


@pytest.mark.parametrize("taken_at", [2, 4, 9, 20])
def test_a_restored_world_has_the_same_future(taken_at: int, tmp_path: Path) -> None:
    counting(tmp_path / "policy.onnx", 17)
    world, robot, policy = make(tmp_path, **REMEMBERING)
    world.step(taken_at)
    state = world.snapshot()
    futures = []
    for _ in range(2):
        gains = pd_of(robot).kp.tolist()
        world.step(25)
        futures.append(
            (gains, world.data.qpos.tobytes(), policy.observation.tobytes(), policy.ticks,
             policy.action.tolist(), robot.setpoints.flat.tobytes())
        )  # fmt: skip
        world.restore(state)
    assert futures[0] == futures[1]


def test_a_reset_forgets_everything(tmp_path: Path) -> None:
    counting(tmp_path / "policy.onnx", 17)
    world, _, policy = make(tmp_path, **REMEMBERING)
    runs = []
    for _ in range(2):
        world.step(30)
        runs.append((world.data.qpos.tobytes(), policy.observation.tobytes(), policy.ticks))
        world.reset()
        assert not policy.observation.any() and not policy.action.any()
    assert runs[0] == runs[1]


def test_a_recurrent_network_goes_on_from_tick_to_tick(tmp_path: Path) -> None:
    counting(tmp_path / "policy.onnx", 2)
    world, _, policy = make(tmp_path)
    world.step(4)
    assert policy.action.tolist() == [3, 3]
    world.reset()
    world.step()
    assert policy.action.tolist() == [0, 0]


def test_a_snapshot_of_another_policy_is_refused(tmp_path: Path) -> None:
    world, _, policy = make(tmp_path)
    state = world.snapshot()
    linear(tmp_path / "policy.onnx", np.ones((1, 2)))
    write(tmp_path, observation=ONE)
    policy.reload()
    with pytest.raises(PropertyError, match=regex("the snapshot is of …")):
        world.restore(state)


# Trouble ----------------------------------------------------------------------------------------


def test_an_output_that_is_not_finite_is_reported_and_the_target_held(tmp_path: Path) -> None:
    world, robot, policy = make(tmp_path, default=[0.5, 0.25])
    world.step()
    held = robot.setpoints.position.tolist()
    world.data.qpos[1] = 1e39  # beyond float32
    robot.apply_controls()
    assert robot.setpoints.position.tolist() == held
    assert [e.message for e in world.events] == [
        "robot.Policy: the network's output for 'shoulder' is not finite, and the observation is "
        "not either; the last target is held"
    ]
    assert world.events[0].joint == "shoulder"
    world.data.qpos[1] = 0.0
    robot.apply_controls()
    assert np.isfinite(policy.action).all()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"joints": ["shoulder", "elbw"]},
         "'robot' has no joint or … 'elbw'; … 'elbow'?"),
        ({"joints": ["shoulder", "a"]}, "'shoulder' and 'a' are one joint … 'robot'"),
        ({"network": "none.onnx"},
         "policy.network: there is no file '{folder}/none.onnx'; … policy.onnx, "
         "policy.yaml"),
        ({"observation": constants(1, 2, 3)},
         "policy.onnx: takes 2 values, the observation has 3: Constant 3"),
        ({"observation": {"history": {"length": 2}, "terms": [{"type": "JointPositions"},
                                                              {"type": "LastAction"}]}},
         "policy.onnx: takes 2 values, the observation has 8: JointPositions 2 × 2 = 4, "
         "LastAction 2 × 2 = 4"),
        ({"joints": ["shoulder"], "observation": constants(1, 2)},
         "policy.onnx: gives 2 values but the … 1 …"),
        ({"input": "obz"}, "policy.onnx: has no 'obz', which the … 'obs'?"),
        ({"recurrent": {"h": "c"}}, "policy.onnx: has no 'h', which the …"),
        ({"action": {"clip": [[0, 0, 0], [1, 1, 1]]}},
         "policy.action.clip: must have 2 values, one … 3"),
        ({"observation": {"terms": [{"type": "JointPositions", "scale": [1, 2, 3]}]}},
         "policy.observation.terms[0].scale: must have 2 values, one … 3"),
        ({"motion": {"from_network": True}},
         "policy.onnx: gives no motion: has … joint_pos, joint_vel, body_pos_w, "
         "body_quat_w; … actions"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_before_anything_runs(
    said: dict[str, Any], message: str, tmp_path: Path
) -> None:
    linear(tmp_path / "policy.onnx", np.eye(2))
    with refused(BindingError, f"robot.Policy.file: {message.format(folder=tmp_path)}"):
        make(tmp_path, **said)


def test_an_input_that_nothing_feeds_is_named(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", np.eye(2), leave="memory")
    message = (
        "robot.Policy.file: policy.onnx: also takes memory, which … {memory: …} … time_step: …"
    )
    with refused(BindingError, message):
        make(tmp_path)


def test_a_network_of_open_size_is_tried_before_anything_runs(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", np.eye(2), size="n")
    with pytest.raises(BindingError, match=regex("cannot be run: …; the … 1: Constant 1") + "$"):
        make(tmp_path, observation=ONE)


def test_a_joint_without_an_actuator_is_named(tmp_path: Path) -> None:
    own = Policy(file=str(write(tmp_path)))
    message = "robot.Policy.file: the joint 'elbow' of 'robot' has …"
    with refused(BindingError, message):
        make_robot(arm('<motor name="a" joint="shoulder"/>'), own)


def test_no_file_and_no_network_are_said(tmp_path: Path) -> None:
    with refused(PropertyError, "robot.Policy.file: needs a policy file"):
        make_robot(arm(), Policy())
    (tmp_path / "policy.onnx").write_bytes(b"not a network")
    with pytest.raises(
        BindingError, match=regex("robot.Policy.file: policy.onnx: not a network: ")
    ):
        make(tmp_path)


def test_a_file_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    world, robot, policy = make(tmp_path)
    world.step()
    before = policy.file
    other = tmp_path / "other"
    other.mkdir()
    linear(other / "policy.onnx", np.eye(2))
    with pytest.raises(BindingError, match="no joint or actuator 'wrist'"):
        policy.file = write(other, joints=["shoulder", "wrist"])
    write(tmp_path, joints=["shoulder", "wrist"])
    with pytest.raises(BindingError, match="no joint or actuator 'wrist'"):
        policy.reload()
    assert policy.file == before
    world.step()
    assert policy.ticks == 2
    policy.file = write(other, joints=["elbow", "shoulder"])
    assert (policy.ticks, policy.joints) == (0, ("elbow", "shoulder"))
    assert robot.source is Source.POLICY


def test_a_scene_file_says_where(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(arm())
    write(tmp_path, joints=["shoulder", "elbw"])
    scene = "mjrig: 1\nactors:\n  - name: r\n    model: arm.xml\n    components:\n"
    (tmp_path / "scene.yaml").write_text(scene + "      - {type: Policy, file: policy.yaml}\n")
    message = (
        f"{tmp_path}/scene.yaml:6:30: actors[0].components[0].file: r.Policy.file: 'r' has no "
        "joint or … 'elbw'; … 'elbow'?"
    )
    with refused(SceneError, message):
        mjrig.World(mjrig.Scene.load(tmp_path / "scene.yaml"))


def test_a_sandbox_keeps_the_network_inside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "arm.xml").write_text(arm())
    linear(tmp_path / "policy.onnx", np.eye(2))
    write(inside, network="../policy.onnx")
    scene = "mjrig: 1\nactors:\n  - name: r\n    model: arm.xml\n    components:\n"
    (inside / "scene.yaml").write_text(scene + "      - {type: Policy, file: policy.yaml}\n")
    with pytest.raises(SceneError, match=r"policy\.network: .*sandbox"):
        mjrig.World(mjrig.Scene.load(inside / "scene.yaml", sandbox=True))


def test_two_policies_on_the_same_joints_are_refused(tmp_path: Path) -> None:
    parts = [Policy(file=str(write(tmp_path))) for _ in range(2)]
    message = "robot: 'a' is held by 'robot.Policy' (POLICY); release …"
    with refused(BindingError, message):
        make_robot(arm(), *parts)


def test_two_robots_of_one_model_have_policies_of_their_own(tmp_path: Path) -> None:
    counting(tmp_path / "policy.onnx", 2)
    path = str(write(tmp_path))
    world = make_worlds(
        {"one": arm(), "two": arm()},
        one={"components": [PDController(), Policy(file=path)]},
        two={"components": [PDController(), Policy(file=path)]},
    )
    policy_of(world["one"]).enabled = False
    world.step(3)
    policy_of(world["one"]).enabled = True
    world.step(2)
    assert [policy_of(world[n]).action[0] for n in ("one", "two")] == [1.0, 4.0]


def test_it_may_be_added_and_removed_while_the_world_runs(tmp_path: Path) -> None:
    world, robot, policy = make(tmp_path, decimation=4, **STAND)
    robot.remove_component(policy)
    assert pd_of(robot).kp.tolist() == [10, 10]
    robot.set_targets({"shoulder": 0.0})
    world.step(10)
    robot.add_component(Policy(file=str(tmp_path / "policy.yaml")))
    assert ticks_by_step(world, policy_of(robot), 8) == [3, 7]  # steps 13 and 17, from 5 on


def test_what_it_was_made_for(tmp_path: Path) -> None:
    _, _, policy = make(
        tmp_path, timestep=0.001, decimation=2, default=[0.5, 0.25], action={"scale": 0.5},
        trained={"kp": [20, 30], "torque_limit": 5, "recovered": ["torque_limit"]},
    )  # fmt: skip
    plant = policy.plant()
    assert plant.overall == {
        "timestep": 0.001, "decimation": 2, "phase": "before", "joint_order": JOINTS,
    }  # fmt: skip
    assert plant.joints == {
        "kp": {"shoulder": 20, "elbow": 30},
        "torque_limit": {"shoulder": 5, "elbow": 5},
        "default_pose": {"shoulder": 0.5, "elbow": 0.25},
        "action_scale": {"shoulder": 0.5, "elbow": 0.5},
    }
    assert plant.recovered == ("torque_limit",)
