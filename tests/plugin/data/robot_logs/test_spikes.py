"""Wrong samples: found where they were put, never where a robot moved or struck something."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.data.robot_logs.spikes import Moved, spikes, wrong_efforts, wrong_speeds
from tests.plugin.data.robot_logs import simulated as sim

RNG = np.random.default_rng


def _motion(seed: int, rate: float) -> Any:
    """Sweeps, rests and fast moves, with noise or in an encoder's steps."""
    rng = RNG(seed)
    time = np.arange(4000) / rate
    kind = seed % 4
    q = rng.uniform(0.1, 2.0) * np.sin(rng.uniform(1.0, 8.0) * time + rng.uniform(0.0, 6.0))
    if kind == 1:  # at rest, with a fast move in the middle
        q = 0.6 * np.tanh(20.0 * (time - time.mean()))
    if kind == 2:  # an encoder that flickers at rest
        q = 0.0015 * rng.integers(0, 2, len(time)) + 0.0 * q
    if kind == 3:  # an angle that is wrapped
        q = np.angle(np.exp(1j * 4.0 * time))
    return q + (kind != 2) * rng.uniform(0.0, 2e-3) * rng.standard_normal(len(time))


@pytest.mark.parametrize("rate", [50.0, 500.0, 1000.0])
@pytest.mark.parametrize("seed", range(12))
def test_motions_have_none_and_wrong_samples_are_all_found(seed: int, rate: float) -> None:
    q = _motion(seed, rate)
    assert not len(spikes(q))
    rng = RNG(100 + seed)
    largest = np.percentile(np.abs(np.diff(q)), 99)
    rows = np.sort(rng.choice(np.arange(1, 390), 3, replace=False)) * 10
    rows = [*rows[:2], *range(rows[2], rows[2] + 1 + seed % 3)]  # the last is up to 3 samples long
    q[rows[:2]] += rng.choice([-1.0, 1.0], 2) * (1.0 + 40.0 * largest) * 10.0 ** rng.uniform(0, 6)
    q[rows[2:]] += 1.0 + 40.0 * largest
    assert spikes(q).tolist() == rows


#: An arm that strikes the floor again and again, and a slide that falls on a stop.
STRIKING = """<mujoco><option timestep="0.0005"/><worldbody>
<geom type="plane" size="3 3 .1"/>
<body pos="0 0 0.2"><joint name="arm" axis="0 1 0" damping="0.05" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02" mass="1"/></body>
<body pos="1 0 1"><joint name="lift" type="slide" axis="0 0 1" range="-0.1 1" limited="true"/>
<geom type="box" size=".05 .05 .05" mass="2"/></body></worldbody>
<actuator><motor joint="arm"/><motor joint="lift"/></actuator></mujoco>"""


def _struck(seed: int, rate: float) -> Any:
    """Time, positions, velocities and efforts (n, 2) of both; every second in an encoder's steps.

    Commands jump, at rest most of the time for every third seed.
    """
    rng = RNG(seed)
    model = mujoco.MjModel.from_xml_string(STRIKING)
    data = mujoco.MjData(model)
    every = round(1.0 / (rate * model.opt.timestep))
    goal, rows = np.zeros(2), []
    kp, kv = np.array([rng.uniform(20, 200), rng.uniform(200, 3000)]), np.array([2.0, 40.0])
    for k in range(16_000):
        if k % (6000 if seed % 3 == 0 else 800) == 0:
            goal = np.array([rng.uniform(-0.5, 1.5), rng.uniform(-0.4, 0.5)])
        data.ctrl[:] = kp * (goal - data.qpos) - kv * data.qvel
        if k % every == 0:
            rows.append([data.time, *data.qpos, *data.qvel, *data.ctrl])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    states = table[:, 1:].reshape(len(table), 3, 2).transpose(1, 0, 2).copy()
    states += np.array([1e-4, 0.01, 0.05])[:, None, None] * rng.standard_normal(states.shape)
    if seed % 2:
        quantum = np.array([1e-3, 0.1, 0.2])[:, None, None]
        states = np.round(states / quantum) * quantum
    return table[:, 0], *states


@pytest.mark.parametrize("rate", [50.0, 500.0, 2000.0])
@pytest.mark.parametrize("seed", range(6))
def test_impacts_are_no_spikes_and_wrong_velocities_and_efforts_are_all_found(
    seed: int, rate: float
) -> None:
    time, q, dq, tau = _struck(seed, rate)
    rng = RNG(200 + seed)
    for k in range(2):
        moved = Moved(time, q[:, k])
        assert not len(wrong_speeds(time, dq[:, k], moved))
        assert not len(wrong_efforts(tau[:, k]))
        rows = np.sort(rng.choice(np.arange(1, len(time) // 10 - 1), 3, replace=False)) * 10
        rows = [*rows[:2], *range(rows[2], rows[2] + 1 + seed % 3)]
        fast, strong = np.ptp(dq[:, k]), np.ptp(tau[:, k])
        wrong = [1e6, -32768.0 * 0.05, *[65535.0] * (len(rows) - 2)]
        for values, least in ((dq, 10.0 * fast + 50.0), (tau, 30.0 * strong + 100.0)):
            spoiled = values[:, k].copy()
            spoiled[rows] = [w if abs(w) > least else np.copysign(least, w) for w in wrong]
            found = wrong_efforts(spoiled) if values is tau else wrong_speeds(time, spoiled, moved)
            assert found.tolist() == rows


@pytest.mark.parametrize("values", [(1e6, 65535.0), (65535.0, -32768.0), (-3e4, 2e4, 1e9)])
def test_wrong_samples_beside_each_other_are_found_together(values: tuple[float, ...]) -> None:
    q = _motion(1, 500.0)
    rows = list(range(700, 700 + len(values)))
    q[rows] = values
    q[[900, 902]] = 65535.0  # the one between is right
    assert spikes(q).tolist() == [*rows, 900, 902]


def test_a_velocity_that_the_positions_show_is_none() -> None:
    time = np.arange(2000) / 100.0
    q = 0.1 * np.sin(time)
    q[1000:] += 0.4  # moved by hand within a sample
    dq = 0.1 * np.cos(time)
    dq[1000] = 40.0
    assert not len(wrong_speeds(time, dq, Moved(time, q)))
    assert wrong_speeds(time, dq, Moved(time, q - 0.4 * (time >= 10.0))).tolist() == [1000]


def test_a_log_says_what_was_wrong_and_is_read_as_without(tmp_path: Path) -> None:
    run = sim.simulated(1.5)
    whole = mjrig.read_recording(sim.write_csv(tmp_path / "whole.csv", run))
    run.q[300, 1] = 1000.0
    read = mjrig.read_recording(sim.write_csv(tmp_path / "spike.csv", run))
    assert [n for n in read.notes if n.startswith("wrist: 1000 at 0.6 s: no motion between")]
    (a,), (b,) = whole.actors.values(), read.actors.values()
    np.testing.assert_allclose(b.qpos, a.qpos, atol=1e-3)


def test_wrong_velocities_and_efforts_of_a_log_are_said_and_read_as_without(tmp_path: Path) -> None:
    run = sim.simulated(1.5)
    whole = mjrig.read_recording(sim.write_npz(tmp_path / "run.npz", run))
    run.dq[300, 1], run.dq[400:402, 1], run.tau[500, 0] = 1e6, -32768.0, 65535.0
    read = mjrig.read_recording(sim.write_npz(tmp_path / "run.npz", run))
    said = [n for n in read.notes if n not in whole.notes]
    low, high = np.delete(run.tau[:, 0], 500).min(), np.delete(run.tau[:, 0], 500).max()
    assert said == [
        f"wrist: velocity 1e+06 at 0.6 s and 2 other samples: neither the samples before and after "
        f"({run.dq[299, 1]:.4g}) nor the change of the positions explains it; read as if it lay "
        "between them",
        "shoulder: effort 6.554e+04 at 1 s: more than 20 times what all its other efforts span "
        f"({low:.4g} to {high:.4g}); read as if it lay between its neighbours",
    ]
    (a,), (b,) = whole.actors.values(), read.actors.values()
    assert a.qvel is not None and b.qvel is not None
    assert a.efforts is not None and b.efforts is not None
    np.testing.assert_allclose(b.qvel, a.qvel, atol=0.1)
    np.testing.assert_allclose(b.efforts.effort, a.efforts.effort, atol=1.0)
