"""Messages compared by what they name: the wrong value, its place, what would be right.

A pattern has `…` for any text: `walker.yaml:7:6: kds: … 4 values, … 3`.
"""

import re


def regex(pattern: str) -> str:
    """The regular expression of a pattern, for `match=`."""
    return ".*".join(map(re.escape, pattern.split("…")))


def matches(text: object, pattern: str) -> bool:
    """Whether a message is the pattern from its first to its last character."""
    return re.fullmatch(regex(pattern), str(text), re.DOTALL) is not None


def mentions(text: object, pattern: str) -> bool:
    """Whether a message contains the pattern."""
    return re.search(regex(pattern), str(text), re.DOTALL) is not None
