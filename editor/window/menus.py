"""The menu bar: File, Edit, Draw, Camera, View."""

from pathlib import Path

from imgui_bundle import hello_imgui, imgui

from mjrig.editor.session.recording import SUFFIX
from mjrig.editor.ui import colours
from mjrig.editor.viewport import cameras
from mjrig.editor.window.window_parts import WindowParts


class Menus:
    """The menus of one window."""

    def __init__(self, parts: WindowParts) -> None:
        self.parts = parts

    def draw(self) -> None:
        """Build the menus; the menu bar is open already."""
        self._file_menu()
        self._edit_menu()
        self._draw_menu()
        self._camera_menu()
        self._view_menu()

    def _file_menu(self) -> None:
        parts = self.parts
        if not imgui.begin_menu("File"):
            return
        if imgui.menu_item_simple("New"):
            parts.files.new()
        if imgui.menu_item_simple("Open...", "Ctrl+O"):
            parts.files.ask_open()
        if imgui.menu_item_simple("Save", "Ctrl+S"):
            parts.files.save_first()
        if imgui.menu_item_simple("Save as...", "Ctrl+Shift+S"):
            parts.files.ask_save()
        imgui.separator()
        if imgui.menu_item_simple("Save picture of the viewport", "F12"):
            parts.captures.take_picture()
        recording = parts.recording.is_on
        if imgui.menu_item_simple("Stop recording" if recording else "Record", "Ctrl+R"):
            parts.recording.toggle()
        if imgui.menu_item_simple("Record to...", enabled=not recording):
            self._ask_record()
        filming = parts.captures.is_filming
        if imgui.menu_item_simple("Stop video" if filming else "Start video"):
            parts.captures.toggle_video()
        imgui.separator()
        if imgui.menu_item_simple("Quit", "Ctrl+Q"):
            parts.close()
        imgui.end_menu()

    def _edit_menu(self) -> None:
        parts = self.parts
        if not imgui.begin_menu("Edit"):
            return
        stack = parts.state.session.undo_stack
        undo, redo = stack.undoable, stack.redoable
        name = f"Undo {undo.name}###undo" if undo else "Undo###undo"
        if imgui.menu_item_simple(name, "Ctrl+Z", enabled=undo is not None):
            parts.edits.undo()
        name = f"Redo {redo.name}###redo" if redo else "Redo###redo"
        if imgui.menu_item_simple(name, "Ctrl+Y", enabled=redo is not None):
            parts.edits.redo()
        imgui.separator()
        actor = parts.state.selection.actor
        if imgui.menu_item_simple("Duplicate", "Ctrl+D", enabled=actor is not None):
            parts.edits.duplicate()
        if imgui.menu_item_simple("Delete", "Del", enabled=bool(parts.state.selection.paths)):
            parts.edits.delete()
        if len(stack) and imgui.begin_menu("History"):
            oldest = stack.forgotten
            start = f"{oldest}. Oldest kept" if oldest else "0. As opened"
            if imgui.menu_item(start, "", True)[0]:
                parts.edits.go_back_to(oldest)
            for i, entry in enumerate(stack.names, oldest + 1):
                if imgui.menu_item(f"{i}. {entry}", "", i <= stack.position)[0]:
                    parts.edits.go_back_to(i)
            imgui.end_menu()
        imgui.end_menu()

    def _draw_menu(self) -> None:
        """MuJoCo's own drawing options, with the keys its viewer has."""
        parts = self.parts
        drawing = parts.viewport.drawing
        if drawing is None or not imgui.begin_menu("Draw"):
            return
        for title, strings, flags in drawing.flag_tables():
            imgui.separator_text(title)
            for i, (name, _, key) in enumerate(strings):
                if imgui.menu_item(name, key, bool(flags[i]))[0]:
                    flags[i] = 0 if flags[i] else 1
        imgui.separator_text("Quality")
        if imgui.menu_item("automatic", "", parts.quality.fixed is None)[0]:
            parts.quality.fixed = None
        for scale in (0.5, 0.75, 1.0):
            if imgui.menu_item(f"{scale:.0%}", "", parts.quality.fixed == scale)[0]:
                parts.quality.fixed = scale
        imgui.end_menu()

    def _camera_menu(self) -> None:
        parts = self.parts
        drawing = parts.viewport.drawing
        if drawing is None or not imgui.begin_menu("Camera"):
            return
        actor, now = parts.state.selection.actor, cameras.text(drawing)
        if imgui.menu_item("Free", "Esc", now == "free")[0]:
            cameras.look_freely(drawing)
        can_follow = actor is not None
        if imgui.menu_item_simple(f"Follow {actor or 'the selected actor'}", enabled=can_follow):
            cameras.follow(drawing, actor or "")
        if imgui.menu_item_simple("Look at the selected actor", "Home"):
            drawing.frame_on(actor)
        imgui.separator()
        for name in cameras.names(drawing):
            if imgui.menu_item(name, "", now == name)[0]:
                cameras.look_through(drawing, name)
        imgui.end_menu()

    def _view_menu(self) -> None:
        """Panels, their layout, colours."""
        parts = self.parts
        if not imgui.begin_menu("View"):
            return
        docking = hello_imgui.get_runner_params().docking_params
        for panel in docking.dockable_windows:
            if imgui.menu_item(panel.label, "", panel.is_visible)[0]:
                panel.is_visible = not panel.is_visible
        imgui.separator()
        if imgui.menu_item_simple("Restore default layout"):
            docking.layout_reset = True
            for panel in docking.dockable_windows:
                panel.is_visible = True
        imgui.separator_text("Colours")
        for name in colours.THEMES:
            if imgui.menu_item(name.capitalize(), "", parts.theme.name == name)[0]:
                parts.theme.use(name)
        imgui.end_menu()

    def _ask_record(self) -> None:
        """Choose where to record to, and begin."""
        parts = self.parts

        def begin(path: Path) -> None:
            path = path if path.suffix else path.with_suffix(SUFFIX)
            parts.state.attempt(lambda: parts.recording.start(path, overwrite=True))

        parts.choose.ask("Save", parts.recording.suggested(), (SUFFIX,), begin)
