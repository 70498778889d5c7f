"""`menagerie:unitree_go2`: models of the MuJoCo Menagerie, from a checkout or by a package."""

import ast
import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import Gate, package_folders
from mjrig.core.names import suggestion

MENAGERIE = "menagerie:"
VARIABLE = "MJRIG_MENAGERIE"
PACKAGE = "robot_descriptions"
_REPOSITORY = "mujoco_menagerie"
_ADVICE = (
    f"set {VARIABLE} to a checkout of {_REPOSITORY}, or pip install 'mjrig[menagerie]', "
    "which downloads it once"
)


def is_in_menagerie(name: Path) -> bool:
    """Whether a model's name has the form `menagerie:…`."""
    return name.as_posix().startswith(MENAGERIE)


def find_in_menagerie(name: Path, gate: Gate | None = None) -> Path:
    """The file of a name: `menagerie:robot`, its main model, or `menagerie:robot/file.xml`.

    Raises:
        PropertyError: there is no such robot or file, or no menagerie, or the gate refuses it.
    """
    robot, _, inside = name.as_posix().removeprefix(MENAGERIE).partition("/")
    if not robot:
        raise PropertyError(f"{MENAGERIE} needs the name of a robot: {MENAGERIE}unitree_go2")
    if {".", ".."} & {robot, *inside.split("/")}:
        raise PropertyError(f"{name.as_posix()!r} leads outside of the menagerie")
    checkout = os.environ.get(VARIABLE)
    if gate is not None and checkout:
        gate.admit(Path(checkout, robot, inside), name)
    elif gate is not None:
        gate.admit_package(PACKAGE)
    folder = _in_checkout(Path(checkout), robot) if checkout else _by_package(robot)
    if not inside:
        return _main_file(folder)
    path = folder / inside
    if not os.path.isfile(path):
        names = [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.xml"))]
        raise PropertyError(f"{robot!r} has no file {inside!r}; {suggestion(inside, names)}")
    return path


def _in_checkout(root: Path, robot: str) -> Path:
    if not root.is_dir():
        raise PropertyError(f"{VARIABLE} is {str(root)!r}, which is not a folder")
    folder = root / robot
    if not folder.is_dir():
        names = sorted(p.parent.name for p in root.glob("*/*.xml"))
        raise PropertyError(f"{str(root)!r} has no robot {robot!r}; {suggestion(robot, names)}")
    return folder


def _main_file(folder: Path) -> Path:
    """The model itself: named like the folder, with or without the vendor, or the only one."""
    words = folder.name.split("_")
    for i in range(len(words)):
        path = folder / f"{'_'.join(words[i:])}.xml"
        if path.is_file():
            return path
    names = sorted(p.name for p in folder.glob("*.xml"))
    models = [name for name in names if not name.startswith("scene")]
    if len(models) == 1:
        return folder / models[0]
    listed = ", ".join(names) or "none"
    raise PropertyError(
        f"{folder.name!r} has no main model; name the file, as in "
        f"{MENAGERIE}{folder.name}/{names[0] if names else 'scene.xml'}; it has: {listed}"
    )


# By package -------------------------------------------------------------------------------------


def _by_package(robot: str) -> Path:
    """The folder of a robot in the copy that `robot_descriptions` keeps.

    Only the module of this robot is imported: importing any of them downloads it.
    """
    modules = dict(_description_modules())
    if not modules:
        raise PropertyError(f"there is no menagerie: {_ADVICE}")
    if robot not in modules:
        hint = suggestion(robot, sorted(modules))
        raise PropertyError(f"{PACKAGE} knows no menagerie robot {robot!r}; {hint}")
    try:
        folder = Path(import_module(f"{PACKAGE}.{modules[robot]}").PACKAGE_PATH)
    except Exception as error:  # git and the network raise anything
        text = " ".join(str(error).split()) or type(error).__name__
        raise PropertyError(
            f"{PACKAGE} cannot download {robot!r}: {text}; go online once, "
            f"or set {VARIABLE} to a checkout of {_REPOSITORY}"
        ) from error
    if not folder.is_dir():
        raise PropertyError(f"{PACKAGE} locates {robot!r} in {str(folder)!r}, which does not exist")
    return folder


def _description_modules() -> Iterator[tuple[str, str]]:
    """Folder in the menagerie → its module, read without importing anything.

    Raises:
        PropertyError: an import would run a folder that is not the installed package.
    """
    installed = package_folders(PACKAGE)
    if not installed:
        return
    spec = find_spec(PACKAGE)
    places = None if spec is None else spec.submodule_search_locations
    meant = [Path(place) for place in places or ()]
    if meant != installed:
        raise PropertyError(
            f"{str(meant[0] if meant else PACKAGE)!r} is not the installed {PACKAGE}, and is not "
            "run; start in another folder"
        )
    for place in installed:
        for file in sorted(Path(place).glob("*_mj_description.py")):
            texts = _strings(ast.parse(file.read_text(encoding="utf-8")))
            if _REPOSITORY in texts.get("REPOSITORY_PATH", ()):
                yield "/".join(texts.get("PACKAGE_PATH", ())), file.stem


def _strings(module: ast.Module) -> dict[str, list[str]]:
    """Name → the strings its value is made of, for the assignments of a module."""
    found = {}
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(targets[0], ast.Name) and isinstance(value, ast.expr):
            parts = [n.value for n in ast.walk(value) if isinstance(n, ast.Constant)]
            found[targets[0].id] = [part for part in parts if isinstance(part, str)]
    return found
