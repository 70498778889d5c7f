"""The import graph: which module imports which, whether that is in order, and the map of it.

    python tools/architecture.py            # imports against the order; exit code 1 if any
    python tools/architecture.py --write    # and regenerate docs/images/architecture.svg

Imports count wherever they stand: at the top, inside functions, under TYPE_CHECKING, and as strings
that name a module.
"""

import ast
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
FOLDERS = {"plugin": "mjrig", "components": "mjrig.components", "editor": "mjrig.editor"}

#: Every package, lowest first: a package imports itself and packages above it in this list only.
#: A module belongs to the longest name in the list that its own name begins with.
PACKAGES = {
    "plugin": (
        "mjrig.core",
        "mjrig.core.files",
        "mjrig.core.processes",
        "mjrig.core.properties",
        "mjrig.core.yaml_text",
        "mjrig.core.scene",
        "mjrig.core.model",
        "mjrig.core.control",
        "mjrig.core.scene.editing",
        "mjrig.core.findings",
        "mjrig.core.sim",
        "mjrig.data.recording",
        "mjrig.data.robot_logs",
        "mjrig.data.streams",
        "mjrig.data.gym",
        "mjrig.lab.findings",
        "mjrig.lab.report",
        "mjrig.lab.check",
        "mjrig.lab.rollouts",
        "mjrig.lab.responses",
        "mjrig.lab.gains",
        "mjrig.lab.replay",
        "mjrig.lab.fit",
        "mjrig.lab.sweep",
        "mjrig.lab.bench",
        "mjrig",
        "mjrig.cli",
    ),
    "components": (
        "mjrig.components.laws",
        "mjrig.components.executions",
        "mjrig.components.controllers",
        "mjrig.components.actuators",
        "mjrig.components.props",
        "mjrig.components.policies",
        "mjrig.components.bridges.dds",
        "mjrig.components.bridges",
        "mjrig.components",
        "mjrig.components.importers",
    ),
    "editor": (
        "mjrig.editor.text",
        "mjrig.editor.edits",
        "mjrig.editor.session",
        "mjrig.editor.ui",
        "mjrig.editor.panels",
        "mjrig.editor.gains",
        "mjrig.editor.inspector",
        "mjrig.editor.tune",
        "mjrig.editor.replay",
        "mjrig.editor.assets",
        "mjrig.editor.viewport",
        "mjrig.editor.window",
        "mjrig.editor.web",
        "mjrig.editor",
    ),
}
ORDER = {
    package: i for i, package in enumerate(r for packages in PACKAGES.values() for r in packages)
}
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


@cache
def parsed(path: Path) -> ast.Module:
    """What is written in a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(name: str, tree: ast.Module, known: Iterable[str]) -> Iterator[Import]:
    """Every import of a module of this tree in what is written in one of them."""
    known = set(known)
    for node, how in _nodes(tree):
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


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every node in the order it is written, with where it stands."""
    waiting = [(tree, "top")]
    while waiting:
        node, how = waiting.pop()
        yield node, how
        if isinstance(node, _FUNCTIONS):
            how = "function"
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            how = "typing"
        waiting += [(child, how) for child in reversed([*ast.iter_child_nodes(node)])]


def graph(root: Path = ROOT) -> list[Import]:
    """Every import between modules of this tree.

    Entry-point groups carry names of packages (`mjrig.components`): such a string is no import.
    """
    known = modules(root)
    groups = set(FOLDERS.values())
    return [
        found
        for name, path in known.items()
        for found in imports(name, parsed(path), known)
        if not (found.how == "string" and found.imported in groups)
    ]


def package_of(module: str) -> str:
    """The listed package that a module belongs to; its own folder if none is listed."""
    words = module.split(".")
    prefixes = [".".join(words[:n]) for n in range(len(words), 0, -1)]
    return next((prefix for prefix in prefixes if prefix in ORDER), module)


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
    """Imports of a package that stands lower in the list, and packages that are not in it."""
    problems = set()
    for one in found:
        packages = package_of(one.importer), package_of(one.imported)
        problems |= {
            f"{package}: is not among the packages" for package in packages if package not in ORDER
        }
        if one.importer in {"mjrig", "mjrig.__main__"}:  # the public names, and the program
            continue
        if (
            all(package in ORDER for package in packages)
            and ORDER[packages[1]] > ORDER[packages[0]]
        ):
            where = known[one.importer].relative_to(ROOT)
            problems.add(f"{where}:{one.line}: imports {one.imported} ({one.how})")
    return sorted(problems)


# The map ----------------------------------------------------------------------------------------

_WIDTH, _ROW, _GAP, _TOP, _LEFT = 260, 26, 70, 64, 24
_FILLS = {"plugin": "#e8f0fa", "components": "#eaf6ea", "editor": "#fbf0e2"}
_STROKES = {"plugin": "#3a6ea5", "components": "#3d8b40", "editor": "#b9770e"}
_STYLE = "font-family: system-ui, sans-serif"


def package_imports(
    found: Iterable[Import], known: Mapping[str, Path]
) -> dict[tuple[str, str], int]:
    """How many imports lead from a package to another one."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        if one.importer in {"mjrig", "mjrig.__main__"}:
            continue
        pair = package_of(one.importer), package_of(one.imported)
        if pair[0] != pair[1]:
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def svg(found: Iterable[Import], known: Mapping[str, Path]) -> str:
    """The packages as three columns, lowest at the top, and the arrows between neighbouring ones.

    An arrow is drawn where a package imports another one that none of its other imports leads to.
    """
    found = list(found)
    sizes: dict[str, int] = {}
    for module, path in known.items():
        package = package_of(module)
        sizes[package] = sizes.get(package, 0) + (path.name != "__init__.py")
    places: dict[str, tuple[float, float]] = {}
    boxes = []
    for column, (folder, packages) in enumerate(PACKAGES.items()):
        x = _LEFT + column * (_WIDTH + _GAP)
        boxes.append(
            f'<text x="{x}" y="40" font-size="18" font-weight="600" '
            f'fill="{_STROKES[folder]}">{folder}/</text>'
        )
        for row, package in enumerate(packages):
            y = _TOP + row * (_ROW + 6)
            places[package] = x, y + _ROW / 2
            boxes.append(_box(folder, package, sizes.get(package, 0), x, y))
    height = _TOP + max(map(len, PACKAGES.values())) * (_ROW + 6) + 20
    width = _LEFT + 3 * (_WIDTH + _GAP)
    arrows = [_arrow(places[a], places[b]) for a, b in _direct(package_imports(found, known))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" style="{_STYLE}">',
            "<title>The packages of mjrig, and which imports which</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
            'markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="#8a8f98"/>'
            "</marker></defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *arrows,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _box(folder: str, package: str, size: int, x: float, y: float) -> str:
    name = package.removeprefix(FOLDERS[folder]).removeprefix(".") or "(root)"
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_ROW}" rx="4" '
        f'fill="{_FILLS[folder]}" stroke="{_STROKES[folder]}"/>'
        f'<text x="{x + 10}" y="{y + 17}" font-size="13" fill="#1c1f23">{escape(name)}</text>'
        f'<text x="{x + _WIDTH - 10}" y="{y + 17}" font-size="11" fill="#5b6470" '
        f'text-anchor="end">{size}</text>'
    )


def _direct(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs that no chain of others implies."""
    below: dict[str, set[str]] = {}
    for a, b in pairs:
        below.setdefault(a, set()).add(b)
    reach: dict[str, set[str]] = {}
    for package in sorted(ORDER, key=lambda r: ORDER[r]):
        direct = below.get(package, set())
        reach[package] = direct | {far for near in direct for far in reach.get(near, set())}
    return sorted(
        (a, b)
        for a, others in below.items()
        for b in others
        if not any(b in reach.get(other, set()) for other in others - {b})
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """From a package to the one it imports; within a column it bows out to the right."""
    (x1, y1), (x2, y2) = start, end
    if x1 == x2:
        edge = x1 + _WIDTH
        bow = edge + min(14 + abs(y1 - y2) / 9, _GAP - 12)
        path = f"M{edge} {y1}C{bow:.0f} {y1} {bow:.0f} {y2} {edge + 2} {y2}"
    else:
        start_x, end_x = (x1, x2 + _WIDTH + 2) if x1 > x2 else (x1 + _WIDTH, x2 - 2)
        middle = (start_x + end_x) / 2
        path = f"M{start_x} {y1}C{middle:.0f} {y1} {middle:.0f} {y2} {end_x} {y2}"
    return (
        f'<path d="{path}" fill="none" stroke="#8a8f98" stroke-width="1.1" '
        'opacity="0.75" marker-end="url(#tip)"/>'
    )


def main() -> int:
    """Print what is against the order; write the map."""
    parser = ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {PICTURE.relative_to(ROOT)}")
    options = parser.parse_args()
    known, found = modules(), graph()
    ring = circle(found)
    problems = against_the_order(found, known)
    if ring:
        problems.append("a circle: " + " → ".join(ring))
    print("\n".join(problems) or f"{len(known)} modules, {len(found)} imports, all in order")
    if options.write:
        PICTURE.write_text(svg(found, known), encoding="utf-8")
        print(f"{PICTURE.relative_to(ROOT)} written")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
