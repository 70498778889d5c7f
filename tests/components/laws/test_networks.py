"""Network laws from ONNX files made here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components.laws.clamps import MaxEffort
from mjrig.components.laws.networks import GRU, LSTM, MLP, NetworkLaw
from mjrig.components.laws.pipeline import Pipeline
from mjrig.core.errors import PropertyError
from tests import networks

pytest.importorskip("onnxruntime")
RANDOM = np.random.default_rng(0)


def test_an_mlp_sees_errors_and_velocities_now_and_before(tmp_path: Path) -> None:
    metadata = {"input_idx": [0, 2], "pos_scale": 2.0, "vel_scale": 0.5, "effort_scale": 10.0}
    twin = networks.mlp(tmp_path / "net.onnx", 4, metadata)
    pipe = Pipeline(MLP(tmp_path / "net.onnx"), clamps=[MaxEffort(8)], size=3)
    errors, speeds = np.zeros((10, 3)), np.zeros((10, 3))
    for t in range(2, 10):  # rows 0 and 1 are the zeros the history starts with
        q, speeds[t], target = RANDOM.normal(size=(3, 3))
        errors[t] = target - q
        columns = [2 * errors[t], 2 * errors[t - 2], 0.5 * speeds[t], 0.5 * speeds[t - 2]]
        expected = 10.0 * twin(np.stack(columns, axis=1).astype(np.float32))[:, 0]
        effort = pipe.step(q, speeds[t], target)
        np.testing.assert_allclose(pipe.raw_effort, expected, atol=1e-4)
        np.testing.assert_allclose(effort, np.clip(expected, -8, 8), atol=1e-4)


def test_an_mlp_may_take_velocities_first(tmp_path: Path) -> None:
    twin = networks.mlp(tmp_path / "net.onnx", 2, {"input_order": "vel_pos"})
    pipe = Pipeline(MLP(tmp_path / "net.onnx"), size=1)
    effort = pipe.step([0.2], [3.0], [1.0])
    np.testing.assert_allclose(effort, twin(np.array([[3.0, 0.8]], np.float32))[0], atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_networks_keep_and_reset_their_state(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "net.onnx"
    if kind == "lstm":
        networks.lstm(file)
        law: NetworkLaw = LSTM(file)
    else:
        networks.gru(file, {"input_columns": ["position_error", "velocity"]})
        law = GRU(file)
    pipe = Pipeline(law, size=2)
    zeros, ones = np.zeros(2), np.ones(2)
    first = pipe.step(zeros, zeros, ones)
    second = pipe.step(zeros, zeros, ones)
    assert (first != second).all()
    pipe.reset(np.array([True, False]))
    third = pipe.step(zeros, zeros, ones)
    assert third[0] == pytest.approx(first[0], abs=1e-6)
    assert third[1] != pytest.approx(first[1], abs=1e-6)


def test_a_network_runs_all_worlds_of_a_batch_at_once(tmp_path: Path) -> None:
    networks.lstm(tmp_path / "net.onnx")
    together = Pipeline(LSTM(tmp_path / "net.onnx"), size=2, batch=3)
    alone = [Pipeline(LSTM(tmp_path / "net.onnx"), size=2) for _ in range(3)]
    for _ in range(4):
        q, qd, target = RANDOM.normal(size=(3, 3, 2))
        rows = [p.step(q[i], qd[i], target[i]) for i, p in enumerate(alone)]
        np.testing.assert_allclose(together.step(q, qd, target), rows, atol=1e-6)


def test_a_gru_takes_a_custom_input_and_its_own_dt(tmp_path: Path) -> None:
    metadata = {
        "input_columns": ["position_error", "temperature"],
        "custom_inputs": ["temperature"],
        "sample_dt_s": 0.005,
    }
    networks.gru(tmp_path / "net.onnx", metadata)
    pipe = Pipeline(GRU(tmp_path / "net.onnx"), size=1)
    cold = pipe.step([0], [0], [1], None, None, 0.005, custom_inputs={"temperature": [0.0]})
    pipe.reset()
    warm = pipe.step([0], [0], [1], None, None, 0.005, custom_inputs={"temperature": [1.0]})
    assert cold != warm
    with pytest.raises(ValueError, match=r"net\.onnx: was trained with dt 0\.005 s .* got 0\.01"):
        pipe.step([0], [0], [1], None, None, 0.01, custom_inputs={"temperature": [0.0]})
    with pytest.raises(ValueError, match="custom_inputs must give temperature"):
        pipe.step([0], [0], [1], None, None, 0.005)
    with pytest.raises(ValueError, match="custom_inputs has humidity; GRU takes temperature"):
        both = {"temperature": [0.0], "humidity": [1.0]}
        pipe.step([0], [0], [1], None, None, 0.005, custom_inputs=both)


def make(path: Path, kind: str, metadata: dict[str, Any] | None) -> Pipeline:
    if kind == "mlp":
        networks.mlp(path, 2, metadata)
        return Pipeline(MLP(path), size=1)
    networks.gru(path, metadata or {})
    return Pipeline(GRU(path), size=1)


@pytest.mark.parametrize(
    ("kind", "metadata", "problem"),
    [
        ("mlp", {"input_idx": [0, 1]}, "tensor 'x' has shape ['n', 2], expected ['any', 4]"),
        ("mlp", {"input_order": "both"}, "metadata 'input_order' must be pos_vel or vel_pos"),
        ("mlp", {"pos_scale": 0}, "metadata 'pos_scale' must be finite and not zero, got 0"),
        ("mlp", {"input_idx": [-1]}, "metadata 'input_idx' must be whole numbers >= 0"),
        ("gru", {"input_columns": ["speed"], "custom_inputs": []}, "has speed; known are"),
        (
            "gru",
            {"input_columns": ["velocity"], "normalization": {"inputs": {"mean": {"x": 1}}}},
            "metadata 'normalization.inputs.mean' lacks velocity",
        ),
    ],
)
def test_a_file_that_does_not_fit_says_which_tensor_or_key(
    tmp_path: Path, kind: str, metadata: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PropertyError) as caught:
        make(tmp_path / "net.onnx", kind, metadata)
    assert problem in str(caught.value)
    assert f"{kind.upper()}.path: net.onnx: " in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PropertyError, match=r"MLP\.path: there is no file '.*nope\.onnx'"):
        Pipeline(MLP(tmp_path / "nope.onnx"), size=1)


def test_a_file_that_is_no_network_says_so(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(PropertyError, match=r"MLP\.path: net\.onnx: not a network"):
        Pipeline(MLP(tmp_path / "net.onnx"), size=1)


def test_networks_have_no_derivative_and_no_other_execution(tmp_path: Path) -> None:
    networks.mlp(tmp_path / "net.onnx", 2)
    pipe = Pipeline(MLP(tmp_path / "net.onnx"), size=1)
    with pytest.raises(NotImplementedError, match="MLP has no derivative"):
        pipe.jacobian([0.0], [0.0], [1.0])
    assert [s.available for s in pipe.executions.values()] == [True, False, False]


def test_an_mlp_without_history_may_be_stepped_implicitly(tmp_path: Path) -> None:
    networks.mlp(tmp_path / "net.onnx", 2)
    pipe = Pipeline(MLP(tmp_path / "net.onnx"), size=1)
    effort = pipe.step_implicit([0.0], [0.0], [0.1], None, None, 0.01, [[0.0]])
    np.testing.assert_allclose(
        effort, Pipeline(pipe.law.copy(), size=1).step([0.0], [0.0], [0.1]), atol=1e-4
    )


def test_a_gru_has_no_implicit_form(tmp_path: Path) -> None:
    networks.gru(tmp_path / "net.onnx", {"input_columns": ["position_error"]})
    pipe = Pipeline(GRU(tmp_path / "net.onnx"), size=1)
    with pytest.raises(ValueError, match="GRU has no implicit form; step it explicitly"):
        pipe.step_implicit([0.0], [0.0], [0.1], None, None, 0.01, [[1.0]])
