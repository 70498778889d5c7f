"""Free-run test: tracking, effort, limits, travel, and falls."""

import math
from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.readings.sampler import SAMPLE_HZ
from mjrig.sim.world import World
from mjrig.tuning.objectives.disturbance import Bumps, disturb_policies
from mjrig.tuning.objectives.objective_hosts import Host
from mjrig.tuning.objectives.variation import Randomisation

#: A base that leans by more than 60° from how it started has fallen: the cosine of that.
UPRIGHT = 0.5
#: A base below this share of its height at the start has fallen.
SUNK = 0.5


@dataclass(frozen=True)
class FreeRun:
    """A run of the scene, with whatever components command it.

    Metrics:
        rmse: tracking error over all bound actuators [rad or m].
        worst_rmse: of the worst actuator.
        effort: root mean square of the applied effort [N·m or N].
        saturation: share of time and actuators at a limit.
        travel: horizontal distance covered by the free base [m].
        fell: 1 if the free base leaned by 60° or sank to half its height, else 0.
    """

    duration: float = 5.0

    def __post_init__(self) -> None:
        if not 0.0 < self.duration < math.inf:
            raise PropertyError(f"the duration of a run must be > 0, got {self.duration:g}")

    @property
    def batchable(self) -> bool:
        """Whether many worlds can run it at once."""
        return True

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return ("rmse", "worst_rmse", "effort", "saturation", "travel", "fell")

    def prepare(self, world: World) -> None:
        """Nothing to prepare."""

    def run(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> list[dict[str, float]]:
        """The metrics of each world, from its present state."""
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
