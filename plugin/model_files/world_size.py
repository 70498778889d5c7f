"""How many elements a world gets, known from the first copy of each model."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mjrig.errors import PropertyError
from mjrig.model_files.model_size import MAX_ELEMENTS
from mjrig.names import how_many
from mjrig.scene.actor import ActorDescription

_KINDS = (
    "bodies", "joints", "geoms", "sites", "cameras", "lights", "actuators", "sensors", "tendons",
    "equalities", "pairs", "excludes",
)  # fmt: skip


class WorldSize:
    """Adds up the elements of actors before any is attached.

    Args:
        actors: all of the world, copies included.
    """

    def __init__(self, actors: Iterable[ActorDescription]) -> None:
        self._copies = Counter(_model(actor) for actor in actors)
        self._seen: set[str] = set()
        self._elements = 0

    def add(self, actor: ActorDescription, spec: Any) -> None:
        """Count an actor; the first one of a model counts for all of them.

        Raises:
            PropertyError: the world would have too many elements.
        """
        model = _model(actor)
        if model and model in self._seen:
            return
        self._seen.add(model)
        copies = self._copies[model] if model else 1
        self._elements += copies * sum(len(getattr(spec, kind)) for kind in _KINDS)
        if self._elements > MAX_ELEMENTS:
            with_copies = f" with {how_many(copies, 'actor')} of this model" if copies > 1 else ""
            raise PropertyError(
                f"{actor.label}: the world would have {self._elements} elements{with_copies}; at "
                f"most {MAX_ELEMENTS}"
            )


def _model(actor: ActorDescription) -> str:
    """What is read for an actor; empty: nothing, it is a prop."""
    return "" if actor.model is None else str(actor.model)
