"""Every text of the window goes through `tr`."""

import sys
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "tools").is_dir(), reason="there is no checkout beside the tests"
)


@pytest.fixture(scope="module")
def tool() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return import_module("editor_texts")
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_no_text_goes_past_tr(tool: Any) -> None:
    assert not [(p.name, *one) for p in tool.modules() for one in tool.bare(p)]


def test_all_texts_are_listed_and_their_fields_have_names(tool: Any) -> None:
    texts = {text for p in tool.modules() for _, text in tool.texts(p)}
    assert {"Play", "Unsaved changes", "Keep all"} <= texts
    fields = {
        name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None
    }
    # A translator sees the names only: one letter, or a name with a number, tells nothing.
    assert not [name for name in fields if len(name) < 2 or not name.isalpha()]


def test_a_text_that_goes_past_is_found(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    path = tmp_path / "panel.py"
    path.write_text(
        'LONG = "Drop it where it belongs."\n'
        "def draw():\n"
        '    """Say it to them."""\n'
        '    imgui.button("Go")\n'
        '    warn(f"{name} is gone")\n'
        '    imgui.text(tr("That is right"))\n'
        '    imgui.push_id("not a text")\n'
    )
    assert [text for _, text in tool.bare(path)] == [
        "Drop it where it belongs.",
        "Go",
        "{} is gone",
    ]
