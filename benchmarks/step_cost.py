"""What a controlled step costs, as a ratio to the bare `mj_step` loop.

Both loops start from the same settled state and run in turns inside one process; the ratio of each
pair is taken and the median reported. In the bare loop the last ctrl is held.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import mujoco

import mjrig

SCENES = Path(__file__).parent.parent / "config" / "scenes"


def timed(call: Callable[[], object]) -> float:
    """Wall time of one call [s]."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cost(scene: str, execution: str, chunk: int, rounds: int, steps: int) -> tuple[float, float]:
    """Median ratio to the bare loop, and the median bare step [s]."""
    world = mjrig.World(SCENES / f"{scene}.yaml", execution)
    model, data = world.model, world.data
    world.step(1000)
    state = world.snapshot()

    def bare() -> None:
        for _ in range(steps):
            mujoco.mj_step(model, data)

    def controlled() -> None:
        for _ in range(steps // chunk):
            world.step(chunk)

    ratios, steps_taken = [], []
    for _ in range(rounds):
        world.restore(state)
        first = timed(bare)
        world.restore(state)
        second = timed(controlled)
        ratios.append(second / first)
        steps_taken.append(first / steps)
    return statistics.median(ratios), statistics.median(steps_taken)


def main() -> None:
    """Print one line per scene and chunk size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    print(f"{'scene':<12}{'execution':<12}{'call':<12}{'bare step':>12}{'ratio':>8}")
    for scene in ("quadruped", "humanoid"):
        for chunk in (1, 20):
            ratio, step = cost(scene, "python", chunk, options.rounds, options.steps)
            print(
                f"{scene:<12}{'python':<12}{f'step({chunk})':<12}{step * 1e6:>9.1f} µs{ratio:>8.2f}"
            )


if __name__ == "__main__":
    main()
