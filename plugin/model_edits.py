"""What a scene changes in a model before it is put into the world."""

from typing import Any

from mjrig.actor import Actor


def edit_model(spec: Any, actor: Actor) -> None:
    """Apply `base`, `scenery`, `dynamics`, `removed` and `renamed` to a spec of the actor alone."""
