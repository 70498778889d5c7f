"""The clamp with driving and braking limits, against the curve it is named after."""

import numpy as np
import pytest

from mjrig.components.laws.clamps import DCMotor, TorqueSpeedCurve
from mjrig.components.laws.feedback import PD
from mjrig.components.laws.pipeline import Pipeline
from mjrig.core.errors import PropertyError

CURVES = [
    (22.63, 35.52, 71.0, 83.3),
    (14.5, 22.7, 111.0, 131.0),
    (30.86, 40.13, 24.8, 31.9),
    (15.3, 24.76, 4.8, 8.6),
    (13.5, 30.0, 20.2, 23.4),
]


def limited(effort: float, speed: float, x1: float, x2: float, y1: float, y2: float) -> float:
    """As the vendor's training code does it: one limit, chosen by the sign of effort · speed."""
    limit = y1 if effort * speed > 0.0 else y2
    if abs(speed) >= x1:
        limit = max(-limit / (x2 - x1) * (abs(speed) - x1) + limit, 0.0)
    return min(max(effort, -limit), limit)


@pytest.mark.parametrize("curve", CURVES)
def test_every_quadrant_is_the_vendors(curve: tuple[float, ...]) -> None:
    random = np.random.default_rng(3)
    x1, x2, _, y2 = curve
    n = 4000
    speed, effort = random.uniform(-1.4 * x2, 1.4 * x2, n), random.uniform(-2 * y2, 2 * y2, n)
    speed[:6] = 0.0, x1, -x1, x2, -x2, 0.5 * x1
    pipe = Pipeline(PD(constant_effort=effort), clamps=[TorqueSpeedCurve(*curve)], size=n)
    expected = [limited(e, v, *curve) for e, v in zip(effort, speed, strict=True)]
    assert pipe.step(np.zeros(n), speed).tolist() == expected


@pytest.mark.parametrize("curve", CURVES)
def test_the_driving_quadrant_alone_is_that_of_a_dc_motor(curve: tuple[float, ...]) -> None:
    random = np.random.default_rng(4)
    x1, x2, y1, _ = curve
    n = 4000
    speed, effort = random.uniform(0, x2, n), random.uniform(0, 2 * y1, n)
    ours = Pipeline(PD(constant_effort=effort), clamps=[TorqueSpeedCurve(*curve)], size=n)
    line = DCMotor(y1 * x2 / (x2 - x1), x2, y1)
    theirs = Pipeline(PD(constant_effort=effort), clamps=[line], size=n)
    nothing = np.zeros(n)
    np.testing.assert_allclose(
        ours.step(nothing, speed), theirs.step(nothing, speed), atol=1e-12 * y1
    )
    braking = ours.step(nothing, -speed) - theirs.step(nothing, -speed)
    assert np.abs(braking).max() > 0.1 * y1


def test_without_a_curve_nothing_is_limited() -> None:
    pipe = Pipeline(PD(constant_effort=[9.0, -9.0]), clamps=[TorqueSpeedCurve()], size=2)
    assert pipe.step([0.0, 0.0], [1e3, 1e3]).tolist() == [9.0, -9.0]
    pipe = Pipeline(PD(constant_effort=[9.0, -9.0]), clamps=[TorqueSpeedCurve(y1=4)], size=2)
    assert pipe.step([0.0, 0.0], [1e3, 1e3]).tolist() == [4.0, -4.0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"x1": 5, "x2": 5, "y1": 1}, "x2: must be above x1, got 5"),
        ({"x1": 5, "y1": 1, "x2": 4}, "x2: must be above x1, got 4"),
        ({"x1": 1, "x2": 5}, "y1: must be finite where x2 is, got inf"),
    ],
)
def test_a_curve_that_is_none_is_refused(values: dict[str, float], problem: str) -> None:
    with pytest.raises(PropertyError, match=problem):
        Pipeline(PD(), clamps=[TorqueSpeedCurve(**values)], size=1)


def test_native_execution_is_refused_with_the_reason() -> None:
    found = Pipeline(PD(1), clamps=[TorqueSpeedCurve(1, 2, 3)], size=1).executions
    assert found["compiled"].available
    assert not found["native"].available
    assert "driving and braking" in found["native"].reason
