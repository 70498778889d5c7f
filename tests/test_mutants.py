"""The tool that changes constants: which changes it makes, and that it notices which are held."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.places import ROOT

TOOL = ROOT / "tools" / "mutants.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="there is no checkout beside the tests")

LEVELS = """
from functools import cache

from toy.units import SCALE

LIMIT = 10.0
UNUSED = 3
MARGINS = {"low": 0.1}
HALF_LIMIT = LIMIT / 2
FORMAT = 7
OFFSET = 4.0


def is_high(value: float) -> bool:
    return value * SCALE >= LIMIT


def is_low(value: float, margin: float = MARGINS["low"]) -> bool:
    return value < margin


def half() -> float:
    return HALF_LIMIT


def code() -> int:
    return FORMAT


@cache
def offset() -> float:
    return OFFSET
"""
TESTS = """
import subprocess
import sys

from toy.levels import code, half, is_high, is_low, offset


def test_high():
    assert not is_high(0.99)
    assert is_high(1.0)


def test_low():
    assert is_low(0.05)


def test_half_in_a_child_process():
    command = "from toy.levels import half; print(half())"
    printed = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert float(printed.stdout) == 5.0


def test_half():
    assert half() > 0.0


def test_code():
    assert code()
    assert offset() > 0.0


def test_a_cached_offset():
    assert offset() == 4.0
"""
EXEMPT = """
[classes]
protocol = "fixed by a file format"

[exempt."toy/levels.py"]
FORMAT = "protocol"
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOL.parent))
        return import_module("mutants")


def _keys(tool: ModuleType, source: str, **kinds: bool) -> list[str]:
    return [point.key for point in tool.points(ast.parse(source), **kinds)]


def _changed(tool: ModuleType, source: str, key: str, label: str, **kinds: bool) -> str:
    tree = ast.parse(source)
    next(p for p in tool.points(tree, **kinds) if p.key == key).changes[label]()
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").touch()
    (tmp_path / "toy" / "levels.py").write_text(LEVELS)
    (tmp_path / "toy" / "units.py").write_text("SCALE = 10.0\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "mutants_exempt.toml").write_text(EXEMPT)
    (tmp_path / "test_levels.py").write_text(TESTS)
    return tmp_path


def _run(toy: Path, *options: str) -> str:
    command = [sys.executable, str(TOOL), "toy", "--tests", "test_levels.py"]
    places = ["--root", str(toy), "--out", str(toy / "out")]
    run = subprocess.run([*command, *places, *options], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def _results(toy: Path) -> dict[str, dict[str, tuple[str, str]]]:
    results = json.loads((toy / "out" / "toy.json").read_text())["results"]
    return {
        key.partition(":")[2]: {label: (r["status"], r["by"]) for label, r in changes.items()}
        for key, changes in results.items()
    }


def test_held_constants_are_told_from_others(toy: Path) -> None:
    before = {f: f.read_bytes() for f in toy.rglob("*.py")}
    printed = _run(toy)
    high = ("held", "test_levels.py::test_high")
    child = ("held", "test_levels.py::test_half_in_a_child_process")
    cached = ("held", "test_levels.py::test_a_cached_offset")
    survived = ("survived", "")
    assert _results(toy) == {
        "SCALE": {"×2": high, "÷2": high},
        "LIMIT": {"×2": high, "÷2": high},
        "UNUSED": {"×2": ("no test", ""), "÷2": ("no test", "")},
        "MARGINS[0.1]": {"×2": survived, "÷2": ("held", "test_levels.py::test_low")},
        "HALF_LIMIT": {"×2": child, "÷2": child},
        "OFFSET": {"×2": cached, "÷2": cached},
    }
    counts = printed.splitlines()[-1].split()
    assert counts == ["toy", "7", "1", "4", "1", "0", "1", "0"]
    assert {f: f.read_bytes() for f in toy.rglob("*.py")} == before


def test_results_are_kept_until_a_test_changes(toy: Path) -> None:
    _run(toy)
    assert "×2" not in _run(toy).partition("toy/levels.py:UNUSED")[0]
    tests = toy / "test_levels.py"
    tests.write_text(tests.read_text() + "    assert not is_low(0.15)\n")
    printed = _run(toy)
    assert "MARGINS[0.1] ×2: held" in printed
    assert "LIMIT" not in printed  # held: not tried again
    assert _run(toy, "--report").splitlines()[-1].split()[3] == "5"


def test_operators_are_changed_on_request(tool: ModuleType) -> None:
    source = "def f(a, b):\n    return a < b and not a + 1 == b\n"
    assert _keys(tool, source) == []
    changes = {
        ("f: a < b and (not a + 1 == b)", "And → Or"): "a < b or not a + 1 == b",
        ("f: a < b", "Lt → LtE"): "a <= b and not a + 1 == b",
        ("f: not a + 1 == b", "without not"): "a < b and not not a + 1 == b",
        ("f: a + 1", "Add → Sub"): "a < b and not a - 1 == b",
        ("f: a + 1 == b", "Eq → NotEq"): "a < b and not a + 1 != b",
        ("f: 1", "+1"): "a < b and not a + 2 == b",
    }
    assert set(_keys(tool, source, logic=True)) == {key for key, _ in changes}
    for (key, label), expected in changes.items():
        changed = _changed(tool, source, key, label, logic=True)
        assert changed == ast.unparse(ast.parse(f"def f(a, b):\n    return {expected}"))


def test_numbers_inside_functions_are_changed_on_request(tool: ModuleType) -> None:
    source = 'def f(x, tolerance=1e-6):\n    """3."""\n    return x[0] + 0.25 + x - 0.25\n'
    assert _keys(tool, source) == []
    assert _keys(tool, source, inline=True) == ["f: 1e-06", "f: 0.25", "f: 0.25 (2)"]
    assert "x - 0.5" in _changed(tool, source, "f: 0.25 (2)", "×2", inline=True)


def test_a_number_computed_from_numbers_is_one_constant(tool: ModuleType) -> None:
    source = "LIMIT = 3 * 60\nHALF = LIMIT / 2\nFIRST, LAST = 1, 8\nTEXT = 'a'\nIS_ON = True\n"
    assert _keys(tool, source) == ["LIMIT", "HALF", "FIRST", "LAST"]
    assert "LIMIT = 90\n" in _changed(tool, source, "LIMIT", "÷2")
    assert "HALF = LIMIT / 2 * 2\n" in _changed(tool, source, "HALF", "×2")
    assert "FIRST, LAST = (1, 16)\n" in _changed(tool, source, "LAST", "×2")


def test_every_declared_exemption_exists(tool: ModuleType) -> None:
    for pattern in tool.read_exempt(TOOL.with_name("mutants_exempt.toml")):
        file, _, name = pattern.partition(":")
        found = tool.points(ast.parse((ROOT / file).read_text()))
        assert name in {n for p in found for n in ("*", p.key, p.key.partition("[")[0])}, pattern
