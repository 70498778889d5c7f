"""Every part of a pattern on all short texts, as in Python, and the steps that matching takes."""

import re
from collections.abc import Callable
from itertools import product

import pytest

from mjrig.core import pattern_program, patterns
from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import (
    TooManySteps,
    begin_pattern,
    pattern_budget,
    spend,
)
from mjrig.core.patterns import NamePattern, compile_pattern

TEXTS = ["".join(letters) for size in range(6) for letters in product("ab_", repeat=size)]
PARTS = [
    # letters, alternatives and repetitions
    "a", "[^a]b", ".a", "ab|b", "a|ab|", "(?:a|b)+_", "a*", "a*?b", "a+", "a+?b", "a?", "a??b",
    "a{2}", "a{2,}", "a{2,3}", "a{0,2}b", "a{1,2}?b", "(?:ab){2}", "(?:ab){1,2}_?", "(?:a?){3}",
    "(?:a*)*b", "(?:a*)+", "(?:){2,3}a", "(?:a|b*)*_", "(?:a?b?){0,2}", "(?:a{2}){2}", "a{3,4}b?",
    # positions
    "^a", "a$", "^$", r"\bab", r"a\b.", r"a\B.", r"\Aab\Z", "(?:^|a)b", "(?:a|$)*", "(?:a|^)*b",
    "(?m:^a)", "(?:(?:^|_)a)*",
    # look-ahead and look-behind
    "(?=a).b", "(?!a)..", "(?=.*b)a.*", "(?!.*b).*", ".(?<=a)b", ".(?<!a)b", ".*(?<=ab)",
    "..(?<!ab)_",
    "(?:(?=a).|b)*", "(?=(?=a)..)ab", "(?!(?!a))a", "(?<=a)b|ab", "(?:(?!ab).)*", "(?:.(?=b)|b)+",
    # parts that are not reconsidered
    "(?>a*)b", "(?>a*)a", "(?>a|ab)b", "(?>ab|a)b", "a*+b", "a++b", "a?+a", "a?+b", "(?:ab)*+a",
    "(?:ab)++_?", "(?:a|b){2}+a", "(?:a|b){1,2}+a", "(?:a|b){0,2}+_", "a{2,3}+a", "a{2,}+b",
    "a{3}+_?",
    "(?>(?=a)a|b)b", "(?>a+(?!b))_?", "(?:(?>a|ab))*b", "(?>a*?)b", "(?>a??)a", "(?>a{1,2}?)a",
    "(?>(?:a|b){2})_", "(?:a(?>b?)){2}", "(?>^a|b)_?", "(?:_|(?>a+))*b",
    # group references
    r"(a|b)\1", r"(a|b)_\1", r"(a*)b\1", r"(a+)(b+)\2\1", r"(.)(.)\2\1", r"(a)?b(?(1)a|_)",
    r"(a)?(?(1)b)", r"(a)|b(?(1)a|b)", r"(?i:(A))\1", r"(?i)(a)B\1", r"(a?)\1b", r"(a*?)\1b",
    r"(a|b)(?=_).\1", r"(a|b)(?!_).\1", r"(a)(?<=a)\1", r"(a|ab)(b?)\1", r"((a)b)\2\1?", r"(a)?\1",
    r"(a)?\1b|b", r"(?:(?=a).)?(b)\1", r"(_?)(?:a|b)\1$",
    r"(a)?(b)(?(1)a|_)\2", r"(a)?(b)?\1?(?(2)a|_)", r"(_)?(a)?(b)?(?(2)b|a)\1?\3?",
    r"(a)?(b)?(?(1)\2|_)", r"(?:(a)\1)?b", "(?>(?:a*)?)b",
    # flags
    "(?i:A)b", "(?i)AB|_", "(?-i:a)B?", "(?s:.)a", "(?x: a b )", "(?i:[^A])b", "(?a:a)b", "(?!)|a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PARTS)
def test_every_part_matches_all_short_texts_as_in_python(pattern: str) -> None:
    expected = re.compile(pattern)
    with pattern_budget():
        own = NamePattern(pattern)
    for text in TEXTS:
        with pattern_budget():
            assert own.fullmatch(text) is bool(expected.fullmatch(text)), text
        with pattern_budget():
            assert own.occurs_in(text) is bool(expected.search(text)), text


def test_case_is_ignored_where_asked_for() -> None:
    pattern = compile_pattern(r"([a-c])-\1x", ignore_case=True)
    for text in ("a-ax", "A-aX", "c-Cx", "a-bx", "d-dx", "Ä-äx"):
        expected = re.fullmatch(pattern.pattern, text, re.IGNORECASE)
        assert pattern.fullmatch(text) is bool(expected)


def test_plain_names_with_dots_and_stars_match_as_in_python() -> None:
    patterns = [
        "".join(parts) for parts in product(("", "a", ".*"), ("b", ".*", "ab"), ("a", ".*", ""))
    ]
    for pattern in patterns:
        for text in [*TEXTS, "a\nb", "ab\n", "\n"]:
            with pattern_budget():
                own = NamePattern(pattern).fullmatch(text)
            assert own is bool(re.fullmatch(pattern, text)), (pattern, text)


# Steps ------------------------------------------------------------------------------------------


def _counted(work: Callable[[], object]) -> int:
    """Steps that some work takes, up to the limit of a value."""
    steps: list[int] = []

    def noted(count: int) -> None:
        steps.append(count)
        spend(count)

    with pytest.MonkeyPatch.context() as patch, pattern_budget():
        for module in (patterns, pattern_program):
            patch.setattr(module, "spend", noted)
        work()
    return sum(steps)


def _steps(pattern: str, text: str) -> int:
    """Steps to match a text with a pattern, compiling excluded."""
    with pattern_budget():
        own = NamePattern(pattern)
    return _counted(lambda: own.fullmatch(text))


def _compiling(pattern: str) -> int:
    return _counted(lambda: NamePattern(pattern))


@pytest.mark.parametrize(
    ("pattern", "letters", "instructions"),
    [("(?>a|b)*", "ab", 6), ("(?>a|b|_)*z", "ab", 9)],
)
def test_parts_that_are_not_reconsidered_take_a_step_per_letter_and_instruction(
    pattern: str, letters: str, instructions: int
) -> None:
    text = letters * 40
    steps = _steps(pattern, text)
    assert instructions * len(text) <= steps + 3 * len(text) <= 4 * instructions * len(text)


@pytest.mark.parametrize("pattern", ["(?=a|b).*", r"(?:^|.)*", ".*(?<!_)"])
def test_conditions_take_steps_for_every_letter(pattern: str) -> None:
    short, long = (_steps(pattern, "ab" * size) for size in (50, 100))
    assert 300 <= long - short <= 1200


@pytest.mark.parametrize(("pattern", "each"), [(r"(a)b*\1", 3), (r"(a)(b)(c)(d)b*\1\2\3\4", 4)])
def test_every_configuration_of_a_search_takes_three_steps_and_more_for_many_groups(
    pattern: str, each: int
) -> None:
    """A letter of `b*` is a fork and a letter: two configurations."""
    before = "abcd" if each == 4 else "a"
    short, long = (_steps(pattern, before + "b" * size + before) for size in (10, 50))
    assert long - short == 40 * 2 * each


def test_a_repeated_group_takes_a_step_for_each_letter() -> None:
    short, long = (_steps(r"(_.*_)\1", f"_{'a' * n}__{'a' * n}_") for n in (4, 5))
    assert long > short
    texts = ("x" * 10, "x" * 30)
    few, many = (_steps(rf"({text})\1", text * 2) for text in texts)
    assert many - few == 20 * (3 * 1 + 1)


def test_compiling_takes_steps_for_letters_classes_and_instructions() -> None:
    assert _compiling("(ab)" * 1) < _compiling("(ab)" * 2)
    classes = [_compiling(f"(?:[{members}])") for members in ("ac", "aceg")]
    assert classes[1] - classes[0] == 2 * 2 + 8 * 2  # parsed twice; two more members
    repeats = [_compiling(f"(?:a{{0,{n}}})") for n in (100, 200)]
    assert 200 <= repeats[1] - repeats[0] <= 800
    assert _compiling("abc") == 3  # a plain name is not parsed


@pytest.mark.parametrize(
    ("pattern", "text", "matching", "compiling"),
    [
        ("(?>a|b)*c", "abab", 42, 56),
        ("a*+b", "aaab", 48, 18),
        ("(?=a|b).*c", "abc", 57, 68),
        ("(?:^|a)*b", "aab", 69, 44),
        ("(?:a|b)+_", "abab_", 19, 50),
        (".*(?<!_)a", "b_ba", 67, 42),
        (r"(a|b)_\1", "a_a", 19, 46),
        ("(a)?(?(1)b|c)*", "abb", 48, 39),
        ("[ab]{1,3}", "aba", 25, 54),
        (r"__(a|b)\1", "__aa", 22, 49),
    ],
)
def test_steps_do_not_change_by_accident(
    pattern: str, text: str, matching: int, compiling: int
) -> None:
    """They decide which values a scene may contain."""
    assert (_steps(pattern, text), _compiling(pattern)) == (matching, compiling)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?>(?:a*){2})b", "repeats something that may be empty"),
        (r"(?:(a)\1){2}", "inside a repetition"),
        (r"(?:x{0,1499})yz", "more than 3000 instructions"),
    ],
)
def test_what_cannot_be_both_exact_and_bounded_is_rejected(pattern: str, reason: str) -> None:
    with pytest.raises(BindingError, match=reason):
        compile_pattern(pattern)


def test_3000_instructions_and_60000_steps_are_the_most() -> None:
    compile_pattern("x{0,1499}y")
    with pattern_budget():
        begin_pattern("x")
        spend(60_000)
        with pytest.raises(TooManySteps):
            spend(1)


def test_a_pattern_has_at_most_1000_letters() -> None:
    assert compile_pattern("a" * 1000).fullmatch("a" * 1000)
    with pytest.raises(BindingError, match="at most 1000 letters"):
        compile_pattern("a" * 1001)


def test_long_patterns_are_shown_up_to_their_hundredth_letter() -> None:
    for size, shown in ((100, "(" * 100), (101, "(" * 100 + "…")):
        with pytest.raises(BindingError) as error:
            compile_pattern("(" * size)
        assert f"'{shown}' is not" in str(error.value)
