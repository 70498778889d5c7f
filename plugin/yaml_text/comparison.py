"""Comparison of plain data: whether two values are equal, and which items of a list stayed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from mjrig.properties.bounds import number


def same(a: Any, b: Any) -> bool:
    """Whether two plain values mean the same: `1e-3` as text equals the number."""
    if type(a) is type(b) and isinstance(a, int | float | str) and a == b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is type(b) and a == b:
        return True
    x, y = number(a), number(b)
    return x is not None and y is not None and (x == y or (math.isnan(x) and math.isnan(y)))


def as_written(new: Any, before: Any, written: Any) -> Any:
    """`new`, with what did not change in the words of the file.

    Args:
        new: the data to write.
        before: the data as it was understood when the file was read.
        written: the data of the file: `null` for an empty name, one item for a list of one.
    """
    if same(before, written):
        return new
    if same(new, before):
        return written
    if isinstance(new, Mapping) and isinstance(before, Mapping) and isinstance(written, Mapping):
        silent = {k: v for k, v in written.items() if k not in before and k not in new}
        known = before.keys() & written.keys()
        return silent | {
            k: as_written(v, before[k], written[k]) if k in known else v for k, v in new.items()
        }
    lists = all(isinstance(v, list | tuple) for v in (new, before, written))
    if lists and len(before) == len(written):
        origin = {j: i for i, j in matched(list(before), list(new))[0].items()}
        return [
            as_written(v, before[origin[j]], written[origin[j]]) if j in origin else v
            for j, v in enumerate(new)
        ]
    return new


@dataclass
class Plan:
    """What becomes of the entries of a collection."""

    gone: set[int] = field(default_factory=set)
    #: Place among the old entries → the new ones that go in front of it.
    fresh: dict[int, Any] = field(default_factory=dict)


def matched(old: list[Any], new: list[Any]) -> tuple[dict[int, int], Plan]:
    """Which old items of a list correspond to which new ones; the rest are removed or new."""
    if len(old) == len(new) and all(number(v) is not None for v in (*old, *new)):
        return {i: i for i in range(len(old))}, Plan()  # a vector: each number has its own place
    kept: dict[int, int] = {}
    plan = Plan()
    exact = SequenceMatcher(None, [*map(repr, old)], [*map(repr, new)], False)
    for tag, i, i_end, j, j_end in exact.get_opcodes():
        if tag == "equal":
            kept.update(zip(range(i, i_end), range(j, j_end), strict=True))
            continue
        names = [identity(item) for item in old[i:i_end]], [identity(n) for n in new[j:j_end]]
        for kind, a, a_end, b, b_end in SequenceMatcher(None, *names, False).get_opcodes():
            if kind == "equal" or (kind == "replace" and a_end - a == b_end - b):
                kept.update(zip(range(i + a, i + a_end), range(j + b, j + b_end), strict=True))
                continue
            plan.gone.update(range(i + a, i + a_end))
            if b_end > b:
                plan.fresh.setdefault(i + a_end, []).extend(new[j + b : j + b_end])
    return kept, plan


def identity(item: Any) -> str:
    """What makes a list item the same one after an edit: its name, else its type, else itself."""
    if isinstance(item, Mapping):
        return str(item.get("name", item.get("type", sorted(item))))
    return repr(item)
