"""docs/python.md: the present names, and every one of them described."""

import sys
from importlib import import_module
from typing import Any

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "tools").is_dir(), reason="there is no checkout beside the tests"
)


@pytest.fixture(scope="module")
def reference() -> Any:
    pytest.importorskip("imgui_bundle")
    pytest.importorskip("gymnasium")
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return import_module("python_reference")
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_every_public_name_and_member_has_a_docstring(reference: Any) -> None:
    assert reference.lacking() == []


def test_a_member_without_a_docstring_is_found(reference: Any) -> None:
    class Silent:
        """It has one itself."""

        def method(self) -> None:
            pass

        @property
        def number(self) -> int:
            return 1

    Silent.__module__ = "mjrig.anything"
    entry = reference.entry_of("Silent", Silent, set())
    assert [(m.name, m.doc) for m in entry.members] == [("method", ""), ("number", "")]
    assert entry.members[1].signature == "number: int"


def test_the_page_is_the_present_one(reference: Any) -> None:
    written = reference.PAGE.read_text(encoding="utf-8")
    assert written == reference.page(), "python tools/python_reference.py --write"


def test_everything_public_is_on_the_page(reference: Any) -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    for package in reference.PACKAGES:
        for name in reference.public_names(package):
            # Another name of a public class has no section.
            definition = {"ReplayFinding": "Finding"}.get(name, name)
            assert f"### `{definition}`\n" in page, f"{package}.{name}"
    for name in ("World(scene: ", "**`step(", "read_recording(path: ", "Pipeline(law: "):
        assert name in page
