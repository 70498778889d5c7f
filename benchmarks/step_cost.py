"""Cost of a controlled step, as a ratio to the bare `mj_step` loop.

All loops run the same compiled model from the same settled state, in turns inside one process; of
each loop's times the twentieth of the lowest is compared, so that a busy machine disturbs little.
In the bare loop ctrl is held. On the humanoid the stacks are those of the `bench_*.yaml` scenes,
put on its controller. Beside python PD run the loop people write with numpy, and a careful one.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import numpy as np
import yaml

import mjrig

SCENES = Path(__file__).parent.parent / "config" / "scenes"
#: Takes so many steps.
Loop = Callable[[int], object]
STACK = ("ki", "integral_max", "delay", "clamps")
#: Stack → (bench scene, executions that are measured).
STACKS = {
    "pd": ("quadruped", ("python", "native", "compiled", "auto")),
    "pid": ("bench_pid", ("python", "native", "compiled", "auto")),
    "dc": ("bench_dc", ("python", "native", "compiled", "auto")),
    "delay": ("bench_delay", ("python", "native", "compiled", "auto")),
    "full": ("bench_full", ("python", "compiled", "auto")),
}
#: (robot, stack, execution) → bar of step(1).
BARS = {
    ("quadruped", "pd", "python"): 1.40,
    ("quadruped", "full", "python"): 3.0,
    ("quadruped", "full", "compiled"): 1.15,
    ("humanoid", "pd", "python"): 1.20,
    ("humanoid", "full", "compiled"): 1.10,
}
NATIVE = {"quadruped": 1.10, "humanoid": 1.05}
#: What step(1) in python may cost, relative to the script people write.
AGAINST_NAIVE = 0.9


def bar(robot: str, stack: str, execution: str, chunk: int) -> float | None:
    """The bar of one line, or None."""
    if execution == "native":
        return 1.06 if chunk == 20 else NATIVE[robot]
    return BARS.get((robot, stack, execution)) if chunk == 1 else None


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


def low(times: list[float]) -> float:
    """What is left of many times without the disturbed ones: the twentieth of the lowest."""
    return sorted(times)[len(times) // 20]


def cost(
    world: mjrig.World, chunk: int, rounds: int, steps: int, others: Sequence[Loop] = ()
) -> tuple[float, list[float]]:
    """The bare step [s], and the ratios to it of the world and of other loops, interleaved."""
    model, data = world.model, world.data
    world.step(1000)
    state = world.snapshot()

    def bare(count: int) -> None:
        for _ in range(count):
            mujoco.mj_step(model, data)

    def controlled(count: int) -> None:
        for _ in range(count // chunk):
            world.step(chunk)

    loops: list[Loop] = [bare, controlled, *others]
    times: list[list[float]] = [[] for _ in loops]
    for _ in range(rounds):
        for loop, found in zip(loops, times, strict=True):
            world.restore(state)
            world.step()  # the first after a restore checks the setpoints and settles the memory
            found.append(timed(lambda loop=loop: loop(steps)))  # type: ignore[misc]
    first, *rest = map(low, times)
    return first / steps, [time / first for time in rest]


def scripts(world: mjrig.World) -> list[Loop]:
    """The PD loop people write with numpy, and the same with care for every call."""
    robot, model, data = world["quadruped"], world.model, world.data
    pd = robot.controllers[0]
    gains = pd.gains()
    kp, kv, limit = gains["kp"], gains["kv"], gains["torque_limit"]
    target = np.array(robot.setpoints.position)

    def naive(count: int) -> None:
        for _ in range(count):
            data.ctrl[:] = np.clip(
                kp * (target - data.qpos[7:]) - kv * data.qvel[6:], -limit, limit
            )
            mujoco.mj_step(model, data)

    q, v, ctrl, least = data.qpos[7:], data.qvel[6:], data.ctrl, -limit
    a, b = np.zeros_like(target), np.zeros_like(target)

    def careful(count: int) -> None:
        for _ in range(count):
            np.subtract(target, q, a)
            np.multiply(kp, a, a)
            np.multiply(kv, v, b)
            np.subtract(a, b, a)
            np.maximum(a, least, out=a)
            np.minimum(a, limit, out=ctrl)
            mujoco.mj_step(model, data)

    return [naive, careful]


def main() -> None:
    """Print one line per robot, stack, execution and chunk size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--stack", choices=STACKS, nargs="*", default=list(STACKS))
    options = parser.parse_args()
    columns = ("robot", "stack", "execution", "call", "bare step", "ratio", "bar")
    print("{:<11}{:<7}{:<20}{:<10}{:>11}{:>8}{:>7}".format(*columns))

    def show(words: Sequence[str], step: float, ratio: float, limit: float | None) -> None:
        robot, stack, ran, call = words
        print(
            f"{robot:<11}{stack:<7}{ran:<20}{call:<10}{step * 1e6:>8.1f} µs{ratio:>8.3f}"
            f"{limit or '':>7}",
            flush=True,
        )

    for robot in ("quadruped", "humanoid"):
        for stack in options.stack:
            for execution in STACKS[stack][1]:
                world = mjrig.World(scene(robot, stack), execution)
                ran = execution if execution != "auto" else f"auto ({world.execution})"
                for chunk in (1, 20):
                    compared = (robot, stack, execution, chunk) == ("quadruped", "pd", "python", 1)
                    others = scripts(world) if compared else []
                    step, ratios = cost(world, chunk, options.rounds, options.steps, others)
                    limit = bar(robot, stack, execution, chunk)
                    show((robot, stack, ran, f"step({chunk})"), step, ratios[0], limit)
                    if compared:
                        show((robot, stack, "naive numpy script", "loop"), step, ratios[1], None)
                        show((robot, stack, "careful numpy loop", "loop"), step, ratios[2], None)
                        share = ratios[0] / ratios[1]
                        show((robot, stack, "python / naive", ""), step, share, AGAINST_NAIVE)


if __name__ == "__main__":
    main()
