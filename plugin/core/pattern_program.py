"""Regular expressions as programs of numbered instructions, and a limit on their steps."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

# Pattern budget ----------------------------------------------------------------------------------
# Pattern budget: a limit on the matching steps of one request or property value.


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


@dataclass
class StepCount:
    """Steps of each pattern since the outermost `pattern_budget` began."""

    pattern: str = ""
    total: int = 0
    by_pattern: Counter[str] = field(default_factory=Counter)


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
    """Count steps of the present pattern.

    Raises:
        TooManySteps: there are more than `MAX_STEPS`.
    """
    count = _count.get()
    assert count is not None, "patterns are matched inside pattern_budget"
    count.total += steps
    count.by_pattern[count.pattern] += steps
    if count.total > MAX_STEPS:
        raise TooManySteps(max(count.by_pattern, key=count.by_pattern.__getitem__))


# Pattern program ---------------------------------------------------------------------------------
# Regular expressions as programs of numbered instructions; letters fall through to the next.
#
# Python's parser reads the expression; what a letter class or an anchor means is left to `re`, one
# letter or position at a time, so that both agree about case, Unicode and flags.


#: Instructions of one pattern: `x{0,1000}` needs 2001.
MAX_INSTRUCTIONS = 3000
#: Steps that compiling one member of a letter class takes.
_COMPILING_STEPS = 8

_LETTERS = (
    *(_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN),
    *(_constants.CATEGORY, _constants.RANGE),
)
_GREEDY, _LAZY = _constants.MAX_REPEAT, _constants.MIN_REPEAT
_POSSESSIVE = _constants.POSSESSIVE_REPEAT
_LOOKS = (_constants.ASSERT, _constants.ASSERT_NOT)


class UnsupportedPattern(Exception):
    """Why a valid regular expression is rejected."""


@dataclass(frozen=True)
class Letter:
    """Consumes one letter of a class, given by its index; continues with the next instruction."""

    index: int


@dataclass(frozen=True)
class Fork:
    """Continues at one of several instructions; the earlier is preferred."""

    targets: tuple[int, ...]


@dataclass(frozen=True)
class Anchor:
    """Continues if `^`, `$`, `\\b` and the like hold."""

    holds_at: Callable[[str, int], Any]


@dataclass(frozen=True)
class LookAround:
    """Continues if a pattern matches from here, or ends here (`width` letters before)."""

    program: "PatternProgram"
    width: int
    negated: bool


@dataclass(frozen=True)
class Commit:
    """Consumes the preferred match of a pattern, `least` to `most` times, and never reconsiders."""

    program: "PatternProgram"
    least: int
    most: float
    #: Whether it never matches nothing.
    consumes: bool


@dataclass(frozen=True)
class SaveGroup:
    """Remembers a position: the start (`2 * group`) or end (`2 * group + 1`) of a group."""

    index: int


@dataclass(frozen=True)
class RepeatGroup:
    """Consumes the text of a group once more; `fold` makes letters equal that differ in case."""

    group: int
    fold: Callable[[str], Any]


@dataclass(frozen=True)
class GroupChoice:
    """Continues at `present` if a group has matched, else at `absent`."""

    group: int
    present: int
    absent: int


Instruction = (
    Letter | Fork | Anchor | LookAround | Commit | SaveGroup | RepeatGroup | GroupChoice | None
)


@dataclass(eq=False)
class PatternProgram:
    """The instructions of a pattern; the last is None, which accepts."""

    letters: "LetterClasses"
    instructions: list[Instruction] = field(default_factory=list)
    #: Groups that are referred to; programs without any are matched in linear time.
    groups: tuple[int, ...] = ()


class LetterClasses:
    """The letter classes of a pattern, each once."""

    def __init__(self) -> None:
        self._indices: dict[object, int] = {}
        self.predicates: list[Callable[[str], Any]] = []

    def index(self, part: tuple[Any, Any], state: Any, flags: int) -> int:
        """The number of a class as Python's parser describes it."""
        key = repr(part), flags
        if key not in self._indices:
            self._indices[key] = len(self.predicates)
            kind, value = part
            is_plain = kind is _constants.LITERAL and not flags & _constants.SRE_FLAG_IGNORECASE
            self.predicates.append(
                chr(value).__eq__ if is_plain else _compiled(part, state, flags).match
            )
        return self._indices[key]


def _compiled(part: tuple[Any, Any], state: Any, flags: int) -> Any:
    """A single part as a compiled expression of `re`."""
    members = len(part[1]) if part[0] is _constants.IN else 0
    spend(_COMPILING_STEPS * (1 + members))
    return _compiler.compile(_parser.SubPattern(_state(state, flags), [part]), flags)


def _state(state: Any, flags: int) -> Any:
    """A state of Python's parser without groups."""
    new = _parser.State()
    new.flags, new.str = flags, state.str
    return new


def translate(pattern: str, flags: int = 0) -> PatternProgram:
    """The program of a regular expression.

    Raises:
        UnsupportedPattern: it is valid, but has too many repetitions, or group references where
            matching cannot be both exact and bounded.
        re.error, OverflowError, RecursionError: it is not valid.
    """
    spend(2 * len(pattern))  # it is parsed twice
    re.compile(pattern, flags)  # widths of look-behinds are checked there
    parsed = _parser.parse(pattern, flags)
    groups = sorted(_referenced(parsed))
    return _Translator(parsed.state, groups).program(parsed, parsed.state.flags)


class _Translator:
    """Writes programs; copies of one repeated part share the programs inside them."""

    def __init__(self, state: Any, groups: Sequence[int]) -> None:
        self._state, self._groups = state, groups
        self._letters, self._inner = LetterClasses(), dict[object, PatternProgram]()
        self._anchors: dict[object, Anchor] = {}
        self._size = 0
        #: Around the part that is translated.
        self._in_commit = self._in_look = self._in_loop = False

    def program(self, parts: Any, flags: int) -> PatternProgram:
        """The program of a whole pattern, or of one inside a look-ahead or an atomic group."""
        program = PatternProgram(self._letters, groups=tuple(self._groups))
        self._sequence(program.instructions, parts, flags)
        self._emit(program.instructions, None)
        return program

    def _inner_program(self, parts: Any, flags: int) -> PatternProgram:
        key = id(parts), flags, self._in_commit
        if key not in self._inner:
            self._inner[key] = self.program(parts, flags)
        return self._inner[key]

    def _anchor(self, part: tuple[Any, Any], flags: int) -> Anchor:
        key = repr(part), flags
        if key not in self._anchors:
            self._anchors[key] = Anchor(_compiled(part, self._state, flags).match)
        return self._anchors[key]

    def _emit(self, code: list[Instruction], instruction: Instruction) -> int:
        self._size += 1
        spend(1)
        if self._size > MAX_INSTRUCTIONS:
            raise UnsupportedPattern(
                f"it needs more than {MAX_INSTRUCTIONS} instructions; repeat less, or smaller parts"
            )
        code.append(instruction)
        return len(code) - 1

    def _sequence(self, code: list[Instruction], parts: Any, flags: int) -> None:
        for kind, value in parts:
            self._part(code, kind, value, flags)

    def _part(self, code: list[Instruction], kind: Any, value: Any, flags: int) -> None:
        if kind in _LETTERS:
            self._emit(code, Letter(self._letters.index((kind, value), self._state, flags)))
        elif kind is _constants.AT:
            self._emit(code, self._anchor((kind, value), flags))
        elif kind is _constants.BRANCH:
            self._branch(code, value[1], flags)
        elif kind is _constants.SUBPATTERN:
            self._group(code, value, flags)
        elif kind in (_GREEDY, _LAZY):
            self._repeat(code, kind, value, flags)
        elif kind in _LOOKS:
            self._look(code, kind, value, flags)
        elif kind is _constants.ATOMIC_GROUP:
            self._commit(code, value, 1, 1, flags)
        elif kind is _POSSESSIVE:
            least, most, body = value
            self._commit(code, body, least, _number(most), flags)
        elif kind is _constants.GROUPREF:
            self._emit(code, RepeatGroup(self._groups.index(value), _fold(flags)))
        elif kind is _constants.GROUPREF_EXISTS:
            self._condition(code, value, flags)
        elif kind is _constants.FAILURE:  # (?!)
            self._emit(code, Fork(()))
        else:
            raise UnsupportedPattern(f"{str(kind).lower()} is not supported")

    def _branch(self, code: list[Instruction], branches: Sequence[Any], flags: int) -> None:
        fork, starts, ends = self._emit(code, None), [], []
        for branch in branches:
            starts.append(len(code))
            self._sequence(code, branch, flags)
            ends.append(self._emit(code, None))
        code[fork] = Fork(tuple(starts))
        for end in ends:
            code[end] = Fork((len(code),))

    def _group(self, code: list[Instruction], value: Any, flags: int) -> None:
        number, added, removed, body = value
        flags = _combined(flags, added, removed)
        if number not in self._groups:
            self._sequence(code, body, flags)
            return
        if self._in_look or self._in_loop:
            where = "a look-ahead or look-behind" if self._in_look else "a repetition"
            raise UnsupportedPattern(f"it refers to a group inside {where}")
        if number in _referenced(body):
            raise UnsupportedPattern("a group refers to itself")
        index = self._groups.index(number)
        self._emit(code, SaveGroup(2 * index))
        self._sequence(code, body, flags)
        self._emit(code, SaveGroup(2 * index + 1))

    def _repeat(self, code: list[Instruction], kind: Any, value: Any, flags: int) -> None:
        least, most, body = value[0], _number(value[1]), value[2]
        if self._in_commit and most > 1 and body.getwidth()[0] == 0:
            raise UnsupportedPattern(
                "an atomic or possessive part repeats something that may be empty"
            )
        before, self._in_loop = self._in_loop, self._in_loop or most > 1
        is_open = most == float("inf")
        for _ in range(least - 1 if is_open else least):
            size = self._size
            self._sequence(code, body, flags)
            if self._size == size:  # nothing, however often
                break
        if is_open:
            self._loop(code, kind, body, flags, once=least > 0)
        else:
            self._options(code, kind, most - least, body, flags)
        self._in_loop = before

    def _loop(
        self, code: list[Instruction], kind: Any, body: Any, flags: int, *, once: bool
    ) -> None:
        """`x*`, or `x+` if once."""
        skip = None if once else self._emit(code, None)
        start = len(code)
        self._sequence(code, body, flags)
        end = self._emit(code, None)
        code[end] = _fork(kind, start, end + 1)
        if skip is not None:
            code[skip] = _fork(kind, start, end + 1)

    def _options(
        self, code: list[Instruction], kind: Any, times: float, body: Any, flags: int
    ) -> None:
        """`x{0,times}`."""
        forks = []
        while len(forks) < times:
            forks.append(self._emit(code, None))
            size = self._size
            self._sequence(code, body, flags)
            if self._size == size:
                break
        for fork in forks:
            code[fork] = _fork(kind, fork + 1, len(code))

    def _look(self, code: list[Instruction], kind: Any, value: Any, flags: int) -> None:
        direction, body = value
        before, self._in_look = self._in_look, True
        width = body.getwidth()[0] if direction < 0 else 0
        program = self._inner_program(body, flags)
        self._emit(code, LookAround(program, width, kind is _constants.ASSERT_NOT))
        self._in_look = before

    def _commit(
        self, code: list[Instruction], body: Any, least: int, most: float, flags: int
    ) -> None:
        if self._groups:
            raise UnsupportedPattern("it has atomic or possessive parts and group references")
        before, self._in_commit = self._in_commit, True
        consumes = least > 0 and body.getwidth()[0] > 0
        self._emit(code, Commit(self._inner_program(body, flags), least, most, consumes))
        self._in_commit = before

    def _condition(self, code: list[Instruction], value: Any, flags: int) -> None:
        group, present, absent = value
        choice = self._emit(code, None)
        self._sequence(code, present, flags)
        end = self._emit(code, None)
        code[choice] = GroupChoice(self._groups.index(group), choice + 1, len(code))
        self._sequence(code, absent or (), flags)
        code[end] = Fork((len(code),))


def _fork(kind: Any, again: int, onward: int) -> Fork:
    return Fork((again, onward) if kind is _GREEDY else (onward, again))


def _number(most: Any) -> float:
    return float("inf") if most is _constants.MAXREPEAT else int(most)


def _combined(flags: int, added: int, removed: int) -> int:
    if added & _compiler._parser.TYPE_FLAGS:
        flags &= ~_compiler._parser.TYPE_FLAGS
    return (flags | added) & ~removed


def _fold(flags: int) -> Callable[[str], Any]:
    """How a group reference compares letters."""
    if not flags & _constants.SRE_FLAG_IGNORECASE:
        return str
    lower = _compiler._sre.unicode_tolower
    if flags & _constants.SRE_FLAG_ASCII:
        lower = _compiler._sre.ascii_tolower
    return lambda letter: lower(ord(letter))


def _referenced(parts: Any) -> set[int]:
    """Groups whose text or presence the pattern refers to."""
    groups: set[int] = set()
    for kind, value in parts:
        if kind is _constants.GROUPREF:
            groups.add(value)
        elif kind is _constants.GROUPREF_EXISTS:
            groups.add(value[0])
        for inner in _inner_parts(kind, value):
            groups |= _referenced(inner)
    return groups


def _inner_parts(kind: Any, value: Any) -> list[Any]:
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind in (*_LOOKS, _GREEDY, _LAZY, _POSSESSIVE):
        return [value[-1]]
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    if kind is _constants.GROUPREF_EXISTS:
        return [branch for branch in value[1:] if branch is not None]
    return []
