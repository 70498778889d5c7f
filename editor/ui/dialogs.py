"""Modal dialogs: unsaved changes, what to keep after Stop, recovery after a crash."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.edits.edits import Edit
from mjrig.editor.edits.play_mode_edits import KeptChange, drop, kept_changes
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.key_chords import escape_pressed
from mjrig.editor.ui.layout import px
from mjrig.lab.gains.gain_rows import gain_rows

_ITSELF = imgui.FocusedFlags_.root_and_child_windows | imgui.FocusedFlags_.no_popup_hierarchy
#: More lines than this scroll.
_SHOWN = 12


class Dialog:
    """A modal that is open from `open` until one of its buttons, or Escape, is pressed."""

    title = "Dialog"
    #: Whether Escape closes it also while a text is typed in it, which is lost then.
    escapes_from_text = False
    #: When it is centred; a dialog that grows uses `always`.
    centred = imgui.Cond_.appearing

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self._wanted = False
        self.is_open = False

    def open(self) -> None:
        """Show it with the next frame."""
        self._wanted = True
        self.is_open = True

    def close(self) -> None:
        """Close it."""
        self.is_open = False

    def draw(self) -> None:
        """Build it if it is open; call every frame, outside of other windows."""
        if self._wanted:
            imgui.open_popup(tr(self.title))
            self._wanted = False
        if not self.is_open:
            return
        flags = imgui.WindowFlags_.always_auto_resize
        centre = imgui.get_main_viewport().get_center()
        imgui.set_next_window_pos(centre, self.centred, imgui.ImVec2(0.5, 0.5))
        if imgui.begin_popup_modal(tr(self.title), None, flags)[0]:
            is_typing = imgui.is_any_item_active()  # then Escape is meant for the text
            self.content()
            is_meant = self.escapes_from_text or not is_typing
            if imgui.is_window_focused(_ITSELF) and is_meant and escape_pressed():
                self.escape()
            if not self.is_open:
                imgui.close_current_popup()
            imgui.end_popup()
        else:
            self.is_open = False  # another question took its place

    def escape(self) -> None:
        """What Escape does: the answer that changes nothing."""
        self.close()

    def content(self) -> None:
        """Build what is in it."""
        raise NotImplementedError


class UnsavedDialog(Dialog):
    """Asks before unsaved changes are lost; `then` is the requested action."""

    title = "Unsaved changes"

    def __init__(self, state: EditorState, save: Callable[[Callable[[], Any]], object]) -> None:
        super().__init__(state)
        self._save = save
        self._then: Callable[[], Any] = lambda: None

    def ask(self, then: Callable[[], Any]) -> None:
        """Do something that loses unsaved changes, after asking if there are any."""
        if self.state.session.is_dirty:
            self._then = then
            self.open()
        else:
            then()

    def content(self) -> None:
        name = self.state.scene.path.name if self.state.scene.path else tr("the scene")
        imgui.text(tr("{name} has changes that are not saved.", name=name))
        imgui.spacing()
        if imgui.button(tr("Save")):
            self.close()
            self._save(self._then)
        imgui.same_line()
        if imgui.button(tr("Don't save")):
            self.close()
            self._then()
        imgui.same_line()
        if imgui.button(tr("Cancel")):
            self.close()


class ChangedDialog(Dialog):
    """After a refused save: another program changed the file meanwhile."""

    title = "Changed on disk"

    def __init__(
        self, state: EditorState, overwrite: Callable[[], Any], reload: Callable[[], Any]
    ) -> None:
        super().__init__(state)
        self._overwrite, self._reload = overwrite, reload

    def content(self) -> None:
        imgui.text(
            tr(
                "{path} was changed by another program since it was opened.",
                path=self.state.scene.path,
            )
        )
        imgui.spacing()
        if imgui.button(tr("Overwrite")):
            self.close()
            self._overwrite()
        imgui.set_item_tooltip(tr("The version on disk is kept as the backup"))
        imgui.same_line()
        if imgui.button(tr("Reload")):
            self.close()
            self._reload()
        imgui.set_item_tooltip(tr("Load the version on disk; asks about unsaved changes"))
        imgui.same_line()
        if imgui.button(tr("Cancel")):
            self.close()


@dataclass
class _Line:
    change: KeptChange
    keep: bool = True


class KeepDialog(Dialog):
    """After Stop: which of the unsaved edits made while playing stay. Closing it keeps all."""

    title = "Keep changes made while playing?"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._made: Sequence[Edit] = ()
        self._lines: list[_Line] = []

    def ask(self, made: Sequence[Edit]) -> None:
        """List the edits that were made, if there are any."""
        self._made, scene = made, self.state.scene
        rows = self.state.simulation.call(lambda world: gain_rows(world, scene)) if made else ()
        self._lines = [_Line(change) for change in kept_changes(made, scene, rows)]
        if self._lines:
            self.open()

    def content(self) -> None:
        imgui.text(tr("The simulation is back at its start. These edits are not saved:"))
        self._list()
        imgui.spacing()
        if imgui.button(tr("Keep all")):
            self.close()
        imgui.same_line()
        some = any(not line.keep for line in self._lines)
        imgui.begin_disabled(not some)
        if imgui.button(tr("Keep checked")):
            self.close()
            self._drop([line.change for line in self._lines if not line.keep])
        imgui.end_disabled()
        imgui.same_line()
        if imgui.button(tr("Discard all")):
            self.close()
            self._drop([line.change for line in self._lines])
        imgui.set_item_tooltip(tr("Take all of them back; Ctrl+Z brings them back again"))

    def _list(self) -> None:
        """A box for each; many of them scroll."""
        row = imgui.get_frame_height_with_spacing()
        if many := len(self._lines) > _SHOWN:
            wide = max(imgui.calc_text_size(line.change.text).x for line in self._lines)
            imgui.begin_child("lines", imgui.ImVec2(wide + px(60), _SHOWN * row))
        for i, line in enumerate(self._lines):
            imgui.push_id(str(i))
            _, line.keep = imgui.checkbox(line.change.text, line.keep)
            imgui.pop_id()
        if many:
            imgui.end_child()

    def _drop(self, dropped: Sequence[KeptChange]) -> None:
        if dropped:
            self.state.attempt(lambda: self._take_back(dropped))

    def _take_back(self, dropped: Sequence[KeptChange]) -> None:
        shown = [line.change for line in self._lines]
        with self.state.session.edit(tr("Discard changes made while playing")) as scene:
            drop(scene, self._made, shown, dropped)


class RecoverDialog(Dialog):
    """At the start: unsaved scenes of an editor that was killed."""

    title = "Recover unsaved changes?"

    def __init__(self, state: EditorState, recover: Callable[[Any], None]) -> None:
        super().__init__(state)
        self._recover = recover
        self._found: list[Any] = []

    def ask(self, found: list[Any]) -> None:
        """Show what was left behind."""
        self._found = found
        if found:
            self.open()

    def content(self) -> None:
        imgui.text(tr("These scenes had unsaved changes when an editor crashed or was killed."))
        imgui.spacing()
        for i, left in enumerate(list(self._found)):
            imgui.push_id(str(i))
            imgui.align_text_to_frame_padding()
            imgui.text(left.scene or tr("untitled scene"))
            imgui.same_line()
            if imgui.button(tr("Recover")):
                self._found.remove(left)
                self.close()
                self._recover(left)
            imgui.same_line()
            if imgui.button(tr("Discard")):
                left.forget()
                self._found.remove(left)
            imgui.pop_id()
        imgui.spacing()
        if not self._found or imgui.button(tr("Later")):
            self.close()
