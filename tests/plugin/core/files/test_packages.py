"""Packages that scenes name are found without running them, and only where they are installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mjrig
from mjrig.core.errors import SceneError
from mjrig.core.files import paths
from mjrig.core.files.paths import installed_folders, package_folders
from tests.conftest import HINGE
from tests.wording import mentions, regex

#: What a package does when it is imported.
CODE = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"


def make_package(place: Path, name: str) -> Path:
    folder = place
    for part in name.split("."):
        folder = folder / part
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(CODE)
    (folder / "m.xml").write_text(HINGE)
    return folder


def ran(place: Path) -> list[Path]:
    return list(place.rglob("ran"))


def scene(folder: Path, name: str) -> Path:
    (folder / "s.yaml").write_text(f"mjrig: 1\nactors: [{{name: a, model: '{name}'}}]\n")
    return folder / "s.yaml"


@pytest.mark.parametrize("name", ["robots", "robots.arms", "robots.arms.left"])
def test_an_installed_package_is_found_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(paths, "installed_folders", lambda: (str(tmp_path),))
    make_package(tmp_path, name)
    assert mjrig.World(scene(tmp_path, f"package:{name}/m.xml")).model.nq == 1
    assert not ran(tmp_path)


@pytest.mark.parametrize("name", ["robots", "robots.arms", "sub.robots", "robot_descriptions"])
def test_a_folder_beside_the_scene_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(paths, "installed_folders", tuple)
    for module in [m for m in sys.modules if m.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, module)
    make_package(tmp_path, name)
    with pytest.raises(SceneError, match=regex("there is no installed …")):
        mjrig.World(scene(tmp_path, f"package:{name}/m.xml"))
    assert not ran(tmp_path)


def test_a_trusted_folder_has_packages(tmp_path: Path) -> None:
    make_package(tmp_path, "robots.arms")
    path = scene(tmp_path, "package:robots.arms/m.xml")
    assert mjrig.World(mjrig.Scene.load(path, trust=True)).model.nq == 1
    assert not ran(tmp_path)


def test_a_command_runs_no_folder_of_the_current_one(tmp_path: Path) -> None:
    for name in ("robots", "robot_descriptions", "numba", "h5py"):
        make_package(tmp_path, name)
    path = scene(tmp_path, "package:robots/m.xml")
    command = [sys.executable, "-m", "mjrig", "check", str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert mentions(done.stderr, "there is no installed … 'robots'")
    assert not ran(tmp_path)


def test_folders_named_in_pth_files_are_installed(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "a.pth").write_text("# note\nimport os\nmore\n\nnowhere\n")
    (tmp_path / "b.pth").write_bytes(b"\xff\xfe")
    found = paths._added_by_pth(tmp_path)
    assert found == [str(tmp_path / "more"), str(tmp_path / "nowhere")]


def test_where_packages_are() -> None:
    assert installed_folders()
    assert os.getcwd() not in installed_folders()
    assert package_folders("numpy")[0].name == "numpy"
    assert package_folders("mjrig.assets")
    for name in ("", ".", "os", "no_such", "numpy..x", "../x", "numpy.no_such", "a b"):
        assert package_folders(name) == []
