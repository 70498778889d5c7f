"""Effort limits of an actuator group as clamps: tables, torque-speed lines and curves."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, GroupKind
from mjrig.components.importers.isaac.patterns import Values
from mjrig.components.importers.sources.found import Doubt
from mjrig.names import listed

#: One number where all are equal, else numbers by joint.
Each = Callable[[Sequence[str], Sequence[float | None]], Any]
#: What Isaac Lab takes for an effort without a limit; a curve that fades needs a number.
UNLIMITED = 1e9


def clamps_of(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> list[dict[str, Any]]:
    """The clamps of an explicit group in order; none: only `effort_limit` limits it.

    `effort_limit_sim` is the solver's limit, and comes last.

    Raises:
        SceneError: the values of a curve contradict each other.
    """
    made = list(_own(group, each, doubts))
    last = [math.inf if v is None else v for v in group.effort_sim]
    if made and min(last) < math.inf:
        made.append({"type": "MaxEffort", "max_effort": each(group.joints, last)})
    return made


def plain_limits(group: ActuatorGroup) -> Values:
    """The smaller one of both limits per joint; of a curve, what the motor gives at most."""
    first = group.effort
    if group.kind is GroupKind.CURVE:
        y1, y2 = group.curve["y1"], group.curve["y2"]
        first = [a if b is None else max(a or 0.0, b) for a, b in zip(y1, y2, strict=True)]
    both = zip(first, group.effort_sim, strict=True)
    return [min((v for v in pair if v is not None), default=None) for pair in both]


def _own(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    if group.kind is GroupKind.REMOTIZED:
        angles, _, efforts = zip(*group.table, strict=True)
        yield {"type": "PositionTable", "positions": [*angles], "efforts": [*efforts]}
    elif group.kind is GroupKind.LSTM:  # its torque-speed line is evaluated at rest
        both = zip(group.saturation, group.effort, strict=True)
        limits = [min((v for v in pair if v is not None), default=math.inf) for pair in both]
        yield {"type": "MaxEffort", "max_effort": each(group.joints, limits)}
    elif group.kind is GroupKind.CURVE:
        yield _curve(group, each, doubts)
    elif group.kind in (GroupKind.DC, GroupKind.MLP):
        yield from _line(group, each, doubts)


def _line(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """The line of a DC motor; a joint without its numbers has `effort_limit` alone."""
    numbers = list(zip(group.saturation, group.speed, strict=True))
    without = [j for j, pair in zip(group.joints, numbers, strict=True) if None in pair]
    most = [math.inf if v is None else v for v in group.effort]
    if without:
        text = (
            f"the actuators {group.name!r} have no saturation_effort or no velocity_limit for "
            f"{listed(without)}: their torque-speed line is in the USD, and only effort_limit is "
            "applied"
        )
        doubts.append(Doubt("not-taken-over", text))
    if len(without) == len(group.joints):
        yield {"type": "MaxEffort", "max_effort": each(group.joints, most)}
        return
    whole = [(math.inf, math.inf) if None in pair else pair for pair in numbers]
    for joint, (stall, speed) in zip(group.joints, whole, strict=True):
        if stall == math.inf and speed != math.inf:
            raise group.entry.error(
                f"saturation_effort of {joint!r} must be finite where velocity_limit is"
            )
    yield {
        "type": "DCMotor",
        "saturation_effort": each(group.joints, [stall for stall, _ in whole]),
        "velocity_limit": each(group.joints, [speed for _, speed in whole]),
        "max_effort": each(group.joints, most),
    }


def _curve(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> dict[str, Any]:
    """The curve of a geared motor (`UnitreeActuator`), which replaces `effort_limit`."""
    rows = [_corners(group, i) for i in range(len(group.joints))]
    if any(v is not None for v in group.effort):
        text = f"effort_limit of the actuators {group.name!r}: their class limits by its curve only"
        doubts.append(Doubt("not-taken-over", text, mild=True))
    if any(group.sticking):
        text = (
            f"friction of the actuators {group.name!r}: Fs·tanh(v/Va) + Fd·v, a force of the law "
            "there, is frictionloss and damping of the joints here, which hold at rest"
        )
        doubts.append(Doubt("assumed", text, mild=True))
    values = {
        key: each(group.joints, [row[key] for row in rows]) for key in ("x1", "x2", "y1", "y2")
    }
    return {"type": "TorqueSpeedCurve", **values}


def _corners(group: ActuatorGroup, i: int) -> dict[str, float]:
    """Corners of one joint; without a speed, the limits hold at any."""
    x1, x2, y1, y2 = (group.curve[key][i] for key in ("x1", "x2", "y1", "y2"))
    joint = group.joints[i]
    # The class takes 1e9 where nothing is given: such limits and speeds are never reached.
    fades = x1 is not None and x2 is not None and max(x1, x2) < UNLIMITED
    if fades and not x2 > x1:  # type: ignore[operator]
        raise group.entry.error(f"X2 must be above X1, got {x2:g} and {x1:g} for {joint!r}")
    for key in ("x1", "x2", "y1", "y2"):
        value = group.curve[key][i]
        if value is not None and value < 0.0:
            raise group.entry.error(f"{key.upper()} must be >= 0, got {value:g} for {joint!r}")
    driving = UNLIMITED if y1 is None else min(y1, UNLIMITED)
    braking = driving if y2 is None else min(y2, UNLIMITED)
    speeds = (x1, x2) if fades else (math.inf, math.inf)
    return {"x1": speeds[0], "x2": speeds[1], "y1": driving, "y2": braking}  # type: ignore[dict-item]
