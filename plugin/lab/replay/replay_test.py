"""Recorded setpoints through the controllers of a world, as a scenario of rollouts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.comparison import TOLERANCE, Comparison, base_of, compare
from mjrig.lab.replay.players import TargetsPlayer
from mjrig.lab.replay.source import as_recording
from mjrig.lab.replay.start_state import RecordedStart, naming_memory
from mjrig.lab.rollouts.experiment import PlainScenario, Variation
from mjrig.lab.rollouts.hosts import Host, WorldHost
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.tracks import Track, record

METRICS = ("rmse", "worst_rmse", "velocity_rmse", "effort_rmse", "max_error", "fell")


@dataclass(frozen=True)
class TargetsRun:
    """A run of recorded setpoints: its player, which is closed, how it began, and the result."""

    player: TargetsPlayer
    started: RecordedStart
    track: Track
    comparison: Comparison

    def metrics(self, world: World) -> dict[str, float]:
        """Its numbers."""
        joints = list(self.comparison.joints.values())
        bases = (base_of(world, pair.robot, self.track.qpos) for pair in self.player.matches)
        base = next(filter(None, bases), None)
        has_fallen = self.track.diverged or (base is not None and base.fell_at() is not None)
        return {
            "rmse": _rms([j.rmse_position for j in joints]),
            "worst_rmse": max((j.rmse_position for j in joints), default=0.0),
            "velocity_rmse": _rms([j.rmse_velocity for j in joints]),
            "effort_rmse": _rms([j.rmse_effort for j in joints]),
            "max_error": self.comparison.max_abs_position_error,
            "fell": float(has_fallen),
        }


def _rms(values: Sequence[float | None]) -> float:
    known = [v for v in values if v is not None]
    return float(np.sqrt(np.mean(np.square(known)))) if known else 0.0


@dataclass(frozen=True, eq=False)
class RecordedSetpoints(PlainScenario):
    """The setpoints of a recording in this process; the trace is a `TargetsRun`."""

    metrics = METRICS
    recording: Recording = field(repr=False)
    robot: str = ""
    tolerance: float = TOLERANCE
    resample: bool = False

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of the one world."""
        del randomisation, variations  # the recording determines the commands
        assert isinstance(host, WorldHost)
        recording, world = self.recording, host.world
        with TargetsPlayer(recording, world, robot=self.robot, resample=self.resample) as player:
            started = player.start()
            track = record(world, player.steps)
        found = compare(
            recording, player.matches, track, tolerance=self.tolerance, ratio=player.ratio
        )
        host.traces[0] = done = TargetsRun(player, started, track, found)
        return [done.metrics(world)]


@dataclass(frozen=True)
class ReplayTest(PlainScenario):
    """The setpoints of a recording file through the controllers of the scene."""

    metrics = METRICS
    recording: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The recording."""
        return (self.recording,)

    def relocated(self, locate: Callable[[Path], Path]) -> "ReplayTest":
        """The same on another machine."""
        return ReplayTest(locate(self.recording))

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of the one world."""
        recording = _read(self.recording, self.recording.stat().st_mtime_ns, host.timestep)
        with naming_memory(recording):
            metrics = RecordedSetpoints(recording).run(host, randomisation, variations)
        host.traces[0] = None  # the world of a sweep may be in another process
        return metrics


@lru_cache(maxsize=1)
def _read(path: Path, changed: int, timestep: float) -> Recording:
    """The recording, read once for all trials; `changed` is when the file was."""
    del changed
    return as_recording(path, timestep=timestep)
