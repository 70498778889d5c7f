"""The table of sentences: complete, used, readable."""

import ast
import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

import pytest

from mjrig.lab.findings.rendering import filled
from mjrig.lab.findings.texts import TEXTS, FindingText
from tests.places import ROOT

#: Words and forms that make a sentence hard to read.
PATTERNS = (
    r"(is|are|was|were) (not )?(said|told)", r"^What [a-z]+ ", r"(^|[.;] )Where [a-z]",
    r"\b(is|are) no (?!longer|such)", r"already[;,.:)]", r"\bgive (it|one|the|a)\b",
    r"taken (for|over)", r"made (nothing )?of", r"\b(lies?|stands?) (beside|in)\b",
    r"to the (bit|byte)", r"in turns|anew|for ever",
)  # fmt: skip
#: The longest sentence [words].
LONGEST = 30


def parts(text: FindingText) -> list[str]:
    """The templates of one kind."""
    return [part for part in (text.text, text.fix, text.by_hand, text.each) if part]


def sample(spec: str, index: bool) -> Any:
    """A value that a field takes."""
    if index:
        return [1, 2, 3] if spec == "d" else [0.25, 0.5, 0.75]
    if spec in ("listed", "or", "lines"):
        return ["a", "b"]
    return 3 if spec.startswith(("many ", "remove")) or re.search(r"[dgfe%]$", spec) else "value"


def fields(template: str) -> Iterator[tuple[str, Any]]:
    """Names of fields with values for them."""
    for _, name, spec, _ in Formatter().parse(template.replace("[[", "").replace("]]", "")):
        if name:
            yield re.split(r"[.\[]", name)[0], sample(spec or "", "[" in name)


@pytest.mark.parametrize("form", TEXTS)
def test_a_template_is_filled_and_readable(form: str) -> None:
    text = TEXTS[form]
    each = dict(fields(text.each)) if text.each else {}
    values = {name: {"hip": value} for name, value in each.items() if name != "name"}
    values.setdefault("here", {"hip": 1.0}) if text.each else None
    for part in (text.text, text.fix, text.by_hand):
        full = filled(part, {**dict(fields(part)), **values}, text.each)
        assert "[[" not in full
        assert "{each}" not in full
        for sentence in re.split(r"[.;:] ", full):
            assert len(sentence.split()) <= LONGEST, sentence
        for pattern in PATTERNS:
            assert not re.search(pattern, full), (pattern, full)


def strings(folder: str) -> set[str]:
    """The texts in the code of a folder; f-strings by their first part."""
    paths = [p for p in (ROOT / folder).rglob("*.py") if p.name != "texts.py"]
    nodes = [n for p in paths for n in ast.walk(ast.parse(p.read_text(encoding="utf-8")))]
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def test_every_template_is_used() -> None:
    used = set().union(*(strings(name) for name in ("plugin", "components", "editor")))
    prefixes = tuple(text for text in used if text.endswith(" ") and text.count(" ") <= 2)
    suffixes = (", largest effort",)
    unused = [
        form
        for form in TEXTS
        if form not in used and not f"{form} ".startswith(prefixes) and not form.endswith(suffixes)
    ]
    assert unused == []
