"""The native form of a pipeline: which MuJoCo actuator does the same, and what it did."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mjrig.components.clamp import Clamp, DCMotor, MaxEffort
from mjrig.components.feedback import PID
from mjrig.components.pipeline_host import PipelineHost
from mjrig.lowering import DCForm, Lowered, NativeForm
from mjrig.property_kinds import FloatArray


def why_not_native(controller: PipelineHost) -> str:
    """Why a controller whose parts all have a MuJoCo form has none; empty if it has one."""
    odd = [b.actuator for b in controller.bindings if b.gain != 1.0 or b.kind != "motor"]
    if controller.decimation != 1:
        return f"it runs every {controller.decimation} steps, a MuJoCo actuator every step"
    return f"{odd[0]!r} is not a motor with gain 1" if odd else ""


def native_form_of(controller: PipelineHost) -> NativeForm:
    """The numbers of the MuJoCo actuators, actuator space."""
    pipe = controller._pipe
    law: Any = pipe.law
    low, high, dc = limits_of(pipe.clamps, controller.num_bindings)
    delay = controller.delay
    return NativeForm(
        kp=law._kp,
        kv=law._kv,
        low=low,
        high=high,
        ki=law._ki if isinstance(law, PID) else None,
        integral_max=law._high if isinstance(law, PID) else None,
        lags=None if delay is None else delay.lags(controller._tick),
        dc=dc,
    )


def limits_of(clamps: Iterable[Clamp], size: int) -> tuple[FloatArray, FloatArray, DCForm | None]:
    """The effort range clamps leave, and the torque-speed curve if one is among them."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    dc = None
    for clamp in clamps:
        if isinstance(clamp, MaxEffort):
            low, high = np.maximum(low, clamp._low), np.minimum(high, clamp._high)
        elif isinstance(clamp, DCMotor):
            dc = DCForm(clamp._saturation, clamp._limit)
            low, high = np.maximum(low, -clamp._max), np.minimum(high, clamp._max)
    return low, high, dc


def take_memory(controller: PipelineHost, lowered: Lowered) -> None:
    """Bring what MuJoCo remembers of a law into the state of its pipeline."""
    pipe = controller._pipe
    integral, pasts = lowered.memory()
    if isinstance(pipe.law, PID):
        pipe.state.integral[:] = integral
    if pipe.delay is not None:
        pipe.delay.recall(pipe.state, pasts, started=not lowered.awaits_command)


def native_effort_of(
    controller: PipelineHost, lowered: Lowered
) -> tuple[FloatArray, FloatArray, list[Any]]:
    """Raw effort, effort and which clamp acted in the last step, computed from what MuJoCo saw.

    Joint units. The engine has only the force behind all limits.
    """
    pipe = controller._pipe
    law: Any = pipe.law
    q, qd = lowered.length(), lowered.velocity()
    target_q, target_qd, feedforward = lowered.commands()
    raw = (law._kp * target_q + law._kv * target_qd) + feedforward
    if isinstance(law, PID):
        raw = raw + law._ki * lowered.integral()
    raw = raw + ((-law._kp) * q + (-law._kv) * qd)
    effort, acted = raw, []
    for clamp in pipe.clamps:
        after = np.zeros_like(effort)
        clamp.apply(effort, q, qd, after)
        acted.append(after != effort)
        effort = after
    factor = pipe.space.factor
    return factor * raw, factor * effort, acted
