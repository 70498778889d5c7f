"""Implicit effort: the effort at the end of the step, and its slopes behind the clamps."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.components.laws.clamps import Clamp, apply_clamp
from mjrig.components.laws.law import Implicit, Law, Slopes
from mjrig.components.laws.pipeline_arrays import Array, State

# Slopes -------------------------------------------------------------------------------------------
# Slopes: derivatives of the effort after clamps.


def slopes_behind(
    clamps: Iterable[Clamp], slopes: Slopes, effort: Array, q: Array, qd: Array
) -> Slopes:
    """The slopes of a raw effort after clamps; `effort` is clamped in place."""
    for clamp in clamps:
        slopes = _through(clamp, effort, q, qd, slopes)
        apply_clamp(clamp, effort, q, qd, effort)
    return slopes


def _through(clamp: Clamp, effort: Array, q: Array, qd: Array, slopes: Slopes) -> Slopes:
    """Slopes after a clamp: the effort's own inside the bounds, else the bound's."""
    low, high = (np.array(b) for b in clamp.bounds(q, qd))
    low_q, low_qd, high_q, high_qd = clamp.bound_slopes(q, qd)
    # min(max(τ, low), high): the upper bound wins.
    at_high, at_low = np.maximum(effort, low) > high, effort < low

    def pick(own: Array, at_lower: Array | float, at_upper: Array | float) -> Array:
        picked: Array = np.where(at_high, at_upper, np.where(at_low, at_lower, own))
        return picked

    return Slopes(
        pick(slopes.q, low_q, high_q),
        pick(slopes.qd, low_qd, high_qd),
        pick(slopes.target_q, 0.0, 0.0),
        pick(slopes.target_qd, 0.0, 0.0),
    )


# Implicit -----------------------------------------------------------------------------------------
# Implicit effort: the effort at the end of the step it acts in.


#: Relative step of the finite differences that give the slope of the effort.
PROBE = 1e-4
#: A network's slope is limited to this fraction of the stability limit.
STABLE_SHARE = 0.9
Effort = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class ImplicitEffort:
    """Raw and clamped effort at the end of a step, and the actuators each clamp acted on."""

    raw: Array
    effort: Array
    acted: list[Any]


def implicit_effort(
    law: Law,
    state: State,
    clamps: Sequence[Clamp],
    q: Array,
    qd: Array,
    dt: float,
    inverse_mass: Array,
    remember: Callable[[], None],
    iterations: int = 4,
    tolerance: float = 1e-5,
) -> ImplicitEffort:
    """Solve for the effort that holds at the end of the step it acts in.

    `remember` advances the law's memory: an integral before it is used, a network's state after.
    """
    exact = law.implicit() is Implicit.EXACT
    if exact:
        remember()
    wide = np.asarray(q, np.float64), np.asarray(qd, np.float64)
    raw, clamped = law_effort(law, state, clamps, *wide, dt, inverse_mass)
    if not exact:
        remember()
    impulse, at_q, at_qd = solve_implicit(
        clamped, *wide, dt, inverse_mass, iterations=iterations, tolerance=tolerance
    )
    before, acted = raw(at_q, at_qd), []
    unclamped = before.copy()
    for clamp in clamps:
        after = np.zeros_like(before)
        apply_clamp(clamp, before, at_q, at_qd, after)
        acted.append(before != after)
        before = after
    effort = impulse / dt
    for clamp in clamps:
        apply_clamp(clamp, effort, at_q, at_qd, effort)
    return ImplicitEffort(unclamped, effort, acted)


def solve_implicit(
    effort: Effort,
    q: Array,
    qd: Array,
    h: float,
    inverse_mass: Array,
    *,
    iterations: int,
    tolerance: float,
) -> tuple[Array, Array, Array]:
    """Find the impulse p with p = h f(q + h w, w), w = qd + A p, by Newton's method.

    Gravity, contacts and other actuators are ignored. Returns p, and the predicted q and qd.
    """
    identity = np.eye(len(q))
    p = h * effort(q, qd)
    for _ in range(iterations):
        w = qd + inverse_mass @ p
        now = effort(q + h * w, w)
        residual = p - h * now
        if np.abs(residual).max(initial=0.0) < tolerance:
            break
        probe = PROBE * (1.0 + np.abs(w))
        slope = (effort(q + h * (w + probe), w + probe) - now) / probe
        jacobian = identity - h * slope[:, None] * inverse_mass
        change = np.linalg.lstsq(jacobian, -residual, rcond=None)[0]
        p = p + change
        if np.abs(change).max(initial=0.0) < tolerance:
            break
    w = qd + inverse_mass @ p
    return p, q + h * w, w


def law_effort(
    law: Law, state: State, clamps: Sequence[Clamp], q: Array, qd: Array, h: float, mass: Array
) -> tuple[Effort, Effort]:
    """f as a function of the predicted state: before and after the clamps.

    The law's memory is frozen: an integral has advanced with the present error already, a network's
    state has not.

    Raises:
        ValueError: the law has no implicit form.
    """
    kind = law.implicit()
    if kind is Implicit.NONE:
        raise ValueError(f"{type(law).__name__} has no implicit form; step it explicitly")

    def exact(at_q: Array, at_qd: Array) -> Array:
        raw = np.zeros_like(at_q)
        law.respond(at_q, at_qd, state, 0.0, raw)
        return raw

    raw = exact if kind is Implicit.EXACT else _linear(exact, q, qd, h, mass)

    def clamped(at_q: Array, at_qd: Array) -> Array:
        effort = raw(at_q, at_qd)
        for clamp in clamps:
            apply_clamp(clamp, effort, at_q, at_qd, effort)
        return effort

    return raw, clamped


def _linear(effort: Effort, q: Array, qd: Array, h: float, inverse_mass: Array) -> Effort:
    """A network, linearised once; its slopes are scaled down where they would not be stable."""
    here = effort(q, qd)
    probe_q, probe_qd = PROBE * (1.0 + np.abs(q)), PROBE * (1.0 + np.abs(qd))
    a = (effort(q + probe_q, qd) - here) / probe_q
    b = (effort(q, qd + probe_qd) - here) / probe_qd
    own = np.maximum(np.diag(inverse_mass), np.finfo(np.float64).tiny)
    largest = np.minimum(own, 1.0) * np.finfo(np.float64).max  # without an overflow
    bound = np.minimum(STABLE_SHARE / h, largest) / own
    slope = a * h + b
    scale = np.where(slope > bound, bound / np.where(slope > bound, slope, 1.0), 1.0)
    a, b = a * scale, b * scale

    def linear(at_q: Array, at_qd: Array) -> Array:
        found: Array = here + a * (at_q - q) + b * (at_qd - qd)
        return found

    return linear
