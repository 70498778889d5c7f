"""Results in a normal form that JSON can represent, split into data and texts, and compared."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

import numpy as np

#: Keys whose values depend on the machine, the day or the installed packages, not on the result.
VOLATILE = frozenset({"versions", "seconds", "elapsed", "created", "machine", "sha256", "task_id"})
#: Keys with sentences. Their strings are texts if they have a space: `evidence` may be a word.
SENTENCES = frozenset(
    {"apart", "causes", "changed", "effect", "evidence", "fix", "message", "notes", "reason",
     "rejection", "text"}
)  # fmt: skip
#: A string of this many words is a text under other keys, too, but not under the data keys.
SENTENCE_WORDS = 7
DATA_KEYS = frozenset({"where", "edits", "recorded"})
#: Replaces a text in the data, so that a note that appears or disappears is a difference of data.
MARKER = "<text>"
#: Longer lists of numbers are reduced to a few that depend on all of them.
LONGEST_LIST = 24
#: Relative tolerance of a number: the last digits depend on the CPU and its mathematics library.
TOLERANCE = 1e-9
#: Differences below it are rounding errors of values that are zero in theory.
ROUNDING = 1e-12
#: SHA-256: files that packages write differ with their versions.
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
#: How long a fit took, at the end of a line.
_DURATION = re.compile(r"; \d+(\.\d+)? (s|min)$")
#: A number in a text, not one within a name such as `joint_1` or `float64`.
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Text(list[str]):
    """Lines for people: their wording and layout may change while the data stay the same."""


@dataclass
class Result:
    """The data of a case, and its texts by their path in the result."""

    data: Any
    texts: dict[str, list[str]]


@dataclass
class Differences:
    """Differences of data, of numbers within texts, and of words and layout alone."""

    data: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    wording: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.data or self.figures or self.wording)


def normalise(value: Any, replacements: Mapping[str, str]) -> Any:
    """Plain data without volatile keys, paths and versions, arrays reduced."""
    if isinstance(value, Text):
        return Text(_DURATION.sub("; <time>", _replace(line, replacements)) for line in value)
    if isinstance(value, Mapping):
        items = sorted((str(k), v) for k, v in value.items() if k not in VOLATILE)
        return {_replace(k, replacements): normalise(v, replacements) for k, v in items}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return _normal_list(value, replacements)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return _replace(str(value), replacements)


def _normal_list(values: Any, replacements: Mapping[str, str]) -> Any:
    if len(values) > LONGEST_LIST:
        if all(_is_number(v) or v is None for v in values):
            return _reduce(values)
        if all(isinstance(v, list | tuple) for v in values):
            widths = {len(v) for v in values}
            if len(widths) == 1 and all(_is_number(n) or n is None for v in values for n in v):
                return {"columns": [_reduce(column) for column in zip(*values, strict=True)]}
        if all(isinstance(v, str) for v in values) and len(set(values)) < len(values) / 4:
            return {"counts": normalise(Counter(values), replacements)}
    return [normalise(v, replacements) for v in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _replace(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        text = text.replace(old, new)
    return _HASH.sub("<hash>", text)


def _reduce(values: Any) -> dict[str, Any]:
    """Count, ends, extremes and two means; a change of one value or of the order shows."""
    numbers = [v for v in values if v is not None and math.isfinite(v)]
    count = max(len(numbers), 1)
    return {
        "count": len(values),
        "finite": len(numbers),
        "first": normalise(values[0], {}),
        "last": normalise(values[-1], {}),
        "least": min(numbers, default=None),
        "largest": max(numbers, default=None),
        "mean_size": math.fsum(map(abs, numbers)) / count,
        "weighted": math.fsum((i + 1) * v for i, v in enumerate(numbers)) / count**2,
    }


def separate(value: Any) -> Result:
    """File texts under their paths; a marker in the data shows that there is one."""
    texts: dict[str, list[str]] = {}
    return Result(_without_texts(value, "", "", texts), texts)


def _without_texts(value: Any, path: str, key: str, texts: dict[str, list[str]]) -> Any:
    if isinstance(value, dict):
        return {k: _without_texts(v, _inner(path, k), k, texts) for k, v in value.items()}
    if isinstance(value, list) and not isinstance(value, Text):
        return [_without_texts(v, f"{path}[{i}]", key, texts) for i, v in enumerate(value)]
    if isinstance(value, Text) or (isinstance(value, str) and _is_sentence(key, value)):
        lines = list(value) if isinstance(value, Text) else [value]
        if lines:
            texts[path] = lines
        return MARKER if lines else ""
    return value


def _is_sentence(key: str, text: str) -> bool:
    words = len(text.split())
    return words > 1 if key in SENTENCES else words >= SENTENCE_WORDS and key not in DATA_KEYS


def _inner(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def data_differences(
    expected: Any, actual: Any, *, exact: bool = False, rel: float = TOLERANCE, path: str = ""
) -> Iterator[str]:
    """Each difference as `path: expected …, is …`; numbers within a tolerance are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(k for k in actual if k not in expected)]:
            inner = _inner(path, key)
            if key not in actual:
                yield f"{inner}: expected {_short(expected[key])}, is missing"
            elif key not in expected:
                yield f"{inner}: is new: {_short(actual[key])}"
            else:
                yield from data_differences(
                    expected[key], actual[key], exact=exact, rel=rel, path=inner
                )
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}: expected {len(expected)} entries, has {len(actual)}"
        for i, (one, two) in enumerate(zip(expected, actual, strict=False)):
            yield from data_differences(one, two, exact=exact, rel=rel, path=f"{path}[{i}]")
    elif not _equal(expected, actual, exact, rel):
        yield f"{path}: expected {_short(expected)}, is {_short(actual)}"


def _short(value: object, length: int = 160) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def _equal(expected: object, actual: object, exact: bool, rel: float) -> bool:
    numbers = _is_number(expected) and _is_number(actual)
    if not numbers or exact or (isinstance(expected, int) and isinstance(actual, int)):
        return type(expected) is type(actual) and expected == actual
    return math.isclose(expected, actual, rel_tol=rel, abs_tol=ROUNDING)  # type: ignore[arg-type]


def text_differences(
    expected: dict[str, list[str]],
    actual: dict[str, list[str]],
    differences: Differences,
    *,
    exact: bool = True,
) -> None:
    """Add the differences of texts; unless exact, fractions may differ by one in the last digit."""
    for path in [*expected, *(p for p in actual if p not in expected)]:
        one, two = expected.get(path, []), actual.get(path, [])
        if one == two:
            continue
        diff = [
            d
            for d in unified_diff(one, two, lineterm="", n=0)
            if not d.startswith(("---", "+++", "@@"))
        ]
        figures, others = count_figures(one), count_figures(two)
        if figures == others:
            differences.wording.append("\n".join([f"{path}: the wording differs", *diff]))
        elif exact or not _same_but_for_rounding(one, two):
            changes = [f"{n} is missing" for n in (figures - others).elements()]
            changes += [f"{n} is new" for n in (others - figures).elements()]
            head = f"{path}: figures differ: {', '.join(changes[:8])}"
            differences.figures.append("\n".join([head, *diff]))


def count_figures(lines: list[str]) -> Counter[str]:
    """How often each number occurs in a text."""
    return Counter(number for line in lines for number in _NUMBER.findall(line))


def _same_but_for_rounding(one: list[str], two: list[str]) -> bool:
    first, second = "\n".join(one), "\n".join(two)
    if _NUMBER.sub("", first) != _NUMBER.sub("", second):
        return False
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
    return all(a == b or _within_last_digit(a, b) for a, b in pairs)


def _within_last_digit(one: str, two: str) -> bool:
    mantissa, _, exponent = one.partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits or exponent != two.partition("e")[2]:
        return False
    unit = 10.0 ** (int(exponent or 0) - digits)
    return abs(float(one.replace("−", "-")) - float(two.replace("−", "-"))) < 1.5 * unit
