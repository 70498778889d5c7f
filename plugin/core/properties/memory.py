"""Memory: the attributes that an object keeps from step to step, declared once per class.

`_remembered = ("_began", "_start")` is sufficient: snapshots and recordings copy and restore
these attributes. Subclasses list additional attributes.
"""

from collections import deque
from functools import cache
from typing import Any, ClassVar

import numpy as np


class DeclaredMemory:
    """Base class of objects whose memory is the attributes they declare."""

    #: Names of the remembered attributes. Values are plain data, arrays, or objects with a memory.
    _remembered: ClassVar[tuple[str, ...]] = ()
    __slots__ = ()

    def memory(self) -> Any:
        """Everything `restore` needs to continue bit-exactly, as a copy."""
        return memory_of(self)

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""
        restore_memory(self, memory)


@cache
def declared_names(kind: type) -> tuple[str, ...]:
    """The attributes that a class and its base classes declare, those of base classes first."""
    names = (name for cls in kind.__mro__[::-1] for name in vars(cls).get("_remembered", ()))
    return tuple(dict.fromkeys(names))


def memory_of(owner: object) -> dict[str, Any] | None:
    """A copy of the declared attributes by name; None: it declares none."""
    names = declared_names(type(owner))
    return {name: copied(getattr(owner, name)) for name in names} if names else None


def restore_memory(owner: object, memory: dict[str, Any] | None) -> None:
    """Restore what `memory_of` returned."""
    for name, saved in (memory or {}).items():
        is_property = isinstance(getattr(type(owner), name, None), property)
        if is_property or not _filled(getattr(owner, name), saved):
            fresh = copied(saved)
            is_queue = isinstance(getattr(owner, name), deque)
            setattr(owner, name, deque(fresh) if is_queue else fresh)


def _filled(now: Any, saved: Any) -> bool:
    """Whether the memory could be restored in place: others hold views of these arrays."""
    if isinstance(now, np.ndarray):
        if not isinstance(saved, np.ndarray) or now.shape != saved.shape:
            return False
        now[...] = saved
        return True
    if isinstance(now, list | tuple) and isinstance(saved, list | tuple):
        places = len(now) == len(saved) and any(_is_place(one) for one in now)
        return places and all([_filled(*pair) for pair in zip(now, saved, strict=True)])
    if _has_memory(now):
        now.restore(saved)
        return True
    return now is saved  # None in a list of places


def _is_place(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _has_memory(value)


def _has_memory(value: Any) -> bool:
    kind = type(value)
    return hasattr(kind, "memory") and hasattr(kind, "restore")


def copied(value: Any) -> Any:
    """A copy that shares nothing with the value; of an object with a memory, that memory."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, tuple | list | deque):
        items = [copied(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value.memory() if _has_memory(value) else value
