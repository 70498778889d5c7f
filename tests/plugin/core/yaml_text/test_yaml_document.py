"""A YAML text becomes plain data with the place of every value, or one clear error."""

from collections.abc import Hashable
from typing import Any

import pytest
import yaml

from mjrig.core.errors import SceneError
from mjrig.core.yaml_text import yaml_document
from mjrig.core.yaml_text.yaml_document import (
    MAX_NESTING,
    Document,
    TextPlace,
    format_path,
    parse_value,
)
from tests.wording import matches


def read(text: str) -> Any:
    return Document(text, "f.yaml").data


def refusal(text: str) -> str:
    with pytest.raises(SceneError) as caught:
        read(text)
    return str(caught.value)


# Data -------------------------------------------------------------------------------------------


def test_scalars_become_plain_python_values() -> None:
    text = "{i: -5, u: 1_000, z: 0, f: 0.5, e: 1.0e+3, t: true, o: off, n: null, s: word}"
    assert read(text) == {
        "i": -5, "u": 1000, "z": 0, "f": 0.5, "e": 1000.0, "t": True, "o": False, "n": None,
        "s": "word",
    }  # fmt: skip


def test_a_date_stays_the_text_it_is() -> None:
    assert read("day: 2026-01-01\n2026-01-02: x") == {"day": "2026-01-01", "2026-01-02": "x"}


def test_keys_are_texts_as_they_were_written() -> None:
    assert read("{1: a, on: b, 1.5: c, ~: d, 0x1F: e}") == {
        "1": "a", "on": "b", "1.5": "c", "~": "d", "0x1F": "e",
    }  # fmt: skip


def test_numbers_yaml_takes_for_text_stay_text_until_a_numeric_field_reads_them() -> None:
    assert read("[1e-3, 1e3, inf]") == ["1e-3", "1e3", "inf"]


def test_an_empty_text_has_no_data() -> None:
    assert read("") is None
    assert read("# nothing here\n") is None


def test_aliases_stand_for_the_value_of_their_anchor() -> None:
    assert read("a: &x {k: [1, 2]}\nb: *x\nc: [*x]") == {
        "a": {"k": [1, 2]},
        "b": {"k": [1, 2]},
        "c": [{"k": [1, 2]}],
    }


def test_merged_keys_fill_in_and_own_keys_win() -> None:
    assert read("a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x, m: 4}")["b"] == {"k": 1, "l": 3, "m": 4}


def test_of_several_merged_mappings_the_first_wins() -> None:
    text = "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y]}"
    assert read(text)["c"] == {"k": 1, "l": 2}


# Safety -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ("!!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("!!python/name:os.system ''", "!!python/name:os.system"),
        ("!!python/tuple [1, 2]", "!!python/tuple"),
        ("!Rpy {deg: [0, 0, 1]}", "!Rpy"),
        ("!!set {x}", "!!set"),
        ("!!binary eA==", "!!binary"),
        ("!<tag:example.org,2000:x> 1", "tag:example.org,2000:x"),
    ],
)
def test_a_tag_is_refused_at_its_place(value: str, tag: str) -> None:
    assert matches(refusal(f"a:\n  b: {value}\n"), f"f.yaml:2:6: a.b: the tag {tag} is not … YAML")


def test_a_tag_on_a_key_is_refused_at_its_place() -> None:
    assert matches(refusal("a:\n  !x b: 1\n"), "f.yaml:2:3: a: the tag !x is not … YAML")


@pytest.mark.parametrize(
    ("value", "kind"),
    [("!!float abc", "float"), ("!!bool abc", "bool"), ("!!map abc", "map")],
)
def test_a_standard_tag_that_does_not_fit_is_refused(value: str, kind: str) -> None:
    assert matches(refusal(f"a: {value}"), f"f.yaml:1:4: a: 'abc' does not fit its … !!{kind}")


@pytest.mark.parametrize(
    "text", ["010", "-010", "0x1F", "0b11", "1:30", "-1:30", "1:30.5", "!!int abc"]
)
def test_a_number_that_is_not_written_in_decimal_is_refused(text: str) -> None:
    shown = text.removeprefix("!!int ")
    assert matches(refusal(f"a: [1, {text}]"), f"f.yaml:1:8: a[1]: {shown} is not a decimal …")


@pytest.mark.parametrize("text", ["'010'", '"1:30"'])
def test_a_quoted_text_is_a_text_whatever_it_looks_like(text: str) -> None:
    assert read(f"a: {text}") == {"a": text[1:-1]}


def test_a_number_with_too_many_digits_is_refused() -> None:
    assert matches(refusal("a: " + "9" * 5000), "f.yaml:1:4: a: has 5000 digits; at most 300 …")


def test_a_duplicate_key_is_refused_with_both_places() -> None:
    assert refusal("a:\n  kp: 1\n  kv: 2\n  kp: 3\n") == (
        "f.yaml:4:3: a: duplicate key 'kp'; first at 2:3"
    )
    assert refusal("{b: {x: 1, 'x': 2}}") == ("f.yaml:1:12: b: duplicate key 'x'; first at 1:6")


def test_aliases_of_aliases_end_in_an_error() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 20))
    assert refusal(bomb).endswith(": has more than 50000 values")  # of 10 ** 19


@pytest.mark.parametrize(
    ("text", "place"), [("a: &x [*x]", "1:8: a[0][0]"), ("&r\na: *r", "2:4: a.a")]
)
def test_an_alias_inside_of_its_own_value_is_refused(text: str, place: str) -> None:
    assert matches(refusal(text), f"f.yaml:{place}: the alias is inside …")


def test_a_merge_of_something_else_than_a_mapping_is_refused() -> None:
    assert refusal("a:\n  <<: 5") == "f.yaml:2:7: a: << needs a mapping"
    assert refusal("x: &x 1\na:\n  <<: [*x]") == "f.yaml:3:7: a: << needs a mapping"


def test_a_key_that_is_no_scalar_is_refused() -> None:
    assert matches(refusal("a:\n  ? [b]\n  : c\n"), "f.yaml:2:5: a: a key must be …")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_a_text_that_nests_too_deeply_is_refused(opening: str) -> None:
    column = (MAX_NESTING + 1) * len(opening) + 1
    problem = f"nested more than {MAX_NESTING} deep"
    assert refusal(opening * 3000) == f"f.yaml:1:{column}: {problem}"
    through = f"a: &a {'[' * 60}1{']' * 60}\nb: {'[' * 60}*a{']' * 60}\n"
    assert problem in refusal(through)


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MAX_CHARACTERS", 10)
    assert read("a: 1234567") == {"a": 1234567}
    assert matches(refusal("a: 12345678"), "f.yaml:1:1: has 11 characters; at most 10 …")


# Malformed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: [1, 2\nb: 3\n",
            "f.yaml:2:2: not valid YAML: expected ',' or ']', … ':', …",
        ),
        (
            "a: 1\n b: 2\n",
            "f.yaml:2:3: not valid YAML: mapping values …",
        ),
        (
            "a:\n\t- b",
            "f.yaml:2:1: not valid YAML: found character '\\t' …",
        ),
        ("a: *x\n", "f.yaml:1:4: not valid YAML: found undefined … 'x'"),
        (
            'a: "open\n',
            "f.yaml:2:1: not valid YAML: found unexpected …",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2:1: not valid YAML: but found …",
        ),
        ("ok: 1\nb: \x07\n", "f.yaml:2:4: not text: character #x0007"),
        ("a: \x00", "f.yaml:1:4: not text: character #x0000"),
    ],
)
def test_what_is_not_yaml_is_refused_with_the_place_the_parser_gave_up(
    text: str, message: str
) -> None:
    assert matches(refusal(text), message)


def test_the_parser_error_is_the_cause() -> None:
    with pytest.raises(SceneError) as caught:
        read("a: [")
    assert isinstance(caught.value.__cause__, yaml.YAMLError)


# Places -----------------------------------------------------------------------------------------

TEXT = "# head\na:\n  - b: 1\n    c: {d: 2}\n  - &x [3,\n     4]\ne: *x\n"


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ((), (1, 1), (2, 1)),
        (("a",), (2, 1), (3, 3)),
        (("a", 0), (3, 5), (3, 5)),
        (("a", 0, "b"), (3, 5), (3, 8)),
        (("a", 0, "c", "d"), (4, 9), (4, 12)),
        (("a", 1, 1), (6, 6), (6, 6)),
        (("e",), (7, 1), (5, 5)),
        (("e", 1), (6, 6), (6, 6)),
    ],
)
def test_every_value_knows_line_and_column_of_its_key_and_of_itself(
    path: tuple[Hashable, ...], key: tuple[int, int], value: tuple[int, int]
) -> None:
    assert Document(TEXT, "f.yaml").place(path) == (TextPlace(key, value), True)


def test_a_path_that_is_not_in_the_text_has_the_place_of_its_nearest_ancestor() -> None:
    document = Document(TEXT, "f.yaml")
    assert document.place(("a", 0, "c", "zz", 5)) == (TextPlace((4, 5), (4, 8)), False)
    assert Document("", "f.yaml").place(("a",)) == (TextPlace((1, 1), (1, 1)), False)


def test_an_error_points_at_the_value_or_at_the_key() -> None:
    document = Document(TEXT, "f.yaml")
    path = ("a", 0, "c")
    assert str(document.error(path, "no")) == "f.yaml:4:8: a[0].c: no"
    assert str(document.error(path, "no", about_key=True)) == "f.yaml:4:5: a[0].c: no"
    assert str(document.error(path, "no", at=("d",))) == "f.yaml:4:12: a[0].c: no"
    missing = document.error((*path, "zz"), "no", about_key=True)
    assert str(missing) == "f.yaml:4:8: a[0].c.zz: no"
    assert str(document.error((), "no")) == "f.yaml:2:1: no"


def test_columns_count_characters_not_bytes() -> None:
    assert Document("é: [大, 1]", "f.yaml").places["é", 1].value == (1, 8)


def test_a_path_is_written_with_dots_and_brackets() -> None:
    assert format_path(("actors", 0, "components", 1, "kp")) == "actors[0].components[1].kp"


def test_a_value_of_the_command_line_is_read_as_a_file_would() -> None:
    assert parse_value("{a: [1, 1e-3]}") == {"a": [1, "1e-3"]}
    assert parse_value("") is None
    with pytest.raises(SceneError) as caught:
        parse_value("[1")
    assert matches(
        str(caught.value), "value:1:3: not valid YAML: expected ',' or ']', … '<stream end>', …"
    )
