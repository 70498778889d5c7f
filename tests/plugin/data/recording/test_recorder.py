"""Recorder: every step of a world, bit by bit, into a file that survives."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController, PIDController
from mjrig.data.recording.verification import verify
from mjrig.data.recording.writer_thread import MOST_ROWS
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.data.recording.worlds import assert_same_efforts, record, wiggle
from tests.worlds import GRIPPER, ROVER, ZOO, arm, hinge, make_world, make_worlds, pd_of, refused

h5py = pytest.importorskip("h5py")

GEARED = (
    '<motor name="a" joint="shoulder" gear="-7" forcerange="-3 3"/>'
    '<motor name="b" joint="elbow" gear="0.3"/>'
)
STACKS = {
    "pd": PDController(kp=40, kv=2, torque_limit=15),
    "pid": PIDController(kp=40, kv=2, ki=30, integral_max=0.05, torque_limit=15),
    "delay": PDController(kp=40, kv=2, delay={"steps": {"a": 3, "default": 1}}),
    "pid and delay": PIDController(kp=40, kv=2, ki=30, delay={"steps": 2, "max_steps": 9}),
    "dc": PDController(
        kp=40,
        kv=2,
        clamps=[
            {"type": "DCMotor", "saturation_effort": 12, "velocity_limit": 3, "max_effort": 9},
            {"type": "MaxEffort", "max_effort": 7},
        ],
    ),
    "float32": PDController(kp=40, kv=2, precision="float32"),
    "decimated": PDController(kp=40, kv=2, decimation=3),
}


@pytest.mark.parametrize("execution", ["native", "python", "compiled"])
@pytest.mark.parametrize("stack", STACKS)
def test_recorded_efforts_have_the_bits_of_those_read_step_by_step(
    stack: str, execution: str, tmp_path: Path
) -> None:
    if execution == "compiled":
        pytest.importorskip("numba")
    if stack in ("float32", "decimated") and execution != "python":
        pytest.skip("runs in python only")
    world = make_world(arm(GEARED), [STACKS[stack].copy()], execution=execution)

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        if step == 40:
            pd_of(world["robot"]).patch(kp={"a": 25.0})
        if step == 60 and "delay" in stack:
            pd_of(world["robot"]).delay.assign({"steps": {"a": 2, "default": 0}})  # type: ignore[union-attr]
        if step == 80:
            world.reset()
        if step in (90, 100):
            pd_of(world["robot"]).enabled = step == 100

    recording, told = record(world, tmp_path / "run.h5", 130, steer)
    assert_same_efforts(world, recording, told)


def test_efforts_of_a_law_in_the_integrator_are_recorded_under_rk4(tmp_path: Path) -> None:
    law = PIDController(kp=40, kv=2, ki=30, integration="integrator")
    world = make_world(arm(), [law], execution="native", sim={"integrator": "RK4"})
    recording, told = record(world, tmp_path / "run.h5", 40, wiggle)
    assert_same_efforts(world, recording, told)


def test_delayed_commands_reach_over_the_start_and_over_chunks(tmp_path: Path) -> None:
    law = PDController(kp=40, kv=2, delay={"steps": 5})
    world = make_world(arm(), [law], execution="native")
    for step in range(20):
        wiggle(world, step)
        world.step()
    recording, told = record(world, tmp_path / "run.h5", MOST_ROWS + 30, wiggle)
    assert_same_efforts(world, recording, told)


def test_rows_are_the_states_before_the_steps_and_the_last_is_the_end(tmp_path: Path) -> None:
    world = make_world(ROVER, [PDController(kp=5, kv=1)], execution="native")
    states: list[Any] = []

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        states.append(np.concatenate([world.data.qpos, world.data.qvel]))

    recording, _ = record(world, tmp_path / "run.h5", 50, steer)
    steer(world, 1)
    robot = recording.actors["robot"]
    assert robot.qvel is not None
    np.testing.assert_array_equal(np.hstack([robot.qpos, robot.qvel]), states)
    np.testing.assert_allclose(robot.time, np.arange(51) * world.timestep, atol=1e-12)
    assert [(j.name, j.kind) for j in robot.joints] == [("root", "free"), ("turn", "hinge")]
    assert recording.steps == 50


def test_setpoints_are_those_that_acted_in_the_step(tmp_path: Path) -> None:
    world = make_world(hinge(), [PDController(kp=5)])
    given = np.random.default_rng(0).normal(size=(20, 1))
    recording, _ = record(
        world, tmp_path / "run.h5", 20, lambda w, k: w["robot"].set_targets(given[k])
    )
    commands = recording.actors["robot"].commands
    assert commands is not None
    np.testing.assert_array_equal(commands.position, given)
    np.testing.assert_array_equal(commands.step, np.arange(20))


def test_a_recorded_run_is_the_run_nobody_records(tmp_path: Path) -> None:
    worlds = [make_world(arm(), [PDController(kp=40)], execution="native") for _ in range(2)]
    with mjrig.Recorder(worlds[0], tmp_path / "run.h5"):
        for world in worlds:
            world["robot"].set_targets({"a": 1.0})
            assert world.step(37) == 37
    worlds[0].step(5)
    worlds[1].step(5)
    np.testing.assert_array_equal(worlds[0].data.qpos, worlds[1].data.qpos)
    assert mjrig.read_recording(tmp_path / "run.h5").steps == 37


def test_a_full_state_of_the_file_continues_bit_exactly(tmp_path: Path) -> None:
    law = PIDController(kp=40, kv=2, ki=30, delay={"steps": 2})
    world = make_world(arm(), [law], execution="native")
    recording, _ = record(world, tmp_path / "run.h5", 1100, wiggle)
    states, robot = recording.states, recording.actors["robot"]
    assert states is not None
    assert states.step.tolist() == [0, 1000]
    again = make_world(arm(), [law.copy()], execution="native")
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    mujoco.mj_setState(again.model, again.data, states.state[1], kind)
    ctrl = robot.ctrl
    assert ctrl is not None
    for step in range(1000, 1100):
        again.data.ctrl[:] = ctrl[step]
        mujoco.mj_step(again.model, again.data)
    np.testing.assert_array_equal(again.data.qpos, robot.qpos[-1])


def test_a_reset_or_restore_begins_a_segment(tmp_path: Path) -> None:
    world = make_world(arm(), [PDController(kp=40)])
    saved = world.snapshot()

    def steer(world: mjrig.World, step: int) -> None:
        if step in (0, 10):
            world.reset()
        if step == 15:
            world.restore(saved)

    recording, _ = record(world, tmp_path / "run.h5", 20, steer)
    assert recording.segments == (0, 10, 15)
    assert recording.states is not None
    assert recording.states.step.tolist() == [0, 10, 15]
    assert recording.actors["robot"].time[10] == recording.actors["robot"].time[15] == 0.0


@pytest.mark.parametrize("kp", [40, 1e9])  # in the third step, in the first
def test_a_divergence_ends_a_segment_and_the_recording_goes_on(kp: float, tmp_path: Path) -> None:
    world = make_world(hinge(inertia=1e-6), [PDController(kp=kp, kv=0, torque_limit=1e12)])
    world["robot"].set_targets({"swing": 1.0})
    with mjrig.Recorder(world, tmp_path / "run.h5") as recorder:
        world.step(50)
        assert recorder.steps == 50
    kinds = {event.kind for event in world.events}
    assert "diverged" in kinds
    assert mjrig.read_recording(tmp_path / "run.h5").segments == (0, 3 if kp == 40 else 1)
    world.reset()  # which diverges in the same step as the recorded run
    replay = mjrig.replay(tmp_path / "run.h5", world)
    assert replay.bit_exact
    assert replay.diagnosis == []
    assert not any("rounding" in note for note in replay.notes)


def test_live_edits_are_logged_with_the_gains_they_led_to(tmp_path: Path) -> None:
    world = make_world(arm(), [PDController(kp=40, kv=2)], execution="native")

    def steer(world: mjrig.World, step: int) -> None:
        if step == 5:
            pd_of(world["robot"]).patch(kp={"b": 10.0})
        if step == 9:
            pd_of(world["robot"]).kp = 40

    recording, _ = record(world, tmp_path / "run.h5", 12, steer)
    first, second = recording.actors["robot"].gain_changes
    assert (first.step, second.step, second.gains) == (5, 9, None)
    assert first.gains is not None
    assert {name: v.tolist() for name, v in first.gains.items()} == {"kp": [40.0, 10.0]}
    assert recording.attributes["edits"][0] == {
        "step": 5,
        "path": "robot.PDController.kp",
        "value": {"b": 10.0, "default": 40},
    }
    assert recording.attributes["gains"]["robot"]["kp"] == [40.0, 40.0]


def test_a_component_that_joins_is_recorded_from_then_on(tmp_path: Path) -> None:
    world = make_world(arm(), [PDController(kp=40, actuators="a")])

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        if step == 5:
            world["robot"].add_component(PDController(kp=7, actuators="b"))

    recording, told = record(world, tmp_path / "run.h5", 20, steer)
    assert_same_efforts(world, recording, told)
    labels = ["robot.PDController", "robot.PDController_2"]
    assert recording.attributes["edits"] == [{"step": 5, "components": {"robot": labels}}]


def test_two_robots_of_one_model_have_columns_of_their_own(tmp_path: Path) -> None:
    left_arm, right_arm = ({"components": [PDController(kp=40)]} for _ in range(2))
    world = make_worlds({"left": arm(), "right": arm()}, left=left_arm, right=right_arm)
    recording, told = record(
        world, tmp_path / "run.h5", 30, lambda w, k: w["left"].set_targets({"a": 0.1 * k})
    )
    assert_same_efforts(world, recording, told)
    left, right = recording.actors["left"], recording.actors["right"]
    assert left.qpos.shape == right.qpos.shape == (31, 2)
    np.testing.assert_array_equal(left.qpos[-1], world.data.qpos[world["left"].model_map.qpos])
    assert not right.qpos.any()


def test_an_actuator_without_a_law_has_the_effort_mujoco_applied(tmp_path: Path) -> None:
    world = make_world(GRIPPER, [PDController(kp=40)], execution="native")
    applied = []

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        applied.append(float(world.data.actuator_force[1]))

    recording, told = record(world, tmp_path / "run.h5", 30, steer)
    assert_same_efforts(world, recording, told)
    efforts = recording.actors["robot"].efforts
    assert efforts is not None
    assert recording.actors["robot"].actuators == ("leg", "grip")
    np.testing.assert_array_equal(efforts.effort[:-1, 1], applied[1:])


def test_every_kind_of_actuator_can_be_recorded(tmp_path: Path) -> None:
    world = make_world(ZOO)
    world["robot"].setpoints.inputs["orientation"][:] = [0.0, 1.0, 0.0, 0.0]
    recording, told = record(world, tmp_path / "run.h5", 5)
    assert_same_efforts(world, recording, told)
    commands = recording.actors["robot"].commands
    assert commands is not None
    assert commands.inputs["orientation"].tolist() == [[0.0, 1.0, 0.0, 0.0]] * 5


def test_a_robot_without_actuators_can_be_recorded(tmp_path: Path) -> None:
    recording, _ = record(make_world(hinge("")), tmp_path / "run.h5", 5)
    robot = recording.actors["robot"]
    assert robot.actuators == ()
    assert robot.qpos.shape == (6, 1)


def test_attributes_say_how_it_came_about(tmp_path: Path) -> None:
    world = make_world(arm(), [PDController(kp=40)], execution="native")
    record(world, tmp_path / "run.h5", 3)
    with h5py.File(tmp_path / "run.h5", "r") as file:
        attrs = dict(file.attrs)
        actuators = json.loads(file["actors/robot"].attrs["actuators"])
        plant = json.loads(file["actors/robot"].attrs["plant"])
    assert attrs["scene"] == world.scene.to_text()
    assert (attrs["execution"], attrs["timestep"], attrs["seed"]) == ("native", 0.001, 0)
    assert json.loads(attrs["versions"])["mujoco"] == mujoco.__version__
    assert [a["name"] for a in actuators] == ["a", "b"]
    assert [a["joint"] for a in actuators] == ["shoulder", "elbow"]
    assert plant["joints"]["kp"] == {"shoulder": 40.0, "elbow": 40.0}


# What may go wrong ------------------------------------------------------------------------------


def test_a_file_that_exists_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_bytes(b"dear")
    world = make_world(hinge())
    with refused(
        mjrig.RecordingError, f"{path}: exists already; pass --overwrite (overwrite=True)"
    ):
        mjrig.Recorder(world, path).start()
    assert path.read_bytes() == b"dear"
    with mjrig.Recorder(world, path, overwrite=True):
        world.step(3)
    assert mjrig.read_recording(path).steps == 3


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(mjrig.RecordingError, match=r"run\.h5: cannot be written: "):
        mjrig.Recorder(make_world(hinge()), tmp_path / "file" / "run.h5").start()


def test_a_world_has_one_recorder_at_a_time(tmp_path: Path) -> None:
    world = make_world(hinge())
    first, second = tmp_path / "a.h5", tmp_path / "b.h5"
    with mjrig.Recorder(world, first) as recorder:
        with refused(mjrig.RecordingError, f"{second}: the world is recorded … {first}"):
            mjrig.Recorder(world, second).start()
        world.step()
    recorder.stop()  # stopping twice is fine
    assert not recorder.is_recording
    with refused(mjrig.RecordingError, f"{first}: was recorded already; make … Recorder"):
        recorder.start()


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(mjrig.MissingExtraError, match=r"pip install 'mjrig\[record\]'"):
        mjrig.Recorder(make_world(hinge()), tmp_path / "run.h5").start()


KILLED = """
import sys, time
import mjrig
world = mjrig.World(sys.argv[1], "native")
recorder = mjrig.Recorder(world, sys.argv[2]).start()
while True:
    world.step(10)
    print(world.steps, time.monotonic(), flush=True)
    time.sleep(0.005)
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "hinge.xml").write_text(hinge())
    scene = mjrig.Scene()
    scene.add_actor("robot", model=tmp_path / "hinge.xml", components=[PDController(kp=4)])
    scene.save(tmp_path / "scene.yaml")
    return tmp_path / "scene.yaml"


@pytest.mark.campaign
def test_a_killed_process_loses_at_most_a_second(scene: Path, tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("recordings killed", 1, 100):
        path = tmp_path / f"run{tally.tried}.h5"
        after = rng.uniform(1.2, 3.0) if CAMPAIGN else 1.4
        command = [sys.executable, "-c", KILLED, str(scene), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            rows: list[str] = []
            for row in process.stdout:
                rows.append(row)
                if float(row.split()[1]) - float(rows[0].split()[1]) > after:
                    break
            process.kill()
            rows += process.stdout.read().splitlines(keepends=True)
        taken = [(int(a), float(b)) for a, b in (r.split() for r in rows if r.endswith("\n"))]
        try:
            recording = mjrig.read_recording(path)
        except mjrig.RecordingError as error:
            tally.found(str(error))
            continue
        # Every step that was taken more than a second before the end is there.
        early = [step for step, at in taken if at < taken[-1][1] - 1.0]
        if not early or recording.steps < early[-1]:
            tally.found(f"has {recording.steps} of {early[-1:]} steps")
        if recording.notes != ("it was not finished: the last second may be missing",):
            tally.found(f"notes: {recording.notes}")
        if len(recording.actors["robot"].qpos) != recording.steps:
            tally.found("rows and steps differ")
        if verify(path).damage:
            tally.found(verify(path).text())
        path.unlink()


FULL = """
import resource, sys
import mjrig
world = mjrig.World(sys.argv[1], "native")
resource.setrlimit(resource.RLIMIT_FSIZE, (1_400_000, 1_400_000))
try:
    with mjrig.Recorder(world, sys.argv[2]) as recorder:
        world.step(12_000)
        assert not recorder.is_recording and world.steps == 12_000
except mjrig.RecordingError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux does")
def test_a_full_disk_ends_the_recording_and_not_the_run(scene: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(scene), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    steps = mjrig.read_recording(path).steps
    assert 0 < steps < 12_000
    assert done.stdout == (
        f"{path}: cannot be written any more: File too large; it ends after {steps} steps\n"
    )
