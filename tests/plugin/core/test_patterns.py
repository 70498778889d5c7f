"""Patterns match as Python's own do, and never take long."""

import ast
import random
import re
import warnings
from contextlib import suppress

import pytest

from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import MAX_INSTRUCTIONS, MAX_STEPS, pattern_budget
from mjrig.core.patterns import MAX_LENGTH, Slots, compile_pattern
from tests.campaign import Tally
from tests.places import ROOT
from tests.resource_limits import TooSlow, cpu_limit

USUAL = [
    ".*", ".*_hip", "(FL|FR)_.*", "(?!FL).*_calf", "joint[0-9]+", "(left|right)_(hip|knee).*",
    r"a\.b", "x{2,3}", "(_x)*", "(?:left|right)*", "l(?P<n>[12])_r(?P=n)", "", "(?i)fl_.*",
    ".*left.*arm.*joint.*", "(.*_)?hip", "[a-z]+_[a-z]+_[0-9]+", "a??b+?", "(l)?(?(1)1|x+).*",
    "(?i)(F|x)x*(?!\\1)L.*", ".*(?<!hip)", "^(?=.*_).*$", "[^_]*+_.*", "(?>FL|F).*",
]  # fmt: skip
#: What Python's matcher takes exponentially or polynomially long for.
SLOW = [
    "(a+)+", "(a*)*b", "(.*)*", "(a|a)*b", "(a|ab)*c", "(a?){30}a{30}", "((a{1,9}){1,9}){1,9}",
    "(a+)+$", "(?:a*)+", "(()*)*", "(x+x+)+y", "([a-z]+)*1", "(?:(?:a|b)+)+", "(?=(a+)+)b", "(|a)+",
    "(a|b|ab)+", "(.|a)*", "(.|.|.|.|.|.|.|.)" * 11 + "X", ".*a" * 8 + "b", "(?:a?){1400}",
    "(?:(?=a*)a)*" * 60 + "z", "(?>a|aa|b)*" * 50 + "z", "(?:^|a|$|\\b)*" * 50 + "x",
    "(?:a?b?c?d?){370}", "(.*.*.*)*x", "(?:(){999}){999}", "(?=" * 40 + ".*a" + ").*" * 40,
    "(?<=a)" * 140, "(?:a*?){700}", "(?:(?:(?:){999}){999}){999}x",
]  # fmt: skip
REJECTED = {
    "(": "missing ",
    "a{99999999999}": "too large",
    "a{5000}": f"more than {MAX_INSTRUCTIONS} instructions",
    "(?:a{50}){61}": f"more than {MAX_INSTRUCTIONS} instructions",
    "(" * 499 + "a" + ")" * 499: "nested too deeply",
    "a" * (MAX_LENGTH + 1): f"at most {MAX_LENGTH} letters",
    r"(a|b)+\1": "refers to a group inside a repetition",
    r"(?=(a+))\1": "refers to a group inside a look-ahead",
    r"(a)\1(?>b)": "atomic or possessive parts and group references",
    "(a(?(1)b|c))": "a group refers to itself",
    "(?>(?:a?)*)": "repeats something that may be empty",
    "(?<=a+)b": "fixed-width",
}
LONGEST = "a" * 41 + "!"


@pytest.mark.parametrize("pattern", USUAL)
def test_usual_patterns_match_as_in_python(pattern: str) -> None:
    ours, truth = compile_pattern(pattern), re.compile(pattern)
    names = ("FL_hip", "left_hip_2", "joint12", "xx", "a.b", "", "l1_r1", "l1_r2", "leftright")
    for name in (*names, "fL_calf", "FfL", "a\n", "hip", "RL_calf"):
        assert ours.fullmatch(name) == (truth.fullmatch(name) is not None)
        assert ours.occurs_in(name) == (truth.search(name) is not None)


@pytest.mark.parametrize("pattern", SLOW, ids=range(len(SLOW)))
def test_patterns_that_python_takes_forever_for_are_quick(pattern: str) -> None:
    with cpu_limit(5.0):
        for name in (LONGEST, "a" * 41, "b" * 41, "ab" * 30):
            with suppress(BindingError):  # too many steps: the answer would take long
                compile_pattern(pattern).fullmatch(name)
                compile_pattern(pattern).occurs_in(name)


@pytest.mark.parametrize("pattern", REJECTED, ids=range(len(REJECTED)))
def test_rejected_patterns_are_rejected_with_a_reason(pattern: str) -> None:
    with pytest.raises(BindingError, match=REJECTED[pattern]):
        compile_pattern(pattern)


def test_limits_allow_what_they_promise() -> None:
    assert compile_pattern("x{0,1000}").fullmatch("x" * 20)
    assert not compile_pattern("x{0,1000}").fullmatch("x" * 20 + "y")
    with pytest.raises(BindingError, match="instructions"):
        compile_pattern("x{0,1500}")


# All patterns of a value --------------------------------------------------------------------------

JOINTS = [f"{leg}_{part}" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")]
#: Patterns that are expensive in different ways, each well below the limit for one name.
EXPENSIVE = [
    r"(.*)(.*)(.*)(.{0,2})(.{0,2})\1\2\3!", r"(.*)(.*)\1\2!", "(?:.?.?.?.?){300}!", "(?:a?){1000}",
    "(?:(?=.*a).)*" * 40 + "z", "(?>a|.)*" * 50 + "z", "(?:^|a|$|\\b)*" * 40 + "x",
    "".join(f"[{chr(97 + i % 26)}{chr(0x4E00 + i)}]" for i in range(150)),
]  # fmt: skip


def test_patterns_of_one_value_share_a_limit() -> None:
    assert MAX_STEPS == 60_000  # as docs/scenes.md states
    for pattern in EXPENSIVE:
        slots = Slots([(name,) for name in JOINTS])
        values = {f"{pattern}{'Y' * i}|{name}": 1.0 for i, name in enumerate(JOINTS)}
        values |= {f"{pattern}{'Y' * i}|FL_.*": 1.0 for i in range(20, 200)}
        steps = []
        for _ in range(2):  # what the first attempt remembers must not let the second pass
            with pattern_budget(), pytest.raises(BindingError, match="too many steps") as refused:
                slots.spread(values)
            assert repr(pattern)[1:12] in str(refused.value)
            steps.append(str(refused.value))
        assert steps[0] == steps[1]


def test_the_expensive_pattern_is_named_not_the_last() -> None:
    slots = Slots([(name,) for name in JOINTS])
    expensive = "(?:.?.?.?.?){200}!|FL_hip"
    values = {expensive: 1.0} | {f"FR_(hip|{i})": 1.0 for i in range(2000)}
    with pytest.raises(BindingError, match="takes too many steps") as refused:
        slots.spread(values)
    assert repr(expensive) in str(refused.value)


def test_usual_values_of_large_robots_are_within_the_limit() -> None:
    names = [f"finger_{i}_{part}" for i in range(100) for part in ("base", "tip")]
    slots = Slots([(name,) for name in names])
    assert len(slots.spread({f"finger_{i}_(base|tip)": 1.0 for i in range(100)})) == 200
    assert len(slots.spread({f"finger_{i}_.*": 1.0 for i in range(100)})) == 200


def test_group_references_count() -> None:
    pattern = compile_pattern(r"(a*)(a*)\1\2b")
    assert pattern.fullmatch("aaaab")
    with pytest.raises(BindingError, match="takes too many steps"):
        pattern.fullmatch("a" * 301)


@pytest.mark.campaign
def test_no_value_of_patterns_takes_long(tally: Tally) -> None:
    slots = Slots([(name,) for name in JOINTS])
    for rng in tally.cases("values of patterns", 150, 20_000, minutes=3):
        values = {}
        for _ in range(rng.choice((1, 12, 60))):
            times = rng.choice((1, 11, 40))
            part = rng.choice((generated(rng, rng.randint(2, 4)), rng.choice(EXPENSIVE)))
            values[f"{part * times}|.*"[:MAX_LENGTH]] = 1.0
        try:
            with cpu_limit(1.0), warnings.catch_warnings(action="ignore"):
                slots.spread(values)
        except BindingError:
            continue
        except (Exception, TooSlow) as error:
            tally.found(f"{type(error).__name__}: {str(values)[:300]}")


# Against Python's matcher -------------------------------------------------------------------------

ATOMS = (
    *(
        "a",
        "b",
        ".",
        "_",
        "B",
        "1",
        r"\w",
        "[ab]",
        "[^b]",
        "^",
        "$",
        r"\b",
        r"\B",
        "",
        r"\d",
        r"\W",
    ),
    *(r"[^\w_]", r"\Z", r"\A", "(?<=a)", "(?<!ab)", "[a-c_]", "(?!b)", "(?!)", "ab", "bba", r"\n"),
)
MARKS = ("", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{,2}?", "++", "*+", "?+", "{2}+")
OPENINGS = (
    *("(", "(", "(?:", "(?:", "(?>", "(?=", "(?!", "(?i:", "(?s-i:", "(?<=", "(?<!", "(?a:"),
    "(?m:",
)


def generated(rng: random.Random, depth: int = 3) -> str:
    """A random pattern, mostly valid."""
    kind = rng.randrange(9 if depth else 3)
    if kind < 3:
        return rng.choice(ATOMS)
    if kind < 5:
        return "".join(generated(rng, depth - 1) for _ in range(rng.randint(1, 4)))
    if kind == 5:
        parts = [generated(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        return f"(?:{'|'.join(parts)})"
    if kind == 6 and rng.random() < 0.5:
        return rng.choice((r"\1", r"\2", "(?(1)a|b)", f"(?(1){generated(rng, depth - 1)})"))
    return f"{rng.choice(OPENINGS)}{generated(rng, depth - 1)}){rng.choice(MARKS)}"


def name_for(rng: random.Random) -> str:
    letters = "aabbAB_1\n ." if rng.random() < 0.3 else "aab"
    return "".join(rng.choice(letters) for _ in range(rng.randint(0, 7)))


@pytest.mark.campaign
def test_random_patterns_match_as_in_python(tally: Tally) -> None:
    for rng in tally.cases("patterns against re", 3000, 3_000_000):
        pattern = generated(rng)
        if len(pattern) > 60:  # Python's matcher would take long
            continue
        with warnings.catch_warnings(action="ignore"):
            try:
                truth = re.compile(pattern)
            except (re.error, OverflowError):
                truth = None
            try:
                ours = compile_pattern(pattern)
            except BindingError:
                continue
        if truth is None:
            tally.found(f"{pattern!r} is accepted, not by Python")
            continue
        for name in (name_for(rng) for _ in range(6)):
            try:
                expected = truth.fullmatch(name) is not None, truth.search(name) is not None
            except SystemError:  # a bug of Python's matcher: "The span of capturing group is wrong"
                continue
            if (ours.fullmatch(name), ours.occurs_in(name)) != expected:
                tally.found(f"{pattern!r} with {name!r}: Python {expected}")


@pytest.mark.campaign
def test_no_pattern_takes_long(tally: Tally) -> None:
    for rng in tally.cases("patterns that backtrack", 400, 200_000, minutes=4):
        times = rng.choice((1, 1, 11, 40))
        pattern = generated(rng, rng.randint(2, 4)) * times + rng.choice(("", "X", "{0,40}"))
        name = rng.choice(("a" * 41, LONGEST, "ab" * 30, "ab" * 30 + "!", "a" * 300 + "c"))
        try:
            with cpu_limit(3.0), warnings.catch_warnings(action="ignore"):
                compile_pattern(pattern).fullmatch(name)
        except BindingError:
            continue
        except (Exception, TooSlow) as error:
            tally.found(f"{type(error).__name__}: {pattern!r} with {name!r}")


# Everywhere ---------------------------------------------------------------------------------------

_FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "findall", "finditer", "split")
#: Variables whose values are constants of the module.
_CONSTANT = {"editor/text.py": "written", "plugin/core/pattern_program.py": "pattern"}


@pytest.mark.skipif(not (ROOT / "plugin").is_dir(), reason="there is no checkout beside the tests")
def test_no_text_of_a_user_reaches_the_matcher_of_python() -> None:
    exposed = []
    for folder in ("plugin", "components", "editor"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            place = path.relative_to(ROOT).as_posix()
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            exposed += [f"{place}:{call.lineno}" for call in calls if _is_exposed(call, place)]
    assert exposed == []


@pytest.mark.skipif(not (ROOT / "plugin").is_dir(), reason="there is no checkout beside the tests")
def test_every_use_of_patterns_counts_their_steps_together() -> None:
    exposed = []
    for folder in ("plugin", "components", "editor"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
            exposed += [
                f"{path.relative_to(ROOT).as_posix()}: {function.name}"
                for function in functions
                if "compile_pattern" in _called(function)
                and "pattern_budget" not in _called(function)
            ]
    assert exposed == []


def _called(function: ast.FunctionDef) -> set[str]:
    calls = [n.func for n in ast.walk(function) if isinstance(n, ast.Call)]
    return {f.id for f in calls if isinstance(f, ast.Name)}


def _is_exposed(node: ast.Call, place: str) -> bool:
    """Whether a call hands `re` something else than a constant, or f-string, as its pattern."""
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    if function.value.id not in ("re", "fnmatch"):
        return False
    if function.value.id == "re" and function.attr not in _FUNCTIONS:
        return False
    pattern = node.args[0]
    if isinstance(pattern, ast.Name):
        return not pattern.id.isupper() and pattern.id != _CONSTANT.get(place)
    return not isinstance(pattern, ast.Constant | ast.JoinedStr | ast.BinOp)
