"""Names: lists in messages, nearest valid names, unique names."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

MAX_LISTED = 12
#: Letters of a name, and number of names, that are searched for what a typo meant.
MAX_COMPARED = 120
MAX_CANDIDATES = 3000
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


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
