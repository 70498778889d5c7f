"""Folders of the user's settings and caches, never inside a scene; recent files."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from mjrig.core.files.atomic_writes import write_atomically
from mjrig.editor.text import tr

# User files ---------------------------------------------------------------------------------------


NAME = "mjrig"


def config_folder() -> Path:
    """Folder of the user's settings; it may not exist yet."""
    return _folder("XDG_CONFIG_HOME", ".config", tr("Library/Application Support"), "APPDATA")


def cache_folder() -> Path:
    """Folder of the user's cache; it may not exist yet."""
    return _folder("XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA")


def trust_store() -> Path:
    """The file with the folders whose code the user trusts; it may not exist yet."""
    return config_folder() / "trusted.json"


def _folder(variable: str, linux: str, mac: str, windows: str) -> Path:
    if given := os.environ.get(variable):
        return Path(given) / NAME
    if sys.platform == "darwin":
        return Path.home() / mac / NAME
    if sys.platform == "win32" and os.environ.get(windows):
        return Path(os.environ[windows]) / NAME
    return Path.home() / linux / NAME


def read_settings(path: Path) -> dict[str, Any]:
    """The contents of a settings file; empty if there is none or it is damaged."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_settings(path: Path, data: dict[str, Any]) -> None:
    """Replace a settings file atomically.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def free_file(folder: Path, stem: str, suffix: str) -> Path:
    """A name in a folder that nothing has yet: `stem.suffix`, `stem-2.suffix`, …"""
    path, count = folder / f"{stem}{suffix}", 1
    while path.exists():
        count += 1
        path = folder / f"{stem}-{count}{suffix}"
    return path


# Recent files -------------------------------------------------------------------------------------
# Recent files: what was opened or saved last, newest first, kept with the user's settings.


#: How many are kept.
MOST = 12


def settings_file() -> Path:
    """Where they are kept."""
    return config_folder() / "recent.json"


def recent_files() -> list[Path]:
    """The files that are still there, newest first."""
    kept = read_settings(settings_file()).get("files", [])
    names = [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []
    return [path for path in map(Path, names) if path.is_file()]


def note_recent(path: Path) -> None:
    """Put a file first in the list.

    Raises:
        OSError: the settings cannot be written.
    """
    path = Path(os.path.abspath(path))
    others = [known for known in recent_files() if known != path]
    names = [str(known) for known in (path, *others)][:MOST]
    write_settings(settings_file(), {"files": names})


def forget_recent() -> None:
    """Empty the list.

    Raises:
        OSError: the settings cannot be written.
    """
    write_settings(settings_file(), {"files": []})
