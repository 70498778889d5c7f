"""One call of our numpy pipeline against Newton's CPU actuator, side by side (29 joints).

Newton is not a dependency of mjrig: `--install` installs it into this environment first.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from mjrig.components import PD, PID, DCMotor, Delay, MaxEffort, Pipeline

JOINTS, DT = 29, 0.005


def ours(stack: str) -> Callable[[], object]:
    """One step of our pipeline."""
    clamps = [DCMotor(40.0, 20.0, 30.0), MaxEffort(25.0)]
    pipe = {
        "pd": lambda: Pipeline(PD(40.0, 1.0), size=JOINTS),
        "pd+delay+dc+max": lambda: Pipeline(PD(40.0, 1.0), Delay(3), clamps, size=JOINTS),
        "pid+delay+dc+max": lambda: Pipeline(PID(40, 2, 1, 0.5), Delay(3), clamps, size=JOINTS),
    }[stack]()
    q, qd, target, target_qd, feedforward = np.random.default_rng(0).normal(size=(5, JOINTS))
    return lambda: pipe.step(q, qd, target, target_qd, feedforward, DT)


def newtons(stack: str) -> Callable[[], object]:
    """One step of the same in Newton."""
    na, wp = import_module("newton.actuators"), import_module("warp")
    wp.config.quiet = True

    def array(values: Any, kind: Any = None) -> Any:
        return wp.array(values, dtype=kind or wp.float32, device="cpu")

    def full(value: float) -> Any:
        return array(np.full(JOINTS, value))

    rows = np.random.default_rng(0).normal(size=(5, JOINTS))
    indices = array(np.arange(JOINTS), wp.uint32)
    drive: Any = na.DrivePD(kp=full(40.0), kd=full(1.0))
    if stack.startswith("pid"):
        drive = na.DrivePID(kp=full(40.0), ki=full(2.0), kd=full(1.0), integral_max=full(0.5))
    extra: dict[str, Any] = {}
    if "delay" in stack:
        steps = array(np.full(JOINTS, 3), wp.int32)
        extra["delay"] = na.Delay(delay_steps=steps, max_delay=3)
        extra["clamping"] = [
            na.ClampingDCMotor(
                saturation_effort=full(40.0), velocity_limit=full(20.0), max_motor_effort=full(30.0)
            ),
            na.ClampingMaxEffort(max_effort=full(25.0)),
        ]
    actuator = na.Actuator(indices, drive, **extra)
    state = SimpleNamespace(joint_q=array(rows[0]), joint_qd=array(rows[1]))
    control = SimpleNamespace(
        joint_target_q=array(rows[2]),
        joint_target_qd=array(rows[3]),
        joint_act=array(rows[4]),
        joint_f=full(0.0),
    )
    states = [actuator.state(), actuator.state()]

    def step() -> None:
        control.joint_f.zero_()
        actuator.step(state, control, states[0], states[1], DT)
        states.reverse()

    return step


def timed(call: Callable[[], object], calls: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def main() -> int:
    """Print one line per stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="pip install newton first")
    options = parser.parse_args()
    if options.install:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "newton>=1.7"], check=True)
    if importlib.util.find_spec("newton") is None:
        print("Newton is not installed; run again with --install")
        return 1
    print(f"{'stack':<20}{'ours':>10}{'Newton':>11}{'faster':>9}")
    for stack in ("pd", "pd+delay+dc+max", "pid+delay+dc+max"):
        mine, theirs = ours(stack), newtons(stack)
        for call in (mine, theirs):
            timed(call, 200)
        pairs = [(timed(mine, 300), timed(theirs, 300)) for _ in range(21)]
        ratio = statistics.median(b / a for a, b in pairs)
        a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{stack:<20}{a * 1e6:>7.1f} µs{b * 1e6:>8.1f} µs{ratio:>8.1f}x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
