"""Inspector: the selected objects, generated from their properties alone."""

from collections.abc import Callable
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.inspector.action_rows import ActionRows
from mjrig.editor.inspector.fields import EditedObject, Filter, fields_of
from mjrig.editor.inspector.rows import PropertyRows
from mjrig.editor.inspector.sheet import Sheet
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import deferred, tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.editor.ui.panel import Panel
from mjrig.scene.sim_options import option_in
from mjrig.sim.world import World

_HOW_TO_SELECT = deferred(
    "Nothing is selected. Click an actor in the viewport, again for the joint of the link, "
    "or anything in the hierarchy; "
    "Shift or Ctrl with a click adds to the selection."
)


class Inspector(Panel):
    """Every property of what is selected, with search, reset, copy and paste."""

    title = "Inspector"
    place = "right"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.edits = PanelEdits(state)
        self.sheet = Sheet(state, options=self._option)
        self.rows = PropertyRows(self.sheet, self.edits)
        self._actions = ActionRows(self.edits, self.sheet.revealed)
        self._search, self._only_modified = "", False
        self._options: tuple[int, dict[str, Any]] = (-1, {})
        #: Draws what is selected, if it is nothing that the scene describes; returns whether it is.
        self.draw_element: Callable[[], bool] = lambda: False

    def reveal(self, path: str) -> None:
        """Show a property or action of what is selected: scroll to it and mark it for a moment.

        A search that would hide it ends.
        """
        self._search, self._only_modified = "", False
        self.sheet.revealed.show(path)

    def draw(self) -> None:
        try:
            self._draw()
        finally:
            self.edits.finish_frame()

    def _draw(self) -> None:
        if self.draw_element():
            return
        targets, others = self._targets()
        if not targets:
            self._nothing()
            return
        self._header(targets, others)
        self._filter_bar()
        imgui.separator()
        if imgui.begin_child("rows"):
            self._table(targets)
            if targets[0].live is not None and len(targets) == 1:
                self._actions.draw(targets[0], targets[0].live, self._search)
        imgui.end_child()

    # What is selected ---------------------------------------------------------------------------

    def _targets(self) -> tuple[list[EditedObject], int]:
        """The selected objects of the first one's type, and how many others there are."""
        state = self.state
        found = [(path, state.described(path)) for path in state.selection.paths]
        there = [
            EditedObject(path, obj, state.live(path)) for path, obj in found if obj is not None
        ]
        same = [t for t in there if type(t.obj) is type(there[0].obj)]
        return same, len(state.selection.paths) - len(same)

    def _nothing(self) -> None:
        """Nothing described is selected: show the actions of the running object."""
        paths = self.state.selection.paths
        live = self.state.live(paths[0]) if paths else None
        if live is None:
            text = tr(_HOW_TO_SELECT) if not paths else _no_page(paths[0])
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(text)
            imgui.pop_style_color()
            return
        imgui.text(paths[0])
        imgui.text_wrapped(tr("It is not part of this scene file: only its actions are listed."))
        self._actions.draw(EditedObject(paths[0], live, live), live)

    # Parts of the panel -------------------------------------------------------------------------

    def _header(self, targets: list[EditedObject], others: int) -> None:
        first = targets[0]
        kind = type(first.obj).__name__
        many = f"{len(targets)} × {kind}" if len(targets) > 1 else first.path
        imgui.selectable(f"{many}###header", False)
        if imgui.begin_popup_context_item("header menu"):
            self.rows.menus.object_menu(targets)
            imgui.end_popup()
        doc = (type(first.obj).__doc__ or "").strip()
        if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
            imgui.set_tooltip("\n".join([*(t.path for t in targets), "", doc]))
        left_out = tr("; {count} of another kind not shown", count=others) if others else ""
        imgui.push_style_color(imgui.Col_.text, GREY)
        imgui.text_wrapped(f"{kind}: {doc.partition(chr(10))[0]}{left_out}")
        imgui.pop_style_color()
        problem = self.state.problems.get(first.path)
        if problem:
            imgui.push_style_color(imgui.Col_.text, RED)
            imgui.text_wrapped(problem)
            imgui.pop_style_color()

    def _filter_bar(self) -> None:
        box = imgui.get_frame_height() + imgui.calc_text_size("modified").x
        imgui.set_next_item_width(-box - 2 * imgui.get_style().item_spacing.x)
        _, self._search = imgui.input_text_with_hint("##search", tr("search"), self._search)
        imgui.same_line()
        _, self._only_modified = imgui.checkbox(tr("modified"), self._only_modified)
        imgui.set_item_tooltip(tr("Show only values that differ from the default"))
        self.rows.filter = Filter(self._search, self._only_modified)

    def _table(self, targets: list[EditedObject]) -> None:
        flags = imgui.TableFlags_.resizable | imgui.TableFlags_.borders_inner_v
        self.rows.menus.hovered = None
        if imgui.begin_table("props", 3, flags):
            stretch = imgui.TableColumnFlags_.width_stretch
            imgui.table_setup_column(tr("name"), stretch, 0.42)
            imgui.table_setup_column(tr("value"), stretch, 0.58)
            fixed = imgui.TableColumnFlags_.width_fixed | imgui.TableColumnFlags_.no_resize
            imgui.table_setup_column(tr("reset"), fixed, imgui.get_frame_height())
            self.rows.object(targets, fields_of(targets, self.edits))
            imgui.end_table()
        self.rows.menus.shortcuts()
        self.rows.menus.yaml_popup()

    def _option(self, name: str) -> Any:
        """The running model's value of an option; read once per model."""
        generation = self.state.simulation.generation
        if self._options[0] != generation:
            self._options = (generation, {})
        known = self._options[1]
        if name not in known:

            def read(world: World) -> Any:
                return option_in(world.model.opt, name)

            known[name] = self.state.simulation.call(read)
        return known[name]


def _no_page(path: str) -> str:
    return tr("{path} is no actor, component, joint or actuator of this world.", path=path)
