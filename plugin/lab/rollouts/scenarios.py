"""Scenarios of an experiment: test signals on joints of a suspended robot, and free runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.sampler import SAMPLE_HZ
from mjrig.core.errors import PropertyError
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.experiment import PlainScenario, Variation
from mjrig.lab.rollouts.hosts import Host
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.randomisation import Bumps, Randomisation, disturb_policies
from mjrig.lab.rollouts.signals import (
    LONGEST,
    BoolArray,
    Kind,
    Metrics,
    Signal,
    Trace,
    follow,
    limit,
    measure,
    settling,
    signal_steps,
)

# Signal test ---------------------------------------------------------------------------------
# Signal test: tracking of steps, sines and chirps by the joints of a suspended robot.


@dataclass(frozen=True)
class SignalTest(PlainScenario):
    """The joints of a suspended robot are driven by a signal, one after the other or together.

    Metrics of a step are those of the worst joint. It is followed until the joints rest; of one
    that never does, times count as long as it was followed, its overshoot is that beyond the step,
    its error that of its limit by extrapolation, or of its mean if it swings.

    A world whose joints are not still before the signal has no metrics, but a problem.

    Attributes:
        signal: what is added to the setpoints.
        joints: patterns of joint or actuator names; empty: every bound one.
        together: all at once.
    """

    signal: Signal = field(default_factory=Signal)
    batchable = True
    joints: tuple[str, ...] = ()
    together: bool = False

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
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of each world, from its present state."""
        seeds = [variation.seed for variation in variations]
        chosen = self._chosen(host)
        noise = self._noise(host, randomisation, seeds)
        self._settle(host)
        ready = host.save()
        found: list[_Responses] = []
        for group in [chosen] if self.together else [[c] for c in chosen]:
            host.load(ready)
            found.append(self._follow(host, group, noise))
        complete = np.all([r.length > 0 for r in found], axis=0)
        return [
            _summary(self, [r.of(i) for r in found]) if complete[i] else {}
            for i in range(host.count)
        ]

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
        asked = signal_steps(self.signal, h)[0]
        ends_at_rest = self.signal.kind is Kind.STEP and noise is None
        rows: list[list[FloatArray]] = []
        cut: list[BoolArray] = []
        base, start = host.target, host.position[:, columns]
        moved, is_able = base.copy(), np.array([not text for text in host.problems])

        def advance(step: int, offsets: FloatArray) -> BoolArray:
            moved[:, columns] = base[:, columns] + offsets[:, None]
            host.command(moved if noise is None else moved + noise[:, step])
            host.step()
            rows.append([moved[:, columns], host.position[:, columns], host.effort[:, columns]])
            cut.append(host.at_limit[:, columns])
            return host.alive & is_able

        length = follow(
            [self.signal] * host.count,
            h,
            lambda: rows[-1][1] if rows else start,
            advance,
            longest=None if ends_at_rest else asked,
        )
        target, position, effort = np.array(rows).transpose(1, 0, 2, 3)
        time: FloatArray = np.arange(1.0, len(rows) + 1.0) * h
        return _Responses(
            self.signal, asked, time, length, start, target, position, effort, np.array(cut)
        )


@dataclass(frozen=True)
class _Responses:
    """Responses of some joints of all worlds to a signal, (steps, worlds, joints).

    The response of each world counts for its `length`, 0 where there is none; the signal lasts
    `asked` steps.
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


# Free run ------------------------------------------------------------------------------------
# Free-run test: tracking, effort, limits, travel, and falls.


#: A base that leans by more than 60° from how it started has fallen: the cosine of that.
UPRIGHT = 0.5
#: A base below this share of its height at the start has fallen.
SUNK = 0.5


@dataclass(frozen=True)
class FreeRun(PlainScenario):
    """A run of the scene, with whatever components command it."""

    batchable = True
    metrics = ("rmse", "worst_rmse", "effort", "saturation", "travel", "fell")
    duration: float = 5.0

    def __post_init__(self) -> None:
        if not 0.0 < self.duration < math.inf:
            raise PropertyError(f"the duration of a run must be > 0, got {self.duration:g}")

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of each world, from its present state."""
        seeds = [variation.seed for variation in variations]
        steps = max(1, round(self.duration / host.timestep))
        every = max(1, round(1.0 / (SAMPLE_HZ * host.timestep)))
        tally = _Tally(host)
        bumps = Bumps(host, randomisation, seeds, self.duration)
        by_policy = disturb_policies(host, randomisation, seeds, self.duration)
        noise = None if by_policy else _noise(host, randomisation, seeds, -(-steps // every))
        still = host.target
        for k, done in enumerate(range(0, steps, every)):
            if noise is not None:
                host.command(still + noise[:, k])
            bumps.step(min(every, steps - done))
            host.report(min((done + every) / steps, 1.0))
            tally.note(host, still if noise is not None else host.target)
            if not host.alive.any():
                break
        return tally.metrics(host)


def _noise(
    host: Host, randomisation: Randomisation, seeds: list[int], samples: int
) -> FloatArray | None:
    """(worlds, samples, n) offsets of the setpoints."""
    if not randomisation.noise:
        return None
    count = len(host.readout.names)
    return np.array([randomisation.noise_offsets(seed, samples, count) for seed in seeds])


class _Tally:
    """Sums over the samples of a run."""

    def __init__(self, host: Host) -> None:
        shape = (host.count, len(host.readout.names))
        self._samples = 0
        self._error, self._effort, self._cut = (np.zeros(shape) for _ in range(3))
        self._fell = np.zeros(host.count, np.bool_)
        self._start = self._base(host)
        self._up = _up(self._start[:, 3:]) if self._start is not None else None

    def note(self, host: Host, target: FloatArray) -> None:
        self._samples += 1
        self._error += (target - host.position) ** 2
        self._effort += host.effort**2
        self._cut += host.at_limit
        if self._start is not None and self._up is not None:
            assert host.base is not None
            base = host.qpos[:, host.base : host.base + 7]
            upright = np.einsum("ij,ij->i", self._up, _up(base[:, 3:]))
            self._fell |= (base[:, 2] < SUNK * self._start[:, 2]) | (upright < UPRIGHT)

    def metrics(self, host: Host) -> list[dict[str, float]]:
        error = self._error / self._samples
        found = {
            "rmse": np.sqrt(error.mean(axis=1)),
            "worst_rmse": np.sqrt(error.max(axis=1)),
            "effort": np.sqrt((self._effort / self._samples).mean(axis=1)),
            "saturation": (self._cut / self._samples).mean(axis=1),
            "travel": np.zeros(host.count),
            "fell": self._fell.astype(float),
        }
        if self._start is not None:
            base = self._base(host)
            assert base is not None
            found["travel"] = np.hypot(*(base - self._start)[:, :2].T)
        return [{n: float(v[i]) for n, v in found.items()} for i in range(host.count)]

    def _base(self, host: Host) -> FloatArray | None:
        """(worlds, 7) poses of the free bases."""
        return None if host.base is None else host.qpos[:, host.base : host.base + 7].copy()


def _up(quat: FloatArray) -> FloatArray:
    """(worlds, 3) the world's z axis, seen from each body: the last row of its rotation."""
    w, x, y, z = quat.T
    up: FloatArray = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    return up.T
