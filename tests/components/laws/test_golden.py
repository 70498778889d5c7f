"""Numbers other systems produced, reproduced; and a small set of our own that always runs."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mjrig.components.laws.clamps import Clamp, DCMotor, MaxEffort, PositionTable
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.law import Law
from mjrig.components.laws.networks import GRU, LSTM, MLP
from mjrig.components.laws.pipeline import Pipeline
from tests.places import SHARED

GOLDEN = SHARED / "golden" / "newton"
FILES = sorted(GOLDEN.glob("*.npz"))
EXPLICIT = [f for f in FILES if not f.stem.startswith(("implicit", "mlp", "lstm", "gru"))]
IMPLICIT = [f for f in FILES if f.stem.startswith("implicit")]
NETWORKS = [f for f in FILES if f.stem.startswith(("mlp", "lstm", "gru"))]
Recorded = dict[str, npt.NDArray[Any]]

needs_golden = pytest.mark.skipif(not FILES, reason="no shared/golden beside the checkout")


def read(path: Path) -> Recorded:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def law_of(path: Path, recorded: Recorded) -> Law:
    network: dict[str, type[MLP] | type[LSTM] | type[GRU]] = {"mlp": MLP, "lstm": LSTM, "gru": GRU}
    kind = path.stem.partition("_")[0]
    if kind in network:
        return network[kind](GOLDEN / "nets" / f"{path.stem}.onnx")
    constant = recorded.get("const_effort", np.zeros(6))
    if "ki" in recorded:
        kp, ki, kd, bound = (recorded[n] for n in ("kp", "ki", "kd", "integral_max"))
        return PID(kp, ki, kd, bound, constant)
    return PD(recorded["kp"], recorded["kd"], constant)


def clamps_of(recorded: Recorded) -> list[Clamp]:
    made: dict[str, Clamp] = {}
    if "saturation_effort" in recorded:
        names = ("saturation_effort", "velocity_limit", "max_motor_effort")
        made["d"] = DCMotor(*(recorded[n] for n in names))
    if "lookup_positions" in recorded:
        made["p"] = PositionTable(recorded["lookup_positions"], recorded["lookup_efforts"])
    if "max_effort" in recorded:
        made["m"] = MaxEffort(recorded["max_effort"])
    order = [str(o) for o in recorded["order"]] if "order" in recorded else list(made)
    return [made[o] for o in order]


def pipeline_of(path: Path, recorded: Recorded, dtype: type) -> Pipeline:
    delay = None
    if "delay_steps" in recorded:
        delay = Delay(recorded["delay_steps"], max_steps=int(recorded["max_delay"]))
    return Pipeline(law_of(path, recorded), delay, clamps_of(recorded), size=6, dtype=dtype)


def replay(pipe: Any, recorded: Recorded) -> Recorded:
    """Run the recorded inputs; returns what came out, stacked over time."""
    out: dict[str, list[Any]] = {"applied": [], "computed": []}
    steps, dt = len(recorded["q"]), float(recorded["dt"])
    for t in range(steps):
        if "reset_mask" in recorded and recorded["reset_mask"][t].any():
            pipe.reset(recorded["reset_mask"][t])
        custom = {n: recorded[n][t] for n in pipe.law.custom_names}
        feedforward = recorded["feedforward"][t] if "feedforward" in recorded else None
        inputs: Any = [recorded[n][t] for n in ("q", "qd", "target_q", "target_qd")]
        out["applied"].append(pipe.step(*inputs, feedforward, dt, custom_inputs=custom))
        out["computed"].append(pipe.raw_effort)
        for name in pipe.state.names:
            out.setdefault(name, []).append(getattr(pipe.state, name).copy())
    return {name: np.array(rows) for name, rows in out.items()}


@needs_golden
@pytest.mark.parametrize("path", EXPLICIT, ids=lambda p: p.stem)
def test_float32_reproduces_newton_to_the_bit(path: Path) -> None:
    recorded = read(path)
    out = replay(pipeline_of(path, recorded, np.float32), recorded)
    np.testing.assert_array_equal(out["computed"], recorded["computed"])
    np.testing.assert_array_equal(out["applied"], recorded["applied"])
    if "integral" in recorded:
        np.testing.assert_array_equal(out["integral"], recorded["integral"])


@needs_golden
@pytest.mark.parametrize("path", EXPLICIT, ids=lambda p: p.stem)
def test_float64_reproduces_newton_within_float32(path: Path) -> None:
    recorded = read(path)
    out = replay(pipeline_of(path, recorded, np.float64), recorded)
    np.testing.assert_allclose(out["computed"], recorded["computed"], rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(out["applied"], recorded["applied"], rtol=1e-6, atol=1e-3)
    if "integral" in recorded:
        np.testing.assert_allclose(out["integral"], recorded["integral"], rtol=0, atol=1e-6)


@needs_golden
@pytest.mark.parametrize("path", NETWORKS, ids=lambda p: p.stem)
def test_networks_reproduce_newton(path: Path) -> None:
    recorded = read(path)
    out = replay(pipeline_of(path, recorded, np.float64), recorded)
    np.testing.assert_allclose(out["computed"], recorded["computed"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(out["applied"], recorded["applied"], rtol=0, atol=1e-4)
    for name in out:
        if f"state_{name}" in recorded:
            np.testing.assert_allclose(out[name], recorded[f"state_{name}"], rtol=0, atol=1e-5)


@needs_golden
@pytest.mark.parametrize("path", IMPLICIT, ids=lambda p: p.stem)
def test_the_implicit_solve_reproduces_newton(path: Path) -> None:
    recorded = read(path)
    pipe: Any = pipeline_of(path, recorded, np.float64)
    settings: dict[str, Any] = {}
    if "max_iters" in recorded:
        settings = {"iterations": int(recorded["max_iters"]), "tolerance": 1e-10}
    for t in range(len(recorded["q"])):
        names = ("q", "qd", "target_q", "target_qd", "feedforward")
        inputs: Any = [recorded[n][t] for n in names]
        effort = pipe.step_implicit(*inputs, float(recorded["dt"]), recorded["A"][t], **settings)
        np.testing.assert_allclose(effort, recorded["applied"][t], rtol=1e-6, atol=1e-3)
        np.testing.assert_allclose(pipe.raw_effort, recorded["computed"][t], rtol=1e-6, atol=1e-3)


# Worked by hand or run on other systems: these need no files --------------------------------------


def test_pd_worked_example() -> None:
    pipe = Pipeline(PD(kp=20, kv=0.5, constant_effort=1.5), size=1)
    effort = pipe.step([0.2], [-0.5], [0.7], [0.25], [0.3])
    assert effort == pytest.approx([12.175], abs=1e-12)


def test_pid_integrates_first_and_clamps_the_integral() -> None:
    pipe = Pipeline(PID(kp=10, ki=5, kv=1, integral_max=0.012), size=1)
    efforts, integrals = [], []
    for _ in range(4):
        efforts.append(float(pipe.step([0.0], [0.0], [0.5], [0.0], dt=0.01)[0]))
        integrals.append(float(pipe.state.integral[0]))
    assert efforts == pytest.approx([5.025, 5.05, 5.06, 5.06])
    assert integrals == pytest.approx([0.005, 0.01, 0.012, 0.012])


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        (100.0, [18, 18, 18, 15, 0, -7.5, -18, -18, 18]),
        (-100.0, [-18, -18, -18, -18, -18, -18, -18, -18, 7.5]),
    ],
)
def test_dc_motor_worked_example(effort: float, expected: list[float]) -> None:
    speeds = np.array([0, 2, 3.2, 4, 8, 10, 12.8, 20, -10.0])
    pipe = Pipeline(PD(constant_effort=effort), clamps=[DCMotor(30, 8, 18)], size=9)
    np.testing.assert_allclose(pipe.step(np.zeros(9), speeds), expected, atol=1e-12)


def test_position_table_worked_example() -> None:
    positions = np.array([-2, -1, -0.5, 0, 1e-6, 1, 2, 3.0])
    table = PositionTable([-1, 0, 0, 2], [10, 20, 40, 0])
    pipe = Pipeline(PD(constant_effort=1e3), clamps=[table], size=8)
    expected = [10, 10, 15, 20, 39.99998, 20, 0, 0]
    np.testing.assert_allclose(pipe.step(positions, np.zeros(8)), expected, rtol=1e-12)


def test_delay_worked_example_with_a_masked_reset() -> None:
    pipe = Pipeline(PD(kp=1.0), Delay([0, 1, 2, 5]), size=4)
    rows = []
    for step, command in enumerate(range(1, 9)):
        if step == 5:
            pipe.reset(np.array([False, True, True, False]))
        rows.append(pipe.step(np.zeros(4), np.zeros(4), np.full(4, float(command))).tolist())
    assert rows == [
        [1, 1, 1, 1],
        [2, 1, 1, 1],
        [3, 2, 1, 1],
        [4, 3, 2, 1],
        [5, 4, 3, 1],
        [6, 6, 6, 1],
        [7, 6, 6, 2],
        [8, 7, 6, 3],
    ]


def test_clamp_order_matters() -> None:
    random = np.random.default_rng(0)
    speeds, raw = random.uniform(-30, 30, 300), random.uniform(-60, 60, 300)
    results = []
    for order in (0, 1):
        clamps: list[Clamp] = [DCMotor(30, 8, 25), MaxEffort(20)]
        pipe = Pipeline(PD(constant_effort=raw), clamps=clamps[:: 1 - 2 * order], size=300)
        results.append(pipe.step(np.zeros(300), speeds))
    assert 0 < (results[0] != results[1]).sum() < 300


def test_implicit_pd_has_its_closed_form() -> None:
    random = np.random.default_rng(1)
    kp, kv = random.uniform(100, 1000, 3), random.uniform(1, 50, 3)
    root = random.normal(size=(3, 3))
    inverse_mass = root @ root.T + np.eye(3)
    q, qd, target = random.normal(size=(3, 3))
    h = 0.01
    pipe = Pipeline(PD(kp, kv), size=3)
    effort = pipe.step_implicit(
        q, qd, target, np.zeros(3), None, h, inverse_mass, iterations=50, tolerance=1e-12
    )
    start = kp * (target - (q + h * qd)) - kv * qd
    matrix = np.eye(3) + h * (h * kp + kv)[:, None] * inverse_mass
    np.testing.assert_allclose(effort, np.linalg.solve(matrix, start), rtol=1e-8)
