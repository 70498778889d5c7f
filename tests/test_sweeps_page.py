"""The examples of docs/sweeps.md run as printed."""

import re
import shlex
from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.places import ROOT
from tests.plugin.core.sim.c_device import on_c

__all__ = ["on_c"]  # a fixture
PAGE = ROOT / "docs/sweeps.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout beside the tests")


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands() -> list[str]:
    """Those that need no cluster and no GPU."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    elsewhere = ("dask", "--engine warp")
    return [s for s in lines if s.startswith("mjrig") and not any(word in s for word in elsewhere)]


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


@pytest.mark.usefixtures("on_c")
def test_the_command_for_a_gpu_runs_with_mujoco_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = (s for b in blocks("sh") for s in b.splitlines() if "--engine warp" in s)
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    smaller = line.replace(":1000", ":2").replace("--run 2", "--run 0.02")
    assert smaller != line and main(shlex.split(smaller)[1:]) == 0
    out = capsys.readouterr().out
    facts = out.splitlines()[1:3]
    assert facts[0] == "  points: 2 points with 4 seeds"
    assert facts[1].startswith("  engine: MuJoCo Warp, float32, ")
    rows = (tmp_path / "out/warp/results.csv").read_text().splitlines()
    assert len(rows) == 9 and all(",warp float32,ok," in row for row in rows[1:])


def test_there_is_an_example_of_each_command() -> None:
    assert {line.split()[1] for line in commands()} == {"sweep", "optimise"}


def test_the_python_example_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = blocks("python")
    exec(compile(example, "docs/sweeps.md", "exec"), {})
    assert capsys.readouterr().out.startswith("{'pendulum.PDController.kp': 200} 0.")
