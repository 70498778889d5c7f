"""ActuatorSensor: what is measured of an actuator."""

from enum import StrEnum

from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Choice, Float, Int, Text


class Reads(StrEnum):
    """What a sensor of an actuator measures."""

    POSITION = "actuatorpos"
    VELOCITY = "actuatorvel"
    FORCE = "actuatorfrc"


class ActuatorSensor(HasProperties):
    """A sensor that reads an actuator; it goes with the actuator."""

    reads = Choice(Reads.FORCE, structural=True, doc="Length, velocity or force of the actuator.")
    name = Text("", structural=True, doc="Name; empty: the actuator's and what is read.")
    cutoff = Float(0.0, min=0.0, structural=True, doc="Clamps the reading to ±cutoff; 0: never.")
    noise = Float(0.0, min=0.0, structural=True, doc="Standard deviation, for who adds noise.")
    delay = Float(0.0, min=0.0, unit="s", structural=True, doc="Age of the reading.")
    nsample = Int(0, min=0, structural=True, doc="Readings kept for the delay.")
    interp = Int(0, min=0, max=2, structural=True, doc="0 hold, 1 linear, 2 cubic.")
