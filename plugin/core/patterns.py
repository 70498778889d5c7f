"""Name patterns: regular expressions whose matching time is bounded for any name; their slots.

They mean the same as in `re.fullmatch`, but Python's matcher is not used: it backtracks, and
`(a+)+` takes exponential time. `Scanner` needs one pass from the end of the text to its
start. Patterns with back-references to groups need `GroupSearch`, a search with a limit.
The steps of all patterns of one value are counted together, see `pattern_budget`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

from mjrig.core.errors import BindingError
from mjrig.core.names import MAX_CANDIDATES, MAX_COMPARED, listed, literal, nearest
from mjrig.core.pattern_program import (
    MAX_STEPS,
    Anchor,
    Commit,
    Fork,
    GroupChoice,
    Instruction,
    Letter,
    LookAround,
    PatternProgram,
    RepeatGroup,
    SaveGroup,
    TooManySteps,
    UnsupportedPattern,
    begin_pattern,
    is_counting,
    pattern_budget,
    spend,
    translate,
)

# Pattern scan -------------------------------------------------------------------------------------
# Matching in time linear in the text: one pass from its end to its start.
#
# The states of a position are the instructions from which the rest of the text can be matched, as
# bits of an integer. A letter falls through to the next instruction, so that the states of a
# position follow from those of the next by a shift. Look-arounds become tables over all
# positions beforehand.


#: Bits that are remembered per pattern: steps of short patterns, few of long ones.
_MEMORY = 200_000
#: Steps that following one instruction back takes, as whole sets are combined.
_CLOSING_STEPS = 2


class Scanner:
    """Matches one program without group references."""

    def __init__(self, program: PatternProgram) -> None:
        code, self._letters = program.instructions, program.letters
        self._code = code
        spend(len(code))
        self._accept = 1 << (len(code) - 1)
        self._classes: dict[int, int] = {}
        self._before: dict[int, list[int]] = {}
        for i, instruction in enumerate(code):
            if isinstance(instruction, Letter):
                self._classes[instruction.index] = self._classes.get(instruction.index, 0) | 1 << i
            elif isinstance(instruction, Fork):
                for target in instruction.targets:
                    self._before.setdefault(target, []).append(i)
        self._joins = sum(1 << i for i in self._before)
        conditions: dict[Anchor | LookAround | Commit, _Condition] = {}
        for i, instruction in enumerate(code):
            if isinstance(instruction, Anchor | LookAround | Commit):
                condition = conditions.setdefault(instruction, _Condition(instruction))
                condition.places |= 1 << i
        self._conditions = list(conditions.values())
        self._limit = _MEMORY // len(code)
        self._masks: dict[str, int] = {}
        self._reaching: dict[int, int] = {}
        self._closed: dict[tuple[int, tuple[bool, ...]], int] = {}
        self._steps: dict[tuple[int, str], int] = {}

    def matches(self, text: str) -> bool:
        """Whether all of a text matches."""
        if self._conditions:
            return bool(self._states(text, everywhere=False)[0] & 1)
        states, steps = self._close(self._accept), self._steps
        for letter in reversed(text):
            following = steps.get((states, letter))
            if following is None:
                following = self._step(states, letter)
            states = following
            if not states:
                return False
        return bool(states & 1)

    def starts(self, text: str) -> list[bool]:
        """For every position, whether a match begins there, wherever it ends."""
        return [bool(states & 1) for states in self._states(text, everywhere=True)]

    def ends(self, text: str) -> list[int | None]:
        """For every position, where the preferred match that begins there ends.

        Only for programs without loops that may consume nothing.
        """
        size, last = len(text), len(self._code) - 1
        spend((size + 1) * (last + 1))
        tables = [(c.places, c.table(text)) for c in self._conditions]
        table: list[list[int | None]] = [[None] * (last + 1) for _ in range(size + 1)]
        for at in range(size, -1, -1):
            row = table[at]
            allowed = self._mask(text[at]) if at < size else 0
            for i in self._order:
                instruction = self._code[i]
                if instruction is None:
                    row[i] = at
                elif isinstance(instruction, Letter):
                    row[i] = table[at + 1][i + 1] if allowed >> i & 1 else None
                elif isinstance(instruction, Fork):
                    ends = (row[t] for t in instruction.targets if row[t] is not None)
                    row[i] = next(ends, None)
                else:
                    onward = next(t[at] for places, t in tables if places >> i & 1)
                    row[i] = None if onward is None else table[onward][i + 1]
        return [row[0] for row in table]

    # Sets of instructions ----------------------------------------------------------------------

    def _states(self, text: str, *, everywhere: bool) -> list[int]:
        size = len(text)
        tables = [(c.places, c.table(text)) for c in self._conditions]
        states = [0] * (size + 1)
        spend((size + 1) * (2 + len(tables)))
        for at in range(size, -1, -1):
            reached = (states[at + 1] >> 1) & self._mask(text[at]) if at < size else 0
            if everywhere or at == size:
                reached |= self._accept
            stays = []
            for places, table in tables:
                onward = table[at]
                stays.append(onward == at)
                if onward is not None and onward > at:
                    reached |= (states[onward] >> 1) & places
            states[at] = self._close(reached, tuple(stays))
        return states

    def _step(self, states: int, letter: str) -> int:
        if len(self._steps) > self._limit:
            self._steps.clear()
        following = self._close((states >> 1) & self._mask(letter))
        self._steps[states, letter] = following
        return following

    def _mask(self, letter: str) -> int:
        """The instructions that consume a letter."""
        mask = self._masks.get(letter)
        if mask is None:
            if len(self._masks) > self._limit:
                self._masks.clear()
            predicates = self._letters.predicates
            spend(len(self._classes))
            mask = sum(bits for i, bits in self._classes.items() if predicates[i](letter))
            self._masks[letter] = mask
        return mask

    def _close(self, states: int, stays: tuple[bool, ...] = ()) -> int:
        """Add the instructions that lead to these without consuming anything."""
        key = states, stays
        result = self._closed.get(key)
        if result is None:
            if len(self._closed) > self._limit:
                self._closed.clear()
            result = self._closed[key] = self._closure(states, stays)
        return result

    def _closure(self, states: int, stays: tuple[bool, ...]) -> int:
        gates = 0  # instructions right after a condition that holds
        for condition, stay in zip(self._conditions, stays, strict=False):
            gates |= condition.places << 1 if stay else 0
        targets, processed = self._joins | gates, 0
        spend(1 + len(self._conditions))
        while pending := states & targets & ~processed:
            last = pending.bit_length() - 1
            processed |= 1 << last
            spend(_CLOSING_STEPS)
            if self._joins >> last & 1:
                reaching = self._leading_to(last)
                states |= reaching
                processed |= reaching & ~gates
            if gates >> last & 1:
                states |= 1 << (last - 1)
        return states

    def _leading_to(self, place: int) -> int:
        """The instructions from which forks alone lead to one."""
        reaching = self._reaching.get(place)
        if reaching is None:
            reaching, pending = 1 << place, [place]
            while pending:
                sources = self._before.get(pending.pop(), ())
                spend(1 + len(sources))
                for source in sources:
                    if not reaching >> source & 1:
                        reaching |= 1 << source
                        pending.append(source)
            self._reaching[place] = reaching
        return reaching

    @cached_property
    def _order(self) -> list[int]:
        """The instructions, each after all to which it leads without consuming anything."""
        order: list[int] = []
        done: set[int] = set()
        pending = [(i, False) for i in range(len(self._code))]
        while pending:
            i, finished = pending.pop()
            if finished:
                order.append(i)
            elif i not in done:
                done.add(i)
                pending.append((i, True))
                pending += [(target, False) for target in self._onward(i)]
        return order

    def _onward(self, i: int) -> tuple[int, ...]:
        instruction = self._code[i]
        if instruction is None or isinstance(instruction, Letter):
            return ()
        if isinstance(instruction, Commit) and instruction.consumes:
            return ()
        return instruction.targets if isinstance(instruction, Fork) else (i + 1,)


class _Condition:
    """An instruction whose outcome depends on the text around a position; may occur repeatedly."""

    def __init__(self, instruction: Anchor | LookAround | Commit) -> None:
        self._instruction, self.places = instruction, 0
        is_anchor = isinstance(instruction, Anchor)
        self._scanner = None if is_anchor else Scanner(instruction.program)

    def table(self, text: str) -> list[int | None]:
        """For every position, where to continue; None: nowhere."""
        instruction, positions = self._instruction, range(len(text) + 1)
        spend(len(positions))
        if isinstance(instruction, Anchor):
            return [i if instruction.holds_at(text, i) else None for i in positions]
        assert self._scanner is not None
        if isinstance(instruction, LookAround):
            starts = [False] * instruction.width + self._scanner.starts(text)
            return [i if starts[i] != instruction.negated else None for i in positions]
        return _repeated(self._scanner.ends(text), instruction.least, instruction.most)


def _repeated(ends: list[int | None], least: int, most: float) -> list[int | None]:
    """Where the preferred matches end if there are as many as possible, one after another."""
    table: list[int | None] = []
    for start in range(len(ends)):
        at, count = start, 0
        while count < most:
            onward = ends[at]
            if onward is None or onward == at:
                break
            at, count = onward, count + 1
            spend(1)
        table.append(at if count >= least or ends[at] is not None else None)
    return table


# Pattern references -------------------------------------------------------------------------------
# Matching patterns that refer to groups, such as `(left|right)_.*_\1`: a search with a limit.
#
# Every configuration (instruction, position, groups) is tried once. There can be many of them, as
# groups differ in where they begin and end; each spends steps of the value's budget.


#: Steps that one configuration takes.
STEPS_EACH = 3
_UNSET = -1

Configuration = tuple[int, int, tuple[int, ...]]


class GroupSearch:
    """Matches one text with a program."""

    def __init__(self, program: PatternProgram, text: str) -> None:
        self._program, self._text = program, text

    def matches(self) -> bool:
        """Whether all of the text matches.

        Raises:
            TooManySteps: the budget is used up.
        """
        return self._leads(self._program, 0, self._no_groups, is_whole=True)

    def occurs(self) -> bool:
        """Whether some part of the text matches.

        Raises:
            TooManySteps: the budget is used up.
        """
        starts = range(len(self._text) + 1)
        return any(self._leads(self._program, i, self._no_groups) for i in starts)

    @property
    def _no_groups(self) -> tuple[int, ...]:
        return (_UNSET,) * (2 * len(self._program.groups))

    def _leads(
        self,
        program: PatternProgram,
        start: int,
        groups: tuple[int, ...],
        *,
        is_whole: bool = False,
    ) -> bool:
        """Whether a program accepts, begun at a position; at the end of the text if is_whole."""
        pending: list[Configuration] = [(0, start, groups)]
        tried: set[Configuration] = set()
        while pending:
            configuration = pending.pop()
            if configuration in tried:
                continue
            tried.add(configuration)
            spend(STEPS_EACH + len(groups) // 8)
            i, at, groups = configuration
            if program.instructions[i] is not None:
                pending += self._onward(program, i, at, groups)
            elif not is_whole or at == len(self._text):
                return True
        return False

    def _onward(
        self, program: PatternProgram, i: int, at: int, groups: tuple[int, ...]
    ) -> list[Configuration]:
        instruction, text = program.instructions[i], self._text
        if isinstance(instruction, Letter):
            fits = at < len(text) and program.letters.predicates[instruction.index](text[at])
            return [(i + 1, at + 1, groups)] if fits else []
        if isinstance(instruction, Fork):
            return [(target, at, groups) for target in reversed(instruction.targets)]
        if isinstance(instruction, Anchor | LookAround):
            return [(i + 1, at, groups)] if self._holds(instruction, at, groups) else []
        return self._group_onward(instruction, i, at, groups)

    def _holds(self, condition: Anchor | LookAround, at: int, groups: tuple[int, ...]) -> bool:
        if isinstance(condition, Anchor):
            return bool(condition.holds_at(self._text, at))
        start = at - condition.width
        matches = start >= 0 and self._leads(condition.program, start, groups)
        return matches != condition.negated

    def _group_onward(
        self, instruction: Instruction, i: int, at: int, groups: tuple[int, ...]
    ) -> list[Configuration]:
        text = self._text
        if isinstance(instruction, SaveGroup):
            index = instruction.index
            return [(i + 1, at, (*groups[:index], at, *groups[index + 1 :]))]
        if isinstance(instruction, GroupChoice):
            is_set = groups[2 * instruction.group + 1] != _UNSET
            return [(instruction.present if is_set else instruction.absent, at, groups)]
        assert isinstance(instruction, RepeatGroup)
        start, end = groups[2 * instruction.group : 2 * instruction.group + 2]
        if end == _UNSET:
            return []
        spend(end - start)
        group, again = text[start:end], text[at : at + end - start]
        is_equal = list(map(instruction.fold, group)) == list(map(instruction.fold, again))
        return [(i + 1, at + len(group), groups)] if is_equal else []


# Patterns -----------------------------------------------------------------------------------------
# Name patterns: regular expressions that cannot take long, whatever names they are matched with.
#
# They mean what they mean to `re.fullmatch`, but are not matched by Python's matcher, which tries
# alternatives one after another: `(a+)+` makes it try exponentially many. The steps of all patterns
# of one value are counted together, see `pattern_budget`.


MAX_LENGTH = 1000
T = TypeVar("T")


#: A name with `.*` in it, as most patterns are.
_PLAIN = re.compile(r"(?:[A-Za-z0-9_-]|\.\*)*")


class NamePattern:
    """A compiled pattern.

    Raises:
        UnsupportedPattern: it is valid, but cannot be matched in bounded time.
        re.error, OverflowError, RecursionError: it is not valid.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags
        #: The letters between `.*` of a pattern that has nothing else; None: it has.
        self._pieces = pattern.split(".*") if not flags and _PLAIN.fullmatch(pattern) else None
        if self._pieces is None:
            _ = self._scanner  # raises what is wrong with the pattern
        else:
            spend(len(pattern))

    @cached_property
    def _program(self) -> PatternProgram:
        return translate(self.pattern, self._flags)

    @cached_property
    def _scanner(self) -> Scanner | None:
        return None if self._program.groups else Scanner(self._program)

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
        if self._pieces is not None:
            return _joins(name, self._pieces)
        if self._scanner is not None:
            return self._scanner.matches(name)
        return GroupSearch(self._program, name).matches()

    def _occurs(self, text: str) -> bool:
        if self._scanner is not None:
            return any(self._scanner.starts(text))
        return GroupSearch(self._program, text).occurs()


def _joins(name: str, pieces: list[str]) -> bool:
    """Whether a name consists of the pieces, in order, and any letters between these."""
    if len(pieces) == 1:
        return name == pieces[0]
    first, *middle, last = pieces
    at, end = len(first), len(name) - len(last)
    if not name.startswith(first) or not name.endswith(last) or at > end or "\n" in name:
        return False
    for piece in middle:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> NamePattern:
    """Compile a name pattern.

    Raises:
        BindingError: it is not a regular expression, or could take too long to match.
    """
    if len(pattern) > MAX_LENGTH:
        raise BindingError(f"a pattern has at most {MAX_LENGTH} letters, this one {len(pattern)}")
    try:
        flags = re.IGNORECASE if ignore_case else 0
        return _counted(pattern, _compile, pattern, flags)
    except RecursionError:
        problem = "its groups are nested too deeply"
    except (re.error, OverflowError, UnsupportedPattern) as error:
        problem = str(error)
    raise BindingError(f"{_shown(pattern)!r} is not a valid pattern: {problem}")


_compile = lru_cache(1000)(NamePattern)


def _counted(pattern: str, function: Callable[..., T], *arguments: object) -> T:
    """Call a function that spends steps of a pattern."""
    if not is_counting():
        with pattern_budget():
            return _counted(pattern, function, *arguments)
    begin_pattern(pattern)
    try:
        return function(*arguments)
    except TooManySteps as error:
        _compile.cache_clear()  # else a second attempt, with more remembered, could be accepted
        raise BindingError(
            f"{_shown(error.pattern)!r} takes too many steps to match: all patterns of one value "
            f"have {MAX_STEPS}; write fewer repetitions, alternatives and group references, or "
            "the names themselves"
        ) from None


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= 100 else f"{pattern[:100]}…"


# Slots --------------------------------------------------------------------------------------------


class Slots:
    """The slots that values are resolved for, each with its aliases, and their owner.

    Each slot has the names it answers to, actuator first: `("FL_hip", "FL_roll_hip")`; `kind` is
    what messages call a slot.
    """

    __slots__ = ("aliases", "kind", "owner")

    def __init__(
        self,
        aliases: Sequence[Sequence[str]],
        owner: str = "",
        kind: str = "actuator or joint",
    ) -> None:
        self.aliases = tuple(tuple(dict.fromkeys(a)) for a in aliases)
        self.owner, self.kind = owner, kind

    def __len__(self) -> int:
        return len(self.aliases)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Slots):
            return NotImplemented
        same_names = (self.aliases, self.owner, self.kind)
        return same_names == (other.aliases, other.owner, other.kind)

    __hash__ = None  # type: ignore[assignment]

    @property
    def names(self) -> tuple[str, ...]:
        """The first alias of each slot."""
        return tuple(a[0] for a in self.aliases)

    @pattern_budget()
    def match(self, pattern: str) -> list[int]:
        """Indices of the slots one of whose names the pattern is, or else matches in full.

        Raises:
            BindingError: it is not a valid pattern, or matches nothing; the nearest name is given.
        """
        found = [i for i, names in enumerate(self.aliases) if pattern in names]
        if found:  # a name may read like a pattern: `m_(0)`
            return found
        try:
            fullmatch = compile_pattern(pattern).fullmatch
        except BindingError as error:
            raise BindingError(str(error), at=(pattern,), about_key=True) from None
        found = [i for i, names in enumerate(self.aliases) if any(map(fullmatch, names))]
        if not found:
            raise BindingError(self.nothing_matches(pattern), at=(pattern,), about_key=True)
        return found

    def nothing_matches(self, pattern: str) -> str:
        """The message for a pattern without a match."""
        whose = f" of {self.owner!r}" if self.owner else ""
        names = list(dict.fromkeys(n for alias in self.aliases for n in alias))
        hint = _nearest_pattern(pattern, names)
        hint = f"did you mean {hint!r}?" if hint else f"available: {listed(names)}"
        return f"{pattern!r} matches no {self.kind}{whose}; {hint}"

    @pattern_budget()
    def spread(self, values: Mapping[str, T], style: str = "") -> dict[int, tuple[str, T]]:
        """Slot → (pattern, value) for a mapping of patterns; `style` formats values in messages.

        Raises:
            BindingError: a pattern matches nothing, or two patterns disagree about a slot.
        """
        chosen: dict[int, tuple[str, T]] = {}
        for pattern, value in values.items():
            for i in self.match(pattern):
                if i in chosen and chosen[i][1] != value:
                    other, before = chosen[i]
                    raise BindingError(
                        f"{self.names[i]!r} is matched by {other!r} ({before:{style}}) "
                        f"and {pattern!r} ({value:{style}})",
                        at=(pattern,),
                        about_key=True,
                    )
                chosen[i] = (pattern, value)
        return chosen

    @pattern_budget()
    def without(
        self, values: Mapping[str, T], taken: Collection[int], *, kept: Collection[str] = ()
    ) -> dict[str, T]:
        """A mapping of patterns that is silent about some slots.

        A pattern that matches one of them and others is replaced by the names of the others, since
        two patterns that disagree about a slot are an error.

        Args:
            values: by pattern.
            taken: the slots.
            kept: keys that are not patterns.

        Raises:
            BindingError: a pattern matches nothing.
        """
        found: dict[str, T] = {}
        for pattern, value in values.items():
            matched = [] if pattern in kept else self.match(pattern)
            if set(matched) & set(taken):
                found |= {literal(self.names[i]): value for i in matched if i not in taken}
            else:
                found[pattern] = value
        return found


def _nearest_pattern(pattern: str, names: Sequence[str]) -> str | None:
    """A typo inside a pattern keeps its wildcard: '.*_hpi' → '.*_hip'."""
    short = [name for name in names if len(name) <= MAX_COMPARED][:MAX_CANDIDATES]
    candidates = list(short)
    if pattern.startswith(".*"):
        candidates += [".*" + name[i:] for name in short for i in range(1, len(name))]
    if pattern.endswith(".*"):
        candidates += [name[:i] + ".*" for name in short for i in range(1, len(name))]
    return nearest(pattern, dict.fromkeys(candidates))
