"""Actuator: an actuator authored on top of what the model has."""

from mjrig.component import Component


class Actuator(Component):
    """What can be listed under an actor's `actuators:`."""
