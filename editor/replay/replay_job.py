"""ReplayAnswer of a recording or policy with a scene, as a job of the worker process.

Nothing of a window is imported here: the worker process needs none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.core.findings import Finding
from mjrig.core.sim.world import World
from mjrig.editor.session.job_worker import JobReport
from mjrig.editor.text import tr
from mjrig.lab.replay.result import described
from mjrig.lab.replay.runner import replay
from mjrig.lab.report.content import Report
from mjrig.lab.rollouts.scene_bundle import LocalScene


@dataclass(frozen=True)
class ReplayAnswer:
    """The report of a comparison, and the findings in it."""

    report: Report
    diagnosis: list[Finding]


@dataclass(frozen=True)
class CompareJob:
    """A replay in a copy of the scene; `settings` are arguments of `replay`."""

    scene: LocalScene
    name: str
    execution: str
    source: Path
    settings: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Title of the job."""
        return self.source.name

    def run(self, report: JobReport) -> ReplayAnswer:
        """Replay and compare.

        Raises:
            MjrigError: it cannot be replayed.
        """
        report(None, tr("replaying"))
        world = World(self.scene.load(), self.execution)
        result = replay(self.source, world, **self.settings)
        result.scene = self.name
        return ReplayAnswer(described(result), result.diagnosis)
