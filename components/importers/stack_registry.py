"""Registry of the stacks whose files can be read, built-in and third-party, by entry point.

A stack is a module with `recognises(source) -> bool` and `read(source) -> FoundPolicy`, registered
in the group `mjrig.stacks`.
"""

from importlib.metadata import entry_points
from typing import Protocol

from mjrig.components.importers.sources.found import FoundPolicy
from mjrig.components.importers.sources.source import PolicySource
from mjrig.errors import SceneError
from mjrig.names import listed, suggestion

GROUP = "mjrig.stacks"
#: Tried last: a network that nothing else describes.
LAST = "mujoco_playground"


class Stack(Protocol):
    """Reader for the files of one stack."""

    @staticmethod
    def recognises(source: PolicySource) -> bool:
        """Whether these files are of this stack."""
        ...

    @staticmethod
    def read(source: PolicySource) -> FoundPolicy:
        """The policy they describe."""
        ...


def names() -> list[str]:
    """All registered stacks."""
    found = sorted({point.name for point in entry_points(group=GROUP)})
    return sorted(found, key=lambda name: name == LAST)


def stack_named(name: str) -> Stack:
    """One of them.

    Raises:
        SceneError: there is none of that name.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        raise SceneError(f"unknown stack {name!r}; {suggestion(name, names())}")
    stack: Stack = points[name].load()
    return stack


def recognised(source: PolicySource, wanted: str = "") -> str:
    """The stack of the files; with `wanted` only that one is tried.

    Raises:
        SceneError: no stack, or not the wanted one, recognises them.
    """
    for name in [wanted] if wanted else names():
        if stack_named(name).recognises(source):
            return name
    known = wanted or f"a known stack ({listed(names())})"
    raise SceneError(f"{listed(source.files)}: not a configuration of {known}")
