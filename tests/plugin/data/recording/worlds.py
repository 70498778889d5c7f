"""Small worlds to record, and what they say step by step."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import Recording

Steer = Callable[[mjrig.World, int], None]


def record(
    world: mjrig.World, path: Path, steps: int, steer: Steer = lambda world, step: None
) -> tuple[Recording, dict[str, tuple[FloatArray, FloatArray]]]:
    """Record so many steps; also raw effort and effort as each robot says them after each step."""
    told: dict[str, list[tuple[FloatArray, FloatArray]]] = {n: [] for n in world.articulations}
    with mjrig.Recorder(world, path):
        for step in range(steps):
            steer(world, step)
            world.step()
            for name, robot in world.articulations.items():
                told[name].append((robot.raw_effort, robot.effort))
    rows = {name: np.array(pairs) for name, pairs in told.items()}
    return mjrig.read_recording(path), {n: (a[:, 0], a[:, 1]) for n, a in rows.items()}


def bound(robot: mjrig.Articulation) -> list[int]:
    """The columns of the actuators `robot.effort` speaks of."""
    return [robot.actuator_names.index(b.actuator) for b in robot.bindings]


def assert_same_efforts(
    world: mjrig.World, recording: Recording, told: dict[str, tuple[FloatArray, FloatArray]]
) -> None:
    """Recorded efforts have the bits of what was read step by step."""
    for name, (raw, effort) in told.items():
        efforts = recording.actors[name].efforts
        assert efforts is not None
        assert efforts.raw is not None
        columns = bound(world[name])
        np.testing.assert_array_equal(efforts.effort[:, columns], effort)
        np.testing.assert_array_equal(efforts.raw[:, columns], raw)


def wiggle(world: mjrig.World, step: int) -> None:
    """Move all targets every seven steps."""
    if step % 7 == 0:
        rng = np.random.default_rng(step)
        for robot in world.articulations.values():
            size = len(robot.actuator_names)
            robot.set_targets(rng.normal(size=size), velocity=rng.normal(size=size))
