"""What is installed is what is in the checkout, and imports go one way only."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

import mjrig
from tests.patience import PATIENCE
from tests.places import ROOT

FOLDERS = {
    "plugin": "mjrig",
    "components": "mjrig.components",
    "editor": "mjrig.editor",
    "assets": "mjrig.assets",
    "config": "mjrig.config",
}
#: Folder → what it must not import: the arrow is editor → components → plugin.
FORBIDDEN = {
    "plugin": ("mjrig.components", "mjrig.editor"),
    "components": ("mjrig.editor",),
    "editor": (),
}
HEAVY = (
    "glfw", "imgui_bundle", "mujoco", "onnxruntime", "h5py", "numba", "mjrig.components",
)  # fmt: skip

needs_checkout = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="there is no checkout beside the tests"
)


def points() -> list[EntryPoint]:
    return [*entry_points(group="mjrig.components"), *entry_points(group="mjrig.commands")]


@pytest.mark.parametrize("point", points(), ids=lambda p: p.name)
def test_every_entry_point_loads(point: EntryPoint) -> None:
    loaded = point.load()
    assert callable(loaded)
    if point.group == "mjrig.components":
        assert loaded.__name__ == point.name


@needs_checkout
def test_the_folders_are_mapped_to_import_names() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert settings["package-dir"] == {package: folder for folder, package in FOLDERS.items()}


@needs_checkout
def test_every_folder_of_code_is_an_installed_package() -> None:
    for folder, package in FOLDERS.items():
        for file in (ROOT / folder).rglob("*.py"):
            assert (file.parent / "__init__.py").is_file(), f"{file.parent} has no __init__.py"
            below = file.parent.relative_to(ROOT / folder).parts
            assert find_spec(".".join((package, *below))) is not None


@cache
def imports(file: Path) -> tuple[tuple[int, str], ...]:
    """(line, module) of every import, inside of functions too; relative ones start with a dot."""
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


@needs_checkout
@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_go_from_editor_to_components_to_plugin(folder: str) -> None:
    against = [
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line, module in imports(file)
        for forbidden in FORBIDDEN[folder]
        if module == forbidden or module.startswith(f"{forbidden}.")
    ]
    assert against == []


@needs_checkout
@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_are_absolute_and_by_the_name_mjrig(folder: str) -> None:
    others = [
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line, module in imports(file)
        if module.startswith(".") or module.partition(".")[0] in FOLDERS
    ]
    assert others == []


def test_importing_mjrig_and_its_command_line_is_light() -> None:
    script = f"import sys, mjrig, mjrig.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


#: Packages whose names are imported when they are first asked for.
EXPORTING = [
    "mjrig",
    "mjrig.check",
    "mjrig.components",
    "mjrig.components.importers",
    "mjrig.gains",
    "mjrig.recording",
    "mjrig.sim",
    "mjrig.sim2sim",
    "mjrig.tuning",
]


#: Public names whose class has another one now.
RENAMED = {"ReplayFinding": "Finding"}


@pytest.mark.parametrize("package", EXPORTING)
def test_every_public_name_resolves(package: str) -> None:
    module = import_module(package)
    names = dir(module)
    assert names
    for name in names:
        home = import_module(f"mjrig.{module._HOME[name]}")
        assert getattr(module, name) is getattr(home, name)
        assert getattr(module, name).__name__ == RENAMED.get(name, name)
        # A module of that name would take its place once it is imported.
        if hasattr(module, "__path__"):
            assert find_spec(f"{package}.{name}") is None


@needs_checkout
@pytest.mark.parametrize("package", EXPORTING)
def test_the_names_checkers_see_are_the_names_there_are(package: str) -> None:
    module = import_module(package)
    assert module.__file__ is not None
    seen = {
        (alias.asname, node.module)
        for node in ast.walk(ast.parse(Path(module.__file__).read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module not in ("typing", "mjrig.core.lazy_exports")
        for alias in node.names
    }
    assert seen == {(name, f"mjrig.{home}") for name, home in module._HOME.items()}


def test_the_parser_of_the_command_line_is_light() -> None:
    heavy = [name for name in HEAVY if name != "mjrig.components"] + [
        "numpy",
        "mjrig.core.scene.scene_description",
    ]
    script = (
        "import runpy, sys; sys.argv = ['mjrig', '--version']\n"
        "try: runpy.run_module('mjrig', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == "[]\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(mjrig, "Wrold")  # noqa: B009
    assert str(caught.value) == "module 'mjrig' has no attribute 'Wrold'"


def test_the_typing_mark_and_the_data_are_shipped() -> None:
    assert files("mjrig").joinpath("py.typed").is_file()
    assert files("mjrig.assets").joinpath("arm").joinpath("arm.xml").is_file()
    assert files("mjrig.config").joinpath("scenes").joinpath("arm.yaml").is_file()
