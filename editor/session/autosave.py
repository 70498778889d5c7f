"""Autosave: unsaved changes can be recovered, however the editor ended."""

import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.errors import MjrigError
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.properties.registry import described
from mjrig.core.scene.editing.scene import Scene

INTERVAL = 10.0  # [s]
#: Names this run of the program. Containers give every run the same process number, and the start
#: time of a process counts from the boot of the computer.
_RUN = secrets.token_hex(16)


def folder() -> Path:
    """Where unsaved scenes are kept: MJRIG_STATE, else the user's state folder."""
    own = os.environ.get("MJRIG_STATE")
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(own) if own else Path(base) / "mjrig" / "autosave"


@dataclass(frozen=True)
class Unsaved:
    """An autosaved scene that was never saved to its file."""

    file: Path
    scene: str
    text: str
    at: float
    #: What relative paths in it start from.
    base: Path

    def forget(self) -> None:
        """Delete it."""
        self.file.unlink(missing_ok=True)


class Autosave:
    """Writes a scene with unsaved changes periodically, to a file with a random name.

    No other run ever writes to that file, so that changes which nobody has recovered yet stay.
    `done` only after a decision of the user: the changes were saved or explicitly discarded.
    """

    def __init__(self, scene_path: Path | None, where: Path | None = None) -> None:
        self._scene = str(scene_path.resolve()) if scene_path is not None else ""
        self._where = where or folder()
        self._file = self._where / f"{secrets.token_hex(16)}.json"
        self._last_text = ""
        self._due = 0.0
        #: Why the latest changes could not be written, with the folder; empty: they are safe.
        self.problem = ""

    @property
    def is_written(self) -> bool:
        """Whether there is something to recover."""
        return bool(self._last_text)

    def tick(self, scene: Scene, *, is_dirty: bool, now: float | None = None) -> bool:
        """Write the scene if it is dirty, due and different; returns whether it did.

        The first change is written at once, since a crash may follow from it.

        Raises:
            MjrigError: it cannot be written; it is tried again after the interval.
        """
        if not is_dirty:
            self.done()
            return False
        now = time.monotonic() if now is None else now
        if now < self._due:
            return False
        self._due = now + INTERVAL
        return self.write(scene)

    def write(self, scene: Scene) -> bool:
        """Write the scene if it differs from the last time; returns whether it did.

        Raises:
            MjrigError: it cannot be written; `problem` has the reason.
        """
        try:
            is_new = self._write(scene.to_text(), scene.base)
        except Exception as error:
            reason = (isinstance(error, OSError) and error.strerror) or described(error)
            self.problem = f"{self._where}: {reason}"
            raise MjrigError(self.problem) from error
        self.problem = ""
        return is_new

    def _write(self, text: str, base: Path) -> bool:
        if text == self._last_text and self._file.exists():  # another editor may have deleted it
            return False
        self._where.mkdir(parents=True, exist_ok=True)
        data = {
            "scene": self._scene,
            "base": str(base.resolve()),
            "run": _RUN,
            "pid": os.getpid(),
            "began": _began(os.getpid()),
            "at": time.time(),
            "text": text,
        }
        write_atomically(self._file, json.dumps(data))
        self._last_text = text
        return True

    def done(self) -> None:
        """The user saved everything, or discarded it explicitly."""
        if self._last_text:
            with suppress(OSError):  # the next start offers it once more
                self._file.unlink(missing_ok=True)
        self._last_text, self._due, self.problem = "", 0.0, ""


def unsaved(where: Path | None = None) -> list[Unsaved]:
    """Autosaves of processes that no longer run, newest first; unreadable files are skipped."""
    found = []
    for file in (where or folder()).glob("*.json"):
        try:
            data = json.loads(file.read_text("utf-8"))
            scene, base = str(data["scene"]), Path(str(data["base"]))
            left = Unsaved(file, scene, str(data["text"]), float(data["at"]), base)
            alive = _is_running(int(data["pid"]), data["began"], data.get("run"))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if not alive:
            found.append(left)
    return sorted(found, key=lambda u: -u.at)


def _is_running(pid: int, began: object, run: object) -> bool:
    """Whether the program that wrote an autosave still runs, as far as this computer shows."""
    if pid == os.getpid() and run != _RUN:  # an earlier run, in a container for example
        return False
    return _is_alive(pid) and _began(pid) == began


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _began(pid: int) -> str:
    """Start time of a process, which a later one with the same pid does not share; or empty."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
