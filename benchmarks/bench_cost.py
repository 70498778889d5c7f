"""How long `mjrig bench` takes for 1,000 episodes of 10 s of one policy, from some of them.

python benchmarks/bench_cost.py        # 40 episodes, extrapolated
python benchmarks/bench_cost.py 1000   # all of them

The command itself is run, with its report. Beside the wall time stands the processor time of its
processes per core: what the wall time would be if nothing else ran.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_walk.yaml"
ALL, FEW = 1000, 4
SUITE = """
title: cost
tasks: [{name: walk, command: grid, duration: 10, randomise: "start=0.03"}]
"""


def measured(episodes: int) -> tuple[float, float]:
    """Wall time, and processor time per core [s]."""
    with TemporaryDirectory() as folder:
        suite = Path(folder) / "suite.yaml"
        suite.write_text(SUITE)
        options = ["--suite", suite, "--seeds", episodes, "-o", Path(folder) / "out"]
        command = [sys.executable, "-m", "mjrig", "bench", SCENE, *options]
        began, used = time.perf_counter(), processor_time()
        subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL)
        spent = (processor_time() - used) / (os.cpu_count() or 1)
        return time.perf_counter() - began, spent


def processor_time() -> float:
    """Of the commands that have ended, and of their workers [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    if episodes >= ALL:
        wall, spent = measured(episodes)
        print(f"{episodes} episodes of 10 s: {wall:.0f} s, bar 480 s")
    else:
        few, some = measured(FEW), measured(episodes)
        # Without the start of the processes.
        each = [(s - f) / (episodes - FEW) for f, s in zip(few, some, strict=True)]
        wall, spent = (f + (ALL - FEW) * e for f, e in zip(few, each, strict=True))
        print(f"{1e3 * each[0]:.0f} ms per episode of 10 s on all cores")
        print(f"{ALL} episodes: {wall:.0f} s extrapolated, bar 480 s")
    print(f"processor time: {spent:.0f} s on each of {os.cpu_count()} cores")
    print(f"load at the end: {os.getloadavg()[0]:.1f}")
