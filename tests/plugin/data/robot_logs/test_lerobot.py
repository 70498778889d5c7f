"""`mjrig convert` into a folder: LeRobot's layout, read back with equal numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.lerobot_dataset import write_lerobot
from tests.places import SCENES

parquet = pytest.importorskip("pyarrow.parquet", reason="the extra logs is not installed")
pytest.importorskip("h5py", reason="the extra record is not installed")


def recorded(
    folder: Path, scene: str = "quadruped_trot", *, parts: tuple[int, ...] = (400,)
) -> Path:
    """A recording with a reset between its parts, of so many steps each."""
    world = mjrig.World(SCENES / f"{scene}.yaml")
    path = folder / f"{scene}.h5"
    with mjrig.Recorder(world, path):
        for k, count in enumerate(parts):
            if k:
                world.reset()
            world.step(count)
    return path


def table(folder: Path) -> dict[str, Any]:
    """The frames as pyarrow alone reads them."""
    found = parquet.read_table(folder / "data" / "chunk-000" / "file-000.parquet")
    return {name: np.array(found[name].to_pylist()) for name in found.column_names}


def close(found: Any, truth: Any) -> bool:
    """Equal but for the stamps, which are float32 too: a thousandth of what a row changes."""
    changes = np.abs(np.diff(truth, axis=0)).max()
    return bool(np.abs(found - truth).max() <= 1e-3 * changes + 1e-6)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize("fps", [None, 500, 50, 40])
def test_our_reader_gets_the_numbers_back(run: Path, tmp_path: Path, fps: int | None) -> None:
    before = mjrig.read_recording(run)
    folder = tmp_path / "set"
    write_lerobot(before, folder, fps)
    after = mjrig.read_recording(folder, {"offset": 0.0})
    (old,), (new,) = before.actors.values(), after.actors.values()
    every = 1 if fps is None else 1000 // fps
    kept = [j for j in old.joints if j.kind == "hinge"]
    assert [j.name for j in new.joints] == [j.name for j in kept]
    assert old.qvel is not None and new.qvel is not None
    positions = old.qpos[::every, [j.qpos.start for j in kept]].astype(np.float32)
    velocities = old.qvel[::every, [j.dof.start for j in kept]].astype(np.float32)
    rows = len(new.step)
    assert len(positions) - 1 <= rows <= len(positions)
    frames = table(folder)
    assert np.array_equal(frames["observation.state"].astype(np.float32), positions)
    assert np.array_equal(frames["observation.velocity"].astype(np.float32), velocities)
    assert close(new.qpos, positions[:rows]) and close(new.qvel, velocities[:rows])
    assert old.commands is not None and new.commands is not None and new.driven == old.driven
    targets = old.commands.position[::every].astype(np.float32)
    common = min(len(targets), len(new.commands.position))
    assert common > 1 and close(new.commands.position[:common], targets[:common])
    assert after.timestep == pytest.approx(every * before.timestep)


def test_the_layout_is_that_of_version_3(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    assert main(["convert", str(run), str(folder), "--fps", "50"]) == 0
    info = json.loads((folder / "meta" / "info.json").read_text())
    frames = table(folder)
    assert info["codebase_version"] == "v3.0" and info["fps"] == 50
    assert info["total_frames"] == len(frames["index"]) == 21
    assert set(info["features"]) == set(frames)
    for name, about in info["features"].items():
        width = 1 if frames[name].ndim == 1 else frames[name].shape[1]
        assert about["shape"] == [width]
        assert about["names"] is None or len(about["names"]) == width
    assert np.allclose(frames["timestamp"], frames["frame_index"] / 50, atol=1e-6)
    stats = json.loads((folder / "meta" / "stats.json").read_text())
    low = frames["observation.state"].min(0)
    assert np.allclose(stats["observation.state"]["min"], low, atol=1e-6)
    tasks = parquet.read_table(folder / "meta" / "tasks.parquet")
    assert tasks["task_index"].to_pylist() == [0]


def test_each_stretch_between_resets_is_an_episode(tmp_path: Path) -> None:
    path = recorded(tmp_path, "pendulum", parts=(30, 50, 20))
    write_lerobot(mjrig.read_recording(path), tmp_path / "set")
    frames = table(tmp_path / "set")
    file = tmp_path / "set" / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    episodes = parquet.read_table(file).to_pydict()
    assert episodes["episode_index"] == [0, 1, 2]
    for k in range(3):
        mine = frames["episode_index"] == k
        assert episodes["length"][k] == mine.sum()
        assert frames["frame_index"][mine].tolist() == list(range(mine.sum()))
        first, last = episodes["dataset_from_index"][k], episodes["dataset_to_index"][k]
        assert frames["index"][mine].tolist() == list(range(first, last))
    starts = frames["observation.state"][frames["frame_index"] == 0]
    assert (starts == starts[0]).all()  # each begins where a reset puts it
    with pytest.raises(RecordingError, match="has 3 episodes"):
        mjrig.read_recording(tmp_path / "set")


def test_what_cannot_be_one_data_set_is_refused_and_nothing_is_lost(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = mjrig.read_recording(recorded(tmp_path, "arm_pair", parts=(5,)))
    with pytest.raises(RecordingError, match=r"left_arm, right_arm; .* of one robot"):
        write_lerobot(pair, tmp_path / "pair")
    own = tmp_path / "own"
    own.mkdir()
    (own / "notes.txt").write_text("mine")
    assert main(["convert", str(run), str(own)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["convert", str(run), str(own), "--overwrite"]) == 1
    assert "holds other files" in capsys.readouterr().err
    assert (own / "notes.txt").read_text() == "mine"
    assert main(["convert", str(run), str(tmp_path / "a.npz"), "--fps", "50"]) == 1
    assert "which is a folder" in capsys.readouterr().err
    for _ in range(2):
        assert main(["convert", str(run), str(tmp_path / "set"), "--overwrite"]) == 0
    assert sorted(p.name for p in (tmp_path / "set").iterdir()) == ["data", "meta"]
