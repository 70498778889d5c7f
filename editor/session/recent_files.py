"""Recent files: what was opened or saved last, newest first, kept with the user's settings."""

import os
from pathlib import Path

from mjrig.editor.session.user_files import config_folder, read_settings, write_settings

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
