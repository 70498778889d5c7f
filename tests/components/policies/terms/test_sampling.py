"""Noise, bias, interval and delay of observation terms."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import Policy
from tests.components.policies.small import idle, make
from tests.wording import regex

TERM = {"type": "JointPositions", "relative": False}


def observations(world: mjrig.World, policy: Policy, ticks: int) -> Any:
    """The observations of some ticks, of an arm at known positions: 1, 2, 3, … and their tens."""
    rows = []
    for tick in range(ticks):
        world.data.qpos[:] = [tick, 10 * tick]
        world.step()
        rows.append(policy.observation.copy())
    return np.array(rows, dtype=np.float64)


def truth(ticks: int, interval: int = 1, delay: int = 0) -> Any:
    """What a sensor that samples seldom and late says of those positions, by its definition."""
    late = np.maximum(np.arange(ticks) - delay, 0)
    taken = late // interval * interval
    return np.stack([taken, 10 * taken], axis=1).astype(np.float64)


def made(folder: Path, seed: int = 0, **more: Any) -> tuple[mjrig.World, Policy]:
    terms = [{**TERM, **more}]
    observation = {"terms": terms}
    world, _, policy = make(folder, policy={"seed": seed}, observation=observation)
    return world, policy


@pytest.mark.parametrize("delay", [0, 1, 4])
@pytest.mark.parametrize("interval", [1, 2, 5])
def test_samples_are_held_and_late(tmp_path: Path, interval: int, delay: int) -> None:
    world, policy = made(tmp_path, interval=interval, delay=delay)
    assert np.array_equal(observations(world, policy, 14), truth(14, interval, delay))
    world.reset()
    assert np.array_equal(observations(world, policy, 14), truth(14, interval, delay))


@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_noise_has_its_amplitude_and_distribution(tmp_path: Path, kind: str) -> None:
    world, policy = made(tmp_path, noise=[0.5, 2.0], noise_kind=kind)
    errors = observations(world, policy, 1500) - truth(1500)
    spread = errors.std(axis=0) / [0.5, 2.0]
    assert spread == pytest.approx(3**-0.5 if kind == "uniform" else 1.0, rel=0.08)
    assert errors.mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.2)
    assert (np.abs(errors) > [0.501, 2.001]).any() == (kind == "gaussian")
    assert abs(np.corrcoef(errors[1:, 0], errors[:-1, 0])[0, 1]) < 0.1  # white
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.1  # of each value on its own


def test_noise_is_of_the_sample_not_of_the_tick(tmp_path: Path) -> None:
    world, policy = made(tmp_path, noise=0.1, interval=4)
    assert (np.diff(observations(world, policy, 12)[:, 0]) != 0).nonzero()[0].tolist() == [3, 7]


def test_a_bias_is_constant_until_the_reset_and_depends_on_the_seed(tmp_path: Path) -> None:
    world, policy = made(tmp_path, bias=0.25)
    first = observations(world, policy, 5) - truth(5)
    assert np.ptp(first, axis=0) == pytest.approx([0.0, 0.0], abs=1e-5)
    assert first.all() and np.abs(first).max() <= 0.25
    world.reset()
    assert np.array_equal(observations(world, policy, 5) - truth(5), first)
    policy.seed = 7
    world.reset()
    other = observations(world, policy, 5) - truth(5)
    assert not np.isclose(other, first).any() and np.abs(other).max() <= 0.25


def test_the_draws_do_not_depend_on_other_terms(tmp_path: Path) -> None:
    def second(folder: str, **more: Any) -> Any:
        (tmp_path / folder).mkdir()
        terms = [{"type": "Constant", "values": [1.0], **more}, {**TERM, "noise": 1.0}]
        idle(tmp_path / folder / "policy.onnx", 1)
        observation = {"terms": terms}
        world, _, policy = make(tmp_path / folder, joints=["shoulder"], observation=observation)
        return observations(world, policy, 4)[:, 1:]

    assert np.array_equal(second("plain"), second("noisy", noise=1.0, bias=2.0))


def test_noise_comes_before_clip_and_scale(tmp_path: Path) -> None:
    world, policy = made(tmp_path, noise=50.0, clip=0.5, scale=4.0, order="clip_then_scale")
    seen = observations(world, policy, 40)
    assert set(np.unique(np.abs(seen)).tolist()) >= {2.0} and np.abs(seen).max() == 2.0


def test_a_rewound_run_draws_the_same(tmp_path: Path) -> None:
    world, policy = made(tmp_path, noise=0.3, bias=0.2, interval=2, delay=3)
    observations(world, policy, 5)
    kept = world.snapshot()
    first = observations(world, policy, 9)
    world.restore(kept)
    assert np.array_equal(observations(world, policy, 9), first)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"noise": -0.1}, "noise: must be >= 0: it is …"),
        ({"bias": [0.1, -0.1]}, r"bias: must be >= 0"),
        ({"noise": [1, 2, 3]}, "noise: must have 2 values, one … 3"),
        ({"delay": -1}, "delay: …>= 0"),
        ({"interval": 0}, "interval: …>= 1"),
    ],
)
def test_what_a_sensor_cannot_be_is_refused(tmp_path: Path, more: Any, problem: str) -> None:
    with pytest.raises(mjrig.MjrigError, match=regex(problem)):
        made(tmp_path, **more)
