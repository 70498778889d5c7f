"""Names that are unique: duplicates are numbered, and again until none is left."""

from collections import Counter
from collections.abc import Collection, Sequence


def enumerated(wanted: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """The names with `_(0)`, `_(1)`, … behind those that stand more than once.

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
