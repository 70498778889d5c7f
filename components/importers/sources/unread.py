"""Fields of a configuration that no reader knows: they are listed, never dropped."""

from collections.abc import Collection, Iterable
from typing import Any

from mjrig.components.importers.sources.found import Doubt
from mjrig.components.importers.sources.vendor_file import VendorEntry

#: Values that switch a field off.
_OFF: tuple[Any, ...] = (None, False, 0, "", [], {})


def unread(places: Iterable[tuple[VendorEntry, Collection[str]]]) -> tuple[Doubt, ...]:
    """A finding about all fields with a value that are not among the known ones of their place."""
    found = [
        f"{'.'.join(map(str, (*entry.path, key)))} {_brief(value)}"
        for entry, known in places
        for key, value in entry.mapping().items()
        if key not in known and value not in _OFF
    ]
    if not found:
        return ()
    text = f"fields that are not known, and not taken over: {'; '.join(found)}"
    fix = "if they change observations or targets, policy.yaml lacks that"
    return (Doubt("not-taken-over", text, fix),)


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
