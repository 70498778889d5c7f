"""τ = ff + kp (q* − q) + kv (v* − v), by hand and to the last bit."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mjrig.components.laws import PDLaw, PDLaw32

Floats = npt.NDArray[Any]


def effort(law: PDLaw, gains: list[float], command: list[float], state: list[float]) -> float:
    """One actuator: gains (kp, kv), command (q*, v*, ff), state (q, v)."""
    dtype: Any = np.float32 if isinstance(law, PDLaw32) else np.float64
    kp, kv = (np.array([g]) for g in gains)
    target_q, target_qd, feedforward = (np.array([c], dtype) for c in command)
    q, qd = (np.array([s], dtype) for s in state)
    out = np.zeros(1, dtype)
    law.set_gains(kp, kv)
    law.command(target_q, target_qd, feedforward)
    law.compute(q, qd, out)
    return float(out[0])


@pytest.mark.parametrize("law", [PDLaw, PDLaw32])
@pytest.mark.parametrize(
    ("gains", "command", "state", "expected"),
    [
        ([10, 2], [0.5, 0, 0], [0.5, 0], 0.0),
        ([10, 2], [1.0, 0, 0], [0.5, 0], 5.0),
        ([10, 2], [-1.0, 0, 0], [0.5, 0], -15.0),
        ([10, 2], [0, 0, 0], [0, 3.0], -6.0),
        ([10, 2], [0, 0, 0], [0, -3.0], 6.0),
        ([10, 2], [0, 4.0, 0], [0, 1.0], 6.0),
        ([10, 2], [0, 0, 1.25], [0, 0], 1.25),
        ([0, 0], [1, 1, -2.5], [9, 9], -2.5),
        ([20, 0.5], [0.75, 0.25, 1.75], [0.25, -0.5], 12.125),
    ],
)
def test_the_law_by_hand(
    law: type[PDLaw],
    gains: list[float],
    command: list[float],
    state: list[float],
    expected: float,
) -> None:
    assert effort(law(1), gains, command, state) == expected


def samples(dtype: type[np.floating[Any]]) -> list[Floats]:
    random = np.random.default_rng(3)
    shape = (7, 1000)
    values = random.normal(size=shape) * 10.0 ** random.integers(-3, 3, size=shape)
    return [row.astype(dtype) for row in values]


def test_float64_has_exactly_the_engines_brackets() -> None:
    kp, kv, target_q, target_qd, ff, q, qd = samples(np.float64)
    law, out = PDLaw(1000), np.zeros(1000)
    law.set_gains(kp, kv)
    law.command(target_q, target_qd, ff)
    law.compute(q, qd, out)
    expected = ((kp * target_q + kv * target_qd) + ff) + ((-kp) * q + (-kv) * qd)
    assert np.array_equal(out, expected)
    other = ff + kp * (target_q - q) + kv * (target_qd - qd)
    assert not np.array_equal(out, other)


def test_float32_sums_from_left_to_right() -> None:
    kp, kv, target_q, target_qd, ff, q, qd = samples(np.float32)
    law, out = PDLaw32(1000), np.zeros(1000, np.float32)
    law.set_gains(kp, kv)
    law.command(target_q, target_qd, ff)
    law.compute(q, qd, out)
    expected = (ff + kp * (target_q - q)) + kv * (target_qd - qd)
    assert expected.dtype == np.float32
    assert np.array_equal(out, expected)


def test_a_command_holds_until_the_next() -> None:
    law, out = PDLaw(1), np.zeros(1)
    law.set_gains(np.array([2.0]), np.array([0.0]))
    law.command(np.array([1.0]), np.zeros(1), np.zeros(1))
    law.compute(np.array([0.25]), np.zeros(1), out)
    assert out[0] == 1.5
    law.compute(np.array([0.5]), np.zeros(1), out)
    assert out[0] == 1.0


@pytest.mark.parametrize("law", [PDLaw, PDLaw32])
def test_a_law_keeps_no_hold_of_the_callers_gains(law: type[PDLaw]) -> None:
    kp = np.array([2.0])
    made = law(1)
    made.set_gains(kp, np.zeros(1))
    kp[0] = 100.0
    made.command(np.ones(1), np.zeros(1), np.zeros(1))
    dtype: Any = np.float32 if law is PDLaw32 else np.float64
    out = np.zeros(1, dtype)
    made.compute(np.zeros_like(out), np.zeros_like(out), out)
    assert out[0] == 2.0


def test_a_law_of_no_actuators_computes_nothing() -> None:
    law, nothing = PDLaw(0), np.zeros(0)
    law.command(nothing, nothing, nothing)
    law.compute(nothing, nothing, nothing)
