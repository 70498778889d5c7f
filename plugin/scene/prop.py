"""Prop: a thing that needs no model file."""

from typing import Any

from mjrig.properties.component import Component


class Prop(Component):
    """What can stand under an actor's `prop:`, instead of a model."""

    def fill(self, spec: Any) -> None:
        """Hook: put the thing into an empty MjSpec, at its origin, with local names.

        Angles of the spec are radians. Raise PropertyError for what does not fit together.
        """
        raise NotImplementedError
