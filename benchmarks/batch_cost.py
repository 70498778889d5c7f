"""Speed-up of 64 worlds on two threads over one, measured in turns inside one process."""

import statistics
import time
from pathlib import Path

import mjrig

SCENES = Path(__file__).parent.parent / "config" / "scenes"
WORLDS, STEPS, ROUNDS = 64, 20, 15


def timed(batch: mjrig.Batch) -> float:
    """Wall time of a hundred steps of all worlds [s]."""
    start = time.perf_counter()
    for _ in range(5):
        batch.step(STEPS)
    return time.perf_counter() - start


def main() -> None:
    """Print one line per robot."""
    print(f"{'robot':<12}{'worlds':>7}{'1 thread':>12}{'2 threads':>12}{'faster':>9}{'bar':>6}")
    for robot in ("quadruped", "humanoid"):
        one, two = (mjrig.Batch(SCENES / f"{robot}.yaml", WORLDS, threads=n) for n in (1, 2))
        for batch in (one, two):
            batch.step(200)
        pairs = [(timed(one), timed(two)) for _ in range(ROUNDS)]
        a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(x / y for x, y in pairs)
        print(f"{robot:<12}{WORLDS:>7}{a:>10.3f} s{b:>10.3f} s{ratio:>8.2f}x{1.7:>6}")


if __name__ == "__main__":
    main()
