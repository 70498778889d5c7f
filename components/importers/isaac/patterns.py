"""Names and values by regular expression, as Isaac Lab and mjlab resolve them: `re.fullmatch`."""

import math
import re
from collections.abc import Sequence
from typing import Any

from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.core.errors import BindingError
from mjrig.core.names import listed, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern

Values = list[float | None]
_CLASS = re.compile(r"<(?:class|function) '?([^' >]+)")


@pattern_budget()
def matching(entry: VendorEntry, pattern: object, names: Sequence[str]) -> list[str]:
    """The names that a pattern matches in full.

    Raises:
        SceneError: it is not a valid pattern.
    """
    try:
        fullmatch = compile_pattern(str(pattern)).fullmatch
        return [name for name in names if fullmatch(name)]
    except BindingError as error:
        raise entry.error(str(error)) from None


@pattern_budget()
def chosen(entry: VendorEntry, names: Sequence[str], *, keep_order: bool = False) -> list[str]:
    """The names that a pattern or a list of patterns selects, in the order of `names`.

    Args:
        keep_order: in the order of the patterns instead (`preserve_order`).

    Raises:
        SceneError: a pattern matches nothing, or two match one name.
    """
    patterns = [item.data for item in entry.one_or_more()]
    found: list[str] = []
    for pattern in patterns:
        own = matching(entry, pattern, names)
        if not own:
            hint = suggestion(str(pattern), names)
            raise entry.error(f"the pattern {str(pattern)!r} matches no joint; {hint}")
        twice = next((name for name in own if name in found), None)
        if twice is not None:
            raise entry.error(f"two patterns match {twice!r}: {listed(list(map(str, patterns)))}")
        found += own
    return found if keep_order else [name for name in names if name in found]


@pattern_budget()
def per_name(
    entry: VendorEntry, names: Sequence[str], unmatched: list[str], *, infinite: bool = False
) -> Values:
    """One value per name: of a number, a list, or numbers by pattern; None where none is given.

    Patterns that match nothing are added to `unmatched`; `infinite`: +inf is a value too.

    Raises:
        SceneError: it is none of these, or two patterns match one name.
    """
    data: Any = entry.data
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        return _by_pattern(entry, names, unmatched, infinite=infinite)
    if isinstance(data, list):
        return list(flat_numbers(entry, len(names)))
    return [entry.as_number(infinite=infinite)] * len(names)


def _by_pattern(
    entry: VendorEntry, names: Sequence[str], unmatched: list[str], *, infinite: bool
) -> Values:
    found = entries_by_name(entry, names, unmatched)
    values = {
        name: None if item.data is None else item.as_number(infinite=infinite)
        for name, item in found.items()
    }
    return [values.get(name) for name in names]


def entries_by_name(
    entry: VendorEntry, names: Sequence[str], unmatched: list[str]
) -> dict[str, VendorEntry]:
    """What a mapping by pattern has for each name; patterns for none are added to `unmatched`.

    Raises:
        SceneError: two patterns match one name.
    """
    found: dict[str, VendorEntry] = {}
    origin: dict[str, str] = {}
    for pattern, item in entry.entries():
        own = matching(entry, pattern, names)
        if not own:
            unmatched.append(f"{'.'.join(map(str, entry.path))}.{pattern}")
        for name in own:
            if name in found:
                raise entry.error(f"{origin[name]!r} and {pattern!r} both match {name!r}")
            found[name], origin[name] = item, pattern
    return found


def flat_numbers(entry: VendorEntry, size: int) -> list[float]:
    """`size` numbers of a number, a list, or a list of one list (a tensor of one environment).

    Raises:
        SceneError: it is none of these, or of another length.
    """
    if not isinstance(entry.data, list):
        return [entry.as_number()] * size
    items = entry.items()
    if len(items) == 1 and isinstance(items[0].data, list):
        items = items[0].items()
    values = [item.as_number() for item in items]
    if len(values) == 1:
        return values * size
    if len(values) != size:
        raise entry.error(f"must have {size} values, one each, got {len(values)}")
    return values


def bounds(entry: VendorEntry) -> list[float]:
    """A pair [low, high]; infinite ends are allowed.

    Raises:
        SceneError: it is not a pair of numbers, low first.
    """
    pair = []
    for item in entry.items():
        try:
            pair.append(float(item.data))
        except (TypeError, ValueError):
            raise item.error(f"must be a number, got {item.data!r}") from None
    if len(pair) != 2 or any(map(math.isnan, pair)) or pair[0] > pair[1]:
        raise entry.error(f"must be [lowest, highest], got {entry.data!r}")
    return pair


def python_name(text: str) -> tuple[str, str]:
    """Module and name of `module:Name`, `module.Name` or `<class 'module.Name'>`.

    A lambda has no name: ("", "lambda").
    """
    text = text.strip()
    if text.startswith("lambda") or "<lambda>" in text:
        return "", "lambda"
    found = _CLASS.match(text)
    text = found.group(1) if found else text
    separator = ":" if ":" in text else "."
    module, _, name = text.rpartition(separator)
    return module, name
