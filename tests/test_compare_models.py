"""A folder of models, loaded and stepped by MuJoCo and by mjrig: `make campaign MODELS=folder`."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.campaign import MODELS, Tally
from tests.places import ROOT

TOOL = ROOT / "tools" / "compare_models.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="there is no checkout beside the tests")

MOVING = """<mujoco><worldbody><light target="world" mode="targetbody"/><body><freejoint/>
<geom size=".1"/></body></worldbody><sensor><subtreecom body="world"/></sensor></mujoco>"""
#: A servo of a site: mjrig holds its first length.
SERVO = """<mujoco><worldbody><site name="slider"/><body><joint axis="0 0 1"/>
<geom size=".1" pos=".3 0 0"/><site name="crank" pos=".1 0 0"/></body></worldbody><actuator>
<position cranksite="crank" slidersite="slider" cranklength=".2"/></actuator></mujoco>"""
BROKEN = '<mujoco><worldbody><body><joint type="wheel"/></body></worldbody></mujoco>'
#: More memory than mjrig allows a model.
LARGE = """<mujoco><asset>
<texture name="t" type="2d" builtin="flat" width="6000" height="6000"/></asset></mujoco>"""


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_models_that_both_load_move_alike(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "moving.xml").write_text(MOVING)
    (tmp_path / "servo.mjcf").write_text(SERVO)
    (tmp_path / "broken.xml").write_text(BROKEN)
    (tmp_path / "notes.txt").write_text("not a model")
    result = _run(tmp_path)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path}/broken.xml: MuJoCo rejects it: ")
    assert lines[1:] == [
        f"{tmp_path}/inner/moving.xml: bit-identical",
        f"{tmp_path}/servo.mjcf: bit-identical",
        "3 files; MuJoCo loads 2, mjrig loads 2 of these, 2 bit-identical, 2 also as two actors",
    ]
    assert result.returncode == 0, result.stderr


def test_a_model_that_only_mjrig_rejects_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "large.xml").write_text(LARGE)
    result = _run(tmp_path)
    assert "large.xml: mjrig rejects it: " in result.stdout
    assert "asks for more than 100 MB" in result.stdout
    assert result.returncode == 1


def test_a_model_that_ends_the_process_is_a_row(
    tmp_path: Path, compare_models: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.xml").write_text(MOVING)
    (tmp_path / "b.xml").write_text(MOVING)
    fake = tmp_path / "fake.py"  # ends at a.xml, after MuJoCo loaded it
    fake.write_text(
        "import json, os, sys\n"
        "for path in sys.argv[4:]:\n"
        "    print(json.dumps({'loads': path}), flush=True)\n"
        "    if path.endswith('a.xml'): os._exit(7)\n"
        "    print(json.dumps({'file': path, 'is_equal': True}), flush=True)\n"
    )
    monkeypatch.setattr(compare_models, "__file__", str(fake))
    first, second = compare_models.rows(compare_models.models_in([tmp_path]))
    assert first.verdict == "mjrig rejects it: the process ended with code 7"
    assert (first.is_wrong, second.is_wrong) == (True, False)


@pytest.mark.campaign
def test_all_models_of_a_folder_are_loaded(compare_models: ModuleType, tally: Tally) -> None:
    files = compare_models.models_in([Path(MODELS)]) if MODELS else []
    if not files:
        pytest.skip("names no folder of models: make campaign MODELS=folder")
    cases = tally.cases("models of a folder", len(files), len(files))
    table = []
    for row, _ in zip(compare_models.rows(files), cases, strict=False):
        table.append(row)
        if row.is_wrong:
            tally.found(f"{row.file}: {row.verdict}")
    compare_models.print_table(table)


@pytest.fixture
def compare_models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(os.fspath(TOOL.parent))
    return import_module("compare_models")
