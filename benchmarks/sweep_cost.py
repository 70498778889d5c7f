"""Cost of a sweep relative to the same steps in a bare `mujoco.batch.Batch`, in turns."""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco.batch

import mjrig
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.runner import sweep
from mjrig.lab.sweep.search_space import Range, Space

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


def whole(sets: int, duration: float, threads: int, executor: str, scheduler: str = "") -> float:
    """Wall time of a sweep over as many gain sets, from scene file to ranking [s]."""
    ranges = (
        Range("quadruped.PDController.kp", 100.0, 220.0),
        Range("quadruped.PDController.kv", 3.0, 7.0),
    )
    space = Space(ranges=ranges, samples=sets)
    start = time.perf_counter()
    swept = sweep(
        SCENE,
        space,
        FreeRun(duration),
        executor=executor,
        workers=threads,
        scheduler=scheduler,
    )
    taken = time.perf_counter() - start
    assert len(swept.results) == sets and swept.best is not None
    return taken


def on_dask(sets: int, duration: float, workers: int) -> float:
    """Wall time on a local cluster of worker processes that is there already [s]."""
    from distributed import LocalCluster

    make: Any = LocalCluster
    with make(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        whole(16, 0.01, 1, "dask", cluster.scheduler_address)  # imports, and the scene unpacked
        return whole(sets, duration, 1, "dask", cluster.scheduler_address)


def scaling(sets: int, duration: float, rounds: int) -> None:
    """Print the speed-up by more workers, including the start of processes."""
    ways: dict[str, Callable[[], float]] = {
        "1 process": lambda: whole(sets, duration, 1, "processes"),
        "2 processes": lambda: whole(sets, duration, 2, "processes"),
        "dask, 1 worker": lambda: on_dask(sets, duration, 1),
        "dask, 2 workers": lambda: on_dask(sets, duration, 2),
        "dask, 4 workers": lambda: on_dask(sets, duration, 4),
    }
    times = [{name: way() for name, way in ways.items()} for _ in range(rounds)]
    print(f"{sets} gain sets × {duration:g} s of the quadruped, medians of {rounds}")
    for name in ways:
        seconds = statistics.median(t[name] for t in times)
        speed = statistics.median(t["1 process"] / t[name] for t in times)
        print(f"{name:<16}{seconds:>8.2f} s{speed:>8.2f}x")


def main() -> None:
    """Print one line per parallel backend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=256)
    parser.add_argument("--duration", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", nargs="+", default=["inline", "processes"])
    parser.add_argument(
        "--scaling", action="store_true", help="measure scaling with the number of workers instead"
    )
    options = parser.parse_args()
    if options.scaling:
        scaling(options.sets, options.duration, options.rounds)
        return
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
