"""Authored actuators on a spec: what `actuators:` of an actor adds to its model."""

from typing import Any

from mjrig.actor import Actor


def add_actuators(spec: Any, actor: Actor) -> None:
    """Add an actor's authored actuators to a spec of the actor alone, one per match."""
