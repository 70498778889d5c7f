"""The page on motors: its tables are those of the files, its examples run."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.core.scene.motor_file import MotorFile
from tests.places import ROOT

PAGE = ROOT / "docs" / "motors.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout beside the tests")


def examples() -> list[str]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def motors_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield import_module("motors_page")
    sys.modules.pop("motors_page", None)


def test_the_tables_are_the_present_ones(motors_page: Any) -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == motors_page.page(), "python tools/motors_page.py --write"
    assert written.count("| `") > 15


@pytest.mark.parametrize("text", [e for e in examples() if e.startswith("mjrig: 1")])
def test_each_scene_runs(text: str) -> None:
    world = mjrig.World(mjrig.Scene.parse(text))
    world.step(5)
    assert any(robot.model_map.motors or robot.components for robot in world.articulations.values())


def test_the_motor_of_ones_own_is_one() -> None:
    (text,) = [e for e in examples() if e.startswith("mjrig_motor")]
    file = MotorFile.parse(text, Path("own.yaml"))
    assert [str(fit.law) for fit in file.fits] == ["m1", "m2"]
