"""Traced equations: the stage that each call runs in, and the rules of derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mjrig.components.laws.tracing import (
    Evaluation,
    Symbol,
    TracedProgram,
    UpdateStage,
    derivatives,
)

#: No equation below has a kink within STEP of one of these.
Q = np.array([-1.7, -0.6, -0.15, 0.12, 0.35, 0.9, 1.4])
STEP = 1e-6


def symbol(count: int) -> Symbol:
    return Symbol((count,), float, name="q")


def slope_of(equation: Callable[[Any], Any], at: np.ndarray) -> np.ndarray:
    return derivatives([equation(symbol(len(at)))], {"q": at}, "q")[0]


@pytest.mark.parametrize(
    "equation",
    [
        lambda q: 3.0 * q + q * q,
        lambda q: 3.0 * q - q * q,
        lambda q: (q + 1.0) * (3.0 - 2.0 * q),
        lambda q: (q + 3.0) / (2.0 - q),
        lambda q: (q + 3.0) ** 2.5,
        lambda q: -(2.0 * q),
        lambda q: np.positive(2.0 * q),
        lambda q: np.abs(2.0 * q - 0.5),
        lambda q: np.maximum(2.0 * q, 1.0 - 3.0 * q),
        lambda q: np.minimum(2.0 * q, 1.0 - 3.0 * q),
        lambda q: np.clip(3.0 * q, -1.0 - 0.5 * q, 1.0 + 0.25 * q),
        lambda q: np.where(q > 0.0, 2.0 * q, 5.0 * q),
    ],
    ids=["add", "subtract", "multiply", "divide", "power", "negative", "positive", "absolute",
         "maximum", "minimum", "clip", "where"],
)  # fmt: skip
def test_derivatives_are_finite_differences(equation: Callable[[Any], Any]) -> None:
    run = Evaluation(TracedProgram([equation(symbol(len(Q)))]))
    high = run({"q": Q + STEP})[0].copy()
    low = run({"q": Q - STEP})[0].copy()
    np.testing.assert_allclose(slope_of(equation, Q), (high - low) / (2.0 * STEP), rtol=1e-7)


def test_derivatives_at_a_kink_have_a_side() -> None:
    zero = np.zeros(1)
    assert slope_of(lambda q: np.maximum(2.0 * q, 3.0 * q), zero) == 3.0
    assert slope_of(lambda q: np.minimum(2.0 * q, 3.0 * q), zero) == 3.0
    # At a bound the value is the bound's.
    assert slope_of(lambda q: np.clip(2.0 * q, 5.0 * q, 1.0 + q), zero) == 5.0
    assert slope_of(lambda q: np.clip(2.0 * q, q - 1.0, 7.0 * q), zero) == 7.0
    assert slope_of(lambda q: np.clip(q - 1.0, 5.0 * q, 7.0 * q), zero) == 7.0
    assert slope_of(np.abs, zero) == 0.0


def test_a_constant_times_infinity_has_no_slope() -> None:
    endless = Symbol.of(np.array([np.inf]))
    assert derivatives([endless * 2.0], {"q": np.zeros(1)}, "q")[0] == 0.0


def test_an_unknown_derivative_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="sin"):
        slope_of(np.sin, Q)


@pytest.mark.parametrize("stage", list(UpdateStage))
def test_calls_run_as_rarely_as_their_inputs_change(stage: UpdateStage) -> None:
    array = np.ones(2)
    calls, (result,) = TracedProgram([Symbol.of(array, stage) * 2.0]).bind({})
    assert [len(c) for c in calls] == [int(s is stage) for s in UpdateStage]
    for call in calls[stage]:
        call()
    assert result.tolist() == [2.0, 2.0]


def test_the_stages_are_distinct_and_a_result_has_the_latest() -> None:
    parameter, command = (Symbol.of(np.ones(1), UpdateStage(s)) for s in (0, 1))
    assert len(UpdateStage) == 3
    assert (parameter + 1.0).stage is UpdateStage.PARAMETERS
    assert (parameter + command).stage is UpdateStage.COMMAND
    assert (command + symbol(1)).stage is UpdateStage.STEP
