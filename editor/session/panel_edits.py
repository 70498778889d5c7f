"""PanelEdits: changes requested by a panel's widgets, applied after the frame, one entry per drag.

No imgui here: a drag is a key that is touched every frame and ended when it is released. A drag
whose row vanished is ended by the frame that does not touch it. While the world is slow to follow
(a structural property needs a new one), dragged values are shown at once and applied as often as
the world can take them, the last one in any case.
"""

import time
from collections.abc import Callable, Mapping

from mjrig.core.errors import MjrigError
from mjrig.core.names import listed
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import error_text, tr

#: Share of the time that edits of a drag may take.
SHARE = 0.4
Values = Mapping[str, object]


class PanelEdits:
    """The edits of one panel.

    Args:
        state: what they go through.
        clock: wall time [s].
    """

    def __init__(self, state: EditorState, clock: Callable[[], float] = time.perf_counter) -> None:
        self.state = state
        self._clock = clock
        self._todo: list[Callable[[], None]] = []
        self._open: str | None = None
        self._touched = False
        self._held: dict[str, object] = {}
        self._next = 0.0
        self._refused = ""

    # What widgets call --------------------------------------------------------------------------

    def put(self, values: Values, name: str = "") -> None:
        """Set properties by path, as one edit; UNSET returns one to its default."""
        self._todo.append(lambda: self._discrete(dict(values), name))

    def run(self, name: str, edit: Callable[[Scene], None], field: str = "") -> None:
        """Change the scene by a function, as one edit."""

        def do() -> None:
            self._end()
            self._attempt(name, edit, None, field)

        self._todo.append(do)

    def drag(self, values: Values) -> None:
        """Set properties by path while a widget is dragged."""
        self._todo.append(lambda: self._drag(dict(values)))

    def touch(self, values: Values) -> None:
        """Note that the widget of a drag is still held."""
        self._todo.append(lambda: self._touch(_key(values)))

    def end(self) -> None:
        """The widget was released."""
        self._todo.append(self._end)

    def held(self, path: str) -> object:
        """The value of a drag that the scene does not have yet; UNSET if there is none."""
        return self._held.get(path, UNSET)

    # After the frame ----------------------------------------------------------------------------

    def finish_frame(self) -> None:
        """Apply what was requested; a drag that no widget touched has ended."""
        self._touched = False
        todo, self._todo = self._todo, []
        for do in todo:
            do()
        if self._open is not None and not self._touched:
            self._end()

    def _discrete(self, values: dict[str, object], name: str) -> None:
        self._end()
        self._apply(values, None, name)

    def _drag(self, values: dict[str, object]) -> None:
        key = _key(values)
        if self._open != key:
            self._end()
            self._open = key
        self._touched = True
        self._held = values
        if self._clock() >= self._next:
            self._flush()

    def _touch(self, key: str) -> None:
        if self._open == key:
            self._touched = True
            if self._held and self._clock() >= self._next:
                self._flush()

    def _end(self) -> None:
        if self._open is not None:
            self._flush()
            self._open = None
            self._next = 0.0
            self.state.session.seal()
            if self._refused:
                self.state.console.fail(self._refused)
                self._refused = ""

    def _flush(self) -> None:
        values, self._held = self._held, {}
        if not values:
            return
        began = self._clock()
        self._apply(values, self._open, "")
        now = self._clock()
        self._next = now + (now - began) * (1.0 / SHARE - 1.0)

    def _apply(self, values: Values, merge: str | None, name: str) -> None:
        def edit(scene: Scene) -> None:
            for path, value in values.items():
                if value is UNSET:
                    target, last = find(scene, path)
                    target.unset(last)
                else:
                    scene.set(path, value)

        self._attempt(name or named(values), edit, merge, next(iter(values), ""))

    def _attempt(
        self, name: str, edit: Callable[[Scene], None], merge: str | None, field: str
    ) -> None:
        def run() -> None:
            with self.state.session.edit(name, merge=merge) as scene:
                edit(scene)

        if merge is None:
            self.state.attempt(run, field=field)
            return
        try:
            run()
        except MjrigError as error:  # the console shows it once, when the drag has ended
            self.state.problems[field] = self._refused = error_text(error)
        else:
            self.state.problems.pop(field, None)
            self._refused = ""


def _key(values: Values) -> str:
    return "|".join(values)


def named(values: Values) -> str:
    """Name of a change of properties in the undo list."""
    verb = "Reset" if all(value is UNSET for value in values.values()) else "Set"
    if len(values) <= 1:
        return f"{verb} {next(iter(values), 'nothing')}"
    owners, last = [p.rpartition(".")[0] for p in values], {p.rpartition(".")[2] for p in values}
    return tr(
        "{verb} {names} of {owners}",
        verb=verb,
        names=listed(last),
        owners=listed(dict.fromkeys(owners)),
    )
