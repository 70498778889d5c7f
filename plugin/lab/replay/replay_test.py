"""ReplayTest: recorded setpoints through the controllers of a scene, as a scenario of rollouts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.runner import replay
from mjrig.lab.replay.source import as_recording
from mjrig.lab.rollouts.experiment import PlainScenario, Variation
from mjrig.lab.rollouts.hosts import Host, WorldHost
from mjrig.lab.rollouts.randomisation import Randomisation


@dataclass(frozen=True)
class ReplayTest(PlainScenario):
    """The setpoints of a recording run through the controllers of the scene."""

    recording: Path

    @property
    def duration(self) -> float:
        """Simulated time; unknown before the recording is read [s]."""
        return 0.0

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return ("rmse", "worst_rmse", "velocity_rmse", "effort_rmse", "max_error", "fell")

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
        del randomisation, variations  # the recording determines the commands
        assert isinstance(host, WorldHost)
        return [replay_score(host.world, self.recording)]


def replay_score(world: World, recording: Path) -> dict[str, float]:
    """The numbers of a replay in targets mode."""
    source = _read(recording, recording.stat().st_mtime_ns, world.timestep)
    found = replay(source, world, mode="targets", diagnose=False)
    joints = list(found.joints.values())

    def rms(name: str) -> float:
        values = [v for joint in joints if (v := joint[name]) is not None]
        return float(np.sqrt(np.mean(np.square(values)))) if values else 0.0

    return {
        "rmse": rms("rmse_position"),
        "worst_rmse": max((float(j["rmse_position"] or 0.0) for j in joints), default=0.0),
        "velocity_rmse": rms("rmse_velocity"),
        "effort_rmse": rms("rmse_effort"),
        "max_error": float(found.max_abs_position_error or 0.0),
        "fell": float(found.fell),
    }


@lru_cache(maxsize=1)
def _read(path: Path, changed: int, timestep: float) -> Recording:
    """The recording, read once for all trials; `changed` is when the file was."""
    del changed
    return as_recording(path, timestep=timestep)
