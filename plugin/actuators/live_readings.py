"""LiveReadings: what an authored actuator can read in a running world."""

from typing import Protocol

from mjrig.arrays import FloatArray


class LiveReadings(Protocol):
    """Current values of one actuator. Several inputs, outputs or activations read as arrays."""

    @property
    def name(self) -> str:
        """Its local name."""
        ...

    @property
    def tag(self) -> str:
        """MuJoCo's name for this kind of actuator."""
        ...

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name for the kind of transmission target."""
        ...

    @property
    def force(self) -> float | FloatArray:
        """The force MuJoCo applied in the last step."""
        ...

    @property
    def length(self) -> float | FloatArray:
        """The length of the transmission."""
        ...

    @property
    def velocity(self) -> float | FloatArray:
        """The velocity of the transmission."""
        ...

    @property
    def ctrl(self) -> float | FloatArray:
        """The control input."""
        ...

    @property
    def activation(self) -> float | FloatArray | None:
        """The activation; None where it has none."""
        ...


class RunningRobot(Protocol):
    """A robot of a running world."""

    def actuator(self, name: str) -> LiveReadings:
        """One of its actuators by local name."""
        ...
