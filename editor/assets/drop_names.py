"""Names of dropped files in a scene: the path that is written."""

import os
from importlib.resources import files
from pathlib import Path

from mjrig.files.paths import PACKAGE
from mjrig.scene_edit.scene import Scene

_PACKAGES = ("mjrig.assets",)
_SPECIAL = (PACKAGE, "menagerie:")


def is_special(value: str) -> bool:
    """Whether a model is named by a package or a collection instead of a path."""
    return value.startswith(_SPECIAL)


def reference(path: Path, scene: Scene) -> str:
    """How a scene names a file: relative to it if it is below it, in a package, or absolute.

    A scene without a file has no folder yet.
    """
    path = Path(os.path.abspath(path))
    if scene.path is not None:
        base = Path(os.path.abspath(scene.base))
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return in_package(path) or str(path)


def in_package(path: Path) -> str | None:
    """`package:…` of a file that one of our data packages has; None for any other."""
    for package in _PACKAGES:
        for folder in _folders(package):
            if path.is_relative_to(folder):
                return f"{PACKAGE}{package}/{path.relative_to(folder).as_posix()}"
    return None


def _folders(package: str) -> set[Path]:
    """Where a package lies, and where its files really are if those are links."""
    root = Path(str(files(package)))
    return {root, Path(os.path.realpath(root / "__init__.py")).parent}
