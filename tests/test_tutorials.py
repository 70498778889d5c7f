"""The commands of the tutorials and of the first page, run as printed, in order."""

import re
import shlex
from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.places import DOCS, ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="there is no checkout beside the tests"
)


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the checkout, whose `out/` is not that of the user."""
    for name in ("assets", "config", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_page(page: str) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    assert lines
    for line in lines:
        if line.startswith("mjrig "):
            assert main(shlex.split(line)[1:]) == 0, line


def test_five_minutes(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    run_page("start.md")
    assert (checkout / "out" / "my_arm.png").stat().st_size > 1000
    (example,) = blocks("start.md", "python")
    capsys.readouterr()
    exec(compile(example, "start.md", "exec"), {})
    rows = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines())
    assert float(rows["elbow"]) == pytest.approx(1.2, abs=0.1)


def test_the_arm_that_sags(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("tutorials/arm.md")
    sags = re.findall(r"gravity sag: \S+ N·m of gravity, (\S+) of", capsys.readouterr().out)
    shoulder = [float(s) for s in sags]
    assert min(shoulder[:2]) > 0.01  # before, in rad
    assert max(shoulder[2:], default=0.0) < 0.01  # half a degree


def test_the_policy_that_stumbles(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    run_page("tutorials/policy.md")
    out = capsys.readouterr().out
    assert "[order-probe]" in out
    assert "1. joint order of 12 joints" in out
    assert out.count("joint order of 12 joints") == 2  # found, repaired, not found again
    assert "the difference comes from rounding" in out


def test_the_log_and_its_model(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("h5py")
    run_page("tutorials/log.md")
    out = capsys.readouterr().out
    rows = dict(re.findall(r"^ *swing  (kp|kv|frictionloss) +\S+ +(\S+)", out, re.MULTILINE))
    found = {name: float(value) for name, value in rows.items()}
    assert found == pytest.approx({"kp": 220.0, "kv": 12.0, "frictionloss": 0.3}, rel=1e-3)
    assert "held out" in out
    assert (checkout / "out" / "fit" / "report.html").stat().st_size > 10_000
