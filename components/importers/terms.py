"""Observation terms as policy.yaml names them, with the sizes they have."""

from collections.abc import Sequence
from typing import Any

from mjrig.components.importers.found import Term, compact

Scale = float | Sequence[float] | None


def term(kind: str, size: int, scale: Scale = None, **more: Any) -> Term:
    """A term; a scale of one is left out, so is what is None."""
    data: dict[str, Any] = {"type": kind}
    if scale is not None:
        small = scale if isinstance(scale, float | int) else compact(scale)
        if small != 1.0:
            data["scale"] = small
    history = more.pop("history", 1)
    data.update({key: value for key, value in more.items() if value is not None})
    if history > 1:
        data["history"] = history
    return Term(data, size, history)


def angular_velocity(scale: Scale = None, **more: Any) -> Term:
    """Of the base, in its own frame [rad/s]."""
    return term("BaseAngularVelocity", 3, scale, **more)


def linear_velocity(scale: Scale = None, **more: Any) -> Term:
    """Of the base, in its own frame [m/s]."""
    return term("BaseLinearVelocity", 3, scale, **more)


def gravity(scale: Scale = None, **more: Any) -> Term:
    """The direction of gravity in the base."""
    return term("ProjectedGravity", 3, scale, **more)


def command(scale: Scale = None, size: int = 3, **more: Any) -> Term:
    """The command."""
    return term("CommandTerm", size, scale, **more)


def positions(count: int, scale: Scale = None, **more: Any) -> Term:
    """Of the joints, relative to the default pose unless said otherwise [rad]."""
    return term("JointPositions", count, scale, **more)


def velocities(count: int, scale: Scale = None, **more: Any) -> Term:
    """Of the joints [rad/s]."""
    return term("JointVelocities", count, scale, **more)


def last_action(count: int, scale: Scale = None, **more: Any) -> Term:
    """The action of the tick before."""
    return term("LastAction", count, scale, **more)
