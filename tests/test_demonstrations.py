"""The scripts in demonstrations/ show by themselves that something works; all of them run here."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.places import ROOT, TESTS

SCRIPTS = sorted(p for p in (TESTS / "demonstrations").glob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_demonstration_shows_what_it_says(script: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", f"tests.demonstrations.{script.stem}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout and "Traceback" not in result.stderr
