"""Recordings that do not fit the scene are refused, with what is wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.core.errors import FitError
from mjrig.data.recording.recording import GainChange, Recording
from mjrig.lab.fit.fit_data import RecordedTrack, cut, read_tracks
from mjrig.lab.fit.identification import fit
from tests.plugin.lab.fit.fit_worlds import (
    TUMBLER,
    chirp,
    edited,
    noisy,
    record,
    swing,
    taken,
    with_others,
)
from tests.worlds import refused


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path)


@pytest.fixture
def recording(scene: mjrig.Scene) -> Recording:
    return record(mjrig.World(scene), chirp(0.2, 0.5, 3.0, 0.2), 0.2)


def tracks_of(scene: mjrig.Scene, recording: Recording) -> list[RecordedTrack]:
    return read_tracks(mjrig.World(scene), "robot", [recording])


def test_another_timestep(scene: mjrig.Scene, recording: Recording) -> None:
    text = "walk.h5: its timestep is 0.005 s, the scene's 0.002 s; set sim.timestep to 0.005"
    with refused(FitError, text):
        fit(scene, [replace(recording, timestep=0.005)], ["kp"])


def test_another_robot(scene: mjrig.Scene, recording: Recording) -> None:
    share = recording.actors["robot"]
    other = edited(recording, joints=(replace(share.joints[0], name="leg"),), driven=("leg",))
    other = replace(other, actors={"dog": other.actors["robot"]})
    text = "walk.h5: is of another robot than 'robot': its joints are leg; here: swing"
    with refused(FitError, text):
        fit(scene, [other], ["kp"])


def test_another_joint(tmp_path: Path) -> None:
    scene = swing(tmp_path, model=TUMBLER)
    recording = record(mjrig.World(scene), chirp(0.2, 0.5, 3.0, 0.2), 0.2)
    root, joint = recording.actors["robot"].joints
    other = edited(recording, joints=(root, replace(joint, name="sving")))
    with refused(FitError, "walk.h5: it has no joint 'swing' of 'robot'; did you mean 'sving'?"):
        fit(scene, [other], ["kp"])


def test_names_are_matched_as_a_replay_matches_them(scene: mjrig.Scene) -> None:
    """A robot, a joint and an actuator of other names: `dog`, `Swing_Joint`, its joint's name."""
    true = with_others(scene, {"robot.PDController.kp": 60.0})
    clean = record(mjrig.World(true), chirp(0.2, 0.5, 3.0, 0.2), 0.2)
    recording = noisy(clean, 0, 1e-4, 1e-3)
    share = recording.actors["robot"]
    (joint,) = share.joints
    renamed = replace(joint, name="robot_Swing_Joint", kind="slide")
    other = edited(recording, joints=(renamed,), actuators=("m1",), driven=(renamed.name,))
    other = replace(other, actors={"dog": replace(other.actors["robot"], name="dog")})
    plain, named = (fit(scene, [run], ["kp", "kv"]) for run in (recording, other))
    assert [e.value for e in named.estimates] == [e.value for e in plain.estimates]
    assert named.notes[:2] == (
        "walk.h5: 'dog' is matched to 'robot' here",
        "walk.h5: 'robot_Swing_Joint' is matched to 'swing' here",
    )


def test_a_base_without_a_name_is_matched_as_a_replay_matches_it(tmp_path: Path) -> None:
    scene = swing(tmp_path, model=TUMBLER)
    recording = record(mjrig.World(scene), chirp(0.3, 0.5, 3.0, 0.2), 0.2)
    root, joint = recording.actors["robot"].joints
    for name in ("", "floating_base"):
        other = edited(recording, joints=(replace(root, name=name), joint))
        (track,) = tracks_of(scene, other)
        assert np.array_equal(track.qpos, recording.actors["robot"].qpos)


def test_a_base_that_moved_is_not_fitted_with_a_fixed_one(tmp_path: Path) -> None:
    free = swing(tmp_path, model=TUMBLER)
    recording = record(mjrig.World(free), chirp(0.8, 0.5, 3.0, 0.4), 0.4)
    fixed = with_others(free, {"robot.base": "fixed"})
    with pytest.raises(FitError) as caught:
        fit(fixed, [recording], ["kp"])
    assert "the base of 'robot' moves there, by up to " in str(caught.value)
    assert str(caught.value).endswith("is not free in the scene: set robot.base: free")
    share = recording.actors["robot"]
    held = share.qpos.copy()
    held[:, :7] = held[0, :7]
    tracks_of(fixed, edited(recording, qpos=held))  # it was clamped


def test_without_a_base_pose_only_efforts_are_fitted(tmp_path: Path) -> None:
    """The advice must not lead to a narrow interval around a wrong value."""
    scene = swing(tmp_path, model=TUMBLER)
    true = with_others(scene, {"robot.PDController.kp": 60.0})
    recording = taken(mjrig.World(true), tmp_path, chirp(0.5, 0.5, 3.0, 0.5), 250)
    share = recording.actors["robot"]
    (joint,) = (j for j in share.joints if j.kind != "free")
    assert share.qvel is not None
    logged = replace(
        share,
        joints=(replace(joint, qpos=slice(0, 1), dof=slice(0, 1)),),
        qpos=share.qpos[:, joint.qpos],
        qvel=share.qvel[:, joint.dof],
    )
    log = replace(recording, actors={"robot": logged}, states=None)
    estimate = fit(scene, [log], ["kp"], evidence="efforts")["swing", "kp"]
    assert estimate.value == pytest.approx(60.0, rel=1e-6)
    message = (
        "walk.h5: it has no base pose of 'robot', which a fit of its motion needs. If the robot "
        "stood or walked, fit its efforts: --evidence efforts. Only if it was clamped, fix it here "
        "too: robot.base: fixed"
    )
    with refused(FitError, message):
        fit(scene, [log], ["kp"], evidence="motion")
    with refused(FitError, message):
        fit(scene, [log], ["kp", "armature"])


def test_another_actuator(scene: mjrig.Scene, recording: Recording) -> None:
    other = edited(recording, actuators=("hip",), driven=("hip",))
    with refused(FitError, "walk.h5: 'robot' has no actuator 'hip'; available: swing"):
        fit(scene, [other], ["kp"])


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_numbers_that_are_none(scene: mjrig.Scene, recording: Recording, odd: float) -> None:
    share = recording.actors["robot"]
    qpos, qvel = share.qpos.copy(), np.array(share.qvel)
    qpos[7, 0] = odd
    with refused(FitError, "walk.h5: the position of 'swing' is not a number at step 7"):
        fit(scene, [edited(recording, qpos=qpos)], ["kp"])
    qvel[9, 0] = odd
    with refused(FitError, "walk.h5: the velocity of 'swing' is not a number at step 9"):
        fit(scene, [edited(recording, qvel=qvel)], ["kp"])
    assert share.commands is not None
    position = share.commands.position.copy()
    position[4, 0] = odd
    other = edited(recording, commands=replace(share.commands, position=position))
    with refused(FitError, "walk.h5: the setpoint of 'swing' is not a number at step 4"):
        fit(scene, [other], ["kp"])


def test_no_setpoints(scene: mjrig.Scene, recording: Recording) -> None:
    with refused(FitError, "walk.h5: it holds no setpoints of 'robot'"):
        fit(scene, [edited(recording, commands=None)], ["kp"])


def test_gains_that_change(scene: mjrig.Scene, recording: Recording) -> None:
    changed = edited(recording, gain_changes=(GainChange(50, {"kp": np.ones(1)}),))
    with refused(
        FitError,
        "walk.h5: the gains of 'robot' change at step 50 (0.1 s); a fit needs the same gains "
        "throughout: a part of a log is selected with --hint span=[FROM,TO]",
    ):
        fit(scene, [changed], ["kp"])


def test_too_few_samples(scene: mjrig.Scene, recording: Recording) -> None:
    share = recording.actors["robot"]
    few = edited(recording, step=share.step[:5], qpos=share.qpos[:5], qvel=None)
    with refused(FitError, "walk.h5: 5 samples of 'robot'; a fit needs 20 or more"):
        fit(scene, [few], ["kp"])


def test_no_recording(scene: mjrig.Scene) -> None:
    with refused(FitError, "there is no recording to fit to"):
        fit(scene, [], ["kp"])


def test_a_parameter_that_does_not_exist(scene: mjrig.Scene, recording: Recording) -> None:
    with refused(FitError, "unknown parameter 'kpp' to fit; did you mean 'kp'?"):
        fit(scene, [recording], ["kpp"])
    with refused(
        FitError,
        "name the parameters to fit, some of: kp, kv, delay, armature, damping, frictionloss, "
        "torque_limit, encoder_offset, feedback_delay, torque_gain, mass, centre, …",
    ):
        fit(scene, [recording], [])


def test_a_joint_that_does_not_exist(scene: mjrig.Scene, recording: Recording) -> None:
    with refused(FitError, "'swnig' matches no driven joint of 'robot'; did you mean 'swing'?"):
        fit(scene, [recording], ["kp"], joints="swnig")


def test_bounds_that_are_none(scene: mjrig.Scene, recording: Recording) -> None:
    with refused(FitError, "bounds of kp: must be 0 or more, the lower first, got 5 and 2"):
        fit(scene, [recording], ["kp"], bounds={"kp": (5, 2)})
    with refused(FitError, "bounds of kv: it is not among the parameters to fit"):
        fit(scene, [recording], ["kp"], bounds={"kv": (1, 2)})
    with refused(FitError, "bounds of delay: must be whole steps, got 0 and 1.5"):
        fit(scene, [recording], ["delay"], bounds={"delay": (0, 1.5)})


def test_windows_begin_anew_where_the_state_was_put_elsewhere(
    scene: mjrig.Scene, recording: Recording
) -> None:
    world = mjrig.World(scene)
    tracks = read_tracks(world, "robot", [replace(recording, segments=(0, 37))])
    windows = cut(tracks, 30)
    assert [(w.segment, w.start) for w in windows] == [(0, 0), (37, 37), (37, 67)]
    covered = np.concatenate([w.samples for w in windows])
    np.testing.assert_array_equal(covered, np.arange(101))
