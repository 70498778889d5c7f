"""What it costs to begin: a world, the command line, and a state put back.

A world and MjSpec's own way (read the model's file, compile it) are made in turns; CPU time counts,
and the least of many. Reset, snapshot and restore are given in µs and in bare `mj_step`s.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mujoco

import mjrig

ROOT = Path(__file__).parent.parent
SCENE = ROOT / "config" / "scenes" / "quadruped.yaml"
MODEL = ROOT / "assets" / "quadruped" / "quadruped.xml"
#: A world in compiles of MjSpec's own, `mjrig --help` in seconds.
WORLD_BAR, HELP_BAR = 1.5, 0.25
#: In µs, half of what they were.
STATE_BARS = {"reset": 65.0, "snapshot": 37.5, "restore": 37.5}


def cpu(call: Callable[[], object]) -> float:
    """CPU time of one call [s], all threads."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compile_alone() -> object:
    """MjSpec's own way to the model."""
    return mujoco.MjSpec.from_file(str(MODEL)).compile()


def print_line(what: str, value: float, unit: str, bar: float | None, note: str = "") -> None:
    """One measurement, and whether it is within its bar."""
    verdict = "" if bar is None else f"  bar {bar:g}{'' if value <= bar else '  MISSED'}"
    print(f"{what:34} {value:8.2f} {unit}{verdict}{note}")


def measure_worlds(rounds: int) -> None:
    """A world of each execution against MjSpec's own compile."""
    executions = ("auto", "python", "native")
    least = dict.fromkeys(("", *executions), float("inf"))
    for _ in range(rounds):
        least[""] = min(least[""], cpu(compile_alone))
        for execution in executions:
            taken = cpu(lambda execution=execution: mjrig.World(SCENE, execution))  # type: ignore[misc]
            least[execution] = min(least[execution], taken)
    print_line("MjSpec: read and compile", least[""] * 1e3, "ms", None)
    for execution in executions:
        ratio, note = least[execution] / least[""], f"  ({least[execution] * 1e3:.1f} ms)"
        bar = WORLD_BAR if execution == "auto" else None
        print_line(f"World, {execution}", ratio, "×", bar, note)


def measure_help(rounds: int) -> None:
    """CPU of `mjrig --help` in a process of its own."""
    least = float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "mjrig", "--help"], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print_line("mjrig --help", least, "s CPU", HELP_BAR)


def measure_states(rounds: int) -> None:
    """Reset, snapshot and restore of the quadruped, in turns with bare steps."""
    world = mjrig.World(SCENE)
    world.step(100)
    state = world.snapshot()
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: mujoco.mj_step(world.model, world.data),
        "snapshot": world.snapshot,
        "restore": lambda: world.restore(state),
        "reset": world.reset,
    }
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        world.restore(state)
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    for name, bar in STATE_BARS.items():
        note = f"  ({least[name] / least['step']:.2f} mj_steps)"
        print_line(name, least[name] * 1e6, "µs", bar, note)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="how often a world is made (30)")
    rounds = parser.parse_args().rounds
    measure_worlds(rounds)
    measure_help(max(3, rounds // 3))
    measure_states(rounds * 50)


if __name__ == "__main__":
    main()
