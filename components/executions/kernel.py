"""Compiled kernels: delay → law → clamps in one function, and dry friction (extra `fast`).

The equations of `laws/equations.py`, one actuator after the other: no fastmath, no contraction, so
they are bit-identical to the numpy pipeline. The kernel takes the address of one table of pointers:
a call costs the same, however many arrays it works on. Only this module imports numba.
"""

import math
from pathlib import Path
from typing import Any
from zlib import crc32

import mujoco
import numba
import numba.extending

from mjrig.components.laws import dry_friction, equations
from mjrig.components.laws.equations import CurveLimit, Gains, LawSignals, LineLimit, Segment

_numba: Any = numba  # its types are incomplete
carray, types = _numba.carray, _numba.types
_extending: Any = numba.extending
#: Entries of the table of pointers, each to float64.
(SIZES, QPOS, QVEL, SETPOINTS, CTRL, INDEX, GAIN, KINDS, CLAMPS, TABLES, RING, LAGS, INTEGRAL,
 VALUES, ACTED) = range(15)  # fmt: skip
#: Entries of `sizes`.
SIZE, COLUMNS, NUM_CLAMPS, NUM_TABLES, TABLE_LENGTH, ROWS, HAS_INTEGRAL, STEP, TEXTBOOK = range(9)
#: Rows of `index`: addresses and the column in the setpoints.
AT_QPOS, AT_DOF, AT_CTRL, AT_COLUMN = range(4)
#: Rows of `gain`.
FACTOR, KP, KV, KI, CONSTANT, INTEGRAL_MAX, TARGET_LOW, TARGET_HIGH = range(8)
#: Rows of `lags`: commands in the ring, delay, newest row (first entry only).
COUNT, LAG, HEAD = range(3)
#: MuJoCo treats a larger ctrl as invalid, and zeroes all of them.
LARGEST = 1e10
#: Kinds of clamp.
MAX_EFFORT, DC_MOTOR, TABLE, CURVE = range(4)
#: Rows of parameters of a clamp.
LIMITS = 5


# Equations ----------------------------------------------------------------------------------------


def _of_equations(kernel: Any) -> Any:
    """Name a kernel after the equations: numba's cache only notices edits of the kernel's file."""
    sources = (Path(str(module.__file__)).read_bytes() for module in (equations, dry_friction))
    kernel.__qualname__ += f"_{crc32(b''.join(sources)):08x}"
    return kernel


# The functions of numbers that the equations are written with.
_extending.overload(equations.clip)(
    lambda values, low, high: lambda values, low, high: min(max(values, low), high)
)
_extending.overload(equations.maximum)(
    lambda one, other: lambda one, other: other if other > one else one
)
_extending.overload(equations.where)(
    lambda condition, chosen, otherwise: (
        lambda condition, chosen, otherwise: chosen if condition else otherwise
    )
)
_pd, _pd_textbook, _pid, _pid_textbook, _advanced_integral = (
    _numba.njit(equation, error_model="numpy")
    for equation in (
        equations.pd, equations.pd_textbook, equations.pid, equations.pid_textbook,
        equations.advanced_integral,
    )
)  # fmt: skip
_motor_line, _motor_curve, _table_limit, _arriving_row = (
    _numba.njit(equation, error_model="numpy")
    for equation in (
        equations.motor_line, equations.motor_curve, equations.table_limit, equations.arriving_row
    )
)  # fmt: skip


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
@_of_equations
def look_up(x: Any, y: Any, q: float) -> float:
    """Piecewise linear, constant beyond the ends; the left value at a repeated position."""
    last = x.shape[0] - 1
    if q <= x[0]:
        return float(y[0])
    if q >= x[last]:
        return float(y[last])
    k = 0
    while x[k + 1] < q:
        k += 1
    width = x[k + 1] - x[k]
    segment = Segment(x[k], width if width > 0.0 else math.inf, y[k], y[k + 1] - y[k])
    return float(_table_limit(segment, q))


# Kernel -------------------------------------------------------------------------------------------


_POINTERS = types.CPointer(types.CPointer(types.float64))


@_extending.intrinsic  # type: ignore[untyped-decorator]
def _table_at(typing: Any, address: Any) -> Any:
    """The table of pointers at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return _POINTERS(types.int64), generate


@_numba.njit("int64(int64)", cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
@_of_equations
def tick(address: int) -> int:
    """One tick of all actuators; returns how many efforts were not finite: their ctrl stays."""
    pointers = _table_at(address)
    sizes = carray(pointers[SIZES], (9,))
    n, rows, clamps = int(sizes[SIZE]), int(sizes[ROWS]), int(sizes[NUM_CLAMPS])
    columns, tables = int(sizes[COLUMNS]), int(sizes[NUM_TABLES])
    length, dt = int(sizes[TABLE_LENGTH]), sizes[STEP]
    index, gain = carray(pointers[INDEX], (4, n)), carray(pointers[GAIN], (8, n))
    setpoints = carray(pointers[SETPOINTS], (3, columns))
    kinds = carray(pointers[KINDS], (clamps,))
    limits = carray(pointers[CLAMPS], (clamps, LIMITS, n))
    table = carray(pointers[TABLES], (tables, 2, n, length))
    ring, lags = carray(pointers[RING], (rows, 3, n)), carray(pointers[LAGS], (3, n))
    integral = carray(pointers[INTEGRAL], (n,))
    values, acted = carray(pointers[VALUES], (2, n)), carray(pointers[ACTED], (clamps, n))
    qpos, qvel, ctrl = pointers[QPOS], pointers[QVEL], pointers[CTRL]
    head, refused = 0, 0
    if rows > 0:
        head = (int(lags[HEAD, 0]) + 1) % rows
        lags[HEAD, 0] = head
    for i in range(n):
        g = gain[FACTOR, i]
        q = qpos[int(index[AT_QPOS, i])] * g
        qd = qvel[int(index[AT_DOF, i])] * g
        column = int(index[AT_COLUMN, i])
        target = min(max(setpoints[0, column], gain[TARGET_LOW, i]), gain[TARGET_HIGH, i])
        target_q = target * g
        target_qd = setpoints[1, column] * g
        feedforward = setpoints[2, column] / g
        # 1. delay
        if rows > 0:
            ring[head, 0, i] = target_q
            ring[head, 1, i] = target_qd
            ring[head, 2, i] = feedforward
            row = _arriving_row(head, int(min(lags[LAG, i], lags[COUNT, i])), rows)
            lags[COUNT, i] = min(lags[COUNT, i] + 1.0, rows - 1.0)
            target_q = ring[row, 0, i]
            target_qd = ring[row, 1, i]
            feedforward = ring[row, 2, i]
        # 2. law
        gains = Gains(
            gain[KP, i], gain[KV, i], gain[CONSTANT, i], gain[KI, i], gain[INTEGRAL_MAX, i]
        )
        signals = LawSignals(q, qd, target_q, target_qd, feedforward, dt)
        advanced = 0.0
        if sizes[HAS_INTEGRAL] > 0.0:
            advanced = _advanced_integral(gains, signals, integral[i])
            if sizes[TEXTBOOK] > 0.0:
                raw = _pid_textbook(gains, signals, advanced)
            else:
                raw = _pid(gains, signals, advanced)
        elif sizes[TEXTBOOK] > 0.0:
            raw = _pd_textbook(gains, signals)
        else:
            raw = _pd(gains, signals)
        if sizes[HAS_INTEGRAL] > 0.0 and math.isfinite(raw):
            integral[i] = advanced
        # 3. clamps
        effort = raw
        if math.isfinite(raw):
            at = 0
            for c in range(clamps):
                before = effort
                if kinds[c] == MAX_EFFORT:
                    low, high = limits[c, 0, i], limits[c, 1, i]
                elif kinds[c] == DC_MOTOR:
                    stall, speed = limits[c, 0, i], limits[c, 1, i]
                    most, corner = limits[c, 2, i], limits[c, 3, i]
                    above = LineLimit(1.0, -math.inf, most, stall, speed, corner)
                    below = LineLimit(-1.0, -most, math.inf, stall, speed, corner)
                    low, high = _motor_line(below, qd), _motor_line(above, qd)
                elif kinds[c] == CURVE:
                    x1, driving, braking = limits[c, 0, i], limits[c, 1, i], limits[c, 2, i]
                    curve = CurveLimit(x1, driving, braking, limits[c, 3, i], limits[c, 4, i])
                    low, high = _motor_curve(curve, qd)
                else:
                    high = look_up(table[at, 0, i], table[at, 1, i], q)
                    low = -high
                    at += 1
                effort = min(max(effort, low), high)
                if effort != before:
                    acted[c, i] += 1.0
        values[0, i] = raw
        values[1, i] = effort
        if abs(effort) <= LARGEST:
            ctrl[int(index[AT_CTRL, i])] = effort
        else:
            refused += 1
    return refused


# Friction kernel ----------------------------------------------------------------------------------
# Kernel: the dry friction of all joints of a component in one call (extra `fast`).


#: Type of a friction constraint of a joint: mjCNSTR_FRICTION_DOF.
OF_JOINTS = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
_budget = _numba.njit(error_model="numpy")(dry_friction.dry_friction)


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def read_loads(
    dofs: Any, actuator: Any, constraint: Any, bias: Any, kinds: Any, ids: Any, forces: Any,
    loads: Any,
) -> None:  # fmt: skip
    """Torques of the last step on every joint: of motors, and of all but motors and friction.

    Args:
        kinds, ids, forces: of the friction constraints.
    """
    for i in range(dofs.shape[0]):
        dof = dofs[i]
        friction = 0.0
        for row in range(kinds.shape[0]):
            if kinds[row] == OF_JOINTS and ids[row] == dof:
                friction = forces[row]
        loads[0, i] = actuator[dof]
        loads[1, i] = (constraint[dof] - friction) - bias[dof]


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
@_of_equations
def write_friction(
    rows: Any, dofs: Any, velocities: Any, motor: Any, external: Any, frictionloss: Any
) -> None:
    """Write the friction of every joint, given the torques of the last step."""
    for i in range(dofs.shape[0]):
        dof = dofs[i]
        frictionloss[dof] = _budget(rows[i], velocities[dof], motor[i], external[i])
