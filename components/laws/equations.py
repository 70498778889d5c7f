"""The equations of laws and effort limits, each written once for all executions.

Symbols make them the prepared numpy calls of a step (`tracing.py`), numbers the compiled kernel
(`executions/kernel.py`, which translates these very functions), arrays the telemetry of native
laws. The order of the operations belongs to an equation: it decides the last bit.
"""

from typing import Any, NamedTuple

import numpy as np


class LawSignals(NamedTuple):
    """What a law is computed from."""

    q: Any
    qd: Any
    target_q: Any
    target_qd: Any
    feedforward: Any
    dt: Any


class Gains(NamedTuple):
    """Parameters of PD and PID."""

    kp: Any
    kv: Any
    constant: Any
    ki: Any
    integral_max: Any


class LineLimit(NamedTuple):
    """Parameters of one end of the effort range of a DC motor: `sign` is 1 above and -1 below."""

    sign: Any
    least: Any
    most: Any
    saturation: Any
    velocity_limit: Any
    corner: Any


class CurveLimit(NamedTuple):
    """Parameters of a curve with a driving and a braking limit, and how they fade with speed."""

    x1: Any
    driving: Any
    braking: Any
    driving_slope: Any
    braking_slope: Any


class Segment(NamedTuple):
    """The segment of a position table that a position is in."""

    begin: Any
    width: Any
    limit: Any
    rise: Any


def clip(values: Any, low: Any, high: Any) -> Any:
    """min(max(values, low), high)."""
    return np.clip(values, low, high)


def maximum(one: Any, other: Any) -> Any:
    """The larger of two values."""
    return np.maximum(one, other)


def where(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """One value where a condition holds, else the other."""
    return np.where(condition, chosen, otherwise)


# Laws ---------------------------------------------------------------------------------------------


def pd(p: Gains, x: LawSignals) -> Any:
    """PD bracketed as in MuJoCo; the first half changes only with a command."""
    command = (p.kp * x.target_q + p.kv * x.target_qd) + (x.feedforward + p.constant)
    return command + (-p.kp * x.q + -p.kv * x.qd)


def pd_textbook(p: Gains, x: LawSignals) -> Any:
    """PD from left to right, as training stacks sum it."""
    return p.constant + x.feedforward + p.kp * (x.target_q - x.q) + p.kv * (x.target_qd - x.qd)


def advanced_integral(p: Gains, x: LawSignals, integral: Any) -> Any:
    """The integral of the position error after this step; its bound is the anti-windup."""
    return clip(integral + (x.target_q - x.q) * x.dt, -p.integral_max, p.integral_max)


def pid(p: Gains, x: LawSignals, integral: Any) -> Any:
    """PID bracketed as in MuJoCo."""
    command = (p.kp * x.target_q + p.kv * x.target_qd) + (x.feedforward + p.constant)
    return command + p.ki * integral + (-p.kp * x.q + -p.kv * x.qd)


def pid_textbook(p: Gains, x: LawSignals, integral: Any) -> Any:
    """PID from left to right."""
    proportional = p.constant + x.feedforward + p.kp * (x.target_q - x.q)
    return proportional + p.ki * integral + p.kv * (x.target_qd - x.qd)


# Effort limits ------------------------------------------------------------------------------------


def motor_line(p: LineLimit, qd: Any) -> Any:
    """One end of the effort range of a DC motor: saturation · (sign − v / velocity_limit)."""
    speed = clip(qd, -p.corner, p.corner) / p.velocity_limit
    return clip(p.saturation * (p.sign - speed), p.least, p.most)


def motor_curve(p: CurveLimit, qd: Any) -> tuple[Any, Any]:
    """Lowest and highest effort: the driving limit along the motion, else the braking one."""
    over = maximum(abs(qd) - p.x1, 0.0)
    drive = maximum(p.driving_slope * over + p.driving, 0.0)
    brake = maximum(p.braking_slope * over + p.braking, 0.0)
    return -where(qd < 0.0, drive, brake), where(qd > 0.0, drive, brake)


def table_limit(segment: Segment, q: Any) -> Any:
    """Largest effort at a position in a segment of the table."""
    return segment.limit + (q - segment.begin) / segment.width * segment.rise


# Delay --------------------------------------------------------------------------------------------


def arriving_row(head: Any, lag: Any, rows: Any) -> Any:
    """The row of a ring of commands that arrives: `lag` steps before the newest one."""
    return (head - lag) % rows
