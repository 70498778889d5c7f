"""Loading a gain preset onto an actor as an edit that can be undone."""

from collections.abc import Sequence
from pathlib import Path

from mjrig.editor.gains.gain_edits import set_gains
from mjrig.editor.session.session import Session
from mjrig.editor.texts.texts import tr
from mjrig.errors import BindingError
from mjrig.gains.gain_presets import PresetFit, fit, read_preset
from mjrig.gains.gain_rows import GainRow


def load_preset(session: Session, path: Path, rows: Sequence[GainRow]) -> PresetFit:
    """Put a preset onto an actor, all or nothing, as one undo entry.

    Raises:
        MjrigError: it cannot be read, does not fit, or a value was refused; nothing was changed.
    """
    locked = next((r.locked for r in rows if r.locked), "")
    if locked:
        raise BindingError(f"{rows[0].actor}: {locked}")
    found = fit(read_preset(path), rows)
    set_gains(
        session,
        found.changes,
        title=tr("Load {name} onto {actor}", name=path.name, actor=rows[0].actor),
    )
    return found
