"""Undo and redo: a bounded list of named groups of edits, with a short text of each change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mjrig.core.yaml_text.formatting import format_flow
from mjrig.editor.edits.edits import UNSET, Edit, merged
from mjrig.editor.text import tr

# Change text --------------------------------------------------------------------------------------
# What a group of edits changed, in a few words: `10 -> 20`.


#: So many values are written out, each with so many characters at most.
_VALUES, _LONGEST = 3, 24


def change_text(edits: Sequence[Edit]) -> str:
    """Each value before and after; a number of values where there are many.

    Empty where items were added, removed or moved: the name of such an edit tells it.
    """
    if any(edit.moves_items for edit in edits):
        return ""
    if len(edits) == 1:
        return _both(edits[0])
    if len(edits) > _VALUES:
        return tr("{count} values", count=len(edits))
    return ", ".join(f"{edit.path[-1]} {_both(edit)}" for edit in edits)


def _both(edit: Edit) -> str:
    return f"{_text(edit.before)} -> {_text(edit.after)}"


def _text(value: Any) -> str:
    text = "default" if value is UNSET else format_flow(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# Undo ---------------------------------------------------------------------------------------------


#: What is kept at most: entries, and values in all of them together. The oldest go first.
MAX_ENTRIES = 2000
MAX_VALUES = 200_000


@dataclass(frozen=True)
class UndoEntry:
    """The edits that one undo takes back."""

    name: str
    edits: tuple[Edit, ...]
    #: Edits that follow each other with one key are one entry, until `seal`.
    merge: str | None = None
    #: What file names in them are relative to, and whether the scene had no file of its own then.
    folder: Path = Path()
    is_of_new_scene: bool = False
    #: What the actors did on its other side, where it made a new world; the session's own.
    kept: Any = None

    @cached_property
    def size(self) -> int:
        """Number of values it keeps."""
        return sum(_size(edit.before) + _size(edit.after) for edit in self.edits)

    @cached_property
    def change(self) -> str:
        """The values before and after; empty where its name tells it."""
        return change_text(self.edits)


class UndoStack:
    """The edits so far, and how far back we are in them."""

    def __init__(self) -> None:
        self._entries: list[UndoEntry] = []
        self._done = 0
        self._saved: int | None = 0
        self._forgotten = 0

    def push(self, entry: UndoEntry) -> None:
        """Note edits that were made; what was undone before it is forgotten."""
        if self._saved is not None and self._saved > self._done:
            self._saved = None  # the saved state can no longer be reached
        del self._entries[self._done :]
        last = self._entries[-1] if self._entries else None
        if entry.merge is not None and last is not None and last.merge == entry.merge:
            edits = merged(last.edits, entry.edits)
            kept = entry.kept if last.kept is None else last.kept
            self._entries[-1] = replace(entry, edits=edits, kept=kept)
            if self._saved == self._done:
                self._saved = None
        else:
            self._entries.append(entry)
            self._done += 1
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Keep within the bounds; the last edit can always be undone."""
        size = sum(entry.size for entry in self._entries)
        while len(self) > 1 and (len(self) > MAX_ENTRIES or size > MAX_VALUES):
            size -= self._entries.pop(0).size
            self._done -= 1
            self._forgotten += 1
            if self._saved is not None:
                self._saved = self._saved - 1 if self._saved > 0 else None

    def seal(self) -> None:
        """End a merged entry: the mouse button was released."""
        if self._entries and self._entries[-1].merge is not None and self._done == len(self):
            self._entries[-1] = replace(self._entries[-1], merge=None)

    @property
    def undoable(self) -> UndoEntry | None:
        """What undo would take back."""
        return self._entries[self._done - 1] if self._done else None

    @property
    def redoable(self) -> UndoEntry | None:
        """What redo would do again."""
        return self._entries[self._done] if self._done < len(self._entries) else None

    def step_back(self, *, kept: Any = None) -> UndoEntry:
        """Note that the last edit was undone, and return it."""
        self._done -= 1
        return self._crossed(kept)

    def step_forward(self, *, kept: Any = None) -> UndoEntry:
        """Note that the next edit was made again, and return it."""
        self._done += 1
        return self._crossed(kept, -1)

    def _crossed(self, kept: Any, offset: int = 0) -> UndoEntry:
        """The entry that was just crossed; from now on it leads back to where we came from."""
        at = self._done + offset
        self._entries[at] = replace(self._entries[at], kept=kept)
        return self._entries[at]

    @property
    def is_dirty(self) -> bool:
        """Whether the scene differs from what was saved."""
        return self._saved != self._done

    def mark_saved(self) -> None:
        """The present state is on disk."""
        self.seal()
        self._saved = self._done

    @property
    def names(self) -> Sequence[str]:
        """All entries that are kept, oldest first."""
        return [entry.name for entry in self._entries]

    @property
    def entries(self) -> Sequence[UndoEntry]:
        """The same, with what they changed."""
        return tuple(self._entries)

    @property
    def forgotten(self) -> int:
        """How many edits can no longer be undone."""
        return self._forgotten

    @property
    def position(self) -> int:
        """How many edits are done, forgotten ones included."""
        return self._forgotten + self._done

    def __len__(self) -> int:
        return len(self._entries)


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list | tuple) else 1
