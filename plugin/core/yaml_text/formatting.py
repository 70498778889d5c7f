"""Formatting of plain values as YAML text."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Every value written out, on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def _text(self, data: str) -> Any:
        style = '"' if len(data.splitlines()) > 1 or data[-1:].isspace() else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper._text)


def format_flow(value: Any) -> str:
    """A value on one line, as it may follow a key."""
    text = dump(value)
    return text.removesuffix("...\n").removesuffix("\n")


def format_inside_flow(value: Any) -> str:
    """A value on one line, as it may appear between brackets: `a,b` needs quotes there."""
    return dump([value])[1:-2]


def dump(value: Any, style: str | None = None) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=True,
        default_style=style,
        width=1_000_000,
        sort_keys=False,
        allow_unicode=True,
    )
    return text


def format_block(value: Any, indent: int) -> str:
    """A value as an indented block; lists and mappings of plain values stay on one line."""
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        lines = []
        for key, item in value.items():
            head = f"{pad}{format_flow(key)}:"
            if is_flat(item):
                lines.append(f"{head} {format_flow(item)}")
            else:
                lines.append(f"{head}\n{format_block(item, indent + 2)}")
        return "\n".join(lines)
    if isinstance(value, list | tuple) and value:
        return "\n".join(f"{pad}- {format_block(item, indent + 2).lstrip(' ')}" for item in value)
    return pad + format_flow(value)


def is_flat(value: Any) -> bool:
    """Whether a value reads well on one line: a scalar, or a collection of scalars."""
    items = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return True
    return all(not isinstance(i, Mapping | list | tuple) for i in items)
