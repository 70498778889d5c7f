"""Plot layouts, one per scene file, kept with the user's settings and never in the scene."""

from pathlib import Path
from typing import Any

from mjrig.editor.session.user_files import config_folder, read_settings, write_settings

#: Scenes whose layout is remembered; the oldest go.
KEPT = 100


def layouts_file() -> Path:
    """Where they are kept."""
    return config_folder() / "plots.json"


def load_layout(scene: Path | None) -> list[Any]:
    """The layout of a scene; empty if none was kept."""
    if scene is None:
        return []
    found = read_settings(layouts_file()).get(_key(scene), [])
    return found if isinstance(found, list) else []


def save_layout(scene: Path | None, layout: list[dict[str, Any]]) -> None:
    """Keep the layout of a scene; one without a file has none.

    Raises:
        OSError: the settings cannot be written.
    """
    if scene is None:
        return
    kept = read_settings(layouts_file())
    kept.pop(_key(scene), None)
    kept[_key(scene)] = layout
    write_settings(layouts_file(), dict(list(kept.items())[-KEPT:]))


def _key(scene: Path) -> str:
    return str(scene.resolve())
