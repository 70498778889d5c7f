"""Terminal output: help pages by groups of commands, and text without control characters."""

import argparse
import json
import re
import shlex
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO

from mjrig.core.names import suggestion

# Help ---------------------------------------------------------------------------------------------
# Help pages of the command line: groups of commands, examples at the end of each page.


#: Headings of `mjrig --help` and their commands, in the order they are shown.
GROUPS = {
    "scenes": ("new", "check", "diff", "components", "schema", "export"),
    "run": ("run", "edit", "serve"),
    "policies": ("import", "replay", "bench"),
    "recordings": ("info", "convert"),
    "tuning": ("tune", "sweep", "optimise"),
    "set-up": ("doctor",),
}
OTHER = "other"


def command_line() -> str:
    """The command line of this process, for the head of a report."""
    return shlex.join(["mjrig", *sys.argv[1:]])


def examples(parser: argparse.ArgumentParser, *lines: str) -> None:
    """End the help page of a command with command lines that can be run as they are."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(("examples:", *(f"  {line}" for line in lines)))


class Program(argparse.ArgumentParser):
    """Says which command a mistyped one most likely means."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse offers no public way to word this.
        names = list(action.choices or ())
        if isinstance(action, argparse._SubParsersAction) and value not in names:
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}; {suggestion(value, names)}"
            )
        super()._check_value(action, value)


class GroupedCommands(argparse.RawDescriptionHelpFormatter):
    """Lists the commands of the program under the headings of `GROUPS`."""

    def _format_action(self, action: argparse.Action) -> str:
        # argparse offers no public way to divide the sub-commands of one parser.
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        summaries = {c.dest: c.help or "" for c in action._get_subactions()}
        width = max(map(len, summaries))
        lines = []
        for heading, names in grouped(summaries):
            lines.append(f"  {heading}")
            lines += [f"    {name:<{width}}  {summaries[name]}".rstrip() for name in names]
        return "\n".join(lines) + "\n"


def grouped(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Headings with their commands; commands of other packages come last."""
    there = list(names)
    known = {name for group in GROUPS.values() for name in group}
    groups = [(h, [n for n in group if n in there]) for h, group in GROUPS.items()]
    groups.append((OTHER, [name for name in there if name not in known]))
    return [(heading, found) for heading, found in groups if found]


# Printable ----------------------------------------------------------------------------------------
# Text for a terminal: names in files must not move the cursor, colour it or turn text around.


#: Shown as they are: line breaks, and the joiners that some scripts need.
_KEPT = frozenset("\n\t\u200c\u200d")
#: Control characters, marks that change the direction, surrogates, line and paragraph separators.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Our own progress lines: back to the start of the line, which is cleared.
_PROGRESS = re.compile(r"(\r(?:\x1b\[K)?)(.*?)(\r?)", re.DOTALL)


def printable(text: str) -> str:
    """The text with everything that is not shown written out as in JSON: `\\u001b`, `\\u202e`."""
    return text if text.isprintable() else "".join(map(_shown, text))


@cache
def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return json.dumps(character)[1:-1]


class _PrintableStream:
    """A text stream that writes printable text only."""

    def __init__(self, stream: TextIO, *, shows_progress: bool) -> None:
        self._stream, self._shows_progress = stream, shows_progress

    def write(self, text: str) -> int:
        progress = _PROGRESS.fullmatch(text) if self._shows_progress else None
        start, middle, end = progress.groups() if progress else ("", text, "")
        self._stream.write(start + printable(middle) + end)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printing_safely() -> Iterator[None]:
    """Make everything that is printed printable, whatever the names in it."""
    before = sys.stdout, sys.stderr
    out: Any = _PrintableStream(before[0], shows_progress=False)
    error: Any = _PrintableStream(before[1], shows_progress=True)
    sys.stdout, sys.stderr = out, error
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
