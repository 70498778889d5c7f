"""A recording in the running world: poses at any moment, setpoints and policies by physics."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import RecordingError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.data.recording.metadata import scene_of
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recorder import Recorder
from mjrig.editor.replay.playback import Replaying, parse_hints
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.window.scene_files import open_file
from tests.editor.ui_driver import editor_state
from tests.editor.windows import BOX, SWINGS
from tests.worlds import refused

pytest.importorskip("h5py")
STEPS = 200


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Both pendulums, moved by setpoints, for 200 steps."""
    (tmp_path / "swings.yaml").write_text(SWINGS)
    world = World(Scene.load(tmp_path / "swings.yaml"), "python")
    path = tmp_path / "take.h5"
    with Recorder(world, path):
        for k in range(STEPS):
            for i, robot in enumerate(world.articulations.values()):
                robot.setpoints.values[0] = 0.3 * np.sin(0.02 * k) + 0.1 * i
            world.step()
    return path


class Clock:
    """Wall time that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(path: Path, clock: Clock | None = None, scene: str = SWINGS) -> Replaying:
    replaying = Replaying(editor_state(scene), clock or Clock())
    replaying.open(path)
    replaying.wait()
    return replaying


def qpos(state: EditorState) -> list[float]:
    return state.simulation.call(lambda world: world.data.qpos.tolist())


def messages(state: EditorState) -> list[str]:
    return [line.text for line in state.console.lines]


def test_poses_are_shown_at_any_moment(recorded: Path) -> None:
    replaying, recording = opened(recorded), read_recording(recorded)
    steps = replaying.state.simulation.frame.steps
    left, right = (recording.actors[name].qpos for name in ("left", "right"))
    assert replaying.duration == pytest.approx(recording.duration)
    for row in (150, 20, 200):
        replaying.seek(row * recording.timestep)
        assert qpos(replaying.state) == pytest.approx([left[row, 0], right[row, 0]], abs=1e-12)
    assert replaying.state.simulation.frame.steps == steps  # nothing was simulated
    assert not messages(replaying.state)


def test_poses_follow_the_wall_clock_at_a_rate(recorded: Path) -> None:
    clock = Clock()
    replaying = opened(recorded, clock)
    replaying.set_rate(0.5)
    replaying.toggle()
    for _ in range(4):
        clock.now += 0.02
        replaying.tick()
    assert replaying.time == pytest.approx(0.04)
    replaying.toggle()
    clock.now += 1.0
    replaying.tick()
    assert replaying.time == pytest.approx(0.04)
    replaying.step()
    timestep = replaying.state.simulation.world.timestep
    assert replaying.time == pytest.approx(0.04 + timestep)


def test_poses_end_or_begin_anew(recorded: Path) -> None:
    clock = Clock()
    replaying = opened(recorded, clock)
    replaying.toggle()
    clock.now += 100.0
    replaying.tick()
    assert (replaying.time, replaying.playing) == (replaying.duration, False)
    replaying.set_loop(True)
    replaying.toggle()
    assert replaying.time == 0.0
    clock.now += 1.25 * replaying.duration
    replaying.tick()
    assert replaying.time == pytest.approx(0.25 * replaying.duration)
    assert replaying.playing


def test_a_recording_for_one_robot_leaves_the_other_alone(recorded: Path, tmp_path: Path) -> None:
    only = SWINGS[: SWINGS.index("  - name: right")]
    world = World(Scene.parse(only), "python")
    path = tmp_path / "one.h5"
    with Recorder(world, path):
        world["left"].setpoints.values[0] = 0.5
        world.step(100)
    replaying = Replaying(editor_state(SWINGS))
    replaying.state.simulation.call(lambda w: w.data.qpos.__setitem__(0, 0.123))
    replaying.open(path, "right")
    replaying.wait()
    replaying.seek(1.0)
    assert qpos(replaying.state)[0] == 0.123
    assert qpos(replaying.state)[1] == pytest.approx(float(world.data.qpos[0]))


def test_setpoints_run_through_the_controllers_to_the_same_end(recorded: Path) -> None:
    replaying, recording = opened(recorded), read_recording(recorded)
    simulation = replaying.state.simulation
    simulation.step_once(30)  # wherever it was before
    replaying.set_mode("targets")
    replaying.toggle()
    assert replaying.playing
    simulation.advance(STEPS)
    simulation.publish()
    assert not replaying.playing  # it stops at the end by itself
    assert replaying.time == pytest.approx(recording.duration)
    expected = [recording.actors[name].qpos[STEPS, 0] for name in ("left", "right")]
    assert qpos(replaying.state) == expected  # to the bit
    simulation.advance(1)
    assert simulation.world.steps == 1  # from the beginning again


def test_time_travel_and_resets_keep_setpoints_in_time(recorded: Path) -> None:
    replaying, recording = opened(recorded), read_recording(recorded)
    simulation = replaying.state.simulation
    replaying.set_mode("targets")
    simulation.step_once(150)
    replaying.seek(90 * recording.timestep)  # back to a kept state, then forwards by itself
    assert simulation.playing
    while simulation.playing:
        simulation.advance(1)
    simulation.publish()
    assert simulation.frame.steps == 90
    assert qpos(replaying.state)[0] == recording.actors["left"].qpos[90, 0]
    simulation.reset()
    simulation.step_once(40)
    assert qpos(replaying.state)[0] == recording.actors["left"].qpos[40, 0]
    assert not messages(replaying.state)


def test_after_closing_the_world_is_as_before(recorded: Path) -> None:
    replaying = opened(recorded)
    simulation = replaying.state.simulation
    replaying.set_mode("targets")
    replaying.set_rate(4.0)
    assert simulation.speed == 4.0
    simulation.step_once(10)
    replaying.close()
    robot = simulation.world["left"]
    assert [type(c).__name__ for c in robot.components] == ["PDController"]
    assert not robot.setpoints.leases
    assert simulation.speed == 1.0
    simulation.step_once(10)
    simulation.go_to(0.0)
    assert not messages(replaying.state)


def test_a_new_world_ends_the_replay_and_play_begins_it_anew(recorded: Path) -> None:
    replaying = opened(recorded)
    state = replaying.state
    replaying.set_mode("targets")
    state.simulation.step_once(10)
    state.session.set("right.pose.position", [0, 3, 0])
    assert not replaying.is_shown
    replaying.toggle()
    assert replaying.is_shown
    assert state.simulation.world.steps == 0
    assert not messages(state)


def test_a_policy_is_needed_for_the_mode_policy(recorded: Path) -> None:
    replaying = opened(recorded)
    replaying.set_mode("policy")
    said = "left, right: has no policy; drop one on it"
    assert (replaying.problem, messages(replaying.state)) == (said, [said])


def test_another_robot_is_refused(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    scene = f"mjrig: 1\nactors: [{{name: box, model: {tmp_path / 'box.xml'}}}]\n"
    replaying = opened(recorded, scene=scene)
    assert replaying.problem.startswith(f"{recorded}: the recorded 'left' is another robot than")
    assert not replaying.is_shown


def test_a_file_that_is_no_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"text")
    replaying = opened(tmp_path / "a.h5")
    assert replaying.recording is None
    assert replaying.problem == messages(replaying.state)[-1]
    assert str(tmp_path / "a.h5") in replaying.problem


def test_hints_are_typed_as_keys_and_values() -> None:
    assert parse_hints(" fps=50; joints=[a, b] ;") == {"fps": 50, "joints": ["a", "b"]}
    with refused(RecordingError, "fps: write KEY=VALUE, as in fps=50"):
        parse_hints("fps")


def test_setpoints_are_replayed_on_the_thread_of_the_simulation(recorded: Path) -> None:
    scene = Scene.parse(SWINGS)
    simulation = SimThread(World(scene, "python"))
    replaying = Replaying(EditorState(Session(scene, simulation)))
    simulation.start()
    try:
        replaying.open(recorded)
        replaying.wait()
        replaying.set_mode("targets")
        replaying.set_rate(4.0)
        replaying.toggle()
        while replaying.playing:
            replaying.tick()
        end = qpos(replaying.state)
        replaying.close()
    finally:
        simulation.stop()
    recording = read_recording(recorded)
    assert end[0] == recording.actors["left"].qpos[STEPS, 0]
    assert not messages(replaying.state)


# Opening ----------------------------------------------------------------------------------------


def test_a_recording_opens_its_scene(recorded: Path, tmp_path: Path) -> None:
    assert open_file(recorded).path == tmp_path / "swings.yaml"
    folder = tmp_path / "recordings"
    folder.mkdir()
    inside = recorded.rename(folder / "take.h5")
    assert open_file(inside).path == tmp_path / "swings.yaml"
    (tmp_path / "swings.yaml").unlink()
    scene = open_file(inside)
    assert (scene.path, scene.to_text()) == (None, SWINGS)


def test_a_recording_without_a_scene_says_what_to_do(recorded: Path) -> None:
    with refused(
        RecordingError,
        f"{recorded}: does not name the … --scene SCENE, …",
    ):
        scene_of(replace(read_recording(recorded), attributes={}))
