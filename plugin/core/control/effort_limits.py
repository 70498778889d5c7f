"""Effort limits of actuators, and the attribute each comes from."""

import math
from collections.abc import Iterator

from mjrig.core.control.controller import ArticulationController
from mjrig.core.model.binding import ActuatorBinding

Range = tuple[float, float]


def model_ranges(binding: ActuatorBinding) -> dict[str, Range]:
    """The effort ranges of a motor in the model, joint units, by attribute."""
    motor = binding.kind == "motor"
    ranges = {
        # NOTE: only a motor's ctrl is an effort; a servo's is a target.
        "ctrlrange": _scaled(binding.ctrl_range, binding.factor) if motor else None,
        "forcerange": _scaled(binding.force_range, binding.gear),
        "actuatorfrcrange": binding.joint_force_range,
    }
    return {name: r for name, r in ranges.items() if r is not None}


def _scaled(limits: Range | None, factor: float) -> Range | None:
    if limits is None:
        return None
    low, high = sorted((limits[0] * factor, limits[1] * factor))
    return low, high


def symmetric(limits: Range) -> float:
    """The largest magnitude that a range allows in both directions."""
    low, high = limits
    return min(abs(low), abs(high)) if low <= 0.0 <= high else 0.0


def our_limit(controller: ArticulationController, index: int) -> float:
    """The effort that a controller's torque_limit and clamps allow both ways, joint units."""
    limit = float(controller.gains().get("torque_limit", [math.inf] * (index + 1))[index])
    low, high = controller.clamp_limits()
    bound = symmetric((float(low[index]), float(high[index])))
    # Clamps are in the space the law runs in: the actuator's, or the joint's.
    pipeline = getattr(controller, "pipeline", None)
    factor = pipeline.space.factor[index] if pipeline is not None else 1.0
    return min(limit, abs(float(factor)) * bound)


def acting_limit(
    binding: ActuatorBinding, controller: ArticulationController | None, index: int
) -> tuple[float, str]:
    """The largest effort in both directions, joint units, and what limits it.

    That is `torque_limit` or `clamps` of the controller, or `forcerange`, `ctrlrange` or
    `actuatorfrcrange` of the model; inf and empty where nothing does.
    """
    bounds = {name: symmetric(r) for name, r in model_ranges(binding).items()}
    if controller is not None:
        own = our_limit(controller, index)
        given = controller.gains().get("torque_limit")
        is_given = given is not None and float(given[index]) == own
        bounds = {"torque_limit" if is_given else "clamps": own, **bounds}
    least = min(bounds.values(), default=math.inf)
    return least, next((n for n, b in bounds.items() if b == least < math.inf), "")


def effort_limit(
    binding: ActuatorBinding, controller: ArticulationController | None, index: int
) -> float:
    """The largest effort in both directions, joint units; inf: nothing limits it."""
    return acting_limit(binding, controller, index)[0]


def owned(
    controller: ArticulationController,
) -> Iterator[tuple[int, ActuatorBinding, dict[str, float]]]:
    """Index, binding and gains of everything a controller owns."""
    gains = controller.gains()
    for index, binding in enumerate(controller.bindings):
        yield index, binding, {n: float(v[index]) for n, v in gains.items()}
