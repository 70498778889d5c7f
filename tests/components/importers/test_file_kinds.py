"""`mjrig info` says what files of a training are."""

from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.components.importers import biped
from tests.components.importers.isaac import bundles, runs
from tests.wording import mentions


def told(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["info", str(path)]) == 0
    return capsys.readouterr().out


def test_files_of_a_training_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = runs.write(tmp_path, runs.env())
    runs.write(tmp_path, runs.agent(empirical_normalization=True), "params/agent.yaml")
    direct = {k: v for k, v in runs.env().items() if k not in ("observations", "actions")}
    (tmp_path / "bundle").mkdir()
    wanted = {
        env: "env.yaml: environment of Isaac Lab, manager-based; 0.005 s × 4",
        tmp_path: "agent.yaml: training configuration of rsl_rl; observations normalised",
        runs.write(tmp_path, direct, "direct.yaml"): "Direct workflow: its observation is in code",
        runs.write(tmp_path, runs.mjlab(), "mjlab.yaml"): "environment of mjlab",
        runs.write(tmp_path, runs.descriptors(), "IO_descriptors.yaml"): "27 values of the obs",
        bundles.write(tmp_path / "bundle"): "takes ang 3, quat 4, cmd 3, q 5, v 5",
        biped.write(tmp_path / "deploy.yaml", biped.LAB): "configuration of unitree_rl_lab",
        biped.network(tmp_path / "net.onnx", 7): "takes obs [1, 7]",
        biped.torchscript(tmp_path / "net.pt"): "net.pt: TorchScript network",
    }
    for path, text in wanted.items():
        assert text in told(path, capsys)


def test_weights_are_told_what_to_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model_1500.pt"
    path.write_bytes(b"\x80\x02}q\x00X\x10\x00\x00\x00model_state_dictq\x01.")
    assert mentions(told(path, capsys), "is a checkpoint of rsl_rl: …")
