"""Name patterns: regular expressions that cannot take long, whatever names they are matched with.

They mean what they mean to `re.fullmatch`, but are not matched by Python's matcher, which tries
alternatives one after another: `(a+)+` makes it try exponentially many. The steps of all patterns
of one value are counted together, see `pattern_budget`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from mjrig.errors import BindingError
from mjrig.pattern_budget import (
    MAX_STEPS,
    TooManySteps,
    begin_pattern,
    is_counting,
    pattern_budget,
)
from mjrig.pattern_program import UnsupportedPattern, translate
from mjrig.pattern_references import GroupSearch
from mjrig.pattern_scan import Scanner

MAX_LENGTH = 1000
T = TypeVar("T")


class NamePattern:
    """A compiled pattern.

    Raises:
        UnsupportedPattern: it is valid, but cannot be matched in bounded time.
        re.error, OverflowError, RecursionError: it is not valid.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._program = translate(pattern, flags)
        self._scanner = None if self._program.groups else Scanner(self._program)

    def fullmatch(self, name: str) -> bool:
        """Whether it matches a whole name.

        Raises:
            BindingError: the patterns of this value take too many steps together.
        """
        return _counted(self.pattern, self._matches, name)

    def occurs_in(self, text: str) -> bool:
        """Whether it matches some part of a text, as `re.search` finds it.

        Raises:
            BindingError: as `fullmatch`.
        """
        return _counted(self.pattern, self._occurs, text)

    def _matches(self, name: str) -> bool:
        if self._scanner is not None:
            return self._scanner.matches(name)
        return GroupSearch(self._program, name).matches()

    def _occurs(self, text: str) -> bool:
        if self._scanner is not None:
            return any(self._scanner.starts(text))
        return GroupSearch(self._program, text).occurs()


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> NamePattern:
    """Compile a name pattern.

    Raises:
        BindingError: it is not a regular expression, or could take too long to match.
    """
    if len(pattern) > MAX_LENGTH:
        raise BindingError(f"a pattern has at most {MAX_LENGTH} letters, this one {len(pattern)}")
    try:
        flags = re.IGNORECASE if ignore_case else 0
        return _counted(pattern, _compile, (pattern, flags))
    except RecursionError:
        problem = "its groups are nested too deeply"
    except (re.error, OverflowError, UnsupportedPattern) as error:
        problem = str(error)
    raise BindingError(f"{_shown(pattern)!r} is not a valid pattern: {problem}")


@lru_cache(1000)
def _compile(key: tuple[str, int]) -> NamePattern:
    return NamePattern(*key)


def _counted(pattern: str, function: Callable[..., T], argument: object) -> T:
    """Call a function that spends steps of a pattern."""
    if not is_counting():
        with pattern_budget():
            return _counted(pattern, function, argument)
    begin_pattern(pattern)
    try:
        return function(argument)
    except TooManySteps as error:
        _compile.cache_clear()  # else a second attempt, with more remembered, could be accepted
        raise BindingError(
            f"{_shown(error.pattern)!r} takes too many steps to match: all patterns of one value "
            f"have {MAX_STEPS}; write fewer repetitions, alternatives and group references, or "
            "the names themselves"
        ) from None


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= 100 else f"{pattern[:100]}…"
