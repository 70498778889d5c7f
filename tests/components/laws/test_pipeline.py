"""The pipeline on plain arrays: shapes, memory, refusals, derivatives."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.components.laws.clamps import Clamp, DCMotor, MaxEffort, PositionTable, TorqueSpeedCurve
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.law import Law
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.pipeline_arrays import Array
from mjrig.core.errors import PropertyError

ZEROS = np.zeros(3)


class Spring(Law):
    """A third-party law: nothing but compute."""

    def compute(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        state: Any,
        dt: float,
        out: Array,
    ) -> None:
        np.subtract(target_q, q, out=out)


class Half(Clamp):
    """A third-party clamp: nothing but apply."""

    def apply(self, effort: Array, q: Array, qd: Array, out: Array) -> None:
        np.multiply(effort, 0.5, out=out)


# Shapes and refusals ------------------------------------------------------------------------------


def test_a_batch_gives_what_each_world_alone_gives() -> None:
    random = np.random.default_rng(0)

    def make(batch: int | None) -> Any:
        clamps = [DCMotor(30, 8, 20), PositionTable([-1, 1], [10, 25]), MaxEffort(15)]
        return Pipeline(PID(40, 3, 2, 0.1), Delay([0, 1, 3]), clamps, size=3, batch=batch)

    together, alone = make(4), [make(None) for _ in range(4)]
    for step in range(12):
        inputs: Any = random.normal(size=(5, 4, 3))
        if step == 6:
            mask = np.array([True, False, True])
            for pipe in (together, *alone):
                pipe.reset(mask)
        effort = together.step(*inputs, 0.01)
        rows = [pipe.step(*inputs[:, i], 0.01) for i, pipe in enumerate(alone)]
        np.testing.assert_array_equal(effort, rows)


def test_float32_inputs_are_accepted() -> None:
    pipe = Pipeline(PD(2.0), size=3)
    effort = pipe.step(ZEROS.astype(np.float32), ZEROS, np.ones(3, np.float32), ZEROS)
    assert effort.dtype == np.float64
    assert effort.tolist() == [2.0, 2.0, 2.0]


def test_any_real_scalar_is_a_gain() -> None:
    for kp in (2, 2.0, np.float32(2), np.int64(2), "2"):
        assert Pipeline(PD(kp), size=1).step([0], [0], [1], [0]).tolist() == [2.0]  # type: ignore[arg-type]


def test_the_result_is_an_own_copy() -> None:
    pipe = Pipeline(PD(1.0), size=1)
    first = pipe.step([0.0], [0.0], [1.0])
    pipe.step([0.0], [0.0], [5.0])
    assert first.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], ZEROS, ZEROS, ZEROS), "q must have shape (3,), got (1,)"),
        ((ZEROS, ZEROS, [0, np.nan, 0], ZEROS), "target_q[1] is nan; must be finite"),
        ((ZEROS, [0, 0, np.inf], ZEROS, ZEROS), "qd[2] is inf; must be finite"),
        ((ZEROS, ZEROS, None, ZEROS), "target_q is None but kp is not zero; give target_q"),
        ((ZEROS, ZEROS, ZEROS, None), "target_qd is None but kv is not zero; give target_qd"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    pipe = Pipeline(PD(1.0, 1.0), size=3)
    with pytest.raises(ValueError, match=r"must|None") as caught:
        pipe.step(*arguments)
    assert str(caught.value) == message


def test_an_integral_gain_alone_needs_a_position_target() -> None:
    pipe = Pipeline(PID(ki=1.0), size=1)
    with pytest.raises(ValueError, match=r"^target_q is None but ki is not zero; give target_q$"):
        pipe.step([0.0], [0.0], None, None, None, 0.01)


def test_targets_no_gain_needs_may_be_missing() -> None:
    pipe = Pipeline(PD(constant_effort=[1, 2, 3]), size=3)
    assert pipe.step(ZEROS, ZEROS).tolist() == [1, 2, 3]


def test_pid_without_dt_says_so() -> None:
    pipe = Pipeline(PID(1.0, 1.0), size=1)
    with pytest.raises(
        ValueError, match=r"^PID needs dt, the time since its last step \[s\]; got None$"
    ):
        pipe.step([0.0], [0.0], [1.0])


def test_dt_zero_integrates_nothing() -> None:
    pipe = Pipeline(PID(1.0, 1.0), size=1)
    pipe.step([0.0], [0.0], [1.0], None, None, 0.0)
    assert pipe.state.integral.tolist() == [0.0]


def test_a_bad_target_does_not_reach_the_integral() -> None:
    pipe = Pipeline(PID(1.0, 1.0, integral_max=1.0), Delay(2), size=2)
    pipe.step([0, 0], [0, 0], [1, 1], None, None, 0.1)
    before = pipe.state.memory()
    with pytest.raises(ValueError, match=r"target_q\[0\] is nan"):
        pipe.step([0, 0], [0, 0], [np.nan, 1], None, None, 0.1)
    after = pipe.state.memory()
    assert all(np.array_equal(before[n], after[n]) for n in before)


def test_an_effort_that_is_not_finite_leaves_that_actuators_memory_alone() -> None:
    pipe = Pipeline(PID(1.0, 1.0), size=2)
    q = np.array([np.nan, 0.0])
    pipe.prepare(q, np.zeros(2), (np.ones(2), np.zeros(2), np.zeros(2)), 0.1)
    pipe.advance()
    assert pipe.state.integral.tolist() == [0.0, 0.1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PD([1, 2]), "PD.kp: must have 3 values, one per actuator, got 2"),
        (lambda: PD(-1), "PD.kp: must be >= 0 N·m/rad, got -1"),
        (lambda: PD(cast(Any, "stiff")), "PD.kp: must be a number, got 'stiff'"),
        (lambda: PID(ki=np.nan), "PID.ki: must be a number, got nan"),
    ],
)
def test_a_gain_that_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(PropertyError) as caught:
        Pipeline(make(), size=3)
    assert message in str(caught.value)


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError):
        PD(kpp=3)  # type: ignore[call-arg]
    with pytest.raises(PropertyError, match="PD has no property 'kpp'; did you mean 'kp'"):
        PD.from_data({"kpp": 3})


def test_only_float32_and_float64_are_known() -> None:
    with pytest.raises(ValueError, match="dtype must be float64 or float32, got int64"):
        Pipeline(PD(), size=1, dtype=np.int64)


# Memory -------------------------------------------------------------------------------------------


def test_memory_is_saved_and_restored_to_the_bit() -> None:
    random = np.random.default_rng(3)
    pipe: Any = Pipeline(PID(40, 3, 2, 0.1), Delay([0, 2, 5]), [MaxEffort(20)], size=3)
    inputs: Any = random.normal(size=(30, 5, 3))
    for row in inputs[:10]:
        pipe.step(*row, 0.01)
    saved = pipe.state.memory()
    first = [pipe.step(*row, 0.01) for row in inputs[10:]]
    pipe.state.restore(saved)
    np.testing.assert_array_equal(first, [pipe.step(*row, 0.01) for row in inputs[10:]])


def test_a_copied_state_is_independent_and_assignable() -> None:
    pipe = Pipeline(PID(1, 1), size=1)
    kept = pipe.state.copy()
    pipe.step([0.0], [0.0], [1.0], None, None, 1.0)
    assert pipe.state.integral.tolist() == [1.0]
    assert kept.integral.tolist() == [0.0]
    pipe.state.assign(kept)
    assert pipe.state.integral.tolist() == [0.0]


def test_the_state_of_another_pipeline_is_refused() -> None:
    with pytest.raises(ValueError, match="the state is of another pipeline"):
        Pipeline(PID(1, 1), size=2).state.assign(Pipeline(PID(1, 1), size=3).state)


@pytest.mark.parametrize("mask", [[True], [1, 0, 1], np.ones((3, 1), bool)])
def test_a_mask_of_another_shape_or_type_is_refused(mask: Any) -> None:
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(3,\)"):
        Pipeline(PID(1, 1), size=3).reset(mask)


def test_only_what_remembers_is_stateful() -> None:
    assert not Pipeline(PD(1), clamps=[MaxEffort(3)], size=1).is_stateful
    assert Pipeline(PID(1, 1), size=1).is_stateful
    assert Pipeline(PD(1), Delay(1), size=1).is_stateful


def test_gains_change_live() -> None:
    law = PD(1.0)
    pipe = Pipeline(law, size=2)
    pipe.step([0, 0], [0, 0], [1, 1])
    law.kp = [3.0, 4.0]
    assert pipe.step([0, 0], [0, 0], [1, 1]).tolist() == [3.0, 4.0]


# Delay --------------------------------------------------------------------------------------------


def delayed(delay: Delay, commands: list[float], dt: float | None = None) -> list[float]:
    pipe = Pipeline(PD(1.0), delay, size=1)
    return [float(pipe.step([0.0], [0.0], [c], None, None, dt)[0]) for c in commands]


def test_while_nothing_has_arrived_the_oldest_command_counts() -> None:
    assert delayed(Delay(2), [10, 20, 30, 40, 50, 60]) == [10, 10, 10, 20, 30, 40]


def test_a_delay_of_zero_is_none() -> None:
    assert delayed(Delay(0), [1, 2, 3]) == [1, 2, 3]


def test_seconds_are_rounded_to_steps() -> None:
    assert delayed(Delay(seconds=0.003), [1, 2, 3, 4, 5], 0.001) == [1, 1, 1, 1, 2]
    assert delayed(Delay(seconds=0.0034), [1, 2, 3, 4, 5], 0.001) == [1, 1, 1, 1, 2]


def test_seconds_need_dt() -> None:
    with pytest.raises(ValueError, match="a delay in seconds needs dt"):
        delayed(Delay(seconds=0.003), [1.0])


@pytest.mark.parametrize("steps", [2.5, -1])
def test_a_delay_is_a_whole_number(steps: float) -> None:
    with pytest.raises(PropertyError, match=r"Delay\.steps: must be"):
        Delay(steps)


def test_one_way_to_give_a_delay() -> None:
    with pytest.raises(PropertyError, match="Delay: has steps and seconds; give one"):
        Delay(2, seconds=0.1)


def test_random_delays_are_drawn_at_reset_and_repeat_with_the_seed() -> None:
    def draws(seed: int) -> list[list[int]]:
        pipe = Pipeline(PD(1.0), Delay(random=[1, 4], seed=seed), size=5)
        found = []
        for _ in range(6):
            pipe.reset()
            found.append(pipe.state.delay_lags.tolist())
        return found

    first = draws(1)
    assert first == draws(1) != draws(2)
    assert {lag for row in first for lag in row} == {1, 2, 3, 4}
    assert len({tuple(row) for row in first}) > 1


def test_a_longer_delay_may_be_set_live() -> None:
    delay = Delay(1)
    pipe = Pipeline(PD(1.0), delay, size=1)
    seen = []
    for step, command in enumerate(range(10)):
        if step == 5:
            delay.steps = 3
        seen.append(int(pipe.step([0.0], [0.0], [float(command)])[0]))
    assert seen[:5] == [0, 0, 1, 2, 3]
    assert seen[7:] == [4, 5, 6]


@given(
    lags=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    commands=st.lists(st.integers(-50, 50), min_size=1, max_size=25),
)
@settings(max_examples=60, deadline=None)
def test_any_delay_equals_a_queue(lags: list[int], commands: list[int]) -> None:
    pipe = Pipeline(PD(1.0), Delay(lags), size=len(lags))
    zeros = np.zeros(len(lags))
    for step, command in enumerate(commands):
        effort = pipe.step(zeros, zeros, np.full(len(lags), float(command)))
        assert effort.tolist() == [commands[max(step - lag, 0)] for lag in lags]


# Clamps -------------------------------------------------------------------------------------------


def test_max_effort_may_be_asymmetric() -> None:
    pipe = Pipeline(PD(constant_effort=[9, -9]), clamps=[MaxEffort(5, -2)], size=2)
    assert pipe.step([0, 0], [0, 0]).tolist() == [5, -2]


def test_a_saturation_that_is_infinite_with_a_finite_speed_is_refused() -> None:
    with pytest.raises(PropertyError, match="saturation_effort: must be finite where"):
        Pipeline(PD(), clamps=[DCMotor(velocity_limit=5)], size=1)


def test_tables_may_differ_per_actuator() -> None:
    table = PositionTable([[0, 1], [0, 1]], [[1, 1], [2, 4]])
    pipe = Pipeline(PD(constant_effort=9), clamps=[table], size=2)
    assert pipe.step([0.5, 0.5], [0, 0]).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("positions", "efforts", "problem"),
    [
        ([0, 1], [1], "must have the shape of positions (2,), got (1,)"),
        ([1, 0], [1, 1], "must not decrease"),
        ([0], [1], "must have at least 2 values, got 1"),
        ([0, 1], [1, -1], "must be >= 0 N·m, got -1"),
    ],
)
def test_a_table_that_is_none_is_refused(
    positions: list[float], efforts: list[float], problem: str
) -> None:
    with pytest.raises(PropertyError) as caught:
        PositionTable(positions, efforts)
    assert str(caught.value).endswith(problem)


def test_a_table_is_read_from_a_text_file(tmp_path: Path) -> None:
    file = tmp_path / "knee.csv"
    file.write_text("# angle, torque\n-1, 10\n0 20\n2, 0\n", encoding="utf-8")
    table = PositionTable.load(file)
    assert table.positions.tolist() == [-1, 0, 2]
    assert table.efforts.tolist() == [10, 20, 0]


def test_a_file_that_is_no_table_says_so(tmp_path: Path) -> None:
    file = tmp_path / "knee.csv"
    file.write_text("one, two\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"knee\.csv: not a table of positions and efforts"):
        PositionTable.load(file)


def test_clamps_are_counted() -> None:
    clamps = [MaxEffort(5), MaxEffort([3, 9])]
    pipe = Pipeline(PD(constant_effort=[9, 4]), clamps=clamps, size=2)
    for _ in range(3):
        pipe.step([0, 0], [0, 0])
    assert [c.tolist() for c in pipe.clamp_counts] == [[3, 0], [3, 0]]
    assert pipe.raw_effort.tolist() == [9, 4]


# Indices ------------------------------------------------------------------------------------------


def test_step_into_gathers_and_adds() -> None:
    pipe = Pipeline(PD(kp=1.0), size=3)
    qpos, qvel = np.array([9.0, 1, 2, 3]), np.zeros(4)
    out = np.full(4, 100.0)
    pipe.step_into(
        qpos, qvel, np.zeros(4), None, None, out, pos_indices=[1, 2, 3], vel_indices=[0, 1, 1]
    )
    assert out.tolist() == [99.0, 95.0, 100.0, 100.0]


def test_step_into_reads_targets_at_their_own_indices() -> None:
    pipe = Pipeline(PD(kp=1.0), size=2)
    out = np.zeros(3)
    pipe.step_into(
        np.zeros(2), np.zeros(3), np.array([5.0, 6, 7]), None, None, out,
        pos_indices=[0, 1], vel_indices=[0, 1], target_indices=[2, 0], effort_indices=[2, 1],
    )  # fmt: skip
    assert out.tolist() == [0.0, 5.0, 7.0]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ({"pos_indices": [0, 1, 99]}, "pos_indices has 99, but qpos has 3 values"),
        ({"vel_indices": [0, -1, 1]}, "vel_indices has -1, but qvel has 3 values"),
        ({"effort_indices": [0, 1, 3]}, "effort_indices has 3, but out has 3 values"),
        ({"pos_indices": [0, 1]}, "pos_indices must be 3 whole numbers, got int64 (2,)"),
    ],
)
def test_indices_out_of_range_are_refused(indices: dict[str, Any], message: str) -> None:
    pipe = Pipeline(PD(kp=1.0), size=3)
    out = np.zeros(3)
    chosen: dict[str, Any] = {"pos_indices": [0, 1, 2], "vel_indices": [0, 1, 2], **indices}
    with pytest.raises(ValueError, match="indices") as caught:
        pipe.step_into(ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, out, **chosen)
    assert str(caught.value) == message
    assert not out.any()


# Derivatives --------------------------------------------------------------------------------------

STACKS: dict[str, Any] = {
    "pd": lambda: Pipeline(PD(40, 2), size=4),
    "pid": lambda: Pipeline(PID(40, 30, 2, 0.05), size=4),
    "max": lambda: Pipeline(PD(40, 2), clamps=[MaxEffort(20)], size=4),
    "dc": lambda: Pipeline(PD(40, 2), clamps=[DCMotor(30, 8, 20)], size=4),
    "curve": lambda: Pipeline(PD(40, 2), clamps=[TorqueSpeedCurve(3, 9, 20, 26)], size=4),
    "table": lambda: Pipeline(PD(40, 2), clamps=[PositionTable([-1, 0, 1], [5, 30, 10])], size=4),
    "all": lambda: Pipeline(
        PID(40, 30, 2, 0.05),
        clamps=[DCMotor(30, 8, 25), PositionTable([-1, 0, 1], [15, 30, 10]), MaxEffort(22)],
        size=4,
    ),
}


@pytest.mark.parametrize("stack", STACKS)
def test_the_jacobian_equals_finite_differences(stack: str) -> None:
    random = np.random.default_rng(5)
    h, checked = 1e-6, 0
    for _ in range(40):
        inputs = list(random.uniform(-1, 1, size=(5, 4)))
        inputs[1] *= 10.0

        def effort(moved: int, by: float, inputs: list[Any] = inputs) -> Array:
            arguments = [a + by * (i == moved) for i, a in enumerate(inputs)]
            return STACKS[stack]().step(*arguments, 0.01)  # type: ignore[no-any-return]

        slopes = STACKS[stack]().jacobian(*inputs, 0.01)
        for k, slope in enumerate((slopes.q, slopes.qd, slopes.target_q, slopes.target_qd)):
            left = (effort(k, 0.0) - effort(k, -h)) / h
            right = (effort(k, h) - effort(k, 0.0)) / h
            smooth = np.abs(left - right) < 1e-2  # a kink has no derivative
            np.testing.assert_allclose(slope[smooth], right[smooth], rtol=1e-4, atol=1e-3)
            checked += int(smooth.sum())
    assert checked > 600


def test_the_jacobian_remembers_nothing() -> None:
    pipe = Pipeline(PID(1, 1), Delay(1), size=1)
    before = pipe.state.memory()
    pipe.jacobian([0.0], [0.0], [1.0], None, None, 0.1)
    after = pipe.state.memory()
    assert all(np.array_equal(before[n], after[n]) for n in before)


def test_a_law_without_derivative_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Spring has no derivative"):
        Pipeline(Spring(), size=1).jacobian([0.0], [0.0], [1.0])


# Extension ----------------------------------------------------------------------------------------


def test_a_law_and_a_clamp_of_somebody_else_work() -> None:
    pipe = Pipeline(Spring(), Delay(1), [Half()], size=1)
    assert pipe.step([0.0], [0.0], [4.0]).tolist() == [2.0]


def test_what_each_execution_can_do_is_said_with_the_reason() -> None:
    ours = Pipeline(PID(1, 1), Delay(2), [MaxEffort(3)], size=1).executions
    assert {name: support.available for name, support in ours.items()} == {
        "python": True,
        "compiled": True,
        "native": True,
    }
    theirs = Pipeline(Spring(), clamps=[Half()], size=1).executions
    assert not theirs["native"].available
    assert theirs["native"].reason == (
        "MuJoCo has no actuator that computes Spring; "
        "MuJoCo has no actuator limit that does what Half does"
    )
    assert not theirs["compiled"].available
    table = Pipeline(PD(1), clamps=[PositionTable([0, 1], [1, 1])], size=1).executions
    assert (table["compiled"].available, table["native"].available) == (True, False)


# Implicit -----------------------------------------------------------------------------------------


def test_stiff_gains_stay_stable_at_coarse_steps() -> None:
    """One joint of 0.01 kg·m², far beyond the explicit bound kv·h/I < 2."""
    inertia, h, kp, kv = 0.01, 0.02, 500.0, 5.0
    assert kv * h / inertia > 2.0
    ends = {}
    for how in ("explicit", "implicit"):
        pipe: Any = Pipeline(PD(kp, kv), size=1)
        q, qd = 0.0, 0.0
        for _ in range(200):
            arguments: tuple[Any, ...] = ([q], [qd], [1.0], [0.0], None, h)
            if how == "implicit":
                effort = pipe.step_implicit(*arguments, [[1 / inertia]])[0]
            else:
                effort = pipe.step(*arguments)[0]
            qd = float(np.clip(qd + h * effort / inertia, -1e6, 1e6))
            q = float(np.clip(q + h * qd, -1e6, 1e6))
        ends[how] = q
    assert ends["implicit"] == pytest.approx(1.0, abs=1e-6)
    assert abs(ends["explicit"] - 1.0) > 10.0


@pytest.mark.parametrize("dt", [None, 0.0, -1.0])
def test_the_implicit_solve_needs_a_step(dt: float | None) -> None:
    pipe = Pipeline(PD(1), size=1)
    with pytest.raises(ValueError, match="step_implicit needs dt > 0"):
        pipe.step_implicit([0.0], [0.0], [1.0], None, None, dt, [[1.0]])


def test_the_implicit_solve_needs_a_matrix_that_fits() -> None:
    pipe = Pipeline(PD(1), size=2)
    with pytest.raises(ValueError, match=r"inverse_mass must be a finite \(2, 2\) matrix"):
        pipe.step_implicit([0, 0], [0, 0], [1, 1], None, None, 0.1, [[1.0]])


# Found by review ----------------------------------------------------------------------------------


def test_clamps_may_come_from_an_iterator() -> None:
    pipe = Pipeline(PD(9, 0), clamps=(c for c in [MaxEffort(3)]), size=1)
    assert pipe.step([0], [0], [1]).tolist() == [3.0]


def test_a_part_belongs_to_one_pipeline() -> None:
    delay = Delay(2)
    Pipeline(PD(1), delay, size=1)
    with pytest.raises(ValueError, match=r"Delay\(.*\) is part of another pipeline; use a copy"):
        Pipeline(PD(1), delay, size=1)
    Pipeline(PD(1), delay.copy(), size=1)


def test_a_state_saved_before_a_delay_in_seconds_was_known_can_be_restored() -> None:
    pipe = Pipeline(PD(1.0), Delay(seconds=0.003), size=1)
    saved = pipe.state.memory()
    first = [float(pipe.step([0.0], [0.0], [c], None, None, 0.001)[0]) for c in (1, 2, 3, 4, 5)]
    pipe.state.restore(saved)
    again = [float(pipe.step([0.0], [0.0], [c], None, None, 0.001)[0]) for c in (1, 2, 3, 4, 5)]
    assert first == again == [1, 1, 1, 1, 2]


def test_the_implicit_solve_counts_clamps_too() -> None:
    pipe = Pipeline(PD(1000, 1), clamps=[MaxEffort(2)], size=1)
    pipe.step_implicit([0.0], [0.0], [1.0], [0.0], None, 0.01, [[1.0]])
    assert pipe.clamp_counts[0].tolist() == [1]
