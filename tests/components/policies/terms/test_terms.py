"""What each observation term measures, and how histories are put together."""

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig import BindingError
from mjrig.components import PDController, Policy
from tests.components.policies.small import idle, make, policy_of, write
from tests.wording import regex
from tests.worlds import ROVER, arm, make_robot, refused

#: The rover turned by 90° about y: its x axis points down.
PITCHED = [0.0, 0.0, 0.5, np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0, 0.25]
SENSORS = """
  <sensor>
    <gyro name="gyro" site="imu"/>
    <framequat name="attitude" objtype="site" objname="imu"/>
    <framequat name="goal" objtype="body" objname="goal"/>
    <framepos name="place" objtype="body" objname="base"/>
    <framepos name="goal_place" objtype="body" objname="goal"/>
  </sensor>
  <actuator>"""
RIGGED = ROVER.replace('<geom size="0.1"/>', '<geom size="0.1"/><site name="imu"/>', 1).replace(
    "<actuator>", SENSORS
)


def seen(folder: Path, *terms: dict[str, Any], steps: int = 1, xml: str = RIGGED,
         joints: Any = ("turn",), **said: Any) -> list[float]:  # fmt: skip
    """The observation of the last of some ticks, of a rover that is pitched and moves."""
    policy, world = watched(folder, *terms, xml=xml, joints=joints, **said)
    for _ in range(steps):
        world.data.qpos[:] = PITCHED
        world.data.qvel[:] = [1, 2, 3, 0.1, 0.2, 0.3, 0.5]
        world.step()
    found: list[float] = policy.observation.astype(np.float64).round(6).tolist()
    return found


def watched(folder: Path, *terms: dict[str, Any], xml: str, joints: Any, history: Any = None,
            **said: Any) -> tuple[Policy, mjrig.World]:  # fmt: skip
    """A policy that sees these terms, and does nothing."""
    idle(folder / "policy.onnx", len(joints))
    observation = {"terms": list(terms)} | ({"history": history} if history else {})
    path = write(folder, joints=list(joints), observation=observation, **said)
    world, robot = make_robot(xml, PDController(kp=0, kv=0), Policy(file=str(path)))
    return policy_of(robot), world


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"type": "BaseAngularVelocity"}, [0.1, 0.2, 0.3]),
        ({"type": "BaseAngularVelocity", "scale": [1, 10, 100]}, [0.1, 2.0, 30.0]),
        ({"type": "BaseAngularVelocity", "sensor": "gyro"}, [0.1, 0.2, 0.3]),
        ({"type": "BaseLinearVelocity"}, [-3.0, 2.0, 1.0]),
        ({"type": "BaseOrientation"}, [0.707107, 0.0, 0.707107, 0.0]),
        ({"type": "BaseOrientation", "convention": "xyzw"}, [0.0, 0.707107, 0.0, 0.707107]),
        ({"type": "BaseOrientation", "sensor": "attitude"}, [0.707107, 0.0, 0.707107, 0.0]),
        ({"type": "ProjectedGravity"}, [1.0, 0.0, 0.0]),
        ({"type": "ProjectedGravity", "sensor": "attitude"}, [1.0, 0.0, 0.0]),
        ({"type": "ProjectedGravity", "site": "imu"}, [1.0, 0.0, 0.0]),
        ({"type": "JointPositions"}, [0.15]),
        ({"type": "JointPositions", "relative": False}, [0.25]),
        ({"type": "JointPositions", "zero": "turn"}, [0.0]),
        ({"type": "JointVelocities", "scale": 0.5}, [0.25]),
        ({"type": "JointTargetErrors"}, [0.25]),
        ({"type": "LastAction"}, [0.0]),
        ({"type": "Constant", "values": [1, 2]}, [1.0, 2.0]),
        ({"type": "CommandTerm"}, [0.5, -0.25]),
        ({"type": "CommandTerm", "scale": 4, "clip": 1}, [1.0, -1.0]),
        ({"type": "CommandTerm", "scale": 4, "clip": [-0.1, 0.4]}, [0.4, -0.1]),
        (
            {"type": "CommandTerm", "scale": 4, "clip": 0.3, "order": "clip_then_scale"},
            [1.2, -1.0],
        ),
        ({"type": "SensorTerm", "sensor": "place"}, [0.0, 0.0, 0.5]),
        ({"type": "SensorTerm", "sensor": "place", "minus": "goal_place"}, [-1.0, 0.0, 0.5]),
        (
            {"type": "RelativeRotation", "sensor": "attitude", "other": "goal", "rows": [0, 2]},
            [0.0, 0.0, 1.0, -1.0, 0.0, 0.0],
        ),
    ],
)
def test_a_term_by_hand(term: dict[str, Any], expected: list[float], tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "phase": "inside",
        "default": 0.1,
        "command": {"names": ["v", "w"], "default": [0.5, -0.25]},
        "action": {"mode": "delta"},
    }
    assert seen(tmp_path, term, **said) == pytest.approx(expected, abs=1e-6)


def test_float32_measurements_are_rounded_first(tmp_path: Path) -> None:
    term = {"type": "JointPositions", "scale": 1e8}
    third = float(np.float32(1 / 3))
    for state, value in (("float64", 1 / 3), ("float32", third)):
        said: dict[str, Any] = {"state": state, "default": 0.333, "action": {"dtype": "float64"}}
        policy, world = watched(tmp_path, term, xml=RIGGED, joints=["turn"], **said)
        world.data.qpos[7] = 1 / 3
        world.step()
        assert policy.observation[0] == np.float32((value - 0.333) * 1e8)


# Histories --------------------------------------------------------------------------------------


def histories(folder: Path, ticks: int, history: dict[str, Any], own: int = 0) -> list[float]:
    """What is seen of a phase that grows by 0.1 with every tick, and of a constant."""
    phase = {"type": "GaitPhase", "frequency": 100, "form": "phase"}
    terms = (phase, {"type": "Constant", "values": [7, 8], "history": own})
    policy, world = watched(folder, *terms, xml=arm(), joints=["shoulder"], history=history)
    world.step(ticks)
    found: list[float] = policy.observation.astype(np.float64).round(6).tolist()
    return found


@pytest.mark.parametrize(
    ("ticks", "history", "expected"),
    [
        (1, {"length": 2}, [0, 0, 7, 8, 7, 8]),
        (3, {"length": 2}, [0.1, 0.2, 7, 8, 7, 8]),
        (2, {"length": 3}, [0, 0, 0.1, 7, 8, 7, 8, 7, 8]),
        (3, {"length": 2, "order": "newest_first"}, [0.2, 0.1, 7, 8, 7, 8]),
        (1, {"length": 2, "fill": "zeros"}, [0, 0, 0, 0, 7, 8]),
        (3, {"length": 2, "by": "frame"}, [0.1, 7, 8, 0.2, 7, 8]),
        (
            1,
            {"length": 2, "by": "frame", "order": "newest_first", "fill": "zeros"},
            [0, 7, 8, 0, 0, 0],
        ),
    ],
)
def test_histories_by_hand(
    ticks: int, history: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    assert histories(tmp_path, ticks, history) == expected


def test_a_term_may_have_a_history_of_its_own(tmp_path: Path) -> None:
    assert histories(tmp_path, 3, {"length": 3}, own=1) == [0, 0.1, 0.2, 7, 8]


def test_frames_of_several_lengths_are_refused(tmp_path: Path) -> None:
    message = "robot.Policy.file: policy.observation.history: by: frame needs one length … 2, 1"
    with refused(BindingError, message):
        histories(tmp_path, 1, {"length": 2, "by": "frame"}, own=1)


# Gaits ------------------------------------------------------------------------------------------


def gait(folder: Path, steps: int, *, phase: str = "before", **term: Any) -> list[float]:
    said: dict[str, Any] = {
        "decimation": 5,
        "phase": phase,
        "command": {"names": ["v"], "schedule": [[0, 0], [0.01, 1], [0.03, 0]]},
    }
    policy, world = watched(
        folder, {"type": "GaitPhase", **term}, xml=arm(), joints=["shoulder"], **said
    )
    world.step(steps)
    found: list[float] = policy.observation.astype(np.float64).round(6).tolist()
    return found


def test_a_gait_by_the_clock(tmp_path: Path) -> None:
    assert gait(tmp_path, 1, period=0.02) == [0, 1]
    assert gait(tmp_path, 6, period=0.02) == [1, 0]
    assert gait(tmp_path, 11, frequency=50, form="cos_sin") == [-1, 0]
    assert gait(tmp_path, 6, period=0.02, form="phase", offsets=[0, 0.5]) == [0.25, 0.75]
    assert gait(tmp_path, 6, period=0.02, offsets=[0, 0.5]) == [1, -1, 0, 0]


def test_a_gait_may_count_from_its_first_tick(tmp_path: Path) -> None:
    assert gait(tmp_path, 6, phase="after", period=0.02, form="phase") == [0.25]
    assert gait(tmp_path, 6, phase="after", period=0.02, form="phase", clock="first_tick") == [0]


def test_a_gait_that_stops_stands_still_and_shows_zeros(tmp_path: Path) -> None:
    turning: dict[str, Any] = {"frequency": 50, "form": "cos_sin", "standing": "stop"}
    assert gait(tmp_path, 6, **turning) == [0, 0]
    assert gait(tmp_path, 11, **turning) == [1, 0]  # begins to walk
    assert gait(tmp_path, 16, **turning) == [0, 1]
    assert gait(tmp_path, 31, **turning) == [0, 0]


def test_a_gait_may_hold_given_phases_while_it_runs_on(tmp_path: Path) -> None:
    turning: dict[str, Any] = {"frequency": 50, "form": "phase", "offsets": [0, 0.5]}
    turning |= {"standing": "hold", "held": [0.5, 0.25]}
    assert gait(tmp_path, 6, **turning) == [0.5, 0.25]
    assert gait(tmp_path, 11, **turning) == [0.5, 0]  # walks: where the clock is by now
    assert gait(tmp_path, 31, **turning) == [0.5, 0.25]
    # The magnitude of the command decides, not its parts.
    assert gait(tmp_path, 11, **turning, threshold=1.0) == [0.5, 0.25]
    assert gait(tmp_path, 11, **turning | {"held": [0.1]}, threshold=1.0) == [0.1, 0.1]
    with pytest.raises(mjrig.MjrigError, match=regex("held: must have 1 or 2 values, …got 3")):
        gait(tmp_path, 1, **turning | {"held": [0, 0, 0]})


def test_a_gait_may_be_faster_at_larger_commands(tmp_path: Path) -> None:
    """40 Hz standing, from 10 ms on 80 Hz at a command of 1."""
    turning: dict[str, Any] = {"frequency": 40, "form": "phase", "speedup": 40}
    assert gait(tmp_path, 11, **turning) == [0.4]
    assert gait(tmp_path, 16, **turning) == [0.8]
    assert gait(tmp_path, 16, **turning, speedup_up_to=0.5) == [0.7]


def test_entries_of_joints_may_be_zero(tmp_path: Path) -> None:
    moving: dict[str, Any] = {"xml": RIGGED, "joints": ["turn"]}
    for kind in ("JointPositions", "JointVelocities"):
        policy, world = watched(tmp_path, {"type": kind, "zero": ["turn"]}, **moving)
        world.data.qpos[-1], world.data.qvel[-1] = 0.1, 1.0
        world.step(1)
        assert policy.observation.tolist() == [0.0]


def test_velocities_at_a_site_are_those_of_its_sensors_in_the_present_state(
    tmp_path: Path,
) -> None:
    site = '<site name="imu" pos="0.1 -0.2 0.3" quat="0.5 0.5 -0.5 0.5"/>'
    xml = RIGGED.replace('<site name="imu"/>', site)
    xml = xml.replace("<sensor>", '<sensor><velocimeter name="speed" site="imu"/>')
    terms = {"type": "BaseLinearVelocity", "site": "imu"}, {"type": "BaseAngularVelocity",
             "site": "imu"}  # fmt: skip
    found = seen(tmp_path, *terms, xml=xml)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = PITCHED, [1, 2, 3, 0.1, 0.2, 0.3, 0.5]
    mujoco.mj_forward(model, data)
    wanted = [*data.sensor("speed").data, *data.sensor("gyro").data]
    assert found == pytest.approx(wanted, abs=1e-6)
    moving = xml.replace(site, "").replace('site="imu"', 'site="far"')
    moving = moving.replace('objname="imu"', 'objname="far"')
    place = moving.index("<joint")
    body = moving.index(">", moving.rindex("<body", 0, place)) + 1
    moving = moving[:body] + '<site name="far"/>' + moving[body:]
    message = "robot.Policy.file: policy.observation.terms[0].site: 'far' is not on the …"
    with refused(BindingError, message):
        seen(tmp_path, {"type": "BaseLinearVelocity", "site": "far"}, xml=moving)


STEPS = """
<mujoco>
  <asset><hfield name="hills" nrow="8" ncol="8" size="2 2 0.3 0.1"/></asset>
  <worldbody>
    <geom type="box" pos="0.4 0.3 0.1" size="0.3 0.2 0.1" euler="0 0 30"/>
    <geom type="hfield" hfield="hills" pos="0 0 -0.1"/>
    <geom type="sphere" pos="-0.5 -0.2 0" size="0.2"/>
    <geom type="plane" pos="0 0 -0.05" size="0.6 0.6 0.1"/>
    <body name="base" pos="0.05 -0.02 0.6" euler="5 10 40"><freejoint/>
      <geom size="0.3" mass="1"/>
      <body name="arm"><joint name="turn"/><geom size="0.01" pos="0 0 -0.3" mass="0.1"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("more", [{}, {"grid": "yx", "offset": 0.5, "above": 20.0}])
def test_a_height_scan_sees_what_rays_of_mujoco_hit(tmp_path: Path, more: dict[str, Any]) -> None:
    term = {"type": "HeightScan", "reach": 0.58, **more}
    policy, world = watched(tmp_path, term, xml=STEPS, joints=["turn"])
    model, data = world.model, mujoco.MjData(world.model)
    model.hfield_data[:] = np.random.default_rng(0).uniform(size=model.hfield_data.size)
    data.qpos[:], data.qvel[:] = world.data.qpos, world.data.qvel
    mujoco.mj_forward(model, data)
    model.geom_group[model.geom_bodyid > 0] = 3  # the robot does not see itself
    world.step()
    x, y = np.linspace(-0.8, 0.8, 17), np.linspace(-0.5, 0.5, 11)
    grid = [(a, b) for b in y for a in x] if not more else [(a, b) for a in x for b in y]
    base = data.body("robot/base")
    yaw = np.arctan2(base.xmat[3], base.xmat[0])
    wanted = []
    for a, b in grid:
        turned = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]) @ (a, b)
        start = base.xpos + np.array([*turned, 0.0])
        geom, group = np.zeros(1, np.int32), np.array([1, 1, 1, 0, 1, 1], np.uint8)
        hit = mujoco.mj_ray(model, data, start, np.array([0, 0, -1.0]), group, 1, -1, geom)
        wanted.append(hit - term.get("offset", 0.0) if 0 <= hit <= 0.58 else 0.58)
    assert len(set(np.round(wanted, 4))) > 50 and 0.58 in wanted
    assert policy.observation.tolist() == pytest.approx(wanted, abs=1e-5)


def test_the_phase_of_a_motion_ends_at_one(tmp_path: Path) -> None:
    def at(steps: int, **more: Any) -> list[float]:
        return gait(tmp_path, steps, type="MotionPhase", duration=0.02, **more)

    assert at(1) == [0.0]
    assert at(6) == [0.25]
    assert at(6, start=0.01) == [0.75]
    assert at(31) == [1.0]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ({"length": 2, "ticks": [3, 0]}, [0.1, 0.4, 7, 8, 7, 8]),
        ({"length": 3, "ticks": [0, 3, 1], "by": "frame"}, [0.4, 7, 8, 0.1, 7, 8, 0.3, 7, 8]),
    ],
)
def test_a_history_may_have_gaps_in_any_order(
    history: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    assert histories(tmp_path, 5, history) == expected


# Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ({"type": "SensorTerm", "sensor": "gyr"}, "there is no sensor 'gyr'; … 'gyro'?"),
        (
            {"type": "ProjectedGravity", "site": "imy"},
            "there is no site 'imy'; … 'imu'?",
        ),
        ({"type": "ProjectedGravity", "sensor": "gyro"},
         "the sensor 'gyro' has 3 values, needs 4"),
        ({"type": "ProjectedGravity", "sensor": "gyro", "site": "imu"},
         "give a sensor or …"),
        ({"type": "SensorTerm", "sensor": "place", "minus": "goal"},
         "the sensor 'goal' has 4 values, needs 3"),
        ({"type": "JointPositions", "joints": ["trn"]},
         "there is no joint … 'trn'; … 'turn'?"),
        ({"type": "GaitPhase"}, "needs a period or …"),
        ({"type": "MotionJoints"}, "the policy file has … from_network"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_refused(
    term: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with refused(BindingError, f"robot.Policy.file: policy.observation.terms[0]: {message}"):
        watched(tmp_path, term, xml=RIGGED, joints=["turn"])


def test_a_fixed_robot_has_no_base(tmp_path: Path) -> None:
    message = "robot.Policy.file: policy.observation.terms[0]: 'robot' has no free joint; …"
    with refused(BindingError, message):
        make(tmp_path, observation={"terms": [{"type": "ProjectedGravity"}]})


# Motions ----------------------------------------------------------------------------------------


def clip(path: Path, frames: int = 3, **other: Any) -> Path:
    """A motion of two bodies and two joints; `anchor` is the second body, turned as it goes."""
    turns = np.linspace(0.0, np.pi / 2, frames)
    quaternions = np.zeros((frames, 2, 4))
    quaternions[..., 0], quaternions[:, 1, 3] = 1.0, np.sin(turns / 2)
    quaternions[:, 1, 0] = np.cos(turns / 2)
    arrays: dict[str, Any] = {
        "fps": [50],
        "joint_pos": np.arange(frames)[:, None] + [0.0, 0.5],
        "joint_vel": np.ones((frames, 2)),
        "body_pos_w": np.arange(frames)[:, None, None] + np.zeros((frames, 2, 3)),
        "body_quat_w": quaternions,
    }
    np.savez(path, **(arrays | other))
    return path


MOTION: dict[str, Any] = {"file": "clip.npz", "anchor": "lower", "bodies": ["upper", "lower"]}


def tracked(folder: Path, *types: str, ticks: int = 1, **motion: Any) -> list[float]:
    terms = [{"type": t} for t in types]
    policy, world = watched(
        folder, *terms, xml=arm(), joints=["shoulder", "elbow"], motion=MOTION | motion
    )
    world.step(ticks)
    found: list[float] = policy.observation.astype(np.float64).round(5).tolist()
    return found


def test_a_motion_is_followed_frame_by_frame_and_its_last_one_holds(tmp_path: Path) -> None:
    clip(tmp_path / "clip.npz")
    assert tracked(tmp_path, "MotionJoints") == [0, 0.5, 1, 1]
    assert tracked(tmp_path, "MotionJoints", ticks=2) == [1, 1.5, 1, 1]
    assert tracked(tmp_path, "MotionJoints", ticks=9) == [2, 2.5, 1, 1]


def test_a_motion_may_have_another_order_of_joints(tmp_path: Path) -> None:
    clip(tmp_path / "clip.npz")
    assert tracked(tmp_path, "MotionJoints", joints=["elbow", "shoulder"]) == [0.5, 0, 1, 1]


def test_the_anchor_is_seen_from_the_robots_own(tmp_path: Path) -> None:
    clip(tmp_path / "clip.npz")
    assert tracked(tmp_path, "MotionAnchorPosition") == [-0.3, 0, 0]
    assert tracked(tmp_path, "MotionAnchorOrientation") == [1, 0, 0, 1, 0, 0]
    assert tracked(tmp_path, "MotionAnchorOrientation", ticks=3) == [0, -1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"joint_pos": np.zeros((3, 5))},
         "clip.npz: joint_pos has shape (3, 5); the policy … 2 …"),
        ({"body_pos_w": np.zeros((3, 4, 3))},
         "clip.npz: body_pos_w has shape (3, 4, 3); the policy … 2 …"),
        ({"joint_vel": np.zeros((2, 2))},
         "clip.npz: not a motion: lengths …"),
        ({"joint_vel": np.full((3, 2), np.nan)},
         "clip.npz: not a motion: lengths …"),
    ],
)  # fmt: skip
def test_a_clip_that_does_not_fit_is_refused(
    arrays: dict[str, Any], message: str, tmp_path: Path
) -> None:
    clip(tmp_path / "clip.npz", **arrays)
    with refused(BindingError, f"robot.Policy.file: {message}"):
        tracked(tmp_path, "MotionJoints")


def test_a_clip_that_is_no_motion_is_refused_and_no_pickle_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "clip.npz", other=np.zeros(1))
    lacking = "joint_pos, joint_vel, body_pos_w, body_quat_w"
    with refused(BindingError, f"robot.Policy.file: clip.npz: not a motion: has … {lacking}"):
        tracked(tmp_path, "MotionJoints")
    np.savez(tmp_path / "clip.npz", joint_pos=np.array([json], dtype=object)[:0])
    with pytest.raises(BindingError, match=regex("not a motion: joint_pos: holds Python …")):
        tracked(tmp_path, "MotionJoints")
    (tmp_path / "clip.npz").write_bytes(b"nothing")
    with pytest.raises(BindingError, match=r"clip\.npz: not a motion: "):
        tracked(tmp_path, "MotionJoints")
