"""Packages import only packages above them, no imports go in circles, and the map is current."""

import ast
import re
import sys
from importlib import import_module
from typing import Any

import pytest

from tests.places import DOCS, ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "tools").is_dir(), reason="there is no checkout beside the tests"
)
LONGEST_MODULE = 800


@pytest.fixture(scope="module")
def architecture() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return import_module("architecture")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def graph(architecture: Any) -> Any:
    return architecture.graph()


@pytest.fixture(scope="module")
def trees(architecture: Any) -> dict[str, ast.Module]:
    """Every module as it was parsed."""
    return {name: architecture.parsed(path) for name, path in architecture.modules().items()}


def test_no_imports_go_in_a_circle(architecture: Any, graph: Any) -> None:
    assert architecture.circle(graph) == []


def test_packages_import_only_packages_above_them(architecture: Any, graph: Any) -> None:
    assert architecture.against_the_order(graph, architecture.modules()) == []


def test_every_package_of_the_list_exists(architecture: Any) -> None:
    known = architecture.modules()
    assert [package for package in architecture.ORDER if package not in known] == []


def test_modules_are_imported_by_names_the_graph_can_see(trees: dict[str, ast.Module]) -> None:
    """`import_module(f"mjrig.{x}")` would hide an import; only lazy exports may do that."""
    hidden = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) == "import_module":
                argument = ast.unparse(node.args[0])
                if (
                    argument.startswith(("f'mjrig", 'f"mjrig'))
                    and name != "mjrig.core.lazy_exports"
                ):
                    hidden.append(f"{name}:{node.lineno}")
    assert hidden == []


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def circle_of(architecture: Any, **texts: str) -> list[str]:
    """The circle in a tree of modules `mjrig.a`, … with these texts."""
    known = [f"mjrig.{name}" for name in texts]
    trees = {f"mjrig.{name}": ast.parse(text) for name, text in texts.items()}
    found = [i for name, tree in trees.items() for i in architecture.imports(name, tree, known)]
    return list(architecture.circle(found))


@pytest.mark.parametrize(
    "back",
    [
        "from mjrig.a import thing",
        "import mjrig.a",
        "def later():\n    from mjrig.a import thing",
        "if TYPE_CHECKING:\n    from mjrig.a import thing",
        'import_module("mjrig.a")',
        'HOME = {"thing": "mjrig.a:thing"}',
        "from mjrig import a",
    ],
)
def test_a_circle_is_found_however_it_is_closed(architecture: Any, back: str) -> None:
    assert circle_of(architecture, a="from mjrig.b import x", b=back) != []
    assert circle_of(architecture, a="", b=back) == []


def test_a_package_above_is_refused(architecture: Any) -> None:
    known = {
        "mjrig.core.scene.actor_description": ROOT / "plugin/core/scene/actor_description.py",
        "mjrig.core.sim.world": ROOT / "plugin/core/sim/world.py",
    }
    against = architecture.Import(
        "mjrig.core.scene.actor_description", "mjrig.core.sim.world", 3, "function"
    )
    along = architecture.Import(
        "mjrig.core.sim.world", "mjrig.core.scene.actor_description", 3, "top"
    )
    assert architecture.against_the_order([along], known) == []
    assert architecture.against_the_order([against], known) == [
        "plugin/core/scene/actor_description.py:3: imports mjrig.core.sim.world (function)"
    ]


def test_no_module_is_too_long_to_read(architecture: Any) -> None:
    for path in architecture.modules().values():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE, path


def test_every_package_has_a_docstring(trees: dict[str, ast.Module]) -> None:
    assert [name for name, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_no_two_classes_share_a_name(trees: dict[str, ast.Module]) -> None:
    homes: dict[str, list[str]] = {}
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_the_map_is_the_present_one(architecture: Any, graph: Any) -> None:
    drawn = architecture.svg(graph, architecture.modules())
    assert architecture.PICTURE.read_text(encoding="utf-8") == drawn, (
        "python tools/architecture.py --write"
    )


def test_the_page_lists_every_package_and_every_path_on_it_exists(architecture: Any) -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    folders = {
        str(path.parent.relative_to(ROOT))
        for path in architecture.modules().values()
        if path.parent.relative_to(ROOT).parts[1:]
    }
    assert sorted(f for f in folders if f"`{f}/`" not in page) == []
    named = re.findall(r"`((?:plugin|components|editor|tools|tests|docs)/[\w/.]*)`", page)
    assert [name for name in named if not (ROOT / name).exists()] == []
