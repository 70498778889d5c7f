"""The import graph: which module imports which, whether that is in order, and the map of it.

    python tools/architecture.py            # imports against the order; exit code 1 if any
    python tools/architecture.py --write    # and regenerate docs/images/architecture.svg

Imports count wherever they stand: at the top, inside functions, under TYPE_CHECKING, and as strings
that name a module.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
FOLDERS = {"plugin": "mjrig", "components": "mjrig.components", "editor": "mjrig.editor"}

#: Every room, lowest first: a room imports itself and rooms above it in this list only.
ROOMS = {
    "plugin": (
        "mjrig",
        "mjrig.files",
        "mjrig.workers",
        "mjrig.properties",
        "mjrig.yaml_text",
        "mjrig.scene",
        "mjrig.model_files",
        "mjrig.model",
        "mjrig.control",
        "mjrig.scene_edit",
        "mjrig.sim",
        "mjrig.terminal",
        "mjrig.check",
        "mjrig.gains",
        "mjrig.recording",
        "mjrig.sim2sim.compare",
        "mjrig.sim2sim.play",
        "mjrig.sim2sim.diagnose",
        "mjrig.sim2sim.modes",
        "mjrig.sim2sim.report",
        "mjrig.sim2sim",
        "mjrig.tuning.responses",
        "mjrig.tuning.assignment",
        "mjrig.tuning.fitting",
        "mjrig.tuning.objectives",
        "mjrig.tuning.sweeps",
        "mjrig.tuning",
        "mjrig.cli",
    ),
    "components": (
        "mjrig.components.laws",
        "mjrig.components.executions",
        "mjrig.components.controllers",
        "mjrig.components.actuators",
        "mjrig.components.props",
        "mjrig.components.policies.terms",
        "mjrig.components.policies",
        "mjrig.components",
        "mjrig.components.importers.sources",
        "mjrig.components.importers.recordings",
        "mjrig.components.importers.stacks",
        "mjrig.components.importers",
    ),
    "editor": (
        "mjrig.editor.session",
        "mjrig.editor.ui",
        "mjrig.editor.inspector",
        "mjrig.editor.plots",
        "mjrig.editor.gains",
        "mjrig.editor.tune",
        "mjrig.editor.console",
        "mjrig.editor.replay",
        "mjrig.editor.assets",
        "mjrig.editor.viewport",
        "mjrig.editor.window",
        "mjrig.editor",
    ),
}
ORDER = {room: i for i, room in enumerate(r for rooms in ROOMS.values() for r in rooms)}
_MODULE = re.compile(r"(mjrig(?:\.\w+)+)(?::\w+)?")


@dataclass(frozen=True, order=True)
class Import:
    """One module imports another; `how`: top, function, typing or string."""

    importer: str
    imported: str
    line: int
    how: str


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module by import name."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            below = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((package, *below))] = path
    return found


def imports(name: str, text: str, known: Iterable[str]) -> Iterator[Import]:
    """Every import of a module of this tree in a source text."""
    known = set(known)
    for node, how in _nodes(ast.parse(text), "top"):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            wholes = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [w if w in known else str(node.module) for w in wholes]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _MODULE.fullmatch(node.value)
            targets = [match[1]] if match else []
        else:
            continue
        kind = "string" if isinstance(node, ast.Constant) else how
        for target in dict.fromkeys(targets):
            if target in known and target != name:
                yield Import(name, target, node.lineno, kind)


def _nodes(node: ast.AST, how: str) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(node):
        inner = how
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = "function"
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inner = "typing"
        yield child, how
        yield from _nodes(child, inner)


def graph(root: Path = ROOT) -> list[Import]:
    """Every import between modules of this tree.

    Entry-point groups carry names of packages (`mjrig.components`): such a string is no import.
    """
    known = modules(root)
    groups = set(FOLDERS.values())
    return [
        found
        for name, path in known.items()
        for found in imports(name, path.read_text(encoding="utf-8"), known)
        if not (found.how == "string" and found.imported in groups)
    ]


def room_of(module: str, known: Mapping[str, Path]) -> str:
    """The room a module is in: its folder."""
    is_package = known[module].name == "__init__.py"
    return module if is_package or module in ORDER else module.rpartition(".")[0]


def circle(found: Iterable[Import]) -> list[str]:
    """Modules of an import cycle; empty if there is none."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for one in found:
        sorter.add(one.importer, one.imported)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def against_the_order(found: Iterable[Import], known: Mapping[str, Path]) -> list[str]:
    """Imports of a room that stands lower in the list, and rooms that are not in it."""
    problems = set()
    for one in found:
        rooms = room_of(one.importer, known), room_of(one.imported, known)
        problems |= {f"{room}: is not among the rooms" for room in rooms if room not in ORDER}
        if one.importer in {"mjrig", "mjrig.__main__"}:  # the public names, and the program
            continue
        if all(room in ORDER for room in rooms) and ORDER[rooms[1]] > ORDER[rooms[0]]:
            where = known[one.importer].relative_to(ROOT)
            problems.add(f"{where}:{one.line}: imports {one.imported} ({one.how})")
    return sorted(problems)
