"""Laws and clamps given as equations: calls, kernel, slopes and memory follow from them."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mjrig.components import PD, Clamp, Law, MaxEffort, VoltageServo
from mjrig.components.laws import equations
from mjrig.components.laws.equations import CurveLimit, Gains, LawSignals, LineLimit, Segment
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.tracing import Symbol, TracedProgram, UpdateStage, derivatives
from mjrig.core.errors import PropertyError
from mjrig.core.properties.per_actuator import PerActuator

Array = npt.NDArray[Any]
DOCS = Path(__file__).parents[3] / "docs" / "extending.md"


def documented() -> Any:
    """The law that docs/extending.md shows."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "class LeakySpring" in block)
    names: dict[str, Any] = {"__name__": "documented"}
    exec(code, names)
    return names["LeakySpring"]


def test_the_documented_law_computes_what_its_docstring_says() -> None:
    pipe = Pipeline(documented()(k=3.0, ki=2.0, leak=0.5), size=2)
    integral, dt = np.zeros(2), 0.01
    for step in range(4):
        q, target = np.array([0.1, -0.2]) * step, np.array([0.5, 0.25])
        error = target - q
        integral = integral + (error - 0.5 * integral) * dt
        assert np.array_equal(pipe.step(q, q, target, dt=dt), 3.0 * error + 2.0 * integral)
        assert np.array_equal(pipe.state.integral, integral)


def test_its_memory_stays_where_the_effort_is_not_finite() -> None:
    pipe = Pipeline(documented()(k=[1e308, 1.0]), size=2)
    with np.errstate(over="ignore"):
        pipe.step([-1e3, 0.0], [0.0, 0.0], [1e3, 1.0], dt=0.1)
    assert pipe.state.integral.tolist() == [0.0, 0.1]


class Window(Clamp):
    """−most ≤ τ ≤ most − slope |v|, never below 0."""

    most = PerActuator(constant=5.0, min=0.0)
    slope = PerActuator(constant=1.0, min=0.0)

    def equation(self, q: Any, qd: Any) -> tuple[Any, Any]:
        return -self.most, np.maximum(self.most - self.slope * np.abs(qd), 0.0)


def test_a_clamp_may_be_an_equation() -> None:
    pipe = Pipeline(PD(kp=100.0), clamps=[Window()], size=3)
    effort = pipe.step(np.zeros(3), [2.0, -7.0, 1.0], [1.0, 1.0, -1.0], np.zeros(3))
    assert effort.tolist() == [3.0, 0.0, -5.0]
    assert pipe.clamp_counts[0].tolist() == [1, 1, 1]
    slopes = pipe.jacobian(np.zeros(3), [2.0, -7.0, 1.0], [1.0, 1.0, -1.0], np.zeros(3))
    assert slopes.qd.tolist() == [-1.0, 0.0, 0.0]


class NoEffort(Law):
    def equation(self, x: Any) -> Any:
        x.q + x.qd  # no return


class Branching(Law):
    def equation(self, x: Any) -> Any:
        return x.q if x.q > 0.0 else -x.q


class Summing(Law):
    def equation(self, x: Any) -> Any:
        return np.sum(x.q)


def test_an_equation_without_a_result_is_rejected() -> None:
    with pytest.raises(PropertyError, match="equation returned None"):
        Pipeline(NoEffort(), size=1).step([1.0], [0.0])


@pytest.mark.parametrize(("law", "place"), [(Branching, "np.where"), (Summing, "np.sum")])
def test_what_cannot_be_evaluated_once_is_rejected(law: type[Law], place: str) -> None:
    with pytest.raises(TypeError, match=re.escape(place)):
        Pipeline(law(), size=1).step([1.0], [0.0])


class Stiffer(PD):
    """A law with the parameters of PD and another equation."""

    def equation(self, x: Any) -> Any:
        return 2.0 * super().equation(x)


def test_an_equation_of_a_subclass_has_no_other_form() -> None:
    pipe = Pipeline(Stiffer(kp=3.0), clamps=[MaxEffort(100.0)], size=1)
    assert pipe.step([0.0], [0.0], [1.0]).tolist() == [6.0]
    supports = pipe.executions
    assert not supports["compiled"].available
    assert not supports["native"].available


def test_calls_run_as_rarely_as_their_inputs_change() -> None:
    gain, target = np.array([2.0, 3.0]), np.array([1.0, -1.0])
    parameter = Symbol.of(gain, UpdateStage.PARAMETERS)
    command = Symbol((2,), float, UpdateStage.COMMAND, name="target")
    calls, _ = TracedProgram(
        [-parameter * Symbol((2,), float, name="q") + parameter * command]
    ).bind({"q": np.ones(2), "target": target})
    assert [len(calls[stage]) for stage in UpdateStage] == [1, 1, 2]


def test_a_servo_is_differentiated_like_its_equation() -> None:
    servo = VoltageServo(gain=2.0, kt=0.5, resistance=2.0, voltage=10.0, duty_limit=0.5)
    slopes = Pipeline(servo, size=2).jacobian([0.0, 0.0], [0.0, 0.0], [0.1, 9.0])
    assert slopes.q.tolist() == [-5.0, 0.0]  # kt V gain / R, and 0 at the limit
    assert slopes.qd.tolist() == [-0.125, -0.125]


def test_an_unknown_derivative_is_reported() -> None:
    angle: Any = Symbol((1,), float, name="q")
    symbol = np.arctan2(angle, 1.0)
    with pytest.raises(NotImplementedError, match="arctan2"):
        derivatives([symbol], {"q": np.ones(1)}, "q")


# The kernel's functions against the numpy calls ---------------------------------------------------

EDGES = [0.0, -0.0, 5e-324, -1e-310, 1.0, -1.5, 1e30, -1e30, 1e300, np.inf, -np.inf, np.nan]


def values(rng: np.random.Generator, count: int) -> Array:
    """Numbers of all sizes, a third of them odd ones."""
    plain = rng.normal(size=count) * 10.0 ** rng.integers(-5, 5, count)
    return np.where(rng.random(count) < 1 / 3, rng.choice(EDGES, count), plain)


def law_of(equation: Any) -> Any:
    return lambda *v: equation(Gains(*v[:5]), LawSignals(*v[5:11]), *v[11:])


CASES = {
    "pd": (law_of(equations.pd), 11),
    "pd_textbook": (law_of(equations.pd_textbook), 11),
    "pid": (law_of(equations.pid), 12),
    "pid_textbook": (law_of(equations.pid_textbook), 12),
    "advanced_integral": (law_of(equations.advanced_integral), 12),
    "motor_line": (lambda *v: equations.motor_line(LineLimit(*v[:6]), v[6]), 7),
    "motor_curve": (lambda *v: equations.motor_curve(CurveLimit(*v[:5]), v[5]), 6),
    "table_limit": (lambda *v: equations.table_limit(Segment(*v[:4]), v[4]), 5),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@np.errstate(all="ignore")
def test_traced_calls_have_the_bits_of_the_equation(name: str, dtype: Any) -> None:
    equation, count = CASES[name]
    rng = np.random.default_rng(5)
    inputs = {str(k): values(rng, 4000).astype(dtype) for k in range(count)}
    results = equation(*(Symbol((4000,), dtype, name=key) for key in inputs))
    results = results if isinstance(results, tuple) else (results,)
    calls, arrays = TracedProgram(results).bind(inputs)
    for call in calls[UpdateStage.STEP]:
        call()
    expected = equation(*inputs.values())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for array, one in zip(arrays, expected, strict=True):
        assert array.dtype == dtype
        assert np.array_equal(array, one, equal_nan=True)


@pytest.mark.parametrize("name", CASES)
@np.errstate(all="ignore")
def test_the_kernel_has_the_bits_of_the_equation(name: str) -> None:
    pytest.importorskip("numba")
    from mjrig.components.executions import kernel

    equation, count = CASES[name]
    compiled = {
        "motor_line": lambda *v: kernel._motor_line(LineLimit(*v[:6]), v[6]),
        "motor_curve": lambda *v: kernel._motor_curve(CurveLimit(*v[:5]), v[5]),
        "table_limit": lambda *v: kernel._table_limit(Segment(*v[:4]), v[4]),
    }.get(name, law_of(getattr(kernel, f"_{name}", None)))
    rng = np.random.default_rng(7)
    rows = np.stack([values(rng, 3000) for _ in range(count)], axis=1)
    rows = rows[~np.isnan(rows).any(axis=1)]  # the kernel clamps finite efforts only
    expected = np.array(equation(*rows.T))
    given = np.array([compiled(*row.tolist()) for row in rows]).T
    clear = ~np.isnan(expected)  # of infinite parameters
    assert np.array_equal(given[clear], expected[clear])


def test_partial_calls_hold_the_arrays_they_were_bound_to() -> None:
    calls, (result,) = TracedProgram([Symbol((2,), float, name="q") * 2.0]).bind({"q": np.ones(2)})
    (call,) = calls[UpdateStage.STEP]
    assert isinstance(call, partial)
    assert call.args[-1] is result
