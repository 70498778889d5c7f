"""PolicyTrial: one episode of a task as a scenario of rollouts, with ground contact and slip."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import PolicyComponent, running_policies
from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.lab.bench.episode_metrics import METRICS, EpisodeLog, episode_metrics
from mjrig.lab.bench.suite import BenchTask, schedule, velocity_columns
from mjrig.lab.rollouts.experiment import PlainScenario, Variation
from mjrig.lab.rollouts.hosts import Host, WorldHost, driven
from mjrig.lab.rollouts.randomisation import Bumps, Randomisation, disturb_policies
from mjrig.lab.rollouts.scenarios import SUNK, UPRIGHT

# Ground -------------------------------------------------------------------------------------------
# The ground under a robot: height above it, what touches it, and how far that slides.


#: Contacts below this force do not count [N].
LEAST_FORCE = 1.0
#: A ray that leaves a body of the robot goes on from this far below [m].
BELOW = 1e-4
_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)


class GroundContacts:
    """What a robot with a free base stands on: all that does not move.

    Args:
        terminate: patterns of bodies that must not touch it.
    """

    def __init__(self, host: Host, terminate: tuple[str, ...]) -> None:
        model = host.robot.model
        self._model, self._data, self._base = model, host.robot.data, host.base_body
        self._is_static = np.asarray(model.body_weldid)[np.asarray(model.geom_bodyid)] == 0
        root = int(model.body_rootid[self._base])
        self._is_own = np.asarray(model.body_rootid)[np.asarray(model.geom_bodyid)] == root
        solid = self._is_static & (np.asarray(model.geom_contype) != 0)
        kinds = np.asarray(model.geom_type)[solid]
        self._is_flat = bool(np.all(kinds == _PLANE))
        self._planes = np.flatnonzero(solid)[kinds == _PLANE]
        prefix = host.robot.model_map.prefix
        names = [model.body(i).name.removeprefix(prefix) for i in range(model.nbody)]
        with pattern_budget():
            patterns = [compile_pattern(p) for p in terminate]
            self._forbidden = np.array([any(p.fullmatch(n) for p in patterns) for n in names])
        self._force, self._speed = np.zeros(6), np.zeros(6)

    def height(self) -> float:
        """Height of the base above the ground under it [m]."""
        at = np.array(self._data.xpos[self._base])
        if self._is_flat:
            levels = self._data.geom_xpos[self._planes, 2]
            return float(at[2] - (levels.max() if levels.size else 0.0))
        down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
        start = at.copy()
        while True:
            way = mujoco.mj_ray(
                self._model, self._data, start, down, None, 1, self._base, hit, None
            )
            if hit[0] < 0:
                return float(at[2])  # beside everything: it is about to sink below zero
            start[2] -= way
            if not self._is_own[hit[0]]:
                return float(at[2] - start[2])
            start[2] -= BELOW

    def look(self) -> tuple[float, bool]:
        """Speed at which bodies slide, summed [m/s], and whether a forbidden one touches."""
        data = self._data
        if not data.ncon:
            return 0.0, False
        geoms = data.contact.geom
        found: dict[int, float] = {}
        for i in range(len(geoms)):
            a, b = int(geoms[i, 0]), int(geoms[i, 1])
            if self._is_static[b] and self._is_own[a]:
                own = a
            elif self._is_static[a] and self._is_own[b]:
                own = b
            else:
                continue
            mujoco.mj_contactForce(self._model, data, i, self._force)
            if self._force[0] > LEAST_FORCE:
                body = int(self._model.geom_bodyid[own])
                found[body] = max(found.get(body, 0.0), self._slide(body, data.contact.pos[i]))
        touches = any(self._forbidden[body] for body in found)
        return sum(found.values()), touches

    def _slide(self, body: int, point: Any) -> float:
        """Horizontal speed of a body at a point."""
        kind = int(mujoco.mjtObj.mjOBJ_XBODY)
        mujoco.mj_objectVelocity(self._model, self._data, kind, body, self._speed, 0)
        turn, speed = self._speed[:3], self._speed[3:]
        x, y, z = point - self._data.xpos[body]
        return float(
            np.hypot(speed[0] + turn[1] * z - turn[2] * y, speed[1] + turn[2] * x - turn[0] * z)
        )


# Trial --------------------------------------------------------------------------------------------
# PolicyTrial: one episode of a task as a scenario of rollouts, which bring back ends and resuming.


@dataclass(frozen=True)
class PolicyTrial(PlainScenario):
    """An episode of a policy on a task; `text` is the task's data as JSON."""

    text: str

    @classmethod
    def of(cls, task: BenchTask) -> "PolicyTrial":
        """The test of a task."""
        left_out = ("set", "add", "vary", "levels", "randomise")  # the sweep has them otherwise
        data = {name: v for name, v in task.to_data().items() if name not in left_out}
        return cls(json.dumps(data, sort_keys=True))

    @cached_property
    def task(self) -> BenchTask:
        """The task."""
        return BenchTask(**json.loads(self.text))

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return float(self.task.duration)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return METRICS

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of the one world, from its present state."""
        assert isinstance(host, WorldHost)
        seed = variations[0].seed
        return [episode_metrics(record_episode(host, self.task, randomisation, seed))]


def policy_of(robot: Articulation) -> PolicyComponent:
    """The policy of a robot.

    Raises:
        BindingError: it has none, or several.
    """
    found = running_policies(robot.components)
    if len(found) != 1:
        raise BindingError(f"{robot.name}: must have one Policy for a bench, has {len(found)}")
    return found[0]


def record_episode(
    host: WorldHost,
    task: BenchTask,
    randomisation: Randomisation,
    seed: int,
    watch: Callable[[], object] = lambda: None,
) -> EpisodeLog:
    """Run an episode from the present state to its end, or to a fall; `watch` sees every tick."""
    return _Episode(host, task, randomisation, seed).run(watch)


class _Episode:
    """One world, sampled at the policy's ticks."""

    def __init__(
        self, host: WorldHost, task: BenchTask, randomisation: Randomisation, seed: int
    ) -> None:
        self._host, self._task = host, task
        self._policy = policy_of(host.robot)
        self._every, stand = self._policy.tick_steps, self._policy.stand_steps
        self._steps = stand + max(1, round(task.duration / host.timestep))
        self._velocities = velocity_columns(self._policy.command_space)
        self._policy.follow(schedule(task, self._policy.command_space, seed))
        disturb_policies(host, randomisation, [seed], task.duration)
        self._bumps = Bumps(host, randomisation, [seed], task.duration, stand, self._advance)
        self._stand = stand
        data = host.world.data
        self._data = data
        outputs = len(data.actuator_force)
        self._forces, self._speeds = (np.zeros((self._every, outputs)) for _ in range(2))
        self._filled = 0
        self._own = [b.output_address for b in host.robot.actuators]
        self._ground = GroundContacts(host, task.terminate) if host.base is not None else None
        self._lowest = SUNK * self._ground.height() if self._ground is not None else 0.0

    def run(self, watch: Callable[[], object]) -> EpisodeLog:
        """The samples."""
        rows: dict[str, list[FloatArray]] = {name: [] for name in _ROWS}
        fell_at = None
        for done in range(0, self._steps, self._every):
            self._bumps.step(min(self._every, self._steps - done))
            if not self._host.alive[0]:
                break
            watch()
            slip, fell = self._look()
            if done >= self._stand:
                self._sample(rows, slip)
            self._filled = 0
            if fell:
                fell_at = max(0.0, self._host.world.time - self._stand * self._host.timestep)
                break
        return self._log(rows, fell_at)

    def _advance(self, n: int) -> None:
        """Step one by one, since power changes within a tick."""
        force, speed = self._data.actuator_force, self._data.actuator_velocity

        def sample() -> None:
            self._forces[self._filled] = force
            self._speeds[self._filled] = speed
            self._filled += 1

        self._host.step_each(n, sample)

    def _look(self) -> tuple[float, bool]:
        """Sliding speed of what touches the ground, and whether the robot has fallen."""
        if self._ground is None or self._host.base is None:
            return 0.0, False
        slip, touches = self._ground.look()
        x, y = self._data.qpos[self._host.base + 4 : self._host.base + 6]
        leans = 1.0 - 2.0 * (x * x + y * y) < UPRIGHT
        return slip, bool(leans or touches or self._ground.height() < self._lowest)

    def _sample(self, rows: dict[str, list[FloatArray]], slip: float) -> None:
        host, data = self._host, self._data
        period = self._every * host.timestep
        work = self._forces[: self._filled, self._own] * self._speeds[: self._filled, self._own]
        power = np.abs(work).sum(axis=1).mean(), np.maximum(work, 0.0).sum(axis=1).mean()
        base, dof = host.base, host.base_dof
        free = base is not None and dof is not None
        rows["pose"].append(data.qpos[base : base + 7].copy() if free else _NONE)  # type: ignore[operator]
        rows["twist"].append(data.qvel[dof : dof + 6].copy() if free else _NONE)  # type: ignore[operator]
        rows["command"].append(np.array(self._policy.command_now)[self._velocities])
        rows["position"].append(host.position[0])
        rows["velocity"].append(host.readout.velocity(data.qvel, data.actuator_velocity))
        rows["target"].append(host.target[0])
        rows["effort"].append(host.effort[0])
        rows["at_limit"].append(host.at_limit[0].astype(float))
        rows["power"].append(np.array(power))
        rows["slip"].append(np.array(slip * period))

    def _log(self, rows: dict[str, list[FloatArray]], fell_at: float | None) -> EpisodeLog:
        host, period = self._host, self._every * self._host.timestep
        ranges = [b.joint_range or (-np.inf, np.inf) for b in driven(host.robot)]
        body = host.base_body
        mass = 0.0 if body is None else float(host.robot.model.body_subtreemass[body])
        return EpisodeLog(
            period=period,
            settle=round(self._task.settle / period),
            duration=float(self._task.duration),
            mass=mass,
            limits=np.array(ranges).reshape(-1, 2),
            fell_at=fell_at,
            **{name: np.array(values) for name, values in rows.items()},
        )


_NONE = np.zeros(0)
_ROWS = (
    "pose", "twist", "command", "position", "velocity", "target", "effort", "at_limit", "power",
    "slip",
)  # fmt: skip
