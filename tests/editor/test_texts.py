"""Texts of the window."""

import pytest

from mjrig.editor.text import tr, translate


@pytest.fixture(autouse=True)
def _english() -> None:
    translate({})


def test_a_text_is_filled_in_and_translated() -> None:
    assert tr("Stop") == "Stop"
    assert tr("{count} edits of {actor}", count=2, actor="dog") == "2 edits of dog"
    translate({"{count} edits of {actor}": "{actor}: {count} Änderungen"})
    assert tr("{count} edits of {actor}", count=2, actor="dog") == "dog: 2 Änderungen"
    translate({})
    assert tr("{count} edits of {actor}", count=2, actor="dog") == "2 edits of dog"


def test_braces_without_values_stay() -> None:
    assert tr("a map {joint: value}") == "a map {joint: value}"
