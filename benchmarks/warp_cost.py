"""The engine warp on this machine: time per step against MuJoCo, and how far the two are apart.

    python benchmarks/warp_cost.py [--worlds 1 16 64] [--steps 100] [--scenes quadruped arm]

CPU time of this process on one thread (on a GPU: wall time), after the kernels have been loaded;
the engines take turns, step by step. Every world has gains of its own.
"""

import argparse
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

import mjrig
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.warp_device import description
from mjrig.lab.report.output import format_table

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
#: Steps after which the engines are compared.
LOOKS = (1, 10, 50, 100, 200, 300)


def pair(name: str, worlds: int) -> tuple[WarpBatch, mjrig.Batch]:
    """The same worlds on both engines, each with other gains."""
    random = np.random.default_rng(0)
    path = SCENES / f"{name}.yaml"
    made = WarpBatch(path, worlds), mjrig.Batch(path, worlds, threads=1)
    factors = random.uniform(0.7, 1.3, (2, worlds, 1))
    for batch in made:
        batch.data("actuator_force")
        for robot in batch.robots.values():
            for controller in robot.controllers:
                gains = {
                    n: controller.gains[n] * f for n, f in zip(("kp", "kv"), factors, strict=True)
                }
                controller.set_gains(**gains)
        batch.step()  # loads the kernels
        batch.reset()
    return made


def take_turns(
    name: str, worlds: int, steps: int, clock: Callable[[], float]
) -> tuple[list[float], dict[int, tuple[float, float, float]]]:
    """Milliseconds per step of each engine; by step: largest and median Δq, largest Δforce."""
    batches, seconds = pair(name, worlds), [0.0, 0.0]
    apart: dict[int, tuple[float, float, float]] = {}
    home = [{n: r.setpoints.copy() for n, r in b.robots.items()} for b in batches]
    for step in range(1, steps + 1):
        for k, batch in enumerate(batches):
            for robot, start in home[k].items():
                batch[robot].setpoints[0] = start[0] + 0.1 * np.sin(0.05 * step)
            began = clock()
            batch.step()
            seconds[k] += clock() - began
        if step in LOOKS:
            q, force = (
                np.abs(batches[0].data(f) - batches[1].data(f)) for f in ("qpos", "actuator_force")
            )
            apart[step] = float(q.max()), float(np.median(q.max(axis=1))), float(force.max())
    if batches[0].overflow.any() or batches[0].diverged.any():
        raise SystemExit(f"{name}: a world overflowed or diverged; nothing was measured")
    return [1e3 * s / steps for s in seconds], apart


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--scenes", nargs="+", default=["quadruped", "bench_delay", "bench_dc"])
    options = parser.parse_args()
    found = description()
    clock = time.perf_counter if found["device"] == "cuda" else time.process_time
    print(f"{found['versions']}, {found['device']}")
    costs, differences = [], []
    for name in options.scenes:
        for worlds in options.worlds:
            (warp, mujoco), apart = take_turns(name, worlds, options.steps, clock)
            ratio = f"{warp / mujoco:.1f}"
            costs.append((name, str(worlds), f"{warp:.1f}", f"{mujoco:.2f}", ratio))
        differences += [(name, str(k), *(f"{x:.1e}" for x in row)) for k, row in apart.items()]
    print("\n".join(format_table(("scene", "worlds", "warp ms", "MuJoCo ms", "ratio"), costs)))
    head = ("scene", "steps", "largest Δq", "median of worlds", "largest Δforce")
    print("\n".join(format_table(head, differences)))


if __name__ == "__main__":
    main()
