"""`menagerie:robot`: a checkout first, then the package, and what is said without either."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mjrig
from mjrig.core.files import paths
from tests.conftest import HINGE
from tests.wording import matches, regex

DESCRIPTION = '''"""A description, as the package has them."""

from os import path as _path

from ._cache import clone_to_cache as _clone_to_cache

REPOSITORY_PATH: str = _clone_to_cache("{repository}")

PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "{folder}")

MJCF_PATH: str = _path.join(PACKAGE_PATH, "any.xml")
'''


def world_of(model: str) -> mjrig.World:
    return mjrig.World(
        mjrig.Scene.parse(f"mjrig: 1\nactors:\n  - name: robot\n    model: {model}\n")
    )


def said(model: str) -> str:
    """The error a model's name gives, without the place it always has."""
    with pytest.raises(mjrig.SceneError) as info:
        world_of(model)
    place, _, text = str(info.value).partition("robot.model: ")
    assert place == "<text>:4:12: actors[0].model: "
    return text


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A menagerie with a few robots, as its folders look."""
    root = tmp_path / "mujoco_menagerie"
    for name in (
        "unitree_go2/go2.xml",
        "unitree_go2/scene.xml",
        "franka_emika_panda/panda.xml",
        "franka_emika_panda/hand.xml",
        "trs_so_arm/so101.xml",
        "trs_so_arm/scene.xml",
        "twins/left.xml",
        "twins/right.xml",
        "nothing/README.txt",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HINGE.replace("<mujoco>", f'<mujoco model="{name}">'))
    monkeypatch.setenv("MJRIG_MENAGERIE", str(root))
    return root


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed `robot_descriptions` that notes what it downloads."""
    monkeypatch.delenv("MJRIG_MENAGERIE", raising=False)
    folder = tmp_path / "site" / "robot_descriptions"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "_cache.py").write_text(
        "import os\n"
        "def clone_to_cache(name):\n"
        "    here = os.path.dirname(__file__)\n"
        "    with open(os.path.join(here, 'clones.txt'), 'a') as file:\n"
        "        file.write(name + '\\n')\n"
        "    return os.path.join(here, '..', '..', name)\n"
    )
    for module, repository, robot in (
        ("go2_mj_description", "mujoco_menagerie", "unitree_go2"),
        ("panda_mj_description", "mujoco_menagerie", "franka_emika_panda"),
        ("t1_mj_description", "another_repository", "unitree_t1"),
    ):
        text = DESCRIPTION.format(repository=repository, folder=robot)
        (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(paths, "installed_folders", lambda: (str(folder.parent),))
    for name in [n for n in sys.modules if n.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in [n for n in sys.modules if n.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


# A checkout -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("unitree_go2", "unitree_go2/go2.xml"),
        ("franka_emika_panda", "franka_emika_panda/panda.xml"),
        ("trs_so_arm", "trs_so_arm/so101.xml"),
        ("unitree_go2/scene.xml", "unitree_go2/scene.xml"),
        ("twins/right.xml", "twins/right.xml"),
    ],
)
def test_a_name_is_a_file_of_the_checkout(checkout: Path, name: str, file: str) -> None:
    from mjrig.core.model.model_source import find_in_menagerie

    assert find_in_menagerie(Path(f"menagerie:{name}")) == checkout / file
    assert world_of(f"menagerie:{name}").model.nq == 1


def test_an_unknown_robot_names_the_nearest(checkout: Path) -> None:
    assert matches(
        said("menagerie:unitree_g02"),
        f"{str(checkout)!r} has no robot 'unitree_g02'; did … 'unitree_go2'?",
    )


def test_several_models_have_no_main_one(checkout: Path) -> None:
    assert matches(
        said("menagerie:twins"),
        "'twins' has no main model; … menagerie:twins/left.xml; … left.xml, right.xml",
    )


def test_an_unknown_file_names_the_nearest(checkout: Path) -> None:
    assert matches(
        said("menagerie:unitree_go2/scen.xml"),
        "'unitree_go2' has no file 'scen.xml'; did … 'scene.xml'?",
    )


def test_a_robot_must_be_named(checkout: Path) -> None:
    expected = "menagerie: needs the name of a robot: menagerie:unitree_go2"
    assert said('"menagerie:"') == expected


@pytest.mark.parametrize("name", ["..", "../unitree_go2/go2.xml", "unitree_go2/../../x.xml"])
def test_a_name_does_not_lead_out_of_the_menagerie(checkout: Path, name: str) -> None:
    from mjrig.core.model.model_source import find_in_menagerie

    with pytest.raises(mjrig.PropertyError, match=regex("leads outside of the …")):
        find_in_menagerie(Path(f"menagerie:{name}"))


def test_a_checkout_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MJRIG_MENAGERIE", str(tmp_path / "lost"))
    expected = f"MJRIG_MENAGERIE is {str(tmp_path / 'lost')!r}, which is not a folder"
    assert said("menagerie:unitree_go2") == expected


# The package ------------------------------------------------------------------------------------


def test_the_package_is_asked_for_the_one_robot(package: Path, checkout: Path) -> None:
    """Importing a description downloads: only the one that is needed is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MJRIG_MENAGERIE")
        assert world_of("menagerie:unitree_go2").model.nq == 1
    assert (package / "clones.txt").read_text() == "mujoco_menagerie\n"
    assert "robot_descriptions.panda_mj_description" not in sys.modules


def test_a_checkout_comes_before_the_package(package: Path, checkout: Path) -> None:
    world_of("menagerie:unitree_go2")
    assert not (package / "clones.txt").exists()


def test_robots_of_other_collections_are_not_offered(package: Path) -> None:
    assert matches(
        said("menagerie:unitree_t1"),
        "robot_descriptions knows no menagerie robot 'unitree_t1'; … 'unitree_go2'?",
    )
    assert not (package / "clones.txt").exists()


def test_a_download_that_fails_says_both_ways(package: Path) -> None:
    (package / "_cache.py").write_text(
        "def clone_to_cache(name):\n    raise OSError('could not resolve host')\n"
    )
    assert matches(
        said("menagerie:unitree_go2"),
        "robot_descriptions cannot download 'unitree_go2': could not … MJRIG_MENAGERIE "
        "… mujoco_menagerie",
    )


def test_without_either_both_ways_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MJRIG_MENAGERIE", raising=False)
    monkeypatch.setattr(paths, "installed_folders", tuple)
    monkeypatch.setattr(sys, "modules", {n: m for n, m in sys.modules.items() if "robot_" not in n})
    assert matches(
        said("menagerie:unitree_go2"),
        "there is no menagerie: … MJRIG_MENAGERIE … mujoco_menagerie, … 'mjrig[menagerie]', …",
    )


def test_a_folder_that_hides_the_package_is_not_run(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "beside" / "robot_descriptions"
    beside.mkdir(parents=True)
    (beside / "__init__.py").write_text("raise SystemExit('was run')")
    (beside / "go2_mj_description.py").write_text((package / "go2_mj_description.py").read_text())
    monkeypatch.syspath_prepend(str(beside.parent))
    assert matches(
        said("menagerie:unitree_go2"), f"{str(beside)!r} is not the installed robot_descriptions, …"
    )


def test_a_sandbox_starts_no_download(package: Path, tmp_path: Path) -> None:
    text = "mjrig: 1\nactors: [{name: robot, model: menagerie:unitree_go2}]\n"
    with pytest.raises(mjrig.SceneError, match=regex("the sandbox allows files …")):
        mjrig.World(mjrig.Scene.parse(text, tmp_path, sandbox=True))
    assert not (package / "clones.txt").exists()
