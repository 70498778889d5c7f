"""Recordings go out to MCAP and HDF5 and come back with every number."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

import mjrig
from mjrig.cli.main import main
from mjrig.recording.tables import arrays_of, meta_of
from tests.plugin.robot_logs import simulated as sim

DOCS = Path(__file__).parents[3] / "docs" / "robot-logs.md"


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
    block = DOCS.read_text().split("```console\n")[1].split("```")[0]
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
