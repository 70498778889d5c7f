"""Recordings go out to MCAP and HDF5 and come back with every number."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_types_from_msg

import mjrig
from mjrig.cli.main import main
from mjrig.data.recording.h5_arrays import write_h5
from mjrig.data.recording.named_arrays import arrays_of, joint_columns, meta_of
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    IntegrationStates,
    PolicyTicks,
    RecordedCommands,
    Recording,
)
from mjrig.data.robot_logs.containers.message_definitions import definition_text
from tests.places import DOCS
from tests.plugin.data.robot_logs import simulated as sim

PAGE = DOCS / "robot-logs.md"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "arm.xml").write_text(sim.MODEL)
    (folder / "scene.yaml").write_text(sim.SCENE)
    world = mjrig.World(mjrig.Scene.load(folder / "scene.yaml"))
    with mjrig.Recorder(world, folder / "run.h5"):
        for k in range(60):
            world["arm"].setpoints.position[:] = 0.3 * np.sin(0.1 * k)
            world.step()
    return folder / "run.h5"


def test_no_number_is_lost_on_the_way_through_mcap_and_hdf5(recorded: Path, tmp_path: Path) -> None:
    ways = [recorded]
    for name in ("a.mcap", "b.h5", "c.mcap", "d.npz"):
        assert main(["convert", str(ways[-1]), str(tmp_path / name)]) == 0
        ways.append(tmp_path / name)
    first = mjrig.read_recording(recorded)
    wanted, facts = arrays_of(first), meta_of(first)
    for path in ways[1:]:
        found = mjrig.read_recording(path)
        arrays = arrays_of(found)
        assert list(arrays) == list(wanted)
        for name, values in wanted.items():
            assert np.asarray(values).tobytes() == np.asarray(arrays[name]).tobytes(), name
        changed = {"source", "attributes"}
        said = meta_of(found)
        assert {k: v for k, v in said.items() if k not in changed} == {
            k: v for k, v in facts.items() if k not in changed
        }


def drawn(random: np.random.Generator) -> Recording:
    """A recording of anything: robots, joints, columns that are there or not, any numbers."""
    steps = int(random.integers(1, 40))

    def numbers(rows: int, columns: int, kind: Any = np.float64, *, odd: bool = False) -> Any:
        values = random.normal(size=(rows, columns)) * 10.0 ** random.integers(-300, 300)
        if odd and values.size:
            values.flat[0], values.flat[-1] = np.inf, np.nan
        return (
            values.astype(kind)
            if kind == np.float64
            else random.normal(size=values.shape).astype(kind)
        )

    def some(most: int) -> Any:
        count = int(random.integers(1, most + 2))
        return np.sort(random.choice(most + 1, min(count, most + 1), replace=False)).astype(
            np.int64
        )

    actors = {}
    for name in ("left", "right")[: int(random.integers(1, 3))]:
        kinds = random.choice(
            ["hinge", "slide", "ball", "free"], int(random.integers(1, 5))
        ).tolist()
        joints = joint_columns(Path(), [[f"j{k}", kind] for k, kind in enumerate(kinds)])
        nq, nv, width = joints[-1].qpos.stop, joints[-1].dof.stop, int(random.integers(1, 4))
        rows, sent, felt, ticks = (some(steps) for _ in range(4))
        has = random.random(6) < 0.5
        actors[name] = ActorRecording(
            name=name,
            joints=joints,
            step=rows,
            time=rows * 0.002,
            qpos=numbers(len(rows), nq),
            qvel=numbers(len(rows), nv) if has[0] else None,
            actuators=tuple(f"m{k}" for k in range(width)),
            driven=tuple(f"j{k}" if k < len(kinds) else "" for k in range(width)),
            commands=RecordedCommands(
                sent, *(numbers(len(sent), width) for _ in range(3)),
                inputs={"turn": numbers(len(sent), 3)} if has[1] else {},
            ) if has[2] else None,
            efforts=Efforts(
                felt, numbers(len(felt), width),
                numbers(len(felt), width, odd=True) if has[3] else None,
            ) if has[4] else None,
            policy=PolicyTicks(
                ticks, numbers(len(ticks), 5, np.float32), numbers(len(ticks), 2, np.float32),
                numbers(len(ticks), 3), ("j0", "j1"),
            ) if has[5] else None,
        )  # fmt: skip
    states = some(steps)
    full = IntegrationStates(states, numbers(len(states), 7)) if random.random() < 0.5 else None
    return Recording(
        Path("drawn"), "drawn", 0.002, steps, actors, full, {"seed": 3, "text": "ä→"}, ("a note",)
    )


def test_no_number_of_any_recording_is_lost(tmp_path: Path) -> None:
    """HDF5 → MCAP → HDF5, by content drawn at random; NaN, infinity and 1e±300 are numbers too."""
    random = np.random.default_rng(17)
    for k in range(40):
        first = drawn(random)
        write_h5(first, tmp_path / f"{k}.h5")
        for a, b in ((f"{k}.h5", f"{k}.mcap"), (f"{k}.mcap", f"{k}_back.h5")):
            assert main(["convert", str(tmp_path / a), str(tmp_path / b)]) == 0
        wanted = arrays_of(first)
        for name in (f"{k}.h5", f"{k}.mcap", f"{k}_back.h5"):
            found = mjrig.read_recording(tmp_path / name)
            arrays = arrays_of(found)
            assert list(arrays) == list(wanted)
            for key, values in wanted.items():
                assert arrays[key].dtype == values.dtype, key
                assert arrays[key].tobytes() == values.tobytes(), key
            assert found.notes == first.notes and found.steps == first.steps
            assert found.attributes["text"] == "ä→"


def test_another_reader_sees_joint_states(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    assert main(["convert", str(recorded), str(path)]) == 0
    (actor,) = mjrig.read_recording(recorded).actors.values()
    with AnyReader([path], default_typestore=sim.ros2()) as reader:
        chosen = [c for c in reader.connections if c.topic == "/arm/joint_states"]
        raws = reader.messages(chosen)
        messages: list[Any] = [reader.deserialize(raw, c.msgtype) for c, _, raw in raws]
    assert messages[0].name == list(sim.NAMES)
    np.testing.assert_array_equal([m.position for m in messages], actor.qpos)
    np.testing.assert_array_equal([m.velocity for m in messages], actor.qvel)


@pytest.mark.skipif(not PAGE.exists(), reason="there is no checkout beside the tests")
def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a bag to a validated scene, as docs/robot-logs.md walks it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.xml").write_text(sim.MODEL)
    (tmp_path / "arm.yaml").write_text(sim.SCENE)
    store = sim.ros2()
    messages = sim.joint_messages(sim.simulated(3.0), store)
    sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    block = PAGE.read_text().split("```console\n")[1].split("```")[0]
    commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 6
    shown = {}
    for line in commands:
        words = shlex.split(line)
        assert words[0] == "mjrig"
        assert main(words[1:]) == 0, line
        shown[words[1]] = capsys.readouterr().out
    assert "within tolerance" in shown["replay"]
    controller = mjrig.World(mjrig.Scene.load("arm.yaml"))["arm"].controllers[0]
    np.testing.assert_allclose(controller.gains()["kp"], sim.KP, rtol=0.02)
    np.testing.assert_allclose(controller.gains()["kv"], sim.KV, rtol=0.02)


@pytest.mark.skipif(not PAGE.exists(), reason="there is no checkout beside the tests")
def test_the_mapping_of_the_page_reads_a_log_as_it_says(tmp_path: Path) -> None:
    """Signs, offsets, currents, a gauge of one joint, and the robot's own clock."""
    store = sim.ros2()
    for kind in ("LowState", "LowCmd"):
        name = f"unitree_go/msg/{kind}"
        store.register(get_types_from_msg(definition_text(f"unitree_go/{kind}"), name))
    store.register(get_types_from_msg("float64 force", "own_msgs/msg/Gauge"))
    q = 0.4 * np.sin(0.02 * np.arange(400)[:, None] + np.arange(3))
    messages = []
    for k, row in enumerate(q):
        state, command = (sim.filled(store, f"unitree_go/msg/Low{s}") for s in ("State", "Cmd"))
        state.tick = 5000 + 2 * k
        for i, value in enumerate(row):
            state.motor_state[i].q, state.motor_state[i].tau_est = value, 3.0 * value
            command.motor_cmd[i].q, command.motor_cmd[i].kp = value, 40.0
        gauge = store.types["own_msgs/msg/Gauge"](7.0 * row[2])
        for topic, kind, sent in (
            ("/lowstate", "unitree_go/msg/LowState", state),
            ("/lowcmd", "unitree_go/msg/LowCmd", command),
            ("/gauge", "own_msgs/msg/Gauge", gauge),
        ):
            messages.append(sim.Sent(topic, kind, sim.EPOCH + k * 2_000_000, sent))
    sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    block = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    (tmp_path / "bag.log.yaml").write_text(block)
    joints = yaml.safe_load(block)["joints"]
    (actor,) = mjrig.read_recording(tmp_path / "bag").actors.values()
    hip, calf = joints["FR_hip_joint"], joints["FR_calf_joint"]
    assert actor.name == "go2" and [j.name for j in actor.joints] == [*joints]
    rows = slice(0, len(actor.qpos))
    truth = np.stack(
        [hip["sign"] * q[rows, hip["id"]] + hip["offset"], q[rows, calf["id"]]], axis=1
    )
    np.testing.assert_allclose(actor.qpos, truth, atol=1e-4)
    assert actor.efforts is not None
    current = 3.0 * hip["sign"] * hip["torque_constant"] * q[: len(actor.efforts.effort), 0]
    np.testing.assert_allclose(actor.efforts.effort[:, 0], current, atol=1e-3)
    force = 7.0 * q[: len(actor.efforts.effort), 2]
    np.testing.assert_allclose(actor.efforts.effort[:, 1], force, atol=1e-3)
    assert actor.plant.joints["kp"] == {"FR_hip_joint": 40.0, "FR_calf_joint": 40.0}
