"""Every sign that a text of the window may have is in its font."""

import ast
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.properties import registry
from mjrig.core.properties.component import Component
from tests.editor.ui_driver import app_with, editor_state, run_ui_tests
from tests.places import DOCS, ROOT

#: Signs that only the terminal draws, or that have no shape.
_NOT_SHOWN = {"█", "\u200c", "\u200d"}


def _signs(path: Path) -> set[str]:
    """Signs beyond ASCII in the texts of a module, but for its docstrings."""
    source = path.read_text("utf-8")
    if source.isascii():
        return set()
    tree = ast.parse(source)
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    begins = [n.body[0] for n in ast.walk(tree) if isinstance(n, kinds) and n.body]
    docs = {id(first.value) for first in begins if isinstance(first, ast.Expr)}
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs]
    return {c for n in texts if isinstance(n.value, str) for c in n.value if not c.isascii()}


@pytest.mark.skipif(not DOCS.is_dir(), reason="there is no checkout beside the tests")
def test_the_font_has_every_sign_of_the_texts() -> None:
    paths = [
        p for folder in ("plugin", "components", "editor") for p in (ROOT / folder).rglob("*.py")
    ]
    signs = {sign: path.name for path in paths for sign in _signs(path)}
    for name in registry.names():  # tooltips show what they are
        doc = registry.get(name, Component).__doc__ or ""
        signs |= {sign: name for sign in doc if not sign.isascii()}
    assert len(paths) > 100 and "→" in signs
    lacks: list[str] = []

    def looks(ctx: Any) -> None:
        font = imgui.get_font()
        lacks.extend(
            f"{sign} in {where}"
            for sign, where in signs.items()
            if sign not in _NOT_SHOWN and not font.is_glyph_in_font(ord(sign))
        )

    run_ui_tests(app_with(editor_state("mjrig: 1\n"), []), looks)
    assert not lacks
