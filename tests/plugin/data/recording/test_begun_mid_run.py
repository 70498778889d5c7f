"""Recordings that begin in the middle of a run replay bit-exactly, whatever the components are."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components import PDController, PIDController
from mjrig.core.errors import MjrigError
from mjrig.data.recording.npz_file import write_npz
from mjrig.data.recording.readers import read_recording
from mjrig.lab.replay.players import TargetsPlayer
from tests.campaign import Tally
from tests.components.executions.rewind_cases import (
    RewindCase,
    apply_edit,
    build,
    draw_case,
    run,
    settings,
)
from tests.components.executions.rewind_subjects import subjects, write_policy
from tests.wording import mentions, regex
from tests.worlds import arm, make_world

pytest.importorskip("h5py")
pytest.importorskip("numba", reason="needs the extra 'fast'")
pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")

FORMATS = ("h5", "npz", "mcap", "converted.h5")
EVENTS = ("nothing", "edit", "reset", "restore")
STEPS = 12


def record_mid_run(case: RewindCase, world: mjrig.World, path: Path, event: str) -> bool:
    """Record some steps, with an event in the middle; False: it moved a law out of MuJoCo."""
    lead = 3 + case.seed % 40
    run(world, case.seed, 0, lead)
    snapshot, execution = world.snapshot(), world.execution
    with mjrig.Recorder(world, path, overwrite=True):
        run(world, case.seed, lead, STEPS)
        if event == "edit":
            apply_edit(case, world)
        elif event == "reset":
            world.reset()
        elif event == "restore":
            world.restore(snapshot)
        run(world, case.seed, lead + STEPS, STEPS)
    return world.execution == execution


def problem(case: RewindCase, folder: Path, event: str, form: str) -> str:
    """What is wrong with the replay of a case; empty: nothing."""
    try:
        world, other = (build(case.data, folder, case.execution) for _ in range(2))
    except MjrigError:
        return ""
    path, file = folder / "run.h5", folder / f"run.{form}"
    if not record_mid_run(case, world, path, event):
        return ""
    if form != "h5":
        file.unlink(missing_ok=True)
        assert main(["convert", str(path), str(file)]) == 0
    replay = mjrig.replay(file, other)
    if replay.bit_exact:
        return ""
    declared = "not repeated" in " ".join(replay.notes) and not replay.diagnosis
    if event == "edit" and declared:
        return ""
    causes = [(finding.kind, finding.where) for finding in replay.diagnosis]
    return f"{replay.verdict} by {replay.max_abs_position_error:.2g}, {causes}, {replay.notes}"


@pytest.mark.campaign
def test_a_recording_replays_from_wherever_it_began(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    components, values = list(subjects(tmp_path).values()), settings()
    few = len(components)
    for number, rng in enumerate(tally.cases("recordings begun mid-run", few, 40 * few)):
        subject = components[number % len(components)]
        case = draw_case(subject, rng.choice(values), rng)
        event, form = rng.choice(EVENTS), rng.choice(FORMATS)
        if wrong := problem(case, tmp_path, event, form):
            tally.found(f"{subject.name}, {event}, {form}: {wrong}; {case}")


# Components of other packages -------------------------------------------------------------------


class Plant(mjrig.ArticulationController):
    """A motor whose torque constant falls with every step."""

    def prepare(self) -> None:
        self._heat, self._random = np.zeros(2), np.random.default_rng(7)

    def on_bind(self, model: Any, data: Any) -> None:
        self._ctrl = [b.ctrl_address for b in self.bindings]

    def compute_and_apply(self, model: Any, data: Any, source: Any) -> None:
        self._heat += 0.01 + 0.01 * self._random.random(2)
        data.ctrl[self._ctrl] = (self.setpoints.position[self.columns] + 0.1) / (1.0 + self._heat)

    def reset(self) -> None:
        self.prepare()

    def memory(self) -> Any:
        return {"heat": self._heat.copy(), "random": self._random.bit_generator.state}

    def restore(self, memory: Any) -> None:
        self._heat[:] = memory["heat"]
        self._random.bit_generator.state = memory["random"]


class Unstorable(Plant):
    """The same with a memory that only this process can read."""

    def memory(self) -> Any:
        heat, state = self._heat.copy(), self._random.bit_generator.state
        return lambda: {"heat": heat, "random": state}

    def restore(self, memory: Any) -> None:
        super().restore(memory())


class Failing(Plant):
    """The same with a memory that cannot be read."""

    def memory(self) -> Any:
        raise RuntimeError("no memory today")


class Waving(mjrig.ActorComponent):
    """Commands its robot in every step, and cannot be disabled."""

    def prepare(self) -> None:
        self._count = 0

    def attach(self, articulation: Any) -> None:
        self._robot = articulation

    def before_controls(self, time: float) -> None:
        self._count += 1
        self._robot.set_targets([0.4 * np.sin(0.05 * self._count), -0.3])

    def reset(self) -> None:
        self._count = 0


def take(component: mjrig.ActorComponent, path: Path, before: int = 60) -> mjrig.World:
    """Record the second half of a run; returns a new world of the same kind."""
    world, other = (make_world(arm(), [component.copy()]) for _ in range(2))
    world["robot"].set_targets([0.4, -0.3])
    world.step(before)
    with mjrig.Recorder(world, path):
        world.step(80)
    return other


def test_the_memory_of_a_component_of_another_package_is_stored(tmp_path: Path) -> None:
    other = take(Plant(), tmp_path / "a.h5")
    assert mjrig.replay(tmp_path / "a.h5", other).bit_exact
    memory = read_recording(tmp_path / "a.h5").memories[0]
    assert memory.step == 0
    assert not memory.unknown
    assert any(name.endswith("heat") for name in memory.arrays)


def test_a_memory_that_cannot_be_stored_is_named_and_no_cause_is_sought(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    other = take(Unstorable(), path)
    recording = read_recording(path)
    assert "robot.Unstorable" in recording.memories[0].unknown
    assert any(mentions(n, "the memory of robot.Unstorable could …") for n in recording.notes)
    replay = mjrig.replay(path, other)
    assert list(replay.unknown_memory) == ["robot.Unstorable"]
    assert replay.verdict == "differs, cause unknown"
    assert mentions(replay.evidence, "the memory of robot.Unstorable at …")
    assert replay.diagnosis == []
    again = take(Unstorable(), tmp_path / "from the start.h5", before=0)
    assert mjrig.replay(tmp_path / "from the start.h5", again).bit_exact


def test_a_memory_that_cannot_be_read_does_not_end_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    other = take(Failing(), path)
    recording = read_recording(path)
    assert recording.steps == 80
    reason = recording.memories[0].unknown["robot.Failing"]
    assert reason.startswith("robot.Failing.memory (test_begun_mid_run.py:")
    assert reason.endswith("RuntimeError: no memory today")
    replay = mjrig.replay(path, other)
    assert replay.verdict == "differs, cause unknown"
    assert list(replay.unknown_memory) == ["robot.Failing"]
    with pytest.raises(mjrig.PropertyError, match=regex("robot.Failing: its memory cannot be …")):
        other.snapshot()


def test_commands_of_a_component_that_cannot_be_disabled_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    parts = [PDController(kp=40, kv=2), Waving()]
    world, other = (make_world(arm(), [p.copy() for p in parts]) for _ in range(2))
    world.step(30)
    with mjrig.Recorder(world, path):
        world.step(80)
    replay = mjrig.replay(path, other)
    assert replay.bit_exact
    note = "robot.Waving commands its robot and cannot be disabled: the replay ignored its commands"
    assert note in replay.notes
    other.reset()
    other.step(50)  # it commands again
    assert other["robot"].setpoints.position[0] == 0.4 * np.sin(0.05 * 50)


def test_a_policy_with_other_sizes_does_not_end_a_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = build(subjects(tmp_path)["Policy"].scene({}), tmp_path, "auto")
    write_policy(tmp_path / "larger.yaml", [{"type": "JointPositions", "history": 9}])
    with mjrig.Recorder(world, tmp_path / "a.h5"):
        world.step(20)
        world["robot"].part("Policy").assign({"file": "larger.yaml"})
        world.step(20)
    recording = read_recording(tmp_path / "a.h5")
    assert recording.steps == 40
    ticks = recording.actors["robot"].policy
    assert ticks is not None and 0 < ticks.step[-1] <= 20
    assert caplog.text.count("robot.Policy has another file since") == 1


@pytest.mark.parametrize("execution", ["python", "compiled", "auto"])
def test_every_way_to_edit_a_delay_means_the_same_and_is_repeated(
    execution: str, tmp_path: Path
) -> None:
    """The past commands stay, whether the delay or one of its values is replaced."""
    edits: dict[str, list[Any]] = {
        "4": [lambda c: c.assign({"delay": {"steps": 4}}), lambda c: c.delay.assign({"steps": 4})],
        "4, then 9": [
            lambda c: [c.assign({"delay": {"steps": n}}) for n in (4, 9)],
            lambda c: [c.delay.assign({"steps": n}) for n in (4, 9)],
        ],
        "seconds": [lambda c: c.assign({"delay": {"seconds": 0.005}})],
        "seconds, then steps": [
            lambda c: [c.assign({"delay": d}) for d in ({"seconds": 0.005}, {"steps": 3})],
            lambda c: c.delay.assign({"steps": 3}),
        ],
    }
    pid = PIDController(kp=40, kv=2, ki=30, delay={"steps": 10})
    for name, ways in edits.items():
        ends = []
        for edit in ways:
            world, other = (make_world(arm(), [pid.copy()], execution=execution) for _ in range(2))
            world["robot"].follow(lambda t: (np.sin([20 * t, 30 * t]), None, None))
            world.step(33)
            with mjrig.Recorder(world, tmp_path / "a.h5", overwrite=True):
                world.step(20)
                edit(world["robot"].controllers[0])
                world.step(20)
            ends.append(world.data.qpos.copy())
            assert mjrig.replay(tmp_path / "a.h5", other).bit_exact, name
        assert all(np.array_equal(end, ends[0]) for end in ends), name


# Other files ------------------------------------------------------------------------------------

PID = PIDController(kp=40, kv=2, ki=30, integral_max=1.0)


def test_a_file_without_memory_loads_with_a_note(tmp_path: Path) -> None:
    """Of an earlier version, or a CSV."""
    other, old, csv = take(PID, tmp_path / "a.h5"), tmp_path / "old.npz", tmp_path / "a.csv"
    write_npz(replace(read_recording(tmp_path / "a.h5"), memories=()), old)
    assert main(["convert", str(tmp_path / "a.h5"), str(csv)]) == 0
    for path in (old, csv):
        assert any(mentions(n, "has no memory of …") for n in read_recording(path).notes)
        replay = mjrig.replay(path, other)
        assert "robot.PIDController" in replay.unknown_memory
        assert not replay.bit_exact
        assert replay.diagnosis == []
    plain = take(PDController(kp=40, kv=2), tmp_path / "b.h5")
    without = replace(read_recording(tmp_path / "b.h5"), memories=())
    assert mjrig.replay(without, plain).bit_exact


def test_another_structure_is_named(tmp_path: Path) -> None:
    take(PID, tmp_path / "a.h5")
    other = make_world(arm(), [PDController(kp=40, kv=2, delay={"steps": 3})])
    replay = mjrig.replay(tmp_path / "a.h5", other)
    assert not replay.bit_exact
    assert replay.verdict != "matches"


@pytest.mark.parametrize("form", ["h5", "npz"])
def test_memory_is_no_pickle(form: str, tmp_path: Path) -> None:
    take(PID, tmp_path / "a.h5")
    file = tmp_path / f"a.{form}"
    if form != "h5":
        assert main(["convert", str(tmp_path / "a.h5"), str(file)]) == 0
    assert b"\x80\x04\x95" not in file.read_bytes()  # how a pickle begins
    (memory, *_) = read_recording(file).memories
    assert {"robot", "robot.PIDController"} <= set(memory.parts)


# Seeking ----------------------------------------------------------------------------------------


def test_a_replay_continues_bit_exactly_after_seeking(tmp_path: Path) -> None:
    delayed = PIDController(kp=40, kv=2, ki=30, delay={"steps": 4}, decimation=3)
    other = take(delayed, tmp_path / "a.h5")
    recording = read_recording(tmp_path / "a.h5")
    rows = recording.actors["robot"].qpos
    with TargetsPlayer(recording, other) as player:
        player.start()
        other.step(30)
        snapshot = other.snapshot()
        for _ in range(2):
            assert np.array_equal(other.data.qpos, rows[30])
            other.step(50)
            assert np.array_equal(other.data.qpos, rows[80])
            other.restore(snapshot)
        player.start()
        other.step(80)
        assert np.array_equal(other.data.qpos, rows[80])


def test_random_settings_do_not_hide_a_lost_memory(tmp_path: Path) -> None:
    """The generator above would find a component whose memory is not in the file."""
    subject = subjects(tmp_path)["PIDController"]
    case = draw_case(subject, ("execution", "python"), Random(1), alone=True)
    world, other = (build(case.data, tmp_path, "python") for _ in range(2))
    record_mid_run(case, world, tmp_path / "a.h5", "nothing")
    recording = read_recording(tmp_path / "a.h5")
    (first, *_) = recording.memories
    kept = {name: part for name, part in first.parts.items() if "Controller" not in name}
    lost = replace(recording, memories=(replace(first, parts=kept),))
    assert not mjrig.replay(lost, other).bit_exact


def test_a_policy_in_the_loop_goes_on_from_the_recorded_tick(tmp_path: Path) -> None:
    """With history, noise, a recurrent network and a filter: nothing of it starts over."""
    data = subjects(tmp_path)["Policy"].scene({})
    world = build(data, tmp_path, "auto")
    world.step(47)  # between two ticks
    with mjrig.Recorder(world, tmp_path / "a.h5"):
        world.step(100)
    replay = mjrig.replay(tmp_path / "a.h5", build(data, tmp_path, "auto"), mode="policy", trials=0)
    assert replay.unknown_memory == {}
    assert replay.bit_exact
