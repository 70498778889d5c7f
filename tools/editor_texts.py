"""Everything the window says: the texts given to `tr`, and to `deferred` where they are constants.

python tools/editor_texts.py            # list them, by module
python tools/editor_texts.py --bare     # texts that go past them; exit code 1 if any
"""

import ast
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = ("tr", "deferred")
#: Functions of imgui that show the text they are given.
SHOWING = frozenset(
    "begin_combo begin_menu begin_tab_item bullet_text button checkbox collapsing_header "
    "input_text_with_hint label_text menu_item menu_item_simple progress_bar radio_button "
    "selectable separator_text set_item_tooltip set_tooltip small_button table_setup_column text "
    "text_colored text_disabled text_unformatted text_wrapped tree_node_ex".split()
)
#: Modules whose sentences are not shown as they are.
EXEMPT = frozenset(
    {
        "editor/command.py",  # of the command line
        "editor/text.py",  # patterns in messages of the library
        "editor/web/server.py",  # answers to programs that are no pages of the editor
        "editor/web/protocol.py",
        "editor/web/requests.py",
        "editor/web/websocket.py",
    }
)
#: Functions whose texts are names for the program, not for people.
NAMING = frozenset(
    "begin_child begin_popup begin_popup_context_item begin_table files import_module legend "
    "open_popup push_id split".split()
)
_SENTENCE = re.compile(r"[A-Za-z}][,:;.)]* +[A-Za-z{(]")
_WORD = re.compile(r"[A-Za-z]{2}")
#: Constants of a module with fewer words are keys, names and heads of columns.
_WORDS = 4


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every one that goes the right way."""
    for node in ast.walk(ast.parse(path.read_text())):
        given: ast.AST | None = None
        if isinstance(node, ast.Call) and _name(node) in FUNCTIONS and node.args:
            given = node.args[0]
        elif isinstance(node, ast.Assign) and _assigns_title(node):
            given = node.value
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield given.lineno, given.value


def bare(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of sentences, and of labels of widgets, that do not go through `tr`."""
    if path.relative_to(ROOT).as_posix() in EXEMPT:
        return
    tree = ast.parse(path.read_text())
    docs = set(_docstrings(tree))
    inside = {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    for node, text in _bare(tree, docs, shown=False):
        if node in inside or (
            len(text.partition("[")[0].split()) >= _WORDS and not text.startswith("<")
        ):
            yield node.lineno, text


def _bare(
    node: ast.AST, docs: set[ast.AST], *, shown: bool
) -> Iterator[tuple[ast.Constant | ast.JoinedStr, str]]:
    if node in docs:
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        text = _text(node).partition("##")[0]
        words = text.replace("{}", "")
        if _WORD.search(words) and (shown or _SENTENCE.search(text)):
            yield node, text
        return
    if isinstance(node, ast.Assign) and _assigns_title(node):
        return
    if isinstance(node, ast.Call):
        name = _name(node)
        if name in FUNCTIONS or name in NAMING:
            return
        shown = shown or name in SHOWING
    for child in ast.iter_child_nodes(node):
        yield from _bare(child, docs, shown=shown)


def _assigns_title(node: ast.Assign) -> bool:
    """Whether it is the title of a panel or a dialog, which shows it by `tr`."""
    return any(isinstance(target, ast.Name) and target.id == "title" for target in node.targets)


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(v) if isinstance(v, ast.Constant) else "{}" for v in node.values)


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def modules() -> list[Path]:
    """Every module of the editor."""
    return sorted((ROOT / "editor").rglob("*.py"))


def main() -> int:
    """Run the command."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--bare", action="store_true", help="list texts that go past tr")
    args = parser.parse_args()
    find = bare if args.bare else texts
    found = 0
    for path in modules():
        for line, text in find(path):
            found += 1
            print(f"{path.relative_to(ROOT)}:{line}: {text!r}")
    print(f"{found} texts", file=sys.stderr)
    return int(args.bare and found > 0)


if __name__ == "__main__":
    sys.exit(main())
