"""A campaign that is ended from outside says what it has tried and found."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.places import ROOT

ENDLESS = '''"""Ended from outside."""
import time
from pathlib import Path
import pytest


@pytest.mark.campaign
def test_endless(tally):
    for rng in tally.cases("endless", 1, 10**9):
        if tally.tried == 3:
            tally.found("a number that is wrong")
            Path("ready").touch()
        time.sleep(0.01)
'''

#: A job in the background of a shell ignores SIGINT, and so would its children.
CONFTEST = """
import signal
from tests.conftest import *

signal.signal(signal.SIGINT, signal.default_int_handler)
"""


@pytest.mark.parametrize(
    ("workers", "end"), [("0", signal.SIGINT), ("0", signal.SIGTERM), ("1", signal.SIGINT)]
)
def test_a_campaign_that_is_ended_prints_its_table(
    end: signal.Signals, workers: str, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(ENDLESS.replace("from tests.conftest import *", "pass"))
    environment = os.environ | {"MJRIG_CAMPAIGN": "1", "PYTHONPATH": str(ROOT), "MJRIG_MINUTES": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", workers, "."]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE
    ) as run:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(end)
        printed, _ = run.communicate(timeout=PATIENCE)
    row = next(line for line in printed.splitlines() if line.startswith("endless (ended"))
    assert int(row.split()[-2]) >= 3 and row.split()[-1] == "1"
    assert "endless: case 2: a number that is wrong" in printed
