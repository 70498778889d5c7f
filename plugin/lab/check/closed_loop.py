"""Linearised closed loop over one control tick, exact for the integrator, and its stability."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray

# Certificates -------------------------------------------------------------------------------------
# Proofs of stability and instability that are cheaper than all eigenvalues of a large matrix.


#: How far from singular a matrix must be to be called positive, and to be called not positive.
NEAR, CLEAR = 1e-6, 1e-3
#: Squarings of a transition matrix before its eigenvalues are computed after all.
SQUARINGS = 12


def by_definiteness(
    weight: FloatArray, damping: FloatArray, stiffness: FloatArray, step: float
) -> bool | None:
    """Whether v⁺ = v − h W⁻¹(K q + D v), q⁺ = q + h v⁺ is stable; None: this does not decide it.

    With λ = (1 + s)/(1 − s) the modes are those of (4W − 2hD − h²K) s² + 2hD s + h²K. It is stable
    where all three are positive; with D positive as many modes grow as the first has negative
    directions.

    Args:
        weight: W, positive.
        damping: D, not negative.
        stiffness: K, not negative.
        step: h.
    """
    damped = step * damping
    inertia = 4.0 * weight - 2.0 * damped - step * step * stiffness
    if not np.isfinite(inertia).all():
        return None
    if _is_positive(inertia - NEAR * weight):
        return True
    # Relative to what is subtracted, which may be far larger than the inertia itself.
    clear = CLEAR * (weight + damped + step * step * stiffness)
    if not _is_positive(inertia + clear) and _is_positive(damped - NEAR * NEAR * weight):
        return False
    return None


def _is_positive(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def by_powers(matrix: FloatArray, growth: float) -> bool | None:
    """Whether no eigenvalue is larger than `growth` (≥ 1), by squaring; None: undecided.

    ‖Aᵐ‖ < 1 proves that none is larger than 1; |tr Aᵐ| > n·growthᵐ that one is larger than growth.
    """
    power, times = matrix, 1
    for _ in range(SQUARINGS):
        power, times = power @ power, 2 * times
        if not np.isfinite(power).all():
            return None
        if np.abs(power).sum(axis=0).max() < 1.0:
            return True
        limit = len(matrix) * math.exp(min(times * math.log(growth), 700.0))
        if abs(float(np.trace(power))) > 2.0 * limit:
            return False
    return None


# Closed loop --------------------------------------------------------------------------------------
# Linearised closed loop over one control tick, exact for the integrator in use.


#: Growth per tick below which rounding may be the only cause.
ROUNDING = 1e-6
#: Controllers whose common period is longer are judged over the longest tick.
LONGEST_PERIOD = 240
#: Ticks of more steps are computed by powers of a matrix.
LONGEST_LOOP = 24
#: From this many joints on, cheaper tests than eigenvalues come first.
LARGE = 24


class Carrier(Enum):
    """What computes the effort of a loop."""

    #: A law before the step; its effort is held until the next tick.
    HELD = "held"
    #: The same, solved for the state at the end of the tick (`effort: implicit`).
    SOLVED = "solved"
    #: An actuator of MuJoCo: its integrator knows the slopes.
    ENGINE = "engine"


@dataclass(frozen=True)
class LinearPlant:
    """Linearised joint dynamics: M q̈ + D q̇ + K q = τ.

    `damped_ahead`: Euler takes D at the end of the step (MuJoCo's `eulerdamp`).
    """

    mass: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    step: float
    integrator: str
    damped_ahead: bool = True


@dataclass(frozen=True, eq=False)
class Loop:
    """PD or PID feedback: τ = −Jᵀ (kp J q + kv J q̇ − ki z), computed every `every` steps."""

    rows: FloatArray
    kp: FloatArray
    kv: FloatArray
    ki: FloatArray
    every: int = 1
    carrier: Carrier = Carrier.HELD


def transition(plant: LinearPlant, loops: Sequence[Loop]) -> FloatArray:
    """The transition matrix of (q, q̇, z) over one common tick of all loops."""
    if _period(loops) > LONGEST_LOOP:
        return held_transition(plant, loops)
    n = len(plant.mass)
    sizes = [len(loop.kp) if loop.ki.any() else 0 for loop in loops]
    every = np.eye(2 * n + sum(sizes))
    state = every[: 2 * n]
    ends = np.cumsum([2 * n, *sizes])
    integrals = [every[a:b] for a, b in pairwise(ends)]
    inside = _inside(plant, loops)
    free, pushed = _one_step(plant, inside)
    feedback = [_feedback(plant, loop, any(loop is one for one in inside)) for loop in loops]
    efforts: list[FloatArray] = [np.zeros((n, len(every)))] * len(loops)
    for step in range(_period(loops)):
        for i, loop in enumerate(loops):
            if step % loop.every == 0:
                if sizes[i]:
                    tick = loop.every * plant.step
                    integrals[i] = integrals[i] - tick * (loop.rows @ state[:n])
                efforts[i] = feedback[i](state, integrals[i])
        total: FloatArray = np.sum(efforts, axis=0)
        state = free @ state + pushed @ total
    return np.vstack([state, *integrals])


def _inside(plant: LinearPlant, loops: Sequence[Loop]) -> list[Loop]:
    """The loops that the integrator itself solves."""
    return [lp for lp in loops if lp.carrier is Carrier.ENGINE and plant.integrator != "Euler"]


def held_transition(plant: LinearPlant, loops: Sequence[Loop]) -> FloatArray:
    """`transition` over a long tick: the steps in which efforts are held by powers of one matrix.

    The state is that of the joints, the integrals and the efforts that are held.
    """
    n = len(plant.mass)
    sizes = [len(loop.kp) if loop.ki.any() else 0 for loop in loops]
    starts = np.cumsum([2 * n, *sizes, *(n for _ in loops)])
    size, held = int(starts[-1]), starts[len(loops) :]
    inside = _inside(plant, loops)
    free, pushed = _one_step(plant, inside)
    step = np.eye(size)
    step[: 2 * n, : 2 * n] = free
    ticks: list[FloatArray] = []
    for i, loop in enumerate(loops):
        step[: 2 * n, held[i] : held[i] + n] = pushed
        tick = np.eye(size)
        z = slice(int(starts[i]), int(starts[i]) + sizes[i])
        if sizes[i]:
            tick[z, :n] = -loop.every * plant.step * loop.rows
        effort = _feedback(plant, loop, any(loop is one for one in inside))
        tick[held[i] : held[i] + n] = effort(tick[: 2 * n], tick[z])
        ticks.append(tick)
    end = int(held[0])
    return _over(step, list(zip(loops, ticks, strict=True)), _period(loops))[:end, :end]


def _over(step: FloatArray, loops: Sequence[tuple[Loop, FloatArray]], steps: int) -> FloatArray:
    """The transition over some steps, from a common tick of all loops on."""
    slow = [tick for loop, tick in loops if loop.every >= steps]
    fast = [(loop, tick) for loop, tick in loops if loop.every < steps]
    start = np.eye(len(step))
    for tick in slow:
        start = tick @ start
    if not steps:
        return np.eye(len(step))
    if not fast:
        return np.asarray(np.linalg.matrix_power(step, steps), float) @ start
    period = _period([loop for loop, _ in fast])
    if period >= steps:  # they never come together again: step by step
        return _one_by_one(step, fast, steps) @ start
    times, rest = divmod(steps, period)
    inner = np.asarray(np.linalg.matrix_power(_over(step, fast, period), times), float)
    whole: FloatArray = _over(step, fast, rest) @ inner @ start
    return whole


def _one_by_one(
    step: FloatArray, loops: Sequence[tuple[Loop, FloatArray]], steps: int
) -> FloatArray:
    whole = np.eye(len(step))
    for i in range(steps):
        for loop, tick in loops:
            if i % loop.every == 0:
                whole = tick @ whole
        whole = step @ whole
    return whole


def _period(loops: Sequence[Loop]) -> int:
    ticks = [loop.every for loop in loops] or [1]
    common = math.lcm(*ticks)
    return common if common <= LONGEST_PERIOD else max(ticks)


Feedback = Callable[[FloatArray, FloatArray], FloatArray]


def _feedback(plant: LinearPlant, loop: Loop, inside: bool) -> Feedback:
    """The joint effort of a loop as a function of the state.

    For a loop inside the step: the integral part only, the rest is in the step itself.
    """
    n, rows = len(plant.mass), loop.rows
    on_q, on_v = loop.kp[:, None] * rows, loop.kv[:, None] * rows
    on_z = np.diag(loop.ki)
    if inside:
        on_q, on_v = np.zeros_like(on_q), np.zeros_like(on_v)
    elif loop.carrier is Carrier.SOLVED:
        tick = loop.every * plant.step
        slope = tick * loop.kp + loop.kv
        compliance = rows @ np.linalg.solve(plant.mass, rows.T)
        solve = np.linalg.inv(np.eye(len(slope)) + tick * slope[:, None] * compliance)
        on_v = solve @ (on_v + tick * on_q)
        on_q, on_z = solve @ on_q, solve @ on_z

    def effort(state: FloatArray, integral: FloatArray) -> FloatArray:
        value = -(on_q @ state[:n]) - on_v @ state[n:]
        if len(integral):
            value = value + on_z @ integral
        found: FloatArray = rows.T @ value
        return found

    return effort


def _one_step(plant: LinearPlant, inside: Sequence[Loop]) -> tuple[FloatArray, FloatArray]:
    """x⁺ = free x + pushed τ over one physics step, the loops inside the step included."""
    n, h = len(plant.mass), plant.step
    damping, stiffness = _closed(plant, inside)
    if plant.integrator == "RK4":
        return _runge_kutta(plant.mass, damping, stiffness, h)
    weight, on_v = _weights(plant, damping, stiffness)
    solved = np.asarray(np.linalg.solve(weight, np.hstack([stiffness, on_v, np.eye(n)])), float)
    one = np.eye(n)
    velocity = np.hstack([-h * solved[:, :n], one - h * solved[:, n : 2 * n]])
    position = np.hstack([one, np.zeros((n, n))]) + h * velocity
    push = h * solved[:, 2 * n :]
    return np.vstack([position, velocity]), np.vstack([h * push, push])


def _closed(plant: LinearPlant, loops: Sequence[Loop]) -> tuple[FloatArray, FloatArray]:
    """Damping and stiffness of the joints with those of some loops."""
    damping, stiffness = plant.damping, plant.stiffness
    for loop in loops:
        damping = damping + loop.rows.T @ (loop.kv[:, None] * loop.rows)
        stiffness = stiffness + loop.rows.T @ (loop.kp[:, None] * loop.rows)
    return damping, stiffness


def _weights(
    plant: LinearPlant, damping: FloatArray, stiffness: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What the integrator divides by, and the force per velocity."""
    h = plant.step
    ahead = plant.integrator != "Euler" or plant.damped_ahead
    weight = plant.mass + h * damping if ahead else plant.mass
    if plant.integrator == "discrete":
        return weight + h * h * stiffness, damping + h * stiffness
    return weight, damping


def _runge_kutta(
    mass: FloatArray, damping: FloatArray, stiffness: FloatArray, h: float
) -> tuple[FloatArray, FloatArray]:
    n = len(mass)
    solved = np.linalg.solve(mass, np.hstack([stiffness, damping, np.eye(n)]))
    slope = np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n : 2 * n]]])
    push = np.vstack([np.zeros((n, n)), solved[:, 2 * n :]])
    term = np.eye(2 * n)
    free, held = term.copy(), np.zeros_like(term)
    for order in range(1, 5):
        held = held + h * term / order
        term = h * (slope @ term) / order
        free = free + term
    return free, held @ push


def growth(plant: LinearPlant, loops: Sequence[Loop]) -> float:
    """Spectral radius: growth of the worst mode per tick; stable up to 1."""
    with np.errstate(all="ignore"):
        matrix = transition(plant, loops)
        if not np.isfinite(matrix).all():
            return math.inf
        return float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0))


def is_stable(plant: LinearPlant, loops: Sequence[Loop]) -> bool:
    """Whether no mode grows."""
    if len(plant.mass) < LARGE:
        return growth(plant, loops) <= 1.0 + ROUNDING
    with np.errstate(all="ignore"):
        found = _by_definiteness(plant, loops)
        if found is None:
            matrix = transition(plant, loops)
            if np.isfinite(matrix).all():
                found = by_powers(matrix, 1.0 + ROUNDING)
    return growth(plant, loops) <= 1.0 + ROUNDING if found is None else found


def _by_definiteness(plant: LinearPlant, loops: Sequence[Loop]) -> bool | None:
    """Whether no mode grows, for PD at every step; None: undecided, or another kind of loop."""
    simple = all(lp.every == 1 and not lp.ki.any() for lp in loops)
    if plant.integrator == "RK4" or not simple or any(_is_solved(lp) for lp in loops):
        return None
    if any((lp.kp < 0.0).any() or (lp.kv < 0.0).any() for lp in loops):
        return None
    damping, stiffness = _closed(plant, _inside(plant, loops))
    weight, on_v = _weights(plant, damping, stiffness)
    held = [lp for lp in loops if all(lp is not one for one in _inside(plant, loops))]
    outside = _closed(replace(plant, damping=on_v, stiffness=stiffness), held)
    return by_definiteness(weight, *outside, plant.step)


def _is_solved(loop: Loop) -> bool:
    return loop.carrier is Carrier.SOLVED


def growing_joints(plant: LinearPlant, loops: Sequence[Loop]) -> npt.NDArray[np.bool_]:
    """Joints that take part in the growing modes, by their participation factors."""
    n = len(plant.mass)
    matrix = transition(plant, loops)
    if not np.isfinite(matrix).all():
        return np.ones(n, bool)
    values, right = np.linalg.eig(matrix)
    left = np.linalg.pinv(right)
    grows = np.abs(values) > 1.0 + ROUNDING
    share = np.abs(left[grows] * right[:, grows].T)
    joint = share[:, :n] + share[:, n : 2 * n]
    worst = joint.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
    found: npt.NDArray[np.bool_] = (joint >= 0.2 * worst).any(axis=0)
    return found


def largest(stable: Callable[[float], bool], low: float, high: float) -> float:
    """The largest stable factor between `low` (stable) and `high` (unstable), to 1 %."""
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
