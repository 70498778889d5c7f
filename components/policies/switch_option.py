"""SwitchOption: one policy of a PolicySwitch, and when it is in charge."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Choice, FilePath, Float, OptionalFloat, Text


class Condition(StrEnum):
    """What puts a policy in charge."""

    NEVER = "never"
    STILL = "still"
    MOVING = "moving"
    TILTED = "tilted"


@dataclass(frozen=True)
class Within:
    """What conditions look at: the time [s], the command, and the tilt of the base [rad]."""

    time: float
    command: FloatArray
    tilt: float


class SwitchOption(HasProperties):
    """A policy by name, or the default pose of the first one, held."""

    name = Text("", doc="Name of the option.")
    file = FilePath(
        suffixes=(".yaml", ".yml"), doc="The policy file; none: the first policy's default pose."
    )
    after = OptionalFloat(None, min=0.0, unit="s", doc="In charge from this time on; none: no.")
    when = Choice(
        Condition.NEVER,
        doc="In charge while the command is below the limit (still), above it (moving), or the "
        "base is tilted by more than the limit [rad].",
    )
    limit = Float(0.1, min=0.0, doc="Limit of the condition.")

    def holds(self, now: Within) -> bool:
        """Whether its condition puts it in charge."""
        if self.when is Condition.TILTED:
            return now.tilt > self.limit
        if self.when is Condition.NEVER:
            return False
        moving = bool(np.linalg.norm(now.command) > self.limit)
        return moving == (self.when is Condition.MOVING)

    def begun(self, now: Within) -> bool:
        """Whether its time has come."""
        return self.after is not None and now.time >= self.after - 1e-9
