"""The examples of docs/sweeps.md run as printed."""

import re
import shlex
from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.places import ROOT

PAGE = ROOT / "docs/sweeps.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout beside the tests")


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands() -> list[str]:
    """Those that need no cluster."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("mjrig") and "dask" not in line]


@pytest.mark.parametrize("line", commands(), ids=lambda line: " ".join(line.split()[:2]))
def test_the_commands_run_as_printed(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "optimise" in line:
        pytest.importorskip("optuna")
    if "--plot" in line:
        pytest.importorskip("matplotlib")
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    # In this process: starting others is tried elsewhere, and costs seconds.
    assert main([*shlex.split(line)[1:], "--executor", "inline"]) == 0
    out = capsys.readouterr().out
    (shown,) = blocks("text")
    if "out/step" in line:
        assert out.startswith(shown)
        names = {path.name for path in (tmp_path / "out/step").iterdir()}
        assert names == {"results.csv", "sweep.json", "best.yaml", "parallel.png", "heatmap.png"}


def test_there_is_an_example_of_each_command() -> None:
    assert {line.split()[1] for line in commands()} == {"sweep", "optimise"}


def test_the_python_example_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = blocks("python")
    exec(compile(example, "docs/sweeps.md", "exec"), {})
    assert capsys.readouterr().out.startswith("{'pendulum.PDController.kp': 200} 0.")
