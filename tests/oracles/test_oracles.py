"""Commands give the frozen results."""

from pathlib import Path
from typing import Any

import pytest

from tests.campaign import campaign_only
from tests.oracles.case import DATA, TEXTS, Case
from tests.oracles.cases import CASES
from tests.oracles.comparing import (
    LONGEST_LIST,
    Differences,
    Text,
    data_differences,
    normalise,
    separate,
    text_differences,
)
from tests.places import SHARED

#: Differences of each kind that a failed test shows.
SHOWN = 10
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared next to the checkout")


def parameters() -> list[Any]:
    """Every case with its marks."""
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[
                *([needs_shared] if case.shared else []),
                *([pytest.mark.campaign, campaign_only] if case.long else []),
            ],
        )
        for case in CASES.values()
    ]


@pytest.mark.parametrize("case", parameters())
def test_the_result_is_the_frozen_one(case: Case) -> None:
    differences = case.compare(case.result())
    if differences:
        pytest.fail(message(case.name, differences), pytrace=False)


def message(name: str, differences: Differences) -> str:
    """All kinds of differences, and the command that accepts them."""
    lines = []
    for kind, entries in vars(differences).items():
        lines += [f"{kind}: {entry}" for entry in entries[:SHOWN]]
        lines += [f"{kind}: … {len(entries)} differences"] if len(entries) > SHOWN else []
    is_wording = not (differences.data or differences.figures)
    option = "--write-texts" if is_wording else "--write"
    return "\n".join([*lines, f"If this is deliberate: python -m tests.oracles {option} {name}"])


def test_every_expected_result_has_a_case() -> None:
    assert {p.stem for p in DATA.glob("*.json")} == set(CASES)
    assert {p.stem for p in TEXTS.glob("*.json")} <= set(CASES)


def test_expected_results_contain_no_paths_of_a_machine() -> None:
    for path in (*DATA.glob("*.json"), *TEXTS.glob("*.json")):
        content = path.read_text(encoding="utf-8")
        prefixes = ("/tmp/", "/home/", "/root/", "/work/", "/usr/", "oracle-")
        assert [p for p in prefixes if p in content] == [], path.name


@pytest.mark.parametrize(
    ("expected", "actual", "path"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.002]}, "a[1]"),
        ({"a": 0.5}, {"a": 0.5 * (1 + 3e-9)}, "a"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": 1}, {"a": 2}, "a"),
        ({"a": None}, {"a": 0.0}, "a"),
        ({"level": "error"}, {"level": "warning"}, "level"),
        ({"codes": ["a", "b"]}, {"codes": ["b", "a"]}, "codes[0]"),
        ({"codes": ["a"]}, {"codes": ["a", "b"]}, "codes"),
        ({"a": 1}, {}, "a"),
        ({}, {"a": 1}, "a"),
    ],
)
def test_a_small_difference_shows_with_its_path(expected: Any, actual: Any, path: str) -> None:
    assert next(data_differences(expected, actual)).partition(":")[0] == path


def test_rounding_is_not_a_difference_unless_bits_count() -> None:
    one, two = {"a": 0.1 + 0.2}, {"a": 0.3}
    assert list(data_differences(one, two)) == []
    assert len(list(data_differences(one, two, exact=True))) == 1


@pytest.mark.parametrize("change", ["value", "order", "gap"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_reduced_list_shows_changes_inside(change: str, is_nested: bool) -> None:
    values: list[Any] = [((7 * i) % 31) / 31 for i in range(LONGEST_LIST + 9)]
    other = list(values)
    if change == "value":
        other[11] *= 1.001
    elif change == "order":
        other[11], other[12] = other[12], other[11]
    else:
        other[11] = None
    if is_nested:
        values, other = [[1.0, v] for v in values], [[1.0, v] for v in other]
    assert list(data_differences(normalise(values, {}), normalise(values, {}))) == []
    assert list(data_differences(normalise(values, {}), normalise(other, {}))) != []


def test_paths_and_volatile_keys_are_removed(tmp_path: Path) -> None:
    value = {"file": f"{tmp_path}/a.npz", "seconds": 1.5, "versions": {"numpy": "9"}}
    assert normalise(value, {str(tmp_path): "<folder>"}) == {"file": "<folder>/a.npz"}
    assert normalise(Text(["rms 0.1; 2.5 s", "in 2.5 s"]), {}) == ["rms 0.1; <time>", "in 2.5 s"]


def test_sentences_are_separated_from_data() -> None:
    finding = {"code": "droops", "text": "it droops by 0.1 rad", "where": ["a.b"], "reason": ""}
    value = {"exit": 0, "output": [finding], "errors": Text(["a line"]), "evidence": "efforts"}
    result = separate(value)
    assert result.data == {
        "exit": 0,
        "output": [{"code": "droops", "text": "<text>", "where": ["a.b"], "reason": ""}],
        "errors": "<text>",
        "evidence": "efforts",
    }
    assert result.texts == {"output[0].text": ["it droops by 0.1 rad"], "errors": ["a line"]}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("kp 40, sag 0.12 rad", None),
        ("sag 0.12 rad at kp 40", "wording"),
        ("kp 40, sag 0.13 rad", "figures"),
        ("kp 40, sag -0.12 rad", "figures"),
        ("kp 40, sag", "figures"),
        ("kp 41, sag 0.12 rad", "figures"),
    ],
)
def test_figures_in_texts_are_told_from_words(line: str, kind: str | None) -> None:
    differences = Differences()
    text_differences({"a": ["kp 40, sag 0.12 rad"]}, {"a": [line]}, differences)
    assert [k for k, entries in vars(differences).items() if entries] == ([kind] if kind else [])


def test_amplified_rounding_may_change_the_last_digit_of_a_fraction() -> None:
    for line, is_same in (
        ("40, 0.13", True), ("40, 0.14", False), ("41, 0.12", False), ("40,  0.13", False),
    ):  # fmt: skip
        differences = Differences()
        text_differences({"a": ["40, 0.12"]}, {"a": [line]}, differences, exact=False)
        assert bool(differences) != is_same, line
