"""Folders of tests mirror the packages; what tests compare of a message stays short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

PRODUCTS = ("plugin", "components", "editor")
pytestmark = pytest.mark.skipif(
    not (ROOT / "plugin").is_dir(), reason="there is no checkout beside the tests"
)


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """The syntax trees of all tests, by file."""
    paths = sorted((ROOT / "tests").rglob("*.py"))
    return {str(p.relative_to(ROOT)): ast.parse(p.read_text(encoding="utf-8")) for p in paths}


def folders(root: Path, pattern: str) -> set[str]:
    """Folders of plugin, components and editor that have such a file."""
    files = (file for product in PRODUCTS for file in (root / product).rglob(pattern))
    return {str(f.parent.relative_to(root)) for f in files if f.name != "__init__.py"}


def test_every_folder_of_tests_mirrors_a_package() -> None:
    packages = {str(f.parent.relative_to(ROOT)) for p in PRODUCTS for f in (ROOT / p).rglob("*.py")}
    assert folders(ROOT / "tests", "test_*.py") - packages == set()


def test_every_package_has_a_folder_of_tests() -> None:
    packages = {name for name in folders(ROOT, "*.py") if name != "plugin"}  # it only exports
    assert packages - folders(ROOT / "tests", "test_*.py") == set()


# Time -------------------------------------------------------------------------------------------


def test_no_example_of_hypothesis_has_to_be_quick(trees: dict[str, ast.Module]) -> None:
    """Its usual deadline of 0.2 s fails on a machine that is busy with something else."""
    for path, tree in trees.items():
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if "given(" in decorators:
                assert "deadline=None" in decorators or "FIXED" in decorators, (path, node.name)


# Sentences --------------------------------------------------------------------------------------

#: Strings of five words or more that tests compare; this number may only go down.
SENTENCES = 427
#: A word of a sentence: no name, number, quotation or path.
_WORD = re.compile(r"[(]?(?!nan|inf)[a-z][a-z'-]*[);.?:]*|[AI]")
_SIGNS = re.compile(r"\\[bdsSwn]|[\\^$]|\.\*")
#: Calls whose arguments are compared.
_COMPARED = ("matches", "mentions", "regex", "refused", "startswith", "endswith", "search", "match")


def is_sentence(text: str) -> bool:
    """Whether it has five words or more, and is not the text of a file."""
    words = [w for w in _SIGNS.sub("  ", text).split() if _WORD.fullmatch(w)]
    return len(words) >= 5 and "\n" not in text.rstrip("\n")


def strings(node: ast.AST) -> Iterator[str]:
    """Strings in an expression, not those that are passed to what is tested."""
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    elif isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        yield "".join(map(str, parts))
    elif isinstance(node, ast.Call):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        for argument in node.args if name in _COMPARED else []:
            yield from strings(argument)
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def compared(tree: ast.AST) -> Iterator[ast.AST]:
    """What is asserted, matched against errors, or expected of them in a table of cases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.test
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "refused":
            yield node
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.parametrize":
            yield node.args[1]


def test_tests_compare_values_and_few_sentences(trees: dict[str, ast.Module]) -> None:
    """Findings have data; of an error the wrong value, its place and the way out are enough."""
    found = [
        f"{path}: {text}"
        for path, tree in trees.items()
        for node in compared(tree)
        for text in strings(node)
        if is_sentence(text)
    ]
    assert len(found) <= SENTENCES, "\n".join(found)
