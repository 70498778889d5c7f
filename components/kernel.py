"""One fused kernel for delay → law → clamps (extra `fast`).

The same operations in the same order as the numpy pipeline, one actuator after the other: no
fastmath, no contraction, so the bits are the same. Only this module imports numba.
"""

import math
from typing import Any

import numba

#: Rows of `index`.
QPOS, DOF, CTRL, COLUMN = range(4)
#: Rows of `gain`.
FACTOR, KP, KV, KI, CONSTANT, INTEGRAL_MAX, TARGET_LOW, TARGET_HIGH = range(8)
#: Kinds of clamp.
MAX_EFFORT, DC_MOTOR, TABLE = range(3)


@numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator,unused-ignore]
def run(
    qpos: Any,
    qvel: Any,
    setpoints: Any,
    ctrl: Any,
    index: Any,
    gain: Any,
    kinds: Any,
    clamps: Any,
    tables: Any,
    ring: Any,
    memory: Any,
    integral: Any,
    values: Any,
    acted: Any,
    dt: float,
) -> None:
    """One tick of all actuators.

    Args:
        qpos, qvel, ctrl: MuJoCo's arrays.
        setpoints: (3, N) position, velocity, feedforward of the articulation.
        index: (4, n) addresses; gain: (8, n) parameters.
        kinds: (c,) kinds of clamp; clamps: (c, 4, n) their parameters.
        tables: (t, 2, n, m) positions and efforts of the tables, in clamp order.
        ring: (rows, 3, n) past commands, rows = 0 without delay.
        memory: (3, n) count, lag, head of the ring.
        integral: (n,), empty without.
        values: (2, n) raw effort, effort.
        acted: (c, n) how often each clamp acted.
    """
    rows = ring.shape[0]
    head = 0
    if rows > 0:
        head = (memory[2, 0] + 1) % rows
        memory[2, 0] = head
    for i in range(index.shape[1]):
        g = gain[FACTOR, i]
        q = qpos[index[QPOS, i]] * g
        qd = qvel[index[DOF, i]] * g
        column = index[COLUMN, i]
        target = min(max(setpoints[0, column], gain[TARGET_LOW, i]), gain[TARGET_HIGH, i])
        target_q = target * g
        target_qd = setpoints[1, column] * g
        feedforward = setpoints[2, column] / g
        if rows > 0:
            ring[head, 0, i] = target_q
            ring[head, 1, i] = target_qd
            ring[head, 2, i] = feedforward
            row = (head - min(memory[1, i], memory[0, i])) % rows
            memory[0, i] = min(memory[0, i] + 1, rows - 1)
            target_q = ring[row, 0, i]
            target_qd = ring[row, 1, i]
            feedforward = ring[row, 2, i]
        kp = gain[KP, i]
        kv = gain[KV, i]
        raw = (kp * target_q + kv * target_qd) + (feedforward + gain[CONSTANT, i])
        if integral.shape[0] > 0:
            bound = gain[INTEGRAL_MAX, i]
            advanced = min(max(integral[i] + (target_q - q) * dt, -bound), bound)
            raw = raw + gain[KI, i] * advanced
            raw = raw + ((-kp) * q + (-kv) * qd)
            if math.isfinite(raw):
                integral[i] = advanced
        else:
            raw = raw + ((-kp) * q + (-kv) * qd)
        effort = raw
        if not math.isnan(raw):
            table = 0
            for c in range(kinds.shape[0]):
                before = effort
                if kinds[c] == MAX_EFFORT:
                    low = clamps[c, 0, i]
                    high = clamps[c, 1, i]
                elif kinds[c] == DC_MOTOR:
                    corner = clamps[c, 3, i]
                    speed = min(max(qd, -corner), corner) / clamps[c, 1, i]
                    high = min(clamps[c, 0, i] * (1.0 - speed), clamps[c, 2, i])
                    low = max(clamps[c, 0, i] * (-1.0 - speed), -clamps[c, 2, i])
                else:
                    high = look_up(tables[table, 0, i], tables[table, 1, i], q)
                    low = -high
                    table += 1
                effort = min(max(effort, low), high)
                if effort != before:
                    acted[c, i] += 1
        values[0, i] = raw
        values[1, i] = effort
        ctrl[index[CTRL, i]] = effort


@numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator,unused-ignore]
def look_up(x: Any, y: Any, q: float) -> float:
    """Piecewise linear, constant beyond the ends; the left value at a position that stands twice."""
    last = x.shape[0] - 1
    if q <= x[0]:
        return float(y[0])
    if q >= x[last]:
        return float(y[last])
    k = 0
    while x[k + 1] < q:
        k += 1
    width = x[k + 1] - x[k]
    share = (q - x[k]) / width if width > 0.0 else 0.0
    return float(y[k] + share * (y[k + 1] - y[k]))
