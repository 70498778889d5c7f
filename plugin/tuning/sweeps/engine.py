"""Engines of a sweep: what computes the physics of its tasks."""

from enum import Enum

from mjrig.errors import PropertyError
from mjrig.names import suggestion


class Engine(Enum):
    """What computes the physics."""

    MUJOCO = "mujoco"
    WARP = "warp"

    @classmethod
    def read(cls, name: str) -> "Engine":
        """An engine by name.

        Raises:
            PropertyError: there is none of that name.
        """
        names = [engine.value for engine in cls]
        if name not in names:
            raise PropertyError(f"unknown engine {name!r}; {suggestion(name, names)}")
        return cls(name)

    @property
    def width(self) -> str:
        """The width of its numbers."""
        return "float32" if self is Engine.WARP else "float64"

    def __str__(self) -> str:
        return f"{self.value} {self.width}"
