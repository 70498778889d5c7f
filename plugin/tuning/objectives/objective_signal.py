"""Signal test: tracking of steps, sines and chirps by the joints of a suspended robot."""

from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.gains.bench import SETTLE, Bench
from mjrig.gains.response import Kind, Metrics, Signal, Trace, measure
from mjrig.sim.world import World
from mjrig.tuning.objectives.objective_hosts import Host
from mjrig.tuning.objectives.variation import Randomisation


@dataclass(frozen=True)
class SignalTest:
    """The joints of a suspended robot are driven by a signal, one after the other or together.

    Metrics:
        rmse: error over all tested joints [rad or m].
        effort: root mean square of the applied effort [N·m or N].
        saturation: share of time and joints at a limit.
        rise_time, settling_time, overshoot, steady_state_error: of a step, the worst joint; a time
            not reached within the run counts as the run's length.

    Attributes:
        signal: what is added to the setpoints.
        joints: patterns of joint or actuator names; empty: every bound one.
        together: all at once.
    """

    signal: Signal = field(default_factory=Signal)
    joints: tuple[str, ...] = ()
    together: bool = False

    @property
    def batchable(self) -> bool:
        """Whether many worlds can run it at once."""
        return True

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        always = ("rmse", "effort", "saturation")
        if self.signal.kind is not Kind.STEP:
            return always
        return (*always, "rise_time", "settling_time", "overshoot", "steady_state_error")

    @property
    def duration(self) -> float:
        """Simulated time, at least [s]."""
        return SETTLE + self.signal.duration

    def prepare(self, world: World) -> None:
        """Suspend the robots of a world and remove all components but controllers."""
        Bench(world)

    def run(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> list[dict[str, float]]:
        """The metrics of each world, from its present state."""
        chosen = self._chosen(host)
        noise = self._noise(host, randomisation, seeds)
        host.step(round(SETTLE / host.timestep))
        ready = host.save()
        found: list[_Responses] = []
        for group in [chosen] if self.together else [[c] for c in chosen]:
            host.load(ready)
            found.append(self._follow(host, group, noise))
        return [_summary(self, [r.of(i) for r in found]) for i in range(host.count)]

    def _chosen(self, host: Host) -> list[int]:
        """Columns of the tested joints."""
        slots = host.readout.slots
        if not self.joints:
            return list(range(len(slots)))
        return sorted({i for pattern in self.joints for i in slots.match(pattern)})

    def _steps(self, host: Host) -> int:
        return max(1, round(self.signal.duration / host.timestep))

    def _noise(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> FloatArray | None:
        """(worlds, steps, n) offsets of the setpoints."""
        if not randomisation.noise:
            return None
        shape = (self._steps(host), len(host.readout.names))
        return np.array([randomisation.noise_offsets(seed, *shape) for seed in seeds])

    def _follow(self, host: Host, columns: list[int], noise: FloatArray | None) -> "_Responses":
        steps = self._steps(host)
        shape = (steps, host.count, len(columns))
        target, position, effort = (np.zeros(shape) for _ in range(3))
        cut = np.zeros(shape, np.bool_)
        base, start = host.target, host.position[:, columns]
        moved = base.copy()
        for k in range(steps):
            moved[:, columns] = base[:, columns] + self.signal.offset(k * host.timestep)
            host.command(moved if noise is None else moved + noise[:, k])
            host.step()
            target[k], position[k] = moved[:, columns], host.position[:, columns]
            effort[k], cut[k] = host.effort[:, columns], host.at_limit[:, columns]
        time: FloatArray = np.arange(1.0, steps + 1.0) * host.timestep
        return _Responses(self.signal.kind, time, start, target, position, effort, cut)


@dataclass(frozen=True)
class _Responses:
    """Responses of some joints of all worlds to a signal, (steps, worlds, joints)."""

    kind: Kind
    time: FloatArray
    start: FloatArray
    target: FloatArray
    position: FloatArray
    effort: FloatArray
    cut: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]"

    def of(self, world: int) -> list[tuple[Metrics, float, float]]:
        """(metrics, mean squared effort, saturation) of every joint of a world."""
        found = []
        for j in range(self.target.shape[2]):
            effort = self.effort[:, world, j]
            position, target = self.position[:, world, j], self.target[:, world, j]
            start = float(self.start[world, j])
            trace = Trace(self.time, target, position, effort, effort, effort, start)
            squared = float(np.mean(effort**2))
            cut = float(np.mean(self.cut[:, world, j]))
            found.append((measure(trace, self.kind), squared, cut))
        return found


def _summary(
    test: SignalTest, groups: list[list[tuple[Metrics, float, float]]]
) -> dict[str, float]:
    joints = [one for group in groups for one in group]
    measured = [metrics for metrics, _, _ in joints]
    found = {
        "rmse": float(np.sqrt(np.mean([m.rmse**2 for m in measured]))),
        "effort": float(np.sqrt(np.mean([squared for _, squared, _ in joints]))),
        "saturation": float(np.mean([cut for _, _, cut in joints])),
    }
    if test.signal.kind is not Kind.STEP:
        return found
    length = test.signal.duration
    return found | {
        "rise_time": max(length if m.rise_time is None else m.rise_time for m in measured),
        "settling_time": max(
            length if m.settling_time is None else m.settling_time for m in measured
        ),
        "overshoot": max(m.overshoot or 0.0 for m in measured),
        "steady_state_error": max(abs(m.steady_state_error or 0.0) for m in measured),
    }
