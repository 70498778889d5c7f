"""What an authored actuator reads of the running robots it is in."""

from typing import Protocol

from mjrig.arrays import FloatArray


class LiveReadings(Protocol):
    """What one actuator does now. Several inputs, outputs or activations read as arrays."""

    @property
    def name(self) -> str:
        """Its local name."""
        ...

    @property
    def tag(self) -> str:
        """MuJoCo's name of this kind of actuator."""
        ...

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name of the reference to what it acts on."""
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
        """The rate of the length."""
        ...

    @property
    def ctrl(self) -> float | FloatArray:
        """The control."""
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
