"""Recordings that do not fit the scene are refused, with what is wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.errors import FitError
from mjrig.recording.recording import GainChange, Recording
from mjrig.tuning.fitting.fit import fit
from mjrig.tuning.fitting.fit_data import cut, read_tracks
from tests.plugin.tuning.fitting.fit_worlds import chirp, edited, record, swing
from tests.worlds import refused


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path)


@pytest.fixture
def recording(scene: mjrig.Scene) -> Recording:
    return record(mjrig.World(scene), chirp(0.2, 0.5, 3.0, 0.2), 0.2)


def test_another_timestep(scene: mjrig.Scene, recording: Recording) -> None:
    text = "walk.h5: its timestep is 0.005 s, the scene's 0.002 s; set sim.timestep to 0.005"
    with refused(FitError, text):
        fit(scene, [replace(recording, timestep=0.005)], ["kp"])


def test_another_robot(scene: mjrig.Scene, recording: Recording) -> None:
    other = replace(recording, actors={"dog": recording.actors["robot"]})
    with refused(FitError, "walk.h5: it has no actor 'robot'; available: dog"):
        fit(scene, [other], ["kp"])


def test_another_joint(scene: mjrig.Scene, recording: Recording) -> None:
    (joint,) = recording.actors["robot"].joints
    other = edited(recording, joints=(replace(joint, name="sving"),))
    with refused(FitError, "walk.h5: it has no joint 'swing' of 'robot'; did you mean 'sving'?"):
        fit(scene, [other], ["kp"])
    other = edited(recording, joints=(replace(joint, kind="slide"),))
    with refused(FitError, "walk.h5: 'swing' is a slide joint there, a hinge joint in the scene"):
        fit(scene, [other], ["kp"])


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
        "walk.h5: the gains of 'robot' change at step 50; "
        "a fit needs recordings with the same gains throughout",
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
        "torque_limit",
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
