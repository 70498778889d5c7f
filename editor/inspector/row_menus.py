"""Menus of the inspector's rows: copy, paste, reset, edit as YAML."""

from collections.abc import Sequence
from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.editor.inspector import clipboard
from mjrig.editor.inspector.fields import EditedObject, Field
from mjrig.editor.inspector.sheet import Sheet
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.chords import chord
from mjrig.editor.ui.colours import RED
from mjrig.yaml_text.formatting import format_block


@dataclass
class RowMenus:
    """What can be done with a row besides editing its value."""

    sheet: Sheet
    edits: PanelEdits
    #: The row under the mouse.
    hovered: Field | None = None
    #: The row whose YAML text is being edited, the text, and whether its window is to be opened.
    as_yaml: tuple[Field, str] | None = None
    _wants_popup: bool = False

    def row_menu(self, row: Field) -> None:
        """The menu of one row."""
        if not imgui.begin_popup_context_item("row menu"):
            return
        if imgui.menu_item_simple(tr("Copy value"), tr("Ctrl+C")):
            self.copy_value(row)
        if imgui.menu_item_simple(tr("Copy path")):
            imgui.set_clipboard_text(row.path)
        if imgui.menu_item_simple(tr("Copy category")):
            imgui.set_clipboard_text(clipboard.category_text(row.obj, row.prop.category))
        editable = row.why_not_editable() is None
        if imgui.menu_item_simple(tr("Paste"), tr("Ctrl+V"), False, editable):
            self.paste_value(row)
        if imgui.menu_item_simple(tr("Edit as YAML..."), "", False, editable):
            self.as_yaml = (row, format_block(row.data()[0], 0))
            self._wants_popup = True
        if imgui.menu_item_simple(tr("Reset to default"), "", False, editable and row.is_authored):
            row.reset()
        imgui.end_popup()

    def object_menu(self, targets: Sequence[EditedObject]) -> None:
        """Menu entries of a whole object; inside of an open popup."""
        kind = type(targets[0].obj).__name__
        if imgui.menu_item_simple(tr("Copy {kind}###copy object", kind=kind)):
            imgui.set_clipboard_text(clipboard.object_text(targets[0].obj))
        if imgui.menu_item_simple(tr("Copy path")):
            imgui.set_clipboard_text(targets[0].path)
        if imgui.menu_item_simple(tr("Paste")):
            self.paste_object(targets)

    def copy_value(self, row: Field) -> None:
        """One value to the clipboard."""
        imgui.set_clipboard_text(clipboard.value_text(row))

    def paste_value(self, row: Field) -> None:
        """The clipboard into one property."""
        text = imgui.get_clipboard_text() or ""
        self.sheet.state.attempt(lambda: row.set_all(clipboard.parsed(text)), field=row.path)

    def paste_object(self, targets: Sequence[EditedObject]) -> None:
        """The clipboard into several properties of the selected objects."""
        text = imgui.get_clipboard_text() or ""

        def paste() -> None:
            values: dict[str, object] = {}
            for target in targets:
                values |= clipboard.values_to_paste(target, text)
            self.edits.put(values, tr("Paste into {path}", path=targets[0].path))

        self.sheet.state.attempt(paste, field=targets[0].path)

    def shortcuts(self) -> None:
        """Ctrl+C and Ctrl+V over a row."""
        row = self.hovered
        if row is None or imgui.get_io().want_text_input:
            return
        if imgui.is_key_chord_pressed(chord(imgui.Key.mod_ctrl, imgui.Key.c)):
            self.copy_value(row)
        if imgui.is_key_chord_pressed(chord(imgui.Key.mod_ctrl, imgui.Key.v)):
            reason = row.why_not_editable()
            if reason is None:
                self.paste_value(row)
            else:
                self.sheet.state.console.warn(f"{row.path} {reason}")

    def yaml_popup(self) -> None:
        """The window that edits a value as text."""
        if self._wants_popup:
            imgui.open_popup("YAML")
            self._wants_popup = False
        if self.as_yaml is None or not imgui.begin_popup("YAML"):
            return
        row, text = self.as_yaml
        imgui.text(row.path)
        size = imgui.ImVec2(imgui.get_font_size() * 24, imgui.get_font_size() * 12)
        _, text = imgui.input_text_multiline("##yaml", text, size)
        self.as_yaml = (row, text)
        problem = self.sheet.state.problems.get(row.path)
        if problem:
            imgui.text_colored(RED, problem)
        if imgui.button(tr("Apply")):
            attempt = self.sheet.state.attempt
            attempt(lambda: row.set_all(clipboard.parsed(text)), field=row.path)
        imgui.same_line()
        if imgui.button(tr("Close")):
            imgui.close_current_popup()
        imgui.end_popup()
