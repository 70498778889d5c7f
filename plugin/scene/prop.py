"""Prop: an object that needs no model file."""

from typing import Any

from mjrig.properties.component import Component
from mjrig.properties.hooks import required


class Prop(Component):
    """Base class for an actor's `prop:`, given instead of a model."""

    @required()
    def fill(self, spec: Any) -> None:
        """Hook: add the object to an empty MjSpec, at its origin, with local names.

        Angles of the spec are radians. Raise PropertyError for what does not fit together.
        """
        raise NotImplementedError
