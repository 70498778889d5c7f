"""ActuatorSensor: a sensor on an actuator."""

from enum import StrEnum

from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Choice, Float, Int, Text

#: Longest history of a control input or a reading.
MAX_SAMPLES = 100_000


class Reads(StrEnum):
    """The quantity a sensor of an actuator measures."""

    POSITION = "actuatorpos"
    VELOCITY = "actuatorvel"
    FORCE = "actuatorfrc"


class ActuatorSensor(HasProperties):
    """A sensor that reads an actuator; it is removed with the actuator."""

    reads = Choice(Reads.FORCE, structural=True, doc="Length, velocity or force of the actuator.")
    name = Text("", structural=True, doc="Name; empty: the actuator's name and the quantity.")
    cutoff = Float(
        0.0, min=0.0, structural=True, doc="Clamp the reading to ±cutoff; 0: no clamping."
    )
    noise = Float(
        0.0, min=0.0, structural=True, doc="Noise standard deviation; MuJoCo adds no noise itself."
    )
    delay = Float(0.0, min=0.0, unit="s", structural=True, doc="Delay of the reading.")
    nsample = Int(
        0, min=0, max=MAX_SAMPLES, structural=True, doc="Number of readings kept for the delay."
    )
    interp = Int(0, min=0, max=2, structural=True, doc="Interpolation: 0 hold, 1 linear, 2 cubic.")
