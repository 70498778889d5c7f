"""Execution modes that can run a pipeline of these parts, and why not the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjrig.components.laws.clamp import Clamp, DCMotor
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.law import Law
from mjrig.components.laws.space import PipelineSpace
from mjrig.control.execution import Support


def supports(
    space: PipelineSpace, law: Law, delay: Delay | None, clamps: Sequence[Clamp]
) -> dict[str, Support]:
    """Whether python, compiled and native can run these parts, with the reason."""
    parts: list[Any] = [law, *([delay] if delay else []), *clamps]
    compiled = [why for p in parts if (why := p.why_not_compiled())]
    native = [why for p in parts if (why := p.why_not_native())]
    native = native or _why_not_native_together(law, clamps)[:1]
    if space.dtype == np.float32:
        native.append("MuJoCo computes in float64")
        compiled.append("the kernel computes in float64")
    return {
        "python": Support(True, "the reference; runs anything"),
        "compiled": Support(not compiled, "; ".join(compiled) or "every part has a kernel"),
        "native": Support(
            not native,
            "; ".join(native) or "every part has a MuJoCo form",
            exact=not any(isinstance(clamp, DCMotor) for clamp in clamps),
        ),
    }


def _why_not_native_together(law: Law, clamps: Sequence[Clamp]) -> list[str]:
    """Why parts that each have a MuJoCo form have none in combination."""
    motors = [c for c in clamps if isinstance(c, DCMotor)]
    rules = (
        (
            isinstance(law, PD) and bool(law._constant.any()),
            "a constant effort is not part of a MuJoCo actuator",
        ),
        (len(motors) > 1, "it has more than one DCMotor"),
        (
            bool(motors) and clamps[0] is not motors[0],
            "something is clamped before the DCMotor",
        ),
        (
            bool(motors) and isinstance(law, PID),
            "a dcmotor actuator uses its integral before it is updated",
        ),
        (
            any(not np.isfinite(m._limit).all() for m in motors),
            "its DCMotor has no velocity limit",
        ),
        (
            any((m._saturation <= 0.0).any() for m in motors),
            "its DCMotor has no saturation effort",
        ),
    )
    return [reason for holds, reason in rules if holds]
