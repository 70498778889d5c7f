"""Text for a terminal: names in files must not move the cursor, colour it or turn text around."""

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO

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
