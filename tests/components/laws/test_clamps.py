"""Clamps alone: their limits and slopes in the units of joints and of geared actuators."""

from typing import Any

import numpy as np
import pytest

from mjrig.components.laws.clamps import Clamp, DCMotor, MaxEffort, PositionTable, TorqueSpeedCurve
from mjrig.components.laws.feedback import PD
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.pipeline_arrays import PipelineSpace
from mjrig.core.errors import PropertyError

#: Joint effort = factor · actuator effort.
FACTOR = np.array([-2.0, 0.5, 1.0])
X = [[-1.0, 0.0, 0.0, 2.0], [-0.5, 0.1, 0.7, 0.9], [0.0, 0.0, 1.0, 1.0]]
Y = [[10.0, 20.0, 40.0, 4.0], [3.0, 1.0, 7.0, 2.0], [1.0, 5.0, 9.0, 2.0]]


def in_space(clamp: Any, size: int = 3, **options: Any) -> Any:
    Pipeline(PD(), clamps=[clamp], size=size)  # gives it a value per actuator
    clamp.use_space(PipelineSpace(size, **options))
    return clamp


def table_limit(i: int, q: float) -> float:
    """L(q) by its definition: at a repeated position the left value applies."""
    x, y = X[i], Y[i]
    if q <= x[0] or q >= x[-1]:
        return y[0] if q <= x[0] else y[-1]
    k = max(k for k in range(len(x)) if x[k] < q)
    return y[k] + (q - x[k]) / (x[k + 1] - x[k]) * (y[k + 1] - y[k])


@pytest.mark.parametrize(
    "q", [-2.0, -1.0, -0.5, -0.3, 0.0, 1e-9, 0.1, 0.4, 0.7, 0.8, 0.9, 1.0, 2.0]
)
def test_each_joint_has_its_own_table(q: float) -> None:
    table = in_space(PositionTable(X, Y))
    expected = [table_limit(i, q) for i in range(3)]
    expected[2] = {0.0: 1.0, 1.0: 2.0}.get(q, expected[2])
    position = np.full(3, q)
    assert table.limit(position) == pytest.approx(expected)
    low, high = table.bounds(position, position)
    assert (-low).tolist() == high.tolist() == table.limit(position).tolist()


@pytest.mark.parametrize("rows", [None, 4])
def test_tables_of_geared_actuators_are_those_of_the_joints(rows: int | None) -> None:
    plain, geared = in_space(PositionTable(X, Y)), in_space(PositionTable(X, Y), factor=FACTOR)
    q = np.random.default_rng(1).uniform(-1.5, 2.5, (20, 3))
    joint = np.array([plain.limit(row) for row in q])
    if rows is None:
        found = np.array([geared.limit(FACTOR * row) for row in q])
    else:
        geared = geared.over_rows(20)
        found = geared.limit(FACTOR * q)
    np.testing.assert_allclose(found, joint / np.abs(FACTOR), rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_a_table_that_all_share_is_looked_up_like_several(shared: bool) -> None:
    table = PositionTable(X[0], Y[0]) if shared else PositionTable([X[0]] * 3, [Y[0]] * 3)
    q = np.array([-0.5, 0.0, 1.5])
    assert in_space(table).limit(q) == pytest.approx([table_limit(0, v) for v in q])


def test_a_table_of_one_position_is_a_step_behind_it() -> None:
    table = in_space(PositionTable([1.0, 1.0], [3.0, 5.0]))
    assert table.limit(np.array([0.0, 1.0, 1.1])).tolist() == [3.0, 3.0, 5.0]


def test_one_actuator_has_a_table() -> None:
    table = in_space(PositionTable(X[0], Y[0]), 1)
    assert table.limit(np.array([1.0])) == pytest.approx([table_limit(0, 1.0)])


def test_a_table_of_no_actuators_has_no_limits() -> None:
    assert in_space(PositionTable(X[0], Y[0]), 0).limit(np.zeros(0)).size == 0


def test_a_table_needs_both_columns() -> None:
    for name in ("positions", "efforts"):
        half = PositionTable()
        half.assign({name: [0.0, 1.0]})
        with pytest.raises(PropertyError, match="needs positions and efforts"):
            in_space(half)
        with pytest.raises(PropertyError, match="must have the shape of positions"):
            PositionTable(**{name: [0.0, 1.0]})
    with pytest.raises(PropertyError, match="must have 2 rows, one per actuator, got 3"):
        in_space(PositionTable(X, Y), 2)
    in_space(PositionTable(X[0], Y[0]), 2)


CLAMPS = {
    "table": lambda: PositionTable(X, Y),
    "motor": lambda: DCMotor(30.0, 8.0, 20.0),
    "motor below its limit": lambda: DCMotor(30.0, 8.0, 50.0),
    "curve": lambda: TorqueSpeedCurve(3.0, 9.0, 20.0, 30.0),
    "maximum": lambda: MaxEffort(5.0, -2.0),
}


@pytest.mark.parametrize("name", CLAMPS)
@pytest.mark.parametrize("factor", [np.ones(3), FACTOR], ids=["joint", "geared"])
@pytest.mark.parametrize("rows", [None, 40])
def test_slopes_are_finite_differences(name: str, factor: Any, rows: int | None) -> None:
    clamp: Clamp = in_space(CLAMPS[name](), factor=factor)
    random = np.random.default_rng(5)
    states = [random.uniform(low, -low, (40, 3)) * factor for low in (-2.5, -12.0)]
    if rows is None:
        states = [s[0] for s in states]
    else:
        clamp = clamp.over_rows(rows)
    step, slopes = 1e-6, clamp.bound_slopes(*states)
    for k in range(2):
        ends = []
        for way in (step, -step):
            moved = [s + way * (k == i) for i, s in enumerate(states)]
            ends.append([bound.copy() for bound in clamp.bounds(*moved)])
        for found, high, low in zip(slopes[k::2], *ends, strict=True):
            np.testing.assert_allclose(found, (high - low) / (2.0 * step), rtol=1e-6, atol=1e-6)


def test_new_values_change_the_bounds() -> None:
    clamp = in_space(DCMotor(30.0, 8.0, 20.0), 1)
    speed = np.zeros(1)
    assert clamp.bounds(speed, speed)[1].tolist() == [20.0]
    clamp.assign({"max_effort": 10.0})
    assert clamp.bounds(speed, speed)[1].tolist() == [10.0]


@pytest.mark.parametrize(("speed", "high"), [(0.0, 15.0), (8.0, 0.0), (16.0, -30.0), (40.0, -20.0)])
def test_a_motor_brakes_beyond_its_no_load_speed(speed: float, high: float) -> None:
    """Up to the corner speed 8·(1 + 15/30); braking is not limited by the maximum there."""
    clamp = in_space(DCMotor(30.0, 8.0, 15.0), 1)
    expected = min(15.0, 30.0 * (1.0 - min(speed, 12.0) / 8.0))
    assert clamp.bounds(np.zeros(1), np.array([speed]))[1] == pytest.approx([expected])


class Halved(Clamp):
    """A clamp that has `bounds` of its own."""

    def bounds(self, q: Any, qd: Any) -> tuple[Any, Any]:
        return -0.5 * np.ones_like(q), 0.5 * np.ones_like(q)


class Doubled(Clamp):
    """A clamp that has `apply` of its own."""

    def apply(self, effort: Any, q: Any, qd: Any, out: Any) -> None:
        out[:] = np.clip(effort, -2.0, 2.0)


@pytest.mark.parametrize(("kind", "limit"), [(Halved, 0.5), (Doubled, 2.0)])
def test_a_clamp_with_code_of_its_own_runs_that_and_has_no_slopes(
    kind: type[Clamp], limit: float
) -> None:
    clamp = in_space(kind())
    q, effort, out = np.zeros(3), np.array([-9.0, 0.1, 9.0]), np.zeros(3)
    for call in clamp.program(effort, q, q, out):
        call()
    assert out.tolist() == [-limit, 0.1, limit]
    with pytest.raises(NotImplementedError, match=f"{kind.__name__} has no derivative"):
        clamp.bound_slopes(q, q)


def test_equal_bounds_are_not_swapped_ones() -> None:
    clamp = in_space(Halved())
    clamp._check_bounds((np.zeros(3), np.zeros(3)), np.zeros(3))
    with pytest.raises(PropertyError, match=r"bounds returned \(0, 1, 2\); return \(lowest"):
        clamp._check_bounds((0, 1, 2), np.zeros(3))
    with pytest.raises(PropertyError, match="a lowest effort above the highest, at index 1"):
        clamp._check_bounds((np.array([0.0, 1.0, 1.0]), np.zeros(3)), np.zeros(3))
