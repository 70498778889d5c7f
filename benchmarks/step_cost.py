"""Cost of a controlled step, as a ratio to the bare `mj_step` loop.

Both loops run the same compiled model from the same settled state, in turns inside one process;
the ratio of each pair is taken and the median reported. In the bare loop ctrl is held. On the
humanoid the stacks are those of the `bench_*.yaml` scenes, put on its controller.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import yaml

import mjrig

SCENES = Path(__file__).parent.parent / "config" / "scenes"
STACK = ("ki", "integral_max", "delay", "clamps")
#: Stack → (bench scene, executions that are measured).
STACKS = {
    "pd": ("quadruped", ("python", "native", "compiled", "auto")),
    "pid": ("bench_pid", ("python", "native", "compiled", "auto")),
    "dc": ("bench_dc", ("python", "native", "compiled", "auto")),
    "delay": ("bench_delay", ("python", "native", "compiled", "auto")),
    "full": ("bench_full", ("python", "compiled", "auto")),
}
#: (stack, execution, chunk, robot) → bar.
BARS = {
    ("pd", "python", 1, "quadruped"): 1.60,
    ("pd", "python", 1, "humanoid"): 1.40,
    ("full", "compiled", 1, "quadruped"): 1.20,
    ("full", "compiled", 1, "humanoid"): 1.12,
}


def bar(stack: str, execution: str, chunk: int, robot: str) -> float | None:
    """The bar of one line, or None."""
    if execution == "native":
        return 1.06 if chunk == 20 else 1.15
    return BARS.get((stack, execution, chunk, robot))


def scene(robot: str, stack: str) -> mjrig.Scene:
    """A robot under a stack."""
    file = SCENES / f"{STACKS[stack][0]}.yaml"
    if robot == "quadruped":
        return mjrig.Scene.load(file)
    base = yaml.safe_load((SCENES / "humanoid.yaml").read_text(encoding="utf-8"))
    model = yaml.safe_load(file.read_text(encoding="utf-8"))["actors"][0]["components"][0]
    component = base["actors"][0]["components"][0]
    component["type"] = model["type"]
    component.update({k: model[k] for k in STACK if k in model})
    return mjrig.Scene.parse(yaml.safe_dump(base), base=SCENES)


def timed(call: Callable[[], object]) -> float:
    """Wall time of one call [s]."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cost(world: mjrig.World, chunk: int, rounds: int, steps: int) -> tuple[float, float]:
    """Median ratio to the bare loop, and the median bare step [s]."""
    model, data = world.model, world.data
    world.step(1000)
    state = world.snapshot()

    def bare() -> None:
        for _ in range(steps):
            mujoco.mj_step(model, data)

    def controlled() -> None:
        for _ in range(steps // chunk):
            world.step(chunk)

    ratios, bare_steps = [], []
    for _ in range(rounds):
        world.restore(state)
        first = timed(bare)
        world.restore(state)
        second = timed(controlled)
        ratios.append(second / first)
        bare_steps.append(first / steps)
    return statistics.median(ratios), statistics.median(bare_steps)


def main() -> None:
    """Print one line per robot, stack, execution and chunk size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stack", choices=STACKS, nargs="*", default=list(STACKS))
    options = parser.parse_args()
    columns = ("robot", "stack", "execution", "call", "bare step", "ratio", "bar")
    print("{:<11}{:<7}{:<20}{:<10}{:>11}{:>8}{:>7}".format(*columns))
    for robot in ("quadruped", "humanoid"):
        for stack in options.stack:
            for execution in STACKS[stack][1]:
                world = mjrig.World(scene(robot, stack), execution)
                ran = execution if execution != "auto" else f"auto ({world.execution})"
                for chunk in (1, 20):
                    ratio, step = cost(world, chunk, options.rounds, options.steps)
                    limit = bar(stack, execution, chunk, robot)
                    print(
                        f"{robot:<11}{stack:<7}{ran:<20}{f'step({chunk})':<10}"
                        f"{step * 1e6:>8.1f} µs{ratio:>8.3f}{limit or '':>7}"
                    )


if __name__ == "__main__":
    main()
