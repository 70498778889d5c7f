"""Where the files of a package are, found without importing it: naming one must not run its code.

Packages are looked for where they are installed, never in the current folder or beside a scene.
"""

import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

OWN = "mjrig"
_EDITABLE = "__editable__"


def package_folders(module: str, more: Iterable[Path] = ()) -> list[Path]:
    """The folders of a package that is installed or already imported; none if there is none.

    Args:
        module: its import name: `mjrig.assets`.
        more: folders to look in besides, which the user trusts.
    """
    names = module.split(".")
    if not all(name.isidentifier() for name in names):
        return []
    places: Sequence[str] = [*installed_folders(), *map(str, more)]
    for i in range(len(names)):
        places = _inside(".".join(names[: i + 1]), places)
        if not places:
            return []
    return [Path(place) for place in places]


def _inside(name: str, places: Sequence[str]) -> list[str]:
    imported = sys.modules.get(name)
    if imported is not None:
        return list(getattr(imported, "__path__", ()))
    spec = PathFinder.find_spec(name, places) or _editable(name)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _editable(name: str) -> ModuleSpec | None:
    """What `pip install -e` links to, by the finders it installs; they import nothing."""
    for finder in sys.meta_path:
        if getattr(finder, "__module__", "").startswith(_EDITABLE):
            found = finder.find_spec(name, None)
            if found is not None:
                return found
    return None


@cache
def installed_folders() -> tuple[str, ...]:
    """The folders that packages are installed in, and those their `.pth` files add."""
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    fixed = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    waiting = [*site.getsitepackages(), *users, *fixed]
    found: dict[str, None] = {}
    while waiting:
        folder = waiting.pop(0)
        if folder not in found and Path(folder).is_dir():
            found[folder] = None
            waiting += _added_by_pth(Path(folder))
    return tuple(found)


def _added_by_pth(folder: Path) -> list[str]:
    lines: list[str] = []
    for file in sorted(folder.glob("*.pth")):
        try:
            lines += file.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            continue
    code = ("#", "import ", "import\t")
    return [
        str(folder / line.strip()) for line in lines if line.strip() and not line.startswith(code)
    ]
