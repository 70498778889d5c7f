"""Track: states and efforts of a run, step by step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.efforts import AppliedEffort
from mjrig.core.control.sampler import by_column
from mjrig.core.errors import RecordingError
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.core.sim.world import World


@dataclass
class Track:
    """Row k of `qpos` and `qvel` is the state before step k; of the others what acted in step k.

    `target` are the setpoints of a robot, (steps, 3, actuators); `effort` the efforts at the joints
    after all limits, per setpoint column, (steps, actuators).
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
    applied = {n: AppliedEffort(by_column(r), r.actuators) for n, r in robots.items()}
    sums = {n: np.empty((steps, len(a.dofs))) for n, a in applied.items()}
    summed = [(sums[n], a.sums) for n, a in applied.items() if len(a.dofs)]
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
        for history, read in summed:
            history[k] = read(data)
        track.taken = k + 1
    n = track.taken
    track.qpos, track.qvel, track.force = track.qpos[: n + 1], track.qvel[: n + 1], track.force[:n]
    track.target = {name: history[:n] for name, history in targets.items()}
    track.effort = {
        name: a.of(np.concatenate([track.force[:, a.outputs], sums[name][:n]], axis=-1))
        for name, a in applied.items()
    }
    return track


def advance(world: World, steps: int) -> None:
    """Step a world, for a caller that reads the state after it."""
    world.step(steps)
