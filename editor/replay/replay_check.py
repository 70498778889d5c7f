"""Comparison of a replay with its recording, on a copy of the scene, in the background."""

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.processes.child_process import ChildEndedError, ChildProcess
from mjrig.editor.replay import replay_worker
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.lab.report.content import Report


@dataclass(frozen=True)
class Answer:
    """The result of a check: its report, the findings in it, and the folder of its files."""

    report: Report
    diagnosis: Sequence[Finding]
    folder: Path

    def save(self, folder: Path) -> Path:
        """Copy the report to a folder; returns the page.

        Raises:
            MjrigError: it cannot be written there.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("report.json", "report.html"):
                shutil.copyfile(self.folder / name, folder / name)
        except OSError as error:
            raise MjrigError(
                tr(
                    "{folder}: cannot be written: {reason}",
                    folder=folder,
                    reason=error.strerror,
                )
            ) from error
        return folder / "report.html"


class Check:
    """One comparison that has begun."""

    def __init__(self, state: EditorState, source: Path, settings: Mapping[str, object]) -> None:
        #: The report and its findings, or why there is none; None: there is no answer yet.
        self._received: tuple[Report, Sequence[Finding]] | str | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="mjrig-replay-")
        scene = state.scene
        job = {
            "scene": scene.to_text(),
            "base": str(scene.base.resolve()),
            "trusted": [str(folder) for folder in scene.reading.trusted],
            "name": str(scene.path) if scene.path else "scene",
            "execution": state.simulation.world.requested_execution,
            "source": str(source.resolve()),
            "settings": dict(settings),
            "report": self._folder.name,
        }
        self._child = ChildProcess([replay_worker.__file__])
        self._child.send(job)
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Wall time since it began [s]."""
        return time.monotonic() - self._began

    @property
    def is_done(self) -> bool:
        """Whether there is an answer."""
        return self._received is not None or self._child.poll()

    def wait(self) -> None:
        """Wait until there is an answer."""
        if self._received is None:
            try:
                self._received = self._child.receive()
            except ChildEndedError as error:
                self._received = str(error)
            self._child.stop(wait=False)

    def answer(self) -> Answer:
        """The result, once it is done.

        Raises:
            MjrigError: it could not be done.
        """
        self.wait()
        assert self._received is not None
        if isinstance(self._received, str):
            raise MjrigError(self._received)
        return Answer(*self._received, Path(self._folder.name))

    def close(self) -> None:
        """End it if it is not done, and take its files away; closing twice is fine."""
        self._child.kill()
        self._child.stop()
        self._folder.cleanup()
