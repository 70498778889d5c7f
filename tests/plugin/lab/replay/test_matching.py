"""Which recorded robot is replayed on which robot of the world."""

from dataclasses import replace
from pathlib import Path

import pytest

import mjrig
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.matching import match
from tests.places import SCENES
from tests.plugin.lab.replay.recorded import from_world
from tests.wording import mentions


@pytest.fixture(scope="module")
def pair() -> mjrig.World:
    return mjrig.World(SCENES / "arm_pair.yaml", "python")


@pytest.fixture(scope="module")
def recording(pair: mjrig.World) -> Recording:
    return from_world(pair, 40)


def test_a_robot_of_several_is_replayed_alone(pair: mjrig.World, recording: Recording) -> None:
    driven = [name for name, robot in pair.articulations.items() if robot.actuator_names]
    assert len(driven) > 1
    assert len(match(recording, pair)) == len(recording.actors)
    for name in driven:
        (found,) = match(recording, pair, name)
        assert (found.recorded.name, found.robot.name) == (name, name)


def test_a_robot_of_another_name_is_the_one_that_is_most_alike(
    pair: mjrig.World, recording: Recording
) -> None:
    """Recorded under other names, the robot with the joints of the asked one is found."""
    name = next(name for name, robot in pair.articulations.items() if robot.actuator_names)
    others = {
        f"x{k}": replace(actor, name=f"x{k}")
        for k, actor in enumerate(reversed(list(recording.actors.values())))
    }
    (found,) = match(replace(recording, actors=others), pair, name)
    assert [a.name for a, _ in found.joints] == list(pair[name].joint_names)


def test_a_replay_of_one_of_several_robots_runs(pair: mjrig.World, recording: Recording) -> None:
    name = [name for name, robot in pair.articulations.items() if robot.actuator_names][-1]
    for mode in ("kinematic", "targets"):
        world = mjrig.World(SCENES / "arm_pair.yaml", "python")
        result = mjrig.replay(recording, world, mode=mode, robot=name, diagnose=False)
        assert result.duration > 0.0


@pytest.mark.parametrize("scene", ["s.yaml", "bare.yaml"])
def test_a_scene_is_no_recording(
    scene: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mjrig.cli.main import main

    path = tmp_path / scene
    path.write_text("mjrig: 1\nactors: []\n")
    assert main(["replay", str(path)]) == 1
    told = capsys.readouterr().err
    assert mentions(told, f"{path}: is a scene, and …")
    assert f"mjrig replay RECORDING --scene {path}" in told


@pytest.mark.parametrize("duration", ["0", "-1", "nan", "inf", "x"])
def test_a_duration_that_is_none_is_told_in_one_way(
    duration: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from mjrig.cli.main import main

    with pytest.raises(SystemExit):
        main(["replay", "run.h5", f"--duration={duration}"])
    told = capsys.readouterr().err
    assert mentions(told, f"argument --duration: must be a … > 0, … {duration}")
