"""What a world of many actors needs: peak memory of a process that builds it and takes ten steps.

Each world has a process of its own. The cost of an actor is what the process has more than one
that only imports mjrig; twice the actors should cost twice as much.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import mjrig

ROOT = Path(__file__).parent.parent
#: Name → (number of actors, peak memory that 2 cores and 24 GB should not exceed [MB]).
CASES: dict[str, tuple[int, float | None]] = {
    "50 quadrupeds": (50, None),
    "100 quadrupeds": (100, None),
    "200 quadrupeds": (200, 3000.0),
    "200 pendulums": (200, None),
    "800 free spheres": (800, None),
    "800 static spheres": (800, None),
    "2000 static props": (2000, None),
}


def scene_of(name: str) -> mjrig.Scene:
    """A scene with so many of one thing, side by side."""
    count, kind = CASES[name][0], name.partition(" ")[2]
    actors: list[dict[str, object]] = []
    for i in range(count):
        pose = {"position": [2.0 * (i % 50), 2.0 * (i // 50), 0.5]}
        if kind in ("quadrupeds", "pendulums"):
            robot = kind.removesuffix("s")
            path = ROOT / "assets" / robot / f"{robot}.xml"
            parts = [{"type": "PDController", "kp": 40, "kv": 1}]
            # One floor for all: robots on as many floors would touch every one of them.
            given = {"model": str(path), "components": parts, "scenery": i == 0}
            actors.append({"name": f"robot{i}", "pose": pose, **given})
        else:
            shape = "BoxProp" if i % 2 and kind == "static props" else "SphereProp"
            prop: dict[str, object] = {"type": shape, "free": kind == "free spheres"}
            actors.append({"name": f"thing{i}", "pose": pose, "prop": prop})
    return mjrig.Scene.from_data({"mjrig": 1, "actors": actors})


def peak() -> float:
    """The most memory that this process has had [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def build(name: str, how: str) -> None:
    """Build one world in this process, and print its peak memory and CPU time."""
    began = time.process_time()
    if how == "world":
        mjrig.World(scene_of(name)).step(10)
    print(peak(), time.process_time() - began)


def measured(name: str, how: str) -> tuple[float, float]:
    """Peak memory [MB] and CPU time [s] of a process of its own."""
    command = [sys.executable, __file__, "--build", name, "--how", how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {(done.stderr.strip().splitlines() or ['killed'])[-1]}")
    memory, seconds = done.stdout.split()[-2:]
    return float(memory), float(seconds)


def main() -> None:
    """Measure every world and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=CASES, help="measure one world")
    options.add_argument("--build", help=argparse.SUPPRESS)
    options.add_argument("--how", default="world", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.build:
        build(given.build, given.how)
        return
    empty, _ = measured("nothing", "empty")
    print(f"{'':20} {'MB':>8} {'MB/actor':>9} {'CPU s':>7}   ({empty:.0f} MB without a world)")
    for name, (count, bar) in CASES.items():
        if given.only in (None, name):
            memory, seconds = measured(name, "world")
            verdict = "" if bar is None else f"  bar {bar:g}{'' if memory <= bar else '  MISSED'}"
            each = (memory - empty) / count
            print(f"{name:20} {memory:8.0f} {each:9.2f} {seconds:7.1f}{verdict}")


if __name__ == "__main__":
    main()
