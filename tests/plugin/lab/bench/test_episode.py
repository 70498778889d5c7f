"""Metrics of an episode against an independent computation from its recording."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.lab.bench.episode_replay import record_one
from mjrig.lab.bench.suite import BenchSuite
from tests.plugin.lab.scenes import BUNDLED

h5py = pytest.importorskip("h5py")
WALK = BUNDLED / "quadruped_walk.yaml"
TICK, SETTLE = 20, 50


def episode(tmp_path: Path, task: str, seed: int = 1) -> tuple[dict[str, float], dict[str, Any]]:
    suite = BenchSuite.parse(f"tasks: [{task}]", tmp_path / "suite.yaml")
    (level,) = suite.levels()
    metrics = record_one(WALK, level, seed, tmp_path / "episode.h5")
    with h5py.File(tmp_path / "episode.h5") as file:
        robot = file["actors/quadruped"]
        rows = {name: np.array(file[name]) for name in ("qpos", "qvel", "time")}
        rows |= {"effort": np.array(robot["effort"]), "command": np.array(robot["policy/command"])}
        rows["target"] = np.array(robot["setpoint/position"])
    return metrics, rows


def rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def test_metrics_are_those_of_the_recording(tmp_path: Path) -> None:
    task = "{name: t, command: steps, duration: 4, settle: 1, randomise: 'kick=0.6,start=0.05'}"
    metrics, rows = episode(tmp_path, task, seed=2)
    qpos, qvel, effort = rows["qpos"], rows["qvel"], rows["effort"]
    at = np.arange(TICK, len(qpos), TICK)[SETTLE:]
    commands = np.append(rows["command"], rows["command"][-1:], axis=0)[at // TICK]
    errors, turns = [], []
    for k, command in zip(at, commands, strict=True):
        w, x, y, z = qpos[k, 3:7]
        ahead = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)])  # the base's x axis
        ahead /= np.linalg.norm(ahead)
        left = np.array([-ahead[1], ahead[0]])
        errors.append([qvel[k, :2] @ ahead - command[0], qvel[k, :2] @ left - command[1]])
        turns.append(qvel[k, 5] - command[2])
    squares = np.sum(np.square(errors), axis=1)
    steps = slice(SETTLE * TICK, None)
    power = effort[steps] * qvel[:-1][steps, 6:]
    targets = rows["target"][at - 1]
    way = np.sum(np.linalg.norm(np.diff(qpos[at, :2], axis=0), axis=1))
    mass = 11.95
    independent = {
        "lin_vel_rmse": np.sqrt(np.mean(squares)),
        "tracking_score": np.mean(np.exp(-4.0 * squares)),
        "yaw_rate_rmse": rms(turns),
        "power": np.mean(np.sum(np.abs(power), axis=1)),
        "positive_power": np.mean(np.sum(np.where(power > 0.0, power, 0.0), axis=1)),
        "distance": way,
        "torque_rms": rms(effort[at - 1]),
        "action_rate": rms(targets[1:] - targets[:-1]),
        "action_acceleration": rms(targets[2:] - 2 * targets[1:-1] + targets[:-2]),
        "joint_acceleration": np.mean(np.abs(qvel[at[1:], 6:] - qvel[at[:-1], 6:])) / 0.02,
        "base_shake": np.sqrt(np.mean(qvel[at, 3] ** 2 + qvel[at, 4] ** 2)),
        "survival": 4.0,
    }
    for name, value in independent.items():
        assert metrics[name] == pytest.approx(value, rel=1e-9), name
    transport = metrics["power"] * 0.02 * (len(at) - 1) / (9.81 * way)
    assert transport / metrics["cost_of_transport"] == pytest.approx(mass, rel=0.2)
    assert metrics["lin_vel_rmse"] > 0.01 and metrics["foot_slip"] > 0.0


def test_a_fall_ends_an_episode_where_the_recording_leans_or_sinks(tmp_path: Path) -> None:
    task = "{name: t, command: forward, duration: 6, randomise: 'kick=3'}"
    metrics, rows = episode(tmp_path, task, seed=0)
    assert metrics["fell"] == 1.0 and 2.0 < metrics["survival"] < 6.0
    qpos = rows["qpos"][::TICK]
    fallen = (1 - 2 * (qpos[:, 4] ** 2 + qpos[:, 5] ** 2) < 0.5) | (qpos[:, 2] < 0.5 * qpos[0, 2])
    assert not fallen[:-1].any() and fallen[-1]
    assert metrics["survival"] == pytest.approx(rows["time"][-1])


def test_a_forbidden_contact_is_a_fall(tmp_path: Path) -> None:
    task = "{name: t, command: stand, duration: 1, settle: 0.1, terminate: ['FL_.*']}"
    metrics, _ = episode(tmp_path, task)
    assert metrics["fell"] == 1.0 and metrics["survival"] < 0.2


def test_a_kick_changes_the_velocity_by_what_it_says(tmp_path: Path) -> None:
    task = "{name: t, command: stand, duration: 2.6, settle: 0.1, randomise: 'kick=0.7'}"
    _, rows = episode(tmp_path, task)
    jumps = np.linalg.norm(np.diff(rows["qvel"][:, :2], axis=0), axis=1)
    assert jumps.max() == pytest.approx(0.7, abs=0.05)
    assert np.sum(jumps > 0.35) == 1
    assert 2.0 <= rows["time"][jumps.argmax()] <= 2.5
