"""What a policy in the loop costs, as a ratio to bare physics and one network call per tick.

    python benchmarks/policy_cost.py

Each round runs physics and the network alone with recorded controls, then the loop from the same
state; processor time, the median of the rounds.
"""

import statistics
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.components import Policy

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_walk.yaml"
ROUNDS, TICKS = 15, 100


def controls(world: mjrig.World, policy: Any) -> list[Any]:
    """The controls of the next ticks; the world is put back."""
    before, found = world.snapshot(), []
    for _ in range(TICKS):
        world.step(1)
        found.append(world.data.ctrl.copy())
        world.step(policy.tick_steps - 1)
    world.restore(before)
    return found


def measured() -> tuple[float, float]:
    """Processor time of the loop, and of physics with network calls [s]."""
    world = mjrig.World(SCENE)
    (policy,) = [c for c in world["quadruped"].components if type(c).__name__ == "Policy"]
    assert isinstance(policy, Policy)
    network, observation = policy._running()._network, policy.observation.copy()
    world.step(1000)
    loop, bare = [], []
    for _ in range(ROUNDS):
        given, before = controls(world, policy), world.snapshot()
        began = time.process_time()
        for ctrl in given:
            network.run(observation, 0)
            world.data.ctrl[:] = ctrl
            mujoco.mj_step(world.model, world.data, policy.tick_steps)
        bare.append(time.process_time() - began)
        there = np.array(world.data.qpos)
        world.restore(before)
        began = time.process_time()
        world.step(TICKS * policy.tick_steps)
        loop.append(time.process_time() - began)
        assert np.array_equal(there, world.data.qpos), "the loop took another way"
    return statistics.median(loop), statistics.median(bare)


if __name__ == "__main__":
    loop, bare = measured()
    print(f"policy in the loop: {loop / bare:.2f} x (physics + one network call per tick)")
    print(f"{1e6 * (loop - bare) / TICKS:.0f} us of ours per tick")
