"""Names: lists in messages, nearest valid names, values by name pattern, unique names."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern

MAX_LISTED = 12
#: Letters of a name, and number of names, that are searched for what a typo meant.
MAX_COMPARED = 120
MAX_CANDIDATES = 3000
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
T = TypeVar("T")


def listed(names: Iterable[str]) -> str:
    """Names separated by commas, cut when the list is long."""
    names = list(names)
    shown = ", ".join(names[:MAX_LISTED])
    return f"{shown}, …" if len(names) > MAX_LISTED else shown or "none"


def how_many(count: int, noun: str) -> str:
    """`1 actuator`, `12 actuators`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate a typo most likely meant, or None."""
    name = str(name)  # a number where a name belongs is a typo too
    # Comparing takes the product of the lengths: long names are no typos.
    candidates = [c for c in candidates if len(c) <= MAX_COMPARED][:MAX_CANDIDATES]
    if len(name) > MAX_COMPARED:
        return None
    lowered = {c.lower(): c for c in reversed(candidates)}
    if name.lower() in lowered:
        return lowered[name.lower()]
    typed = name.lower()
    counts = []
    for i, candidate in enumerate(candidates):
        low = candidate.lower()
        allowed = max(1, min(len(typed), len(low)) // 3)
        if abs(len(low) - len(typed)) <= allowed and len(low + typed) > 2:
            count = _typos(typed, low)
            counts += [(count, i)] if count <= allowed else []
    if counts:
        return candidates[min(counts)[1]]
    return min((c for c in candidates if _is_part(name, c)), key=len, default=None)


def _is_part(name: str, candidate: str) -> bool:
    """Whether a name is some words of another: `bend` of `FR_bend`, `Command` of `CommandTerm`."""
    one, two = ("_".join(_WORD.findall(text)).lower() for text in (name, candidate))
    return len(one) >= 4 and f"_{one}_" in f"_{two}_"


def _typos(one: str, two: str) -> int:
    """How many letters were missed, doubled, changed or swapped with their neighbour."""
    before, row = list[int](), list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(two, 1):
            cost = min(row[-1] + 1, before[j] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def suggestion(name: str, candidates: Iterable[str], *, label: str = "available") -> str:
    """`did you mean 'x'?`, or the list of candidates."""
    candidates = list(dict.fromkeys(candidates))
    close = nearest(name, candidates)
    return f"did you mean {close!r}?" if close else f"{label}: {listed(candidates)}"


def is_literal(pattern: str) -> bool:
    """Whether a pattern is a plain name, with nothing a regular expression would expand."""
    return literal(pattern) == pattern


def literal(name: str) -> str:
    """The pattern that matches this name only."""
    return re.escape(name).replace("\\-", "-")


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


def unique(name: str, taken: Iterable[str]) -> str:
    """The name itself, or with `_2`, `_3`, … where it is taken."""
    return UniqueNames(taken).give(name)


class UniqueNames:
    """Gives names one after the other, none twice: `leg`, `leg_2`, …"""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: Counter[str] = Counter()

    def give(self, name: str) -> str:
        """The name itself, or with the first number that is free."""
        candidate, count = name, max(1, self._counts[name])
        while candidate in self._taken:
            count += 1
            candidate = f"{name}_{count}"
        self._counts[name] = count
        self._taken.add(candidate)
        return candidate


def enumerated(wanted: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """The names with `_(0)`, `_(1)`, … appended to those that occur more than once.

    Args:
        wanted: names, in order.
        taken: names that stay as they are; a wanted one that is among them is numbered too.
    """
    names = list(wanted)
    fixed = set(taken)
    while True:
        times = Counter(names)
        if not any(times[n] > 1 or n in fixed for n in names):
            return names
        seen: Counter[str] = Counter()
        for i, name in enumerate(names):
            if times[name] > 1 or name in fixed:
                names[i] = f"{name}_({seen[name]})"
                seen[name] += 1
