"""What a sweep costs beside the same steps in a bare `mujoco.batch.Batch`, in turns."""

import argparse
import statistics
import time
from pathlib import Path

import mujoco.batch

import mjrig
from mjrig.tuning.objective_run import FreeRun
from mjrig.tuning.space import Choices, Space
from mjrig.tuning.sweep import sweep

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped.yaml"
BAR = 1.2


def bare(sets: int, duration: float, threads: int) -> float:
    """Wall time of the steps alone [s]; models and gains are there already."""
    world = mjrig.World(SCENE, "native")
    batch = mujoco.batch.Batch(world.model, sets, threads)
    qpos, ctrl = batch.bind("qpos"), batch.bind("ctrl")
    qpos[:], ctrl[:] = world.data.qpos, world.data.ctrl
    start = time.perf_counter()
    batch.step(nstep=round(duration / world.timestep))
    return time.perf_counter() - start


def whole(sets: int, duration: float, threads: int, executor: str) -> float:
    """Wall time of a sweep over as many gain sets, from scene file to ranking [s]."""
    side = round(sets**0.5)
    space = Space(
        (
            Choices.read(f"quadruped.PDController.kp=100:220:{side}"),
            Choices.read(f"quadruped.PDController.kv=3:7:{sets // side}"),
        )
    )
    start = time.perf_counter()
    swept = sweep(SCENE, space, FreeRun(duration), executor=executor, workers=threads)
    taken = time.perf_counter() - start
    assert len(swept.results) == sets and swept.best is not None
    return taken


def main() -> None:
    """Print one line per way of working."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=256)
    parser.add_argument("--duration", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", nargs="+", default=["inline", "processes"])
    options = parser.parse_args()
    about = (options.sets, options.duration, options.threads)
    rounds = [
        (bare(*about), *(whole(*about, name) for name in options.executors))
        for _ in range(options.rounds)
    ]
    print(f"{options.sets} gain sets × {options.duration:g} s of the quadruped, medians")
    print(f"{'':<12}{'time':>10}{'ratio':>8}{'bar':>6}")
    print(f"{'bare batch':<12}{statistics.median(r[0] for r in rounds):>8.2f} s")
    for k, name in enumerate(options.executors, 1):
        seconds = statistics.median(r[k] for r in rounds)
        ratio = statistics.median(r[k] / r[0] for r in rounds)
        print(f"{name:<12}{seconds:>8.2f} s{ratio:>8.2f}{BAR:>6}")


if __name__ == "__main__":
    main()
