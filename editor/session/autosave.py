"""Autosave: unsaved changes can be recovered after a crash."""

import json
import os
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mjrig.files.writing import write_atomically
from mjrig.scene_edit.scene import Scene

INTERVAL = 10.0  # [s]


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
    """Writes a scene with unsaved changes periodically; `done` when they are saved."""

    def __init__(self, scene_path: Path | None, where: Path | None = None) -> None:
        self._scene = str(scene_path.resolve()) if scene_path is not None else ""
        self._where = where or folder()
        key = sha256(f"{self._scene}:{os.getpid()}".encode()).hexdigest()[:16]
        self._file = self._where / f"{key}.json"
        self._last_text = ""
        self._due = 0.0

    def tick(self, scene: Scene, *, is_dirty: bool, now: float | None = None) -> bool:
        """Write the scene if it is dirty, due and different; returns whether it did."""
        now = time.monotonic() if now is None else now
        if now < self._due:
            return False
        self._due = now + INTERVAL
        if not is_dirty:
            self.done()
            return False
        text = scene.to_text()
        if text == self._last_text:
            return False
        self._where.mkdir(parents=True, exist_ok=True)
        data = {
            "scene": self._scene,
            "base": str(scene.base.resolve()),
            "pid": os.getpid(),
            "began": _began(os.getpid()),
            "at": time.time(),
            "text": text,
        }
        write_atomically(self._file, json.dumps(data))
        self._last_text = text
        return True

    def done(self) -> None:
        """Everything is saved, or was given up on purpose."""
        self._file.unlink(missing_ok=True)
        self._last_text = ""


def unsaved(where: Path | None = None) -> list[Unsaved]:
    """Autosaves of processes that no longer run, newest first; unreadable files are skipped."""
    found = []
    for file in (where or folder()).glob("*.json"):
        try:
            data = json.loads(file.read_text("utf-8"))
            scene, base = str(data["scene"]), Path(str(data["base"]))
            left = Unsaved(file, scene, str(data["text"]), float(data["at"]), base)
            alive = _is_alive(int(data["pid"])) and _began(int(data["pid"])) == data["began"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if not alive:
            found.append(left)
    return sorted(found, key=lambda u: -u.at)


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
