"""What policies cost: one in the loop, and those of a PolicyBatch, as ratios measured in turns.

    python benchmarks/policy_cost.py

One world: each round runs physics and the network alone with recorded controls, then the loop from
the same state; processor time. A batch: each round runs the batch, the same steps of a bare batch
with one call of the network per tick, and single worlds with the loop; wall time, since threads
matter, and processor time of the bare ratio. Medians of the rounds.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

import mjrig
from mjrig.components import Policy

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_walk.yaml"
ROUNDS, TICKS = 30, 50
WORLDS, BATCH_ROUNDS, BATCH_TICKS, SINGLES = 64, 9, 10, 8


def policy_in(world: mjrig.World) -> Policy:
    """The policy of the quadruped."""
    found = world["quadruped"].part("Policy")
    assert isinstance(found, Policy)
    return found


def network_call(world: mjrig.World) -> Callable[[], Any]:
    """One plain call of onnxruntime with an observation."""
    policy = policy_in(world)
    network: Any = policy._lead._network
    session, name = network._file.session, network._input
    feeds = {name: policy.observation.copy()[None]}
    return lambda: session.run(None, feeds)


def controls(world: mjrig.World, every: int) -> list[Any]:
    """The controls of the next ticks; the world is put back."""
    before, found = world.snapshot(), []
    for _ in range(TICKS):
        world.step(1)
        found.append(world.data.ctrl.copy())
        world.step(every - 1)
    world.restore(before)
    return found


def one_world() -> list[tuple[float, float]]:
    """Processor time of the loop, and of physics with network calls [s]."""
    world = mjrig.World(SCENE)
    every = policy_in(world).tick_steps
    world.step(1000)
    call, found = network_call(world), []
    for _ in range(ROUNDS):
        given, before = controls(world, every), world.snapshot()
        began = time.process_time()
        for ctrl in given:
            call()
            world.data.ctrl[:] = ctrl
            mujoco.mj_step(world.model, world.data, every)
        bare = time.process_time() - began
        there = np.array(world.data.qpos)
        world.restore(before)
        began = time.process_time()
        world.step(TICKS * every)
        found.append((time.process_time() - began, bare))
        assert np.array_equal(there, world.data.qpos), "the loop took another way"
    return found


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor time of a call [s]."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def many_worlds() -> list[list[tuple[float, float]]]:
    """Times of the batch, of a bare batch with network calls, and of as many single worlds."""
    batch = mjrig.PolicyBatch(SCENE, WORLDS)
    policy = batch.policy()
    random = np.random.default_rng(0)
    policy.set_command(random.uniform([0.0, -0.2, -0.5], [0.6, 0.2, 0.5], (WORLDS, 3)))
    world = mjrig.World(SCENE)
    batch.step(1000)
    world.step(1000)
    every = policy.tick_steps
    bare = mujoco.batch.Batch(batch.model, WORLDS)
    network: Any = policy._network  # type: ignore[attr-defined]
    seen, action = policy.observation.copy(), policy.action.copy()

    def bare_ticks() -> None:
        for _ in range(BATCH_TICKS):
            network.run(seen, policy.ticks, range(WORLDS), action)
            bare.step(nstep=every)

    def singles() -> None:
        for _ in range(SINGLES):
            world.step(BATCH_TICKS * every)

    found = []
    for _ in range(BATCH_ROUNDS):
        bare.state[:] = batch._batch.state
        first, second = timed(lambda: batch.step(BATCH_TICKS * every)), timed(bare_ticks)
        third = timed(singles)
        scale = WORLDS / SINGLES
        found.append([first, second, (third[0] * scale, third[1] * scale)])
    return found


def middle(values: Any) -> float:
    return statistics.median(list(values))


if __name__ == "__main__":
    rounds = one_world()
    ratio = middle(loop / bare for loop, bare in rounds)
    ours = middle(loop - bare for loop, bare in rounds) / TICKS
    print(f"policy in the loop: {ratio:.2f} x (physics + one network call per tick), bar 1.2")
    print(f"{1e6 * ours:.0f} us of ours per tick; {len(rounds)} rounds")
    turns = many_worlds()
    singles, cost = (middle(t[k][0] / t[j][0] for t in turns) for k, j in ((2, 0), (0, 1)))
    processor = middle(t[0][1] / t[1][1] for t in turns)
    print(f"PolicyBatch of {WORLDS}: {singles:.2f} x the throughput of single worlds, bar 1.8")
    print(f"{cost:.2f} x (bare batch + batched call), bar 1.3; {processor:.2f} x in processor time")
