"""Matching in time linear in the text: one pass from its end to its start.

The states of a position are the instructions from which the rest of the text can be matched, as
bits of an integer. A letter falls through to the next instruction, so that the states of a position
follow from those of the next by a shift. Look-arounds become tables over all positions beforehand.
"""

from functools import cached_property

from mjrig.pattern_budget import spend
from mjrig.pattern_program import Anchor, Commit, Fork, Letter, LookAround, PatternProgram

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
