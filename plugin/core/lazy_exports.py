"""Lazy exports: the names of a package, each imported on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Importing the package then imports nothing else; its modules are attributes too, so that
    `mjrig.sim.export` works after `import mjrig`. Checkers see the same names as imports under
    TYPE_CHECKING.

    Args:
        package: its import name.
        homes: by exported name the module below mjrig that defines it, as in `scene.scene`.
    """

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"mjrig.{homes[name]}"), name)
        module = f"{package}.{name}"
        if name.startswith("_") or not _is_module(module):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(module)

    return get, lambda: sorted(homes)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the name before the last dot is not a package
        return False
