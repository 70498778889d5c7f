"""Lazy exports: the names of a package, each imported on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Importing the package then imports nothing else. Checkers see the same names as imports under
    TYPE_CHECKING.

    Args:
        package: its import name.
        homes: by exported name the module below mjrig that defines it, as in `scene.scene`.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"mjrig.{homes[name]}"), name)

    return get, lambda: sorted(homes)
