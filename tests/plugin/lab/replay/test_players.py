"""Poses and setpoints of a recording in a world that somebody steps."""

from dataclasses import replace

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.data.recording.recording import ActorRecording, JointColumns, Recording
from mjrig.lab.replay.players import interpolate, slerp
from tests.plugin.lab.replay.recorded import biped, from_world
from tests.wording import mentions
from tests.worlds import ROVER, hinge, make_world, make_worlds, pd_of, refused


@pytest.fixture(scope="module")
def run() -> Recording:
    return from_world(biped(), 100)


def turned(angle: float) -> list[float]:
    return [np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]


def test_slerp_goes_the_shorter_way_at_constant_speed() -> None:
    a, b = np.array(turned(0.0)), np.array(turned(1.0))
    assert slerp(a, b, 0.3) == pytest.approx(turned(0.3))
    assert slerp(a, -b, 0.3) == pytest.approx(turned(0.3))
    assert slerp(a, np.array(turned(1e-3)), 0.5) == pytest.approx(turned(0.5e-3))


def test_ball_and_free_joints_are_interpolated_on_the_circle() -> None:
    joints = (
        JointColumns("root", "free", slice(0, 7), slice(0, 6)),
        JointColumns("neck", "ball", slice(7, 11), slice(6, 9)),
        JointColumns("knee", "hinge", slice(11, 12), slice(9, 10)),
    )
    rows = np.array([[0, 0, 0, *turned(0.0), *turned(0.0), 0.0],
                     [1, 2, 3, *turned(2.0), *turned(-1.0), 4.0]])  # fmt: skip
    pose = interpolate(joints, np.array([0.0, 1.0]), rows, 0.25)
    assert pose[:3] == pytest.approx([0.25, 0.5, 0.75])
    assert pose[3:7] == pytest.approx(turned(0.5))
    assert pose[7:11] == pytest.approx(turned(-0.25))
    assert pose[11] == pytest.approx(1.0)


def test_a_kinematic_player_shows_recorded_poses(run: Recording) -> None:
    world = biped()
    player = mjrig.KinematicPlayer(run, world)
    qpos = run.actors["robot"].qpos
    assert player.duration == pytest.approx(0.2)
    player.seek(0.1)
    assert np.array_equal(world.data.qpos, qpos[50])
    player.seek(0.101)
    assert world.data.qpos[7:] == pytest.approx((qpos[50, 7:] + qpos[51, 7:]) / 2)
    player.seek(99.0)
    assert np.array_equal(world.data.qpos, qpos[-1])
    player.seek(-1.0)
    assert np.array_equal(world.data.qpos, qpos[0])


def test_a_kinematic_player_leaves_other_robots_alone() -> None:
    run = from_world(make_worlds({"a": hinge()}, a={"components": [PDController()]}), 20)
    world = make_worlds({"a": hinge(), "b": hinge()}, b={"joints": {"swing": 0.7}})
    mjrig.KinematicPlayer(run, world).seek(0.02)
    assert world.data.qpos[world["b"].model_map.qpos] == 0.7
    assert world.time == 0.0


def test_kinematic_replay_shows_and_judges_nothing(run: Recording) -> None:
    bare = replace(run, actors={"robot": replace(run.actors["robot"], commands=None, qvel=None)})
    result = mjrig.replay(bare, biped(), mode="kinematic")
    assert (result.verdict, result.bit_exact, result.fell) == ("shown", None, False)
    assert result.base_end == run.actors["robot"].qpos[-1, :3].tolist()
    assert result.duration == pytest.approx(0.2)


def test_kinematic_replay_notes_joints_beyond_their_range(run: Recording) -> None:
    actor = run.actors["robot"]
    qpos = actor.qpos.copy()
    qpos[50, 8] = 2.5
    far = replace(run, actors={"robot": replace(actor, qpos=qpos)})
    assert mentions(
        mjrig.replay(far, biped(), mode="kinematic").notes, "left_knee leaves its range here … 0.5"
    )


def test_a_targets_player_follows_the_steps_of_whoever_steps(run: Recording) -> None:
    world = biped()
    with mjrig.TargetsPlayer(run, world) as player:
        player.start()
        world.step(30)
        before = world.snapshot()
        world.step(player.steps - 30)
        assert np.array_equal(world.data.qpos, run.actors["robot"].qpos[-1])
        world.restore(before)
        world.step(player.steps - 30)
        assert np.array_equal(world.data.qpos, run.actors["robot"].qpos[-1])
        assert world["robot"].source.name == "REPLAY"
    assert world["robot"].source.name == "SCRIPT"
    assert len(world["robot"].components) == 1


def test_a_player_that_cannot_start_leaves_nothing_behind(run: Recording) -> None:
    world = biped()
    with world["robot"].take(holder="me"), pytest.raises(mjrig.LeaseError):
        mjrig.TargetsPlayer(run, world)
    assert world["robot"].components == (pd_of(world["robot"]),)


def recorded(*names: str, base: str = "") -> Recording:
    """A recording of joints of these names that never move."""
    free = [JointColumns(base, "free", slice(0, 7), slice(0, 6))] if base else []
    start = 7 if base else 0
    hinges = [
        JointColumns(n, "hinge", slice(start + i, start + i + 1), slice(i, i + 1))
        for i, n in enumerate(names)
    ]
    row = np.array([*([0, 0, 1, 1, 0, 0, 0] if base else []), *np.arange(1.0, len(names) + 1)])
    actor = ActorRecording(
        "x", (*free, *hinges), np.array([0, 1]), np.array([0.0, 1.0]), np.array([row, row]), None
    )
    run = from_world(make_world(hinge(), [PDController()]), 1)
    return replace(run, actors={"x": actor})


def test_joints_are_matched_by_an_unambiguous_ending() -> None:
    world = make_world(hinge())
    player = mjrig.KinematicPlayer(recorded("arm_1_swing"), world)
    player.seek(0.0)
    assert world.data.qpos[0] == 1.0
    assert player.notes == ("'arm_1_swing' is matched to 'swing' here",)


def test_a_base_without_a_name_is_matched() -> None:
    world = make_world(ROVER)
    mjrig.KinematicPlayer(recorded("turn", base="pelvis"), world).seek(0.0)
    assert world.data.qpos.tolist() == [0, 0, 1, 1, 0, 0, 0, 1.0]


def test_an_ending_that_two_joints_have_is_no_match() -> None:
    with refused(
        mjrig.RecordingError,
        "run.h5: the recorded 'x' is another … 'robot' … 0 … 2 … a_swing, b_swing; …",
    ):
        mjrig.KinematicPlayer(recorded("a_swing", "b_swing"), make_world(hinge()))
