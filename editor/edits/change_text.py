"""What a group of edits changed, in a few words: `10 -> 20`."""

from collections.abc import Sequence
from typing import Any

from mjrig.editor.edits.edits import UNSET, Edit
from mjrig.editor.texts.texts import tr
from mjrig.yaml_text.formatting import format_flow

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
