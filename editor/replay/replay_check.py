"""Comparing a replay with its recording, on a copy of the scene, without the window waiting."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.editor.replay import replay_worker
from mjrig.editor.session.state import EditorState
from mjrig.errors import MjrigError
from mjrig.sim2sim.compare.result import DIFFERS, FAILS, Finding
from mjrig.sim2sim.report.summary import sentence


@dataclass(frozen=True)
class Answer:
    """What a check came to: what report.json says, and where it lies."""

    data: Mapping[str, Any]
    folder: Path

    @property
    def verdict(self) -> str:
        """In a word."""
        return str(self.data["verdict"])

    @property
    def is_bad(self) -> bool:
        """Whether it differs, or does not transfer."""
        return self.verdict in (DIFFERS, FAILS)

    @property
    def figures(self) -> list[str]:
        """The numbers that matter most, in words."""
        data, lines = self.data, [str(self.data["evidence"])]
        error, first = data["max_abs_position_error"], data["first_divergence"]
        if data["bit_exact"]:
            lines.append(f"bit-exact over {data['duration']:g} s")
        elif error is not None:
            lines.append(f"largest position error {_number(error)} rad or m")
        if first is not None:
            lines.append(f"first beyond the tolerance: {first['joint']} at {first['time']:.3f} s")
        if data["fell"]:
            lines.append(f"fell at {data['fell_at']:.2f} s")
        return lines

    @property
    def findings(self) -> list[str]:
        """The diagnosis in words, the most important first."""
        return [sentence(Finding(**found)) for found in self.data["diagnosis"]]

    @property
    def notes(self) -> list[str]:
        """What was assumed or left out."""
        return list(self.data["notes"])

    @property
    def joints(self) -> list[tuple[str, ...]]:
        """Per joint, worst first: name, rmse of position, velocity and effort, saturation."""
        joints: Mapping[str, Mapping[str, Any]] = self.data["joints"]
        order = sorted(joints, key=lambda n: -_size(joints[n].get("rmse_position")))
        return [
            (
                name,
                *(_number(joints[name].get(f"rmse_{n}")) for n in COMPARED),
                _percent(joints[name].get("saturation")),
            )
            for name in order
        ]

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
            raise MjrigError(f"{folder}: cannot be written: {error.strerror}") from error
        return folder / "report.html"


COMPARED = ("position", "velocity", "effort")


def _size(value: Any) -> float:
    """For sorting; JSON has infinity and NaN as text."""
    return 0.0 if value is None else float("inf") if isinstance(value, str) else float(value)


def _number(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.3g}"


def _percent(value: Any) -> str:
    return "-" if value is None else f"{float(value):.1%}"


class Check:
    """One comparison that has begun."""

    def __init__(self, state: EditorState, source: Path, settings: Mapping[str, object]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mjrig-replay-")
        self._errors = tempfile.TemporaryFile()  # a pipe that nobody reads would fill up
        self._said = tempfile.TemporaryFile()
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
        self._process = subprocess.Popen(
            [sys.executable, "-P", replay_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=self._errors,
        )
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stdin:  # it may have ended already
            stdin.write(json.dumps(job).encode())
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Wall time since it began [s]."""
        return time.monotonic() - self._began

    @property
    def is_done(self) -> bool:
        """Whether the process ended."""
        return self._process.poll() is not None

    def wait(self) -> None:
        """Until it ended."""
        self._process.wait()

    def answer(self) -> Answer:
        """What it came to, once it is done.

        Raises:
            MjrigError: it could not be done.
        """
        code = self._process.wait()
        said = _text(self._said)
        if said or code != 0:
            words = _text(self._errors).splitlines()
            raise MjrigError(said or (words[-1] if words else f"it ended with code {code}"))
        report = Path(self._folder.name, "report.json")
        return Answer(json.loads(report.read_text("utf-8")), report.parent)

    def close(self) -> None:
        """End it if it is not done, and take its files away; closing twice is fine."""
        self._process.kill()
        self._process.wait()
        self._errors.close()
        self._said.close()
        self._folder.cleanup()


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace")).strip()
