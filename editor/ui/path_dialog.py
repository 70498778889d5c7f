"""PathDialog: a file chooser that needs no desktop, with a path and its folder's contents."""

import os
from collections.abc import Callable
from pathlib import Path

from imgui_bundle import imgui

from mjrig.core.names import suggestion
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.dialogs import Dialog
from mjrig.editor.ui.layout import px, size

_WARNING = imgui.ImVec4(1.0, 0.8, 0.4, 1.0)


class PathDialog(Dialog):
    """Asks for a file to open or to write; folders are entered by a click."""

    title = "Choose a file"
    escapes_from_text = True

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._text = ""
        self._suffixes: tuple[str, ...] = ()
        self._then: Callable[[Path], object] = lambda path: None
        self._verb = "Open"
        self._start = Path()
        #: Why what was chosen could not be used.
        self._problem = ""

    def ask(
        self, verb: str, start: Path, suffixes: tuple[str, ...], then: Callable[[Path], object]
    ) -> None:
        """Show it.

        Args:
            verb: label of the button.
            start: a folder, or a file to begin with.
            suffixes: suffixes of the listed files; the first is that of a file without one.
            then: called with the chosen file; False: it could not be used, and the dialog stays.
        """
        self._verb, self._suffixes, self._then = verb, suffixes, then
        self._start, self._problem = start, ""
        self._text = str(start) + (os.sep if start.is_dir() else "")
        self.open()

    def content(self) -> None:
        if imgui.is_window_appearing():  # Enter takes the suggestion
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(px(560))
        flags = imgui.InputTextFlags_.enter_returns_true
        before = self._text
        entered, self._text = imgui.input_text("##path", self._text, flags)
        folder = Path(self._text).parent if not self._text.endswith(os.sep) else Path(self._text)
        imgui.begin_child("files", size(560, 240), imgui.ChildFlags_.borders)
        for label, path in listing(folder, self._suffixes):
            if imgui.selectable(label, str(path) == self._text)[0]:
                self._text = str(path) + (os.sep if path.is_dir() else "")
        imgui.end_child()
        if self._text != before:
            self._problem = ""
        self._buttons(self._chosen(), entered=entered)

    def _buttons(self, chosen: Path, *, entered: bool) -> None:
        """The answer; one that makes or replaces something is clicked, not entered."""
        writes = self._verb == "Save"
        replaces = writes and chosen.is_file() and chosen != self._start
        is_suggested = chosen.parent == self._start.parent
        lacks_folder = writes and not is_suggested and not chosen.parent.exists()
        label = tr("Make the folder and save") if lacks_folder else self._verb
        if replaces:
            label = tr("Replace")
            self._warn(tr("{name} already exists", name=chosen.name))
        elif lacks_folder:
            self._warn(tr("there is no folder {folder}", folder=chosen.parent))
        if self._problem:
            self._warn(self._problem)
        pressed = imgui.button(f"{label}###go")
        plain = not replaces and not lacks_folder
        if (pressed or (entered and plain)) and not chosen.is_dir():
            self._go(chosen)
        imgui.same_line()
        if imgui.button(tr("Cancel")):
            self.close()

    @staticmethod
    def _warn(text: str) -> None:
        imgui.push_text_wrap_pos(px(560))
        imgui.text_colored(_WARNING, text)
        imgui.pop_text_wrap_pos()

    def _go(self, chosen: Path) -> None:
        """Do it; the dialog stays, with what was typed, where that fails."""
        if self._verb != "Save" and not chosen.exists():
            names = [path.name for _, path in listing(chosen.parent, self._suffixes)[1:]]
            hint = f"; {suggestion(chosen.name, names)}" if names else ""
            self._problem = tr("there is no file {path}{hint}", path=chosen, hint=hint)
            return
        try:
            if self._verb == "Save":
                chosen.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._problem = tr("{folder} cannot be made: {reason}",
                               folder=chosen.parent, reason=error.strerror)  # fmt: skip
            return
        self.close()
        if self._then(chosen) is False:
            self.is_open = True
            self._problem = self.state.console.lines[-1].text

    def _chosen(self) -> Path:
        """The file that the text means: one to write has a suffix, whether it is typed or not."""
        path = Path(self._text)
        is_bare = self._verb == "Save" and path.name and not path.suffix and not path.is_dir()
        return path.with_suffix(self._suffixes[0]) if is_bare else path


def listing(folder: Path, suffixes: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Entries of a folder: its parent, folders, files with these suffixes; none that is hidden."""
    try:
        found = sorted(folder.iterdir(), key=lambda p: (not p.is_dir(), p.name.lower()))
    except OSError:
        return [("..", folder.parent)]
    entries = [(f"{p.name}/", p) for p in found if p.is_dir() and p.name[0] != "."]
    entries += [(p.name, p) for p in found if p.is_file() and p.suffix.lower() in suffixes]
    return [("..", folder.parent), *entries]
