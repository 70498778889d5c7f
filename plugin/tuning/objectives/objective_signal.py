"""Signal test: tracking of steps, sines and chirps by the joints of a suspended robot."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.gains.bench import Bench
from mjrig.gains.response import Kind, Metrics, Signal, Trace, limit, measure
from mjrig.gains.stillness import (
    LONGEST,
    BoolArray,
    is_over,
    may_be_over,
    settling,
    signal_steps,
)
from mjrig.pattern_budget import pattern_budget
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
        rise_time, settling_time, overshoot, steady_state_error: of a step, the worst joint. It is
            followed until the joints rest; of one that never does, times count as long as it
            was followed, its overshoot is that beyond the step, its error that of its limit
            by extrapolation, or of its mean if it swings.

    A world whose joints are not still before the signal has no metrics, but a problem.

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
        """Simulated time, at least [s]; it takes longer until the robot is still."""
        return self.signal.duration

    def prepare(self, world: World) -> None:
        """Suspend the robots of a world and remove all components but controllers."""
        Bench(world)

    def run(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> list[dict[str, float]]:
        """The metrics of each world, from its present state."""
        chosen = self._chosen(host)
        noise = self._noise(host, randomisation, seeds)
        self._settle(host)
        ready = host.save()
        found: list[_Responses] = []
        for group in [chosen] if self.together else [[c] for c in chosen]:
            host.load(ready)
            found.append(self._follow(host, group, noise))
        return [_summary(self, [r.of(i) for r in found]) for i in range(host.count)]

    def _settle(self, host: Host) -> None:
        """Bring each world to rest, in as many steps as it takes on its own."""
        ready: list[tuple[Any, BoolArray]] = []
        left = np.ones(host.count, np.bool_)
        latest: FloatArray = np.zeros((host.count, 1))
        for still, speed in settling(host.step, lambda: host.position, host.timestep, self.signal):
            latest = speed
            new = left & (still.all(axis=1) | ~host.alive)
            if new.any():
                ready.append((host.save(), new))
                left = left & ~new
            if not left.any():
                break
        for state, worlds in ready:
            host.load(state, worlds)
        for i in np.flatnonzero(left):
            name = host.readout.names[int(np.argmax(latest[i]))]
            host.problems[i] = f"{name} is never at rest before the signal, in {LONGEST:g} s"

    @pattern_budget()
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
        h = host.timestep
        asked, most = signal_steps(self.signal, h)
        most = most if self.signal.kind is Kind.STEP and noise is None else asked
        rows: list[list[FloatArray]] = []
        cut: list[BoolArray] = []
        base, start = host.target, host.position[:, columns]
        moved, length = base.copy(), np.full(host.count, most, dtype=np.intp)
        left = np.array([not text for text in host.problems])
        for k in range(most):
            if may_be_over(k, self.signal, h):
                positions = np.array([start, *(row[1] for row in rows)]).transpose(1, 2, 0)
                over = [all(is_over(joint, self.signal, h) for joint in w) for w in positions]
                new = left & (np.array(over) | ~host.alive)
                length[new], left = k, left & ~new
                if not left.any():
                    break
            moved[:, columns] = base[:, columns] + self.signal.held(k * h)
            host.command(moved if noise is None else moved + noise[:, k])
            host.step()
            rows.append([moved[:, columns], host.position[:, columns], host.effort[:, columns]])
            cut.append(host.at_limit[:, columns])
        target, position, effort = np.array(rows).transpose(1, 0, 2, 3)
        time: FloatArray = np.arange(1.0, len(rows) + 1.0) * h
        length = np.minimum(length, len(rows))
        return _Responses(
            self.signal, asked, time, length, start, target, position, effort, np.array(cut)
        )


@dataclass(frozen=True)
class _Responses:
    """Responses of some joints of all worlds to a signal, (steps, worlds, joints).

    The response of each world counts for its `length`; the signal lasts `asked` steps.
    """

    signal: Signal
    asked: int
    time: FloatArray
    length: npt.NDArray[np.intp]
    start: FloatArray
    target: FloatArray
    position: FloatArray
    effort: FloatArray
    cut: BoolArray

    def of(self, world: int) -> list["_Joint"]:
        """What every joint of a world did."""
        found, n = [], int(self.length[world])
        for j in range(self.target.shape[2]):
            effort = self.effort[:n, world, j]
            position, target = self.position[:n, world, j], self.target[:n, world, j]
            start = float(self.start[world, j])
            trace = Trace(self.time[:n], target, position, effort, effort, effort, start)
            squared = float(np.mean(effort[: self.asked] ** 2))
            cut = float(np.mean(self.cut[: self.asked, world, j]))
            found.append(
                _Joint(trace, measure(trace, self.signal), self.signal.amplitude, squared, cut)
            )
        return found


@dataclass(frozen=True)
class _Joint:
    """The response of one joint."""

    trace: Trace
    metrics: Metrics
    amplitude: float
    squared_effort: float
    saturation: float

    def time(self, name: str) -> float:
        """A time, or how long it was followed."""
        value: float | None = getattr(self.metrics, name)
        return float(self.trace.time[-1]) if value is None else value

    @property
    def overshoot(self) -> float:
        """Beyond the final value or, without one, beyond a step as large as that of the target."""
        if self.metrics.overshoot is not None:
            return self.metrics.overshoot
        share = (self.trace.position - self.trace.start) / self.amplitude
        return max(0.0, float(share.max()) - 1.0)

    @property
    def error(self) -> float:
        """Target minus the final position or, without one, minus the best guess of it."""
        return float(self.trace.target[-1]) - limit(self.trace.position)[0]


def _summary(test: SignalTest, groups: list[list[_Joint]]) -> dict[str, float]:
    joints = [one for group in groups for one in group]
    found = {
        "rmse": float(np.sqrt(np.mean([j.metrics.rmse**2 for j in joints]))),
        "effort": float(np.sqrt(np.mean([j.squared_effort for j in joints]))),
        "saturation": float(np.mean([j.saturation for j in joints])),
    }
    if test.signal.kind is not Kind.STEP:
        return found
    return found | {
        "rise_time": max(j.time("rise_time") for j in joints),
        "settling_time": max(j.time("settling_time") for j in joints),
        "overshoot": max(j.overshoot for j in joints),
        "steady_state_error": max(abs(j.error) for j in joints),
    }
