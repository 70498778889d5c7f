"""What the page about tuning shows is what the commands print."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.places import ROOT

PAGE = ROOT / "docs" / "tuning.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout beside the tests")
#: The commands of this page that these tests know.
OURS = ("respond", "test", "assign")


def examples() -> list[tuple[str, str]]:
    """(command, output) of the page."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = re.findall(r"```sh\n(mjrig tune [^\n]*)\n```\n```text\n(.*?)```", text, flags=re.DOTALL)
    return [(c, out) for c, out in found if shlex.split(c)[2] in OURS]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the examples name, that they may write to."""
    for folder in ("config", "assets"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_shows_every_command() -> None:
    assert {shlex.split(command)[2] for command, _ in examples()} == set(OURS)


@pytest.mark.parametrize(("command", "output"), examples())
def test_an_example_prints_what_the_page_shows(
    checkout: Path, command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == output


def test_the_program_runs(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    program = next(
        p for p in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if "Wish" in p
    )
    exec(compile(program, "docs/tuning.md", "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "wrist_pitch",
        "wrist_roll",
    ]
