"""Patterns: what could take for ever is refused, the rest matches as Python's own do."""

import random
import re

import pytest

from mjrig.errors import BindingError
from mjrig.patterns import MAX_LENGTH, compile_pattern
from tests.campaign import Tally
from tests.resource_limits import TooSlow, cpu_limit

USUAL = [
    ".*", ".*_hip", "(FL|FR)_.*", "(?!FL).*_calf", "joint[0-9]+", "(left|right)_(hip|knee).*",
    r"a\.b", "x{2,3}", "(_x)*", "(?:left|right)*", "l(?P<n>[12])_r(?P=n)", "", "(?i)fl_.*",
    ".*left.*arm.*joint.*", "(.*_)?hip", "[a-z]+_[a-z]+_[0-9]+", "a??b+?",
]  # fmt: skip
SLOW = [
    "(a+)+", "(a*)*b", "(.*)*", "(a|a)*b", "(a|ab)*c", "(a?){30}a{30}", "((a{1,9}){1,9}){1,9}",
    "(a+)+$", "(?:a*)+", "(()*)*", "(x+x+)+y", "([a-z]+)*1", "(?:(?:a|b)+)+", "(?=(a+)+)b", "(|a)+",
    "a{99999999999}", "a{5000}", "(a|b|ab)+", "(.|a)*", "(" * 500 + "a" + ")" * 500,
    "(a)(?(1)b+|c+)*", "a" * (MAX_LENGTH + 1),
]  # fmt: skip
LONGEST = "a" * 41 + "!"


@pytest.mark.parametrize("pattern", USUAL)
def test_usual_patterns_match_as_in_python(pattern: str) -> None:
    ours, truth = compile_pattern(pattern), re.compile(pattern)
    names = ("FL_hip", "left_hip_2", "joint12", "xx", "a.b", "", "l1_r1", "l1_r2", "leftright")
    for name in names:
        assert ours.fullmatch(name) == (truth.fullmatch(name) is not None)


@pytest.mark.parametrize("pattern", SLOW)
def test_what_could_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(BindingError, match=r"valid pattern|at most"):
        compile_pattern(pattern)


def test_many_repetitions_are_for_short_names() -> None:
    pattern = compile_pattern(".*a" * 8)
    assert pattern.fullmatch("a" * 8)
    with pytest.raises(BindingError, match="has 8 repetitions, too many for a name of 41 letters"):
        pattern.fullmatch("b" * 41)


def generated(rng: random.Random, depth: int = 3) -> str:
    """A random pattern, mostly valid."""
    kind = rng.randrange(9 if depth else 3)
    if kind == 0:
        return rng.choice("ab.")
    if kind == 1:
        return rng.choice((r"\w", "[ab]", "[^b]", "a", "(?!b)", "^", "$", r"\b", ""))
    if kind == 2:
        return rng.choice("ab") * rng.randint(1, 3)
    if kind in (3, 4):
        return "".join(generated(rng, depth - 1) for _ in range(rng.randint(1, 4)))
    if kind == 5:
        parts = [generated(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        return f"(?:{'|'.join(parts)})"
    mark = rng.choice(("*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{0,30}", "{,4}", "++", "*+"))
    opening = rng.choice(("(", "(?:", "(?>", "(?=", "(?!"))
    return f"{opening}{generated(rng, depth - 1)}){mark}"


@pytest.mark.campaign
def test_no_pattern_takes_long(tally: Tally) -> None:
    for rng in tally.cases("patterns that backtrack", 400, 200_000, minutes=4):
        pattern = generated(rng)
        name = rng.choice(("a" * 41, LONGEST, "ab" * 30, "ab" * 30 + "!", "a" * 300 + "c"))
        try:
            with cpu_limit(1.0):
                compile_pattern(pattern).fullmatch(name)
        except BindingError:
            continue
        except (Exception, TooSlow) as error:
            tally.found(f"{type(error).__name__}: {pattern!r} with {name!r}")
