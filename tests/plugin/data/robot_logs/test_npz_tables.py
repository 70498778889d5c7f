"""npz files as loggers write them: any order of the numbers, any side of a table for the time."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.errors import MjrigError
from mjrig.data.robot_logs.containers import npz_table
from tests.plugin.data.robot_logs import simulated as sim


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(0.5)


def _tables(run: sim.Run) -> dict[str, Any]:
    parts = {"q": run.q, "dq": run.dq, "tau": run.tau, "q_des": sim.held(run)}
    return {**parts, "names": np.array(sim.NAMES), "kp": np.array([31.0, 31.0])}


def _read(path: Path, **hints: object) -> Any:
    recording = mjrig.read_recording(path, {"offset": 0, **hints})
    (actor,) = recording.actors.values()
    return recording, actor


def _check(path: Path, run: sim.Run, **hints: object) -> Any:
    recording, actor = _read(path, **hints)
    order = [[j.name for j in actor.joints].index(name) for name in sim.NAMES]
    assert recording.timestep == 0.002
    np.testing.assert_allclose(actor.qpos[:, order], run.q, atol=1e-6)
    np.testing.assert_allclose(actor.qvel[:, order], run.dq, atol=1e-5)
    np.testing.assert_allclose(actor.efforts.effort[:, order], run.tau[:-1], atol=1e-4)
    np.testing.assert_allclose(actor.commands.position[0], sim.held(run)[0], atol=1e-6)
    return recording


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("rows", [7, 4096])
@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_read_however_they_are_stored(
    tmp_path: Path, run: sim.Run, monkeypatch: Any, save: Any, rows: int, seed: int
) -> None:
    """By rows or columns, turned or not, single or double, a few rows at a time or many."""
    monkeypatch.setattr(npz_table, "BATCH", rows)
    rng = np.random.default_rng(seed)
    arrays = _tables(run)
    turned = set()
    for name in ("q", "dq", "tau", "q_des"):
        made = arrays[name].astype(rng.choice(["<f8", "<f4", ">f8"]))
        made = made.T if rng.random() < 0.5 else made
        if made.shape[0] == len(sim.NAMES):
            turned.add(name)
        arrays[name] = np.asarray(made, order=rng.choice(["C", "F"]))
    arrays["time"] = run.time
    save(tmp_path / "log.npz", **arrays)
    recording = _check(tmp_path / "log.npz", run)
    said = [note for note in recording.notes if "are taken as columns" in note]
    assert bool(said) == bool(turned) and all(name in said[0] for name in turned)


@pytest.mark.parametrize("is_turned", [False, True])
def test_the_time_is_the_side_that_most_numbers_have(
    tmp_path: Path, run: sim.Run, is_turned: bool
) -> None:
    """Without times, and with as many lists of gains as there are tables."""
    arrays = {n: a.T if is_turned and a.ndim == 2 else a for n, a in _tables(run).items()}
    arrays |= {f"gain_{k}": np.array([1.0, 2.0]) for k in range(8)}
    np.savez(tmp_path / "log.npz", **arrays)
    _check(tmp_path / "log.npz", run, fps=500)


@pytest.mark.parametrize("is_turned", [False, True])
def test_names_tell_the_joints_of_a_table_that_is_wider_than_long(
    tmp_path: Path, is_turned: bool
) -> None:
    q = 0.1 * np.random.default_rng(3).standard_normal((4, 6))
    names = np.array([f"joint_{k}" for k in range(6)])
    np.savez(tmp_path / "log.npz", q=q.T if is_turned else q, names=names)
    _, actor = _read(tmp_path / "log.npz", fps=100)
    np.testing.assert_allclose(actor.qpos, q, atol=1e-9)


@pytest.mark.parametrize("word", ["t", "time", "timestamp", None])
def test_columns_called_q_and_dq_are_no_motion_of_locomujoco(
    tmp_path: Path, run: sim.Run, word: str | None
) -> None:
    arrays: dict[str, Any] = {} if word is None else {word: run.time}
    for k, name in enumerate(sim.NAMES):
        parts = {"q": run.q, "dq": run.dq, "tau": run.tau, "q_des": sim.held(run)}
        arrays |= {f"{what}_{name}": values[:, k] for what, values in parts.items()}
    np.savez(tmp_path / "log.npz", **arrays)
    hints = {} if word else {"fps": 500}
    assert _check(tmp_path / "log.npz", run, **hints).format == "robot log"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_array_is_named(tmp_path: Path, run: sim.Run, save: Any) -> None:
    """Every byte of an array is covered by its checksum, whichever is wrong."""
    path = tmp_path / "log.npz"
    save(path, time=run.time, **_tables(run))
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("dq.npy")
    whole = path.read_bytes()
    for share in (0.5, 0.7, 0.9):
        place = entry.header_offset + 60 + 128 + round(share * (entry.compress_size - 200))
        wrong = bytearray(whole)
        wrong[place] ^= 0x55
        path.write_bytes(wrong)
        with pytest.raises(MjrigError, match="is damaged: dq: "):
            mjrig.read_recording(path)
