"""RowSelection: rows of the gain table and selected joints and actuators are one choice."""

from collections.abc import Sequence

from mjrig.editor.session.elements import actuator_path, joint_path, split
from mjrig.editor.session.state import EditorState
from mjrig.gains.gain_rows import GainRow


class RowSelection:
    """Follows the selection of the window, and selects what rows are about."""

    def __init__(self, state: EditorState) -> None:
        self._state = state
        self._seen: list[str] = []

    def followed(self, rows: Sequence[GainRow], chosen: Sequence[str]) -> list[str] | None:
        """The rows of what was selected elsewhere since the last time; None: nothing was.

        Where no joint and no actuator is selected, the rows chosen last stay.
        """
        paths = list(self._state.selection.paths)
        if paths == self._seen:
            return None
        self._seen = paths
        if not any(map(split, paths)):
            return None
        related = self._state.elements.related(paths)
        return [row.key for row in rows if _paths(row) & related]

    def select(self, rows: Sequence[GainRow]) -> None:
        """Select the joints of rows, or the actuators that act on something else."""
        find = self._state.elements.for_actuator
        found = [find(row.actor, row.actuator) for row in rows]
        paths = list(dict.fromkeys(path for path in found if path is not None))
        self._state.selection.paths = paths
        self._seen = list(paths)


def _paths(row: GainRow) -> set[str]:
    own = {actuator_path(row.actor, row.actuator)}
    return own | {joint_path(row.actor, row.joint)} if row.joint else own
