"""Two scanners, libyaml's and the one written in Python: the same nodes at the same places."""

import random
from typing import Any

import pytest
import yaml

from mjrig.core.errors import SceneError
from mjrig.core.yaml_text.yaml_document import (
    MAX_EXPLAINED,
    MAX_NODES,
    AliasNode,
    Document,
    _Loader,
    _PythonLoader,
    composed,
)
from tests.campaign import Tally
from tests.places import SCENES

#: Texts with every form that a scene can be written in.
TEXTS = (
    "{a: , b: 1}\n", "{a: {b: , c:\t}, d: [ ]}\n", "a:\n  b: # x\n  c:\n", "[a: , b]\n",
    "- \n- a: \n  b:   \n", "a: &x [1, 2]\nb: *x\n", "? a\n: b\n", "- |\n  x\n  y\n- >-\n  z\n",
    "{a: 1, b}\n", "'it''s': \"x\\n\\u00e9\"\n", "<<: {a: 1}\n",
    "# c\n\n---\na:\n- b\n-\n  c: \n...\n",
)  # fmt: skip
PIECES = (
    *":-,[]{}#&*|>'\" \n", "\r\n", "é", "𝄞", ": ", "- ", "---\n", "...\n", "&a ", "*a", "|\n",
    "${x}", "\\", ".nan", "~", "<<: ", "''", '""', "  ", "\n\n", "1e-3", "inf",
)  # fmt: skip


def scenes() -> list[str]:
    found = sorted(SCENES.rglob("*.yaml"))
    return [text for file in found if len(text := file.read_text("utf-8")) < 3000]


def mutated(rng: random.Random, texts: list[str]) -> str:
    text = rng.choice(TEXTS) if rng.random() < 0.6 else rng.choice(texts)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.3:
            text = text[:at] + text[at + rng.randrange(1, 4) :]
        else:
            text = text[:at] + rng.choice(PIECES) + text[at:]
    return text


def nodes(text: str, loader: Any) -> list[Any] | None:
    """Kind, tag, place and value of every node in their order; None: it is not YAML."""
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError:
        return None
    found: list[Any] = []

    def visit(node: Any) -> None:
        mark = node.start_mark
        # The end of a text is a line of its own to libyaml.
        where = (mark.line, mark.column, mark.index) if mark.index < len(text) else mark.index
        is_scalar = isinstance(node, yaml.ScalarNode)
        style = node.style or "" if is_scalar else bool(getattr(node, "flow_style", False))
        value = node.value if is_scalar else ""
        found.append((node.id, node.tag, where, node.end_mark.index, style, value))
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                for part in item if isinstance(item, tuple) else (item,):
                    visit(part)

    if root is not None and not isinstance(root, AliasNode):
        visit(root)
    return found


@pytest.mark.campaign
def test_both_scanners_find_the_same_nodes(tally: Tally) -> None:
    texts = scenes()
    for rng in tally.cases("YAML by both scanners", 300, 200_000, minutes=4):
        text = mutated(rng, texts)
        fast, slow = nodes(text, _Loader), nodes(text, _PythonLoader)
        if fast is not None and slow is not None and fast != slow:
            tally.found(
                f"{text!r}: {next(p for p in zip(fast, slow, strict=False) if p[0] != p[1])}"
            )


def test_a_mistake_is_explained_by_the_slow_scanner_where_it_is_soon_reached() -> None:
    for text in ("a: [1, 2\nb: 3\n", "{a: ${x}}\n", "a: 'b\n"):
        with pytest.raises(yaml.MarkedYAMLError) as slow:
            yaml.compose(text, Loader=_PythonLoader)
        with pytest.raises(yaml.MarkedYAMLError) as said:
            composed(text)
        assert said.value.problem == slow.value.problem


def test_a_mistake_after_much_text_has_its_place_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_PythonLoader, "get_single_node", lambda self: pytest.fail("is slow"))
    for filling in ("- 1\n" * (MAX_NODES - 10), "#" * MAX_EXPLAINED + "\n"):
        with pytest.raises(SceneError) as caught:
            Document(filling + "- [}\n", "f.yaml")
        line = filling.count("\n") + 1
        assert str(caught.value).startswith(f"f.yaml:{line}:4: not valid YAML: ")


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\ufffe"])
def test_characters_that_are_no_text_are_refused_at_their_place(character: str) -> None:
    with pytest.raises(SceneError) as caught:
        Document(f"é: 1\nb: {character}", "f.yaml")
    assert str(caught.value) == f"f.yaml:2:4: not text: character #x{ord(character):04x}"


def test_nodes_are_those_of_the_safe_loader() -> None:
    """PyYAML's own composer is the truth for everything but aliases, which keep their places."""
    rng = random.Random(5)
    texts = scenes()
    for text in [*TEXTS, *(mutated(rng, texts) for _ in range(400))]:
        if "*" not in text:
            assert nodes(text, _PythonLoader) == nodes(text, yaml.SafeLoader), text


def test_numbers_are_read_as_the_safe_loader_reads_them() -> None:
    rng = random.Random(7)
    letters = "0123456789" * 3 + "+-._eE"
    made = ("".join(rng.choices(letters, k=rng.randrange(1, 9))) for _ in range(20_000))
    fixed = ("-0.0", "1_0.5_0", "1.", "+1e9", "1e+400", ".5", "-.inf", ".nan", "1_", "0.1e-3")
    for text in (*fixed, *made):
        try:
            expected = yaml.safe_load(f"[{text}]")
        except (yaml.YAMLError, ValueError):
            continue
        if type(expected[0]) is float:
            (found,) = Document(f"[{text}]", "f").data
            assert repr(found) == repr(expected[0]), text
