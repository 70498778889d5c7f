"""Where an actor's model comes from: a file or a prop, as an MjSpec."""

from typing import Any

import mujoco

from mjrig.actor import Actor
from mjrig.errors import PropertyError


def load(actor: Actor) -> Any:
    """The spec of an actor's model, as the file says.

    Raises:
        PropertyError: the file is missing or MuJoCo cannot read it.
    """
    assert actor.model is not None
    try:
        path = actor.find_file(actor.model)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    try:
        return mujoco.MjSpec.from_file(str(path))
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        raise PropertyError(f"{actor.label}.model: {one_line(error)}", ("model",)) from error


def one_line(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split())
