"""How long `mjrig bench` takes for 1,000 episodes of 10 s of one policy, from some of them.

python benchmarks/bench_cost.py        # 40 episodes, extrapolated
python benchmarks/bench_cost.py 1000   # all of them
"""

import sys
import time
from pathlib import Path

from mjrig.tuning.suites.bench import bench
from mjrig.tuning.suites.suite import BenchSuite

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_walk.yaml"
ALL, FEW = 1000, 4


def suite(episodes: int) -> BenchSuite:
    """One task of 10 s, of that many seeds."""
    task = {"name": "walk", "command": "grid", "duration": 10.0, "randomise": "start=0.03"}
    return BenchSuite.from_data({"title": "cost", "seeds": episodes, "tasks": [task]})


def measured(episodes: int) -> float:
    """Wall time on all cores [s]."""
    began = time.perf_counter()
    bench([SCENE], suite(episodes))
    return time.perf_counter() - began


if __name__ == "__main__":
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    if episodes >= ALL:
        print(f"{episodes} episodes of 10 s: {measured(episodes):.0f} s, bar 480 s")
    else:
        few, some = measured(FEW), measured(episodes)
        each = (some - few) / (episodes - FEW)  # without the start of the processes
        print(f"{1e3 * each:.0f} ms per episode of 10 s on all cores")
        print(f"{ALL} episodes: {few + (ALL - FEW) * each:.0f} s extrapolated, bar 480 s")
