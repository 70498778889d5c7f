"""Name patterns: regular expressions that cannot take long, whatever names they are matched with.

Python's matcher tries alternatives one after another. A repeated part that can itself match in
several ways, `(a+)+`, makes it try exponentially many; such patterns are refused. Several `.*` side
by side make it try polynomially many; how many is bounded by the length of the name.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import comb
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from mjrig.errors import BindingError

MAX_LENGTH = 1000
MAX_REPEAT = 1000
#: Ways to match one name that may have to be tried.
MAX_TRIES = 1_000_000
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


class NamePattern:
    """A compiled pattern; matches whole names only."""

    def __init__(self, pattern: str, compiled: re.Pattern[str], repeats: int) -> None:
        self.pattern, self._fullmatch, self._repeats = pattern, compiled.fullmatch, repeats

    def fullmatch(self, name: str) -> bool:
        """Whether it matches a whole name.

        Raises:
            BindingError: the pattern has too many repetitions for a name that long.
        """
        if self._repeats > 1 and comb(len(name) + self._repeats, self._repeats) > MAX_TRIES:
            raise BindingError(
                f"{_shown(self.pattern)!r} has {self._repeats} repetitions, too many for a name of "
                f"{len(name)} letters; write fewer .* or the names themselves"
            )
        return self._fullmatch(name) is not None


@lru_cache(1000)
def compile_pattern(pattern: str) -> NamePattern:
    """Compile a name pattern.

    Raises:
        BindingError: it is not a regular expression, or could take too long to match.
    """
    if len(pattern) > MAX_LENGTH:
        raise BindingError(f"a pattern has at most {MAX_LENGTH} letters, this one {len(pattern)}")
    try:
        parsed = _parser.parse(pattern)
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BindingError(f"{_shown(pattern)!r} is not a valid pattern: {error}") from error
    try:
        return NamePattern(pattern, compiled, _variable_repeats(parsed))
    except _TooSlow as error:
        raise BindingError(f"{_shown(pattern)!r} is not a valid pattern: {error}") from None


class _TooSlow(Exception):
    """Why a pattern is refused."""


def _variable_repeats(parts: Sequence[Any]) -> int:
    """Number of repetitions whose count is open: `.*`, `a?`, `x{2,5}`.

    Raises:
        _TooSlow: one of them contains another, or alternatives that begin alike.
    """
    return sum(_in_part(kind, value) for kind, value in parts)


def _in_part(kind: Any, value: Any) -> int:
    if kind in _REPEATS:
        return _in_repeat(*value)
    return sum(map(_variable_repeats, _inner(kind, value)))


def _inner(kind: Any, value: Any) -> list[Sequence[Any]]:
    """The patterns inside a part that is not repeated: of a group, an alternative, a condition."""
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [value[1]]
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    if kind is _constants.GROUPREF_EXISTS:
        return [branch for branch in value[1:] if branch is not None]
    return []


def _in_repeat(least: int, most: Any, body: Any) -> int:
    inside = _variable_repeats(body)
    if most is not _constants.MAXREPEAT and most > MAX_REPEAT:
        raise _TooSlow(f"a part is repeated at most {MAX_REPEAT} times")
    if most == 1:
        return inside + 1
    if inside:
        raise _TooSlow("a repetition contains another one, as in (a+)+, which can take for ever")
    if body.getwidth()[0] == 0:
        raise _TooSlow("a repetition of something that may be empty can take for ever")
    if _is_ambiguous(body):
        raise _TooSlow(
            "a repetition contains alternatives that begin alike, as in (a|ab)*, which can take "
            "for ever"
        )
    return 1 if least != most else 0


def _is_ambiguous(parts: Sequence[Any]) -> bool:
    """Whether a text can be matched in more than one way."""
    for kind, value in parts:
        if kind in (_constants.GROUPREF, _constants.GROUPREF_EXISTS):
            return True
        inner = [value[2]] if kind in _REPEATS else _inner(kind, value)
        if any(map(_is_ambiguous, inner)):
            return True
        if kind is _constants.BRANCH:
            first = [branch[0] for branch in inner if len(branch)]
            letters = {f[1] for f in first if f[0] is _constants.LITERAL}
            if len(letters) < len(inner):
                return True
    return False


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= 100 else f"{pattern[:100]}…"
