"""Folders of the user's settings and caches; never inside a scene."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from mjrig.editor.texts.texts import tr
from mjrig.files.writing import write_atomically

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
