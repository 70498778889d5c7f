"""Many worlds with a policy in the loop: each has the bits of a world of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from tests.components.policies import batch_variants as made
from tests.plugin.tuning.scenes import BUNDLED
from tests.worlds import refused

WALK = BUNDLED / "quadruped_walk.yaml"


def same_bits(folder: Path, seed: int, count: int, **more: Any) -> mjrig.PolicyBatch:
    """Run a random policy in a batch and alone, and compare everything."""
    scene = made.variant(folder, seed, **more).scene
    random = np.random.default_rng((seed, 1))
    chunks = random.integers(1, 30, 4).tolist()
    told = [made.treatment(random, len(chunks)) for _ in range(count)]
    batch = made.together(scene, told, chunks)
    policy = batch.policy()
    for i, one in enumerate(told):
        world, own = made.alone(scene, one, chunks)
        assert policy.ticks[i] == own.ticks
        np.testing.assert_array_equal(policy.observation[i], own.observation)
        np.testing.assert_array_equal(policy.action[i], own.action)
        np.testing.assert_array_equal(policy.command_now[i], own.command_now)
        for field in ("time", "qpos", "qvel", "ctrl"):
            np.testing.assert_array_equal(batch.data(field)[i], getattr(world.data, field), field)
    return batch


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_bundled_walk_has_the_bits_of_worlds_alone(count: int) -> None:
    batch = mjrig.PolicyBatch(WALK, count)
    policy = batch.policy("quadruped")
    commands = np.random.default_rng(count).uniform(-0.3, 0.6, (count, 3))
    policy.set_command(commands)
    batch.step(333)
    assert policy.together and not policy.reason
    for i in range(count):
        world = mjrig.World(WALK, "native")
        own: Any = world["quadruped"].part("Policy")
        own.command = commands[i]
        world.step(333)
        np.testing.assert_array_equal(batch.qpos[i], world.data.qpos)
        np.testing.assert_array_equal(batch.qvel[i], world.data.qvel)
    assert len({row.tobytes() for row in batch.qpos}) == count
