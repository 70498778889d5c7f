"""Matching patterns that refer to groups, such as `(left|right)_.*_\\1`: a search with a limit.

Every configuration (instruction, position, groups) is tried once. There can be many of them, as
groups differ in where they begin and end; each spends steps of the value's budget.
"""

from mjrig.pattern_budget import spend
from mjrig.pattern_program import (
    Anchor,
    Fork,
    GroupChoice,
    Instruction,
    Letter,
    LookAround,
    PatternProgram,
    RepeatGroup,
    SaveGroup,
)

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
