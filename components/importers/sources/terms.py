"""Observation terms as policy.yaml names them, with the sizes they have."""

from collections.abc import Mapping, Sequence
from typing import Any

from mjrig.components.importers.sources.policy_description import Term, compact

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
    """Angular velocity of the base, in its own frame [rad/s]."""
    return term("BaseAngularVelocity", 3, scale, **more)


def linear_velocity(scale: Scale = None, **more: Any) -> Term:
    """Linear velocity of the base, in its own frame [m/s]."""
    return term("BaseLinearVelocity", 3, scale, **more)


def gravity(scale: Scale = None, **more: Any) -> Term:
    """The direction of gravity in the base."""
    return term("ProjectedGravity", 3, scale, **more)


def command(scale: Scale = None, size: int = 3, **more: Any) -> Term:
    """The command."""
    return term("CommandTerm", size, scale, **more)


def positions(count: int, scale: Scale = None, **more: Any) -> Term:
    """Joint positions, relative to the default pose by default [rad]."""
    return term("JointPositions", count, scale, **more)


def velocities(count: int, scale: Scale = None, **more: Any) -> Term:
    """Joint velocities [rad/s]."""
    return term("JointVelocities", count, scale, **more)


def last_action(count: int, scale: Scale = None, **more: Any) -> Term:
    """The action of the previous tick."""
    return term("LastAction", count, scale, **more)


#: Values of a term that do not depend on the robot; `n` is one per joint.
_SIZES = {
    "BaseAngularVelocity": "3",
    "BaseLinearVelocity": "3",
    "BaseOrientation": "4",
    "ProjectedGravity": "3",
    "JointPositions": "n",
    "JointVelocities": "n",
    "JointTargetErrors": "n",
    "LastAction": "n",
    "MotionJoints": "2n",
    "MotionPhase": "1",
    "MotionAnchorPosition": "3",
    "MotionAnchorOrientation": "6",
}


def known_size(data: Mapping[str, Any], count: int, commands: int) -> int | None:
    """Number of values of a term of policy.yaml; None: it depends on the model."""
    kind = data["type"]
    if kind == "CommandTerm":
        return commands
    if kind == "GaitPhase":
        phases = len(data.get("offsets", [0.0]))
        return phases if data.get("form") == "phase" else 2 * phases
    if "joints" in data:
        return len(data["joints"])
    text = _SIZES.get(kind)
    if text is None:
        return None
    return {"n": count, "2n": 2 * count}.get(text) or int(text)
