"""Pattern budget: a limit on the matching steps of one request or property value."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Steps that all patterns of one value may take together, of about half a microsecond each: a few
#: hundred usual patterns need fewer, and nothing else runs meanwhile.
MAX_STEPS = 60_000


class TooManySteps(Exception):
    """The count is used up.

    Args:
        pattern: the one that took the most steps.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.pattern = pattern


class StepCount:
    """Steps of each pattern since the outermost `pattern_budget` began."""

    def __init__(self) -> None:
        self.pattern = ""
        self._total = 0
        self._by_pattern: dict[str, int] = {}

    def add(self, steps: int) -> None:
        """Count steps of the present pattern.

        Raises:
            TooManySteps: there are more than `MAX_STEPS`.
        """
        self._total += steps
        steps_of = self._by_pattern
        steps_of[self.pattern] = steps_of.get(self.pattern, 0) + steps
        if self._total > MAX_STEPS:
            raise TooManySteps(max(steps_of, key=steps_of.__getitem__))


_count: ContextVar[StepCount | None] = ContextVar("pattern_steps", default=None)


@contextmanager
def pattern_budget() -> Iterator[None]:
    """Count the steps of all patterns inside together; also a decorator.

    Whoever resolves a value with several patterns or names needs it: limits of single matches add
    up. Inside another one it changes nothing.
    """
    if _count.get() is not None:
        yield
        return
    token = _count.set(StepCount())
    try:
        yield
    finally:
        _count.reset(token)


def is_counting() -> bool:
    """Whether a `pattern_budget` is active."""
    return _count.get() is not None


def begin_pattern(pattern: str) -> None:
    """Count the following steps for a pattern; only inside `pattern_budget`."""
    count = _count.get()
    assert count is not None, "patterns are matched inside pattern_budget"
    count.pattern = pattern


def spend(steps: int) -> None:
    """Count steps.

    Raises:
        TooManySteps: there are more than `MAX_STEPS`.
    """
    count = _count.get()
    assert count is not None, "patterns are matched inside pattern_budget"
    count.add(steps)
