"""Texts of findings: the templates of `texts.py` filled with a finding's values.

A template is a `str.format` text. Its fields are the finding's `kind`, `actor`, `names`, `place`
(the names as text), `here`, `expected`, `unit`, `share`, and its evidence by name. Besides the
format codes of Python:

| field | text |
|---|---|
| `{names:listed}` | `a, b, c, …` |
| `{ways:or}` | `a, or b, or c` |
| `{ticks:many tick}` | `1 tick`, `12 ticks` |
| `{pairs:lines}` | `a; b; c` |
| `{share:removes}` | `removes 97% of the position error`; `{share:remove}` of several |
| `{each}` | the template `each` for every key of `here`, with that key's values |
| `[[, {more} more]]` | dropped if a field in it is empty, zero, False or None |
| `{flag:?}` | empty: only the condition of the brackets around it |
| `{--joints}` | the option of a command, for the window the field of that name |
"""

import re
from collections.abc import Callable, Iterable, Mapping
from string import Formatter
from typing import Any

from mjrig.core.errors import ReaderKind, Wording, option
from mjrig.core.findings import Finding
from mjrig.core.names import how_many, listed
from mjrig.lab.findings.texts import TEXTS, FindingText

#: Joints whose values are listed one by one.
EACH = 4
_FIELD = re.compile(r"[.\[]")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_OPTION = "--"
_NAMED_OPTION = re.compile(r"\{--(\w+)\}")


def wording(finding: Finding, part: str, audience: ReaderKind = ReaderKind.COMMAND) -> str:
    """The `text`, `fix` or `by_hand` of a finding, for an audience."""
    text = template(finding)
    values = {
        name: value.worded(audience) if isinstance(value, Wording) else value
        for name, value in field_values(finding).items()
    }
    return filled(getattr(text, part), values, text.each, audience)


def template(finding: Finding) -> FindingText:
    """The entry of a finding in the table."""
    return TEXTS[finding.form or finding.kind]


def field_values(finding: Finding) -> dict[str, Any]:
    """The values that a template can name."""
    return {
        "kind": finding.kind,
        "actor": finding.actor,
        "names": finding.names,
        "place": place(finding.names),
        "here": finding.here,
        "expected": finding.expected,
        "unit": finding.unit,
        "share": finding.share,
        "origin": "recording",
        **finding.evidence,
    }


def place(names: tuple[str, ...]) -> str:
    """Some joints by name, many by their number."""
    return ", ".join(names) if len(names) <= EACH else how_many(len(names), "joint")


def filled(
    text: str,
    values: Mapping[str, Any],
    each: str = "",
    audience: ReaderKind = ReaderKind.COMMAND,
) -> str:
    """A template with its fields filled in."""

    def section(match: re.Match[str]) -> str:
        inside = match[1]
        names = [_FIELD.split(name)[0] for _, name, _, _ in Formatter().parse(inside) if name]
        given = [n.startswith(_OPTION) or _is_given(values.get(n)) for n in names]
        return inside if all(given) else ""

    text = _OPTIONAL.sub(section, text)
    text = _NAMED_OPTION.sub(lambda match: option(match[1]).worded(audience), text)
    if "{each}" in text:
        values = {**values, "each": "; ".join(_each(each, values))}
    return _FORMATTER.vformat(text, (), values)


def _is_given(value: Any) -> bool:
    return bool(value) if not hasattr(value, "__len__") else len(value) > 0


def _each(each: str, values: Mapping[str, Any]) -> Iterable[str]:
    """The template `each` for every name, with the values that belong to it."""
    for name in values["here"]:
        one = {
            key: value.get(name) if isinstance(value, Mapping) else value
            for key, value in values.items()
        }
        yield filled(each, {**one, "name": name})


class _Formatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        code, _, noun = format_spec.partition(" ")
        if code in _CODES:
            return _CODES[code](value, noun)
        return format(value, format_spec) if format_spec else short(value)


_FORMATTER = _Formatter()
_CODES: dict[str, Callable[[Any, str], str]] = {
    "?": lambda value, _: "",
    "listed": lambda names, _: listed(map(str, names)),
    "or": lambda ways, _: ", or ".join(ways),
    "lines": lambda texts, _: "; ".join(texts),
    "many": how_many,
    "removes": lambda share, _: removes(share),
    "remove": lambda share, _: _removes(share, ""),
}


def removes(share: float) -> str:
    """The effect of one change on the position error."""
    return _removes(share, "s")


def _removes(share: float, s: str) -> str:
    if share > 0.005:
        return f"remove{s} {share:.0%} of the position error"
    return f"make{s} it worse" if share < -0.005 else f"change{s} nothing"


def short(value: object) -> str:
    """A value for a sentence; of several joints each, in their order; of many, their range."""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, dict) and value:
        numbers = [float(v) for v in value.values()]
        low, high = (f"{n:g}" for n in (min(numbers), max(numbers)))
        if low == high:
            return low
        return f"{low} to {high}" if len(numbers) > EACH else ", ".join(f"{n:g}" for n in numbers)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


Finding.wording = wording
