"""Actuator: an actuator authored on top of what the model has."""

from typing import ClassVar

from mjrig.component import Component


class Actuator(Component):
    """What can be listed under an actor's `actuators:`."""

    #: Names it can be without: removing the thing clears the property, and the actuator stays.
    optional_references: ClassVar[tuple[str, ...]] = ("refsite",)
