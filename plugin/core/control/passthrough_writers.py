"""Passthrough writers: setpoints directly to ctrl, for the actuators no law owns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, Setpoints
from mjrig.core.model.binding import ActuatorBinding

_ROW = {"pos": POSITION, "vel": VELOCITY, "ff": FEEDFORWARD}


def takes_rows(binding: ActuatorBinding) -> bool:
    """Whether an actuator is commanded by position, velocity and feedforward.

    A single-input actuator takes its position setpoint, whatever its unit; one with several inputs
    takes them by input name; any other takes its vector of `setpoints.inputs`.
    """
    return binding.output_count == 1 and (
        binding.ctrl_count <= 1 or all(name in _ROW for name in binding.inputs)
    )


def row_of(binding: ActuatorBinding, k: int) -> int:
    """Which setpoint row commands input `k` of an actuator that takes rows."""
    return _ROW.get(binding.inputs[k], POSITION) if binding.ctrl_count > 1 else POSITION


def direct_writers(
    setpoints: Setpoints, bindings: Sequence[ActuatorBinding], ctrl: Any
) -> list[Callable[[], object]]:
    """Calls that copy the setpoints of these actuators to ctrl, unscaled."""
    size = len(setpoints.names)
    column = {name: i for i, name in enumerate(setpoints.names)}
    sources: list[int] = []
    targets: list[int] = []
    writers: list[Callable[[], object]] = []
    for binding in bindings:
        address, count = binding.ctrl_address, binding.ctrl_count
        if not takes_rows(binding):
            vector = setpoints.input_values[binding.actuator]
            writers.append(partial(np.copyto, ctrl[address : address + count], vector))
            continue
        rows = [row_of(binding, k) for k in range(count)]
        sources += [row * size + column[binding.actuator] for row in rows]
        targets += range(address, address + count)
    if sources:
        buffer = np.empty(len(sources))
        where = np.array(targets, dtype=np.intp)
        writers.append(partial(setpoints.flat.take, np.array(sources), None, buffer, "clip"))
        writers.append(partial(ctrl.__setitem__, where, buffer))
    return writers
