"""`mjrig doctor`: true on this machine, and on poorer ones."""

import importlib.metadata
import json
import tomllib

import pytest

from mjrig.cli import doctor
from mjrig.cli.doctor import PURPOSE, DrawingTest, Installation, diagnose, doctor_report
from mjrig.cli.main import main
from tests.places import ROOT
from tests.wording import mentions


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_drawn_with", lambda backend: "")


def test_every_extra_is_listed_with_its_purpose() -> None:
    project = ROOT / "pyproject.toml"
    if not project.exists():
        pytest.skip("no checkout")
    declared = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    found = {extra.name for extra in diagnose().extras}
    assert found == set(declared) - {"all"}
    assert found <= set(PURPOSE)


def test_versions_are_those_of_the_packages() -> None:
    assert diagnose().versions["mujoco"] == importlib.metadata.version("mujoco")
    assert diagnose().versions["numpy"] == importlib.metadata.version("numpy")


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name == "h5py" else real(name))
    text = doctor_report(diagnose())
    assert "without h5py" in text
    assert 'pip install "mjrig[record]"' in text
    assert 'pip install "mjrig[fast]"' not in text or real("numba") == ""


def test_without_any_way_to_draw_it_says_what_to_install() -> None:
    found = diagnose()
    poor = Installation(found.versions, (), (DrawingTest("egl", "no driver"),), "", {})
    text = doctor_report(poor)
    assert not poor.draws
    assert mentions(text, "pictures with egl: no …") and "install a GL driver" in text
    assert "--web" in text


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_are_not_asked_for_egl(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    found = diagnose()
    assert [d.backend for d in found.drawings] == ["the system's"]
    assert found.display


def test_the_command_prints_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["draws"] is True
    assert {"Python", "mjrig", "mujoco"} <= set(data["versions"])
    assert main(["doctor"]) == 0
    assert "extra" in capsys.readouterr().out


def test_drawing_is_tried_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "_DRAW", "import os; os.abort()")
    assert "code" in doctor._drawn_with("egl") or doctor._drawn_with("egl")
    monkeypatch.setattr(doctor, "_DRAW", "")
    assert doctor._drawn_with("egl") == ""
