"""PolicyTrial: one episode of a task as a test of a sweep, which brings executors and resuming."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyComponent, running_policies
from mjrig.errors import BindingError
from mjrig.sim.world import World
from mjrig.tuning.objectives.disturbance import Bumps, disturb_policies
from mjrig.tuning.objectives.objective_hosts import Host, WorldHost, driven
from mjrig.tuning.objectives.objective_run import SUNK, UPRIGHT
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.suites.command_draws import schedule, velocity_columns
from mjrig.tuning.suites.episode_metrics import METRICS, EpisodeLog, episode_metrics
from mjrig.tuning.suites.ground import GroundContacts
from mjrig.tuning.suites.suite import BenchTask


@dataclass(frozen=True)
class PolicyTrial:
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
    def batchable(self) -> bool:
        """Whether many worlds can run it at once."""
        return False

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return float(self.task.duration)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return METRICS

    def prepare(self, world: World) -> None:
        """Nothing to prepare."""

    def run(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> list[dict[str, float]]:
        """The metrics of the one world, from its present state."""
        assert isinstance(host, WorldHost)
        return [episode_metrics(record_episode(host, self.task, randomisation, seeds[0]))]


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
        step, data, k = self._host.world.step, self._data, self._filled
        force, speed = data.actuator_force, data.actuator_velocity
        for i in range(k, k + n):
            step()
            self._forces[i] = force
            self._speeds[i] = speed
        self._filled = k + n
        self._host.look_for_divergence()

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
