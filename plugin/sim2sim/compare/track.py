"""Track: states and efforts of a run, step by step, and falls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.errors import RecordingError
from mjrig.readings.applied_effort import AppliedEffort
from mjrig.readings.sampler import by_column
from mjrig.sim.plant_of import plant_of
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import base_joint

#: A robot has fallen when the cosine of its base's tilt is below this, …
UPRIGHT = 0.5
#: … or when its base is below this share of the height it started from.
LOW = 0.5
#: An effort within this share of its limit counts as saturated.
AT_LIMIT = 1e-6


@dataclass
class Track:
    """Row k of `qpos` and `qvel` is the state before step k; of the others what acted in step k.

    `target` are the setpoints of a robot, (steps, 3, actuators); `effort` (steps, actuators).
    `taken` steps were taken; fewer than asked for where the physics diverged.
    """

    timestep: float
    qpos: FloatArray
    qvel: FloatArray
    force: FloatArray
    target: Mapping[str, FloatArray] = field(default_factory=dict)
    effort: Mapping[str, FloatArray] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    taken: int = 0
    diverged: bool = False

    @property
    def duration(self) -> float:
        """Simulated seconds."""
        return self.taken * self.timestep


def record(world: World, steps: int, *, before: Callable[[int], object] | None = None) -> Track:
    """Step a world and sample everything; stops where MuJoCo had to reset it.

    `before` is called with the number of every step before it is taken.

    Raises:
        RecordingError: there are no steps to simulate.
    """
    if steps < 1:
        raise RecordingError("there are no steps to simulate")
    model, data, robots = world.model, world.data, world.articulations
    targets = {n: np.empty((steps, *r.setpoints.values.shape)) for n, r in robots.items()}
    rows = [(targets[n], r.setpoints.values) for n, r in robots.items()]
    track = Track(
        world.timestep,
        np.empty((steps + 1, model.nq)),
        np.empty((steps + 1, model.nv)),
        np.empty((steps, data.actuator_force.size)),
        limits={n: plant_of(world, r).joints.get("torque_limit", {}) for n, r in robots.items()},
    )
    track.qpos[0], track.qvel[0] = data.qpos, data.qvel
    began = float(data.time)
    for k in range(steps):
        if before is not None:
            before(k)
        world.step(1)
        if data.time < began + (k + 0.5) * track.timestep:
            track.diverged = True
            break
        track.qpos[k + 1], track.qvel[k + 1] = data.qpos, data.qvel
        track.force[k] = data.actuator_force
        for history, values in rows:
            history[k] = values
        track.taken = k + 1
    n = track.taken
    track.qpos, track.qvel, track.force = track.qpos[: n + 1], track.qvel[: n + 1], track.force[:n]
    track.target = {name: history[:n] for name, history in targets.items()}
    track.effort = {name: efforts(r, track.force) for name, r in robots.items()}
    return track


def efforts(robot: Articulation, force: FloatArray) -> FloatArray:
    """Efforts per setpoint column at the joint, after all limits, (steps, actuators)."""
    return AppliedEffort(by_column(robot), robot.actuators)(force)


def saturation(efforts: FloatArray, limit: float) -> float:
    """Share of the steps at the limit, 0 to 1."""
    if not len(efforts) or not 0.0 < limit < np.inf:
        return 0.0
    return float(np.mean(np.abs(efforts) >= limit * (1.0 - AT_LIMIT)))


# Base and falls ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class BasePath:
    """The path of a floating base: position (steps, 3) and uprightness, the cosine of its tilt.

    Uprightness is measured against the start, so that a base that is mounted askew is upright.
    """

    position: FloatArray
    upright: FloatArray
    quaternion: FloatArray

    @property
    def start(self) -> list[float]:
        """Where it began [m]."""
        return [float(x) for x in self.position[0]]

    @property
    def end(self) -> list[float]:
        """Where it ended [m]."""
        return [float(x) for x in self.position[-1]]

    def fell_at(self) -> int | None:
        """The step at which it has fallen: tilted by more than 60°, or below half its height.

        Height is measured from z = 0; a base that starts there can only fall by tilting.
        """
        height = self.position[:, 2]
        low = height < LOW * height[0] if height[0] > 0.05 else np.zeros(len(height), dtype=bool)
        fallen = np.flatnonzero((self.upright < UPRIGHT) | low)
        return int(fallen[0]) if len(fallen) else None


def base_of(world: World, robot: Articulation, qpos: FloatArray) -> BasePath | None:
    """The path of a robot's floating base; None for a robot that is fixed: it cannot fall."""
    base = base_joint(world, robot)
    if base is None:
        return None
    at = base.qpos
    quaternion = qpos[:, at.start + 3 : at.stop]
    up = up_in_base(quaternion)
    return BasePath(qpos[:, at.start : at.start + 3], up @ up[0], quaternion)


def up_in_base(quaternions: FloatArray) -> FloatArray:
    """The vertical in the frame of a base, (n, 3)."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)


def yaw(quaternions: FloatArray) -> FloatArray:
    """Heading about the vertical, unwrapped [rad]."""
    w, x, y, z = quaternions.T
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
