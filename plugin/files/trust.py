"""Folders whose code the user trusts: stored in one file.

The caller names the file: it belongs to the user's settings, never to a scene.
"""

import json
import os
from pathlib import Path

from mjrig.files.writing import folder_lock

_KEY = "folders"


def trusted_folders(store: Path) -> list[Path]:
    """The folders of a store; none if there is no such file or it is damaged."""
    try:
        data = json.loads(store.read_text("utf-8"))
        return [Path(folder) for folder in data[_KEY] if isinstance(folder, str)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def is_trusted(folder: Path, store: Path) -> bool:
    """Whether a folder, or one it is in, was trusted; links are followed."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(trusted) for trusted in trusted_folders(store))


def trust(folder: Path, store: Path) -> None:
    """Remember that the code of a folder may be run.

    Raises:
        OSError: the store cannot be written.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    with folder_lock(store) as lock:
        if is_trusted(folder, store):
            return
        kept = [*trusted_folders(store), Path(os.path.realpath(folder))]
        text = json.dumps({_KEY: [str(path) for path in kept]}, indent=1, ensure_ascii=False)
        lock.replace(text + "\n")
