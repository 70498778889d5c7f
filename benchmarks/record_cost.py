"""Cost of recording, as a ratio to the same `world.step(1)` loop without a recorder.

Two worlds of the same scene run in turns inside one process; the ratio of each pair is taken and
the median reported, of wall time and of processor time of all threads. `quiet` is the ratio of the
lower quartiles, which other load on the machine disturbs least.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import mjrig

SCENES = Path(__file__).parent.parent / "config" / "scenes"
BARS = {("quadruped", "native"): 1.20, ("humanoid", "native"): 1.10}


def timed(world: mjrig.World, steps: int) -> tuple[float, float]:
    """Wall time and processor time of single steps [s]."""
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(steps):
        world.step(1)
    return time.perf_counter() - start, time.process_time() - busy


def cost(robot: str, execution: str, steps: int, rounds: int, path: Path) -> tuple[float, ...]:
    """Seconds per step without and with a recorder, median ratios of both times, the quiet one."""
    plain, recorded = (mjrig.World(SCENES / f"{robot}.yaml", execution) for _ in range(2))
    for world in (plain, recorded):
        timed(world, 500)
    with mjrig.Recorder(recorded, path, overwrite=True):
        timed(recorded, steps)
        pairs = [(timed(plain, steps), timed(recorded, steps)) for _ in range(rounds)]
    a, b = (statistics.median(pair[i][0] for pair in pairs) / steps for i in range(2))
    ratios = (statistics.median(y[k] / x[k] for x, y in pairs) for k in range(2))
    low = [statistics.quantiles(pair[i][0] for pair in pairs)[0] for i in range(2)]
    return a, b, *ratios, low[1] / low[0]


def main() -> None:
    """Print one line per robot and execution."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="steps per turn (2000)")
    parser.add_argument("--rounds", type=int, default=25, help="turns (25)")
    parser.add_argument("--executions", default="native,compiled,python", help="which (all)")
    options = parser.parse_args()
    columns = f"{'plain':>12}{'recorded':>12}{'ratio':>8}{'cpu':>8}{'quiet':>8}{'bar':>6}"
    print(f"{'robot':<12}{'execution':<12}{columns}")
    with tempfile.TemporaryDirectory() as folder:
        for robot in ("quadruped", "humanoid"):
            for execution in options.executions.split(","):
                path = Path(folder, "run.h5")
                a, b, *ratios = cost(robot, execution, options.steps, options.rounds, path)
                bar = BARS.get((robot, execution), "")
                figures = f"{a * 1e6:>9.1f} µs{b * 1e6:>9.1f} µs"
                figures += "".join(f"{ratio:>8.3f}" for ratio in ratios) + f"{bar:>6}"
                print(f"{robot:<12}{execution:<12}{figures}", flush=True)


if __name__ == "__main__":
    main()
