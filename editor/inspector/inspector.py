"""Inspector: properties and actions of the selected objects, generated from declarations."""

import math
from collections.abc import Callable
from typing import Any

from imgui_bundle import imgui

from mjrig.core.errors import MjrigError
from mjrig.core.properties.actions import Action, Parameter, call_action
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.mujoco_options import option_in
from mjrig.core.scene.scene_description import existing
from mjrig.core.sim.world import World
from mjrig.core.yaml_text.comparison import same
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.inspector.fields import EditedObject, Filter, fields_of
from mjrig.editor.inspector.property_rows import PropertyRows
from mjrig.editor.inspector.text_widgets import KEYFRAME, keyframe_argument
from mjrig.editor.inspector.widget_context import Revealed, Sheet
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import deferred, matches, tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.editor.ui.number_cell import number_cell, whole_number_cell
from mjrig.editor.ui.panel import Panel

# Action rows --------------------------------------------------------------------------------------
# Actions of running components, as buttons with a field per argument.


#: Initial value in a field of a plain type.
_FIRST: dict[str, object] = {"str": "", "bool": False, "int": 0, "float": 0.0}


class ActionRows:
    """The buttons, and what was typed into their arguments."""

    def __init__(self, edits: PanelEdits, revealed: Revealed) -> None:
        self._edits, self._revealed = edits, revealed
        self._typed: dict[tuple[str, str, str], Any] = {}

    def draw(self, target: EditedObject, live: HasProperties, search: str = "") -> None:
        """The actions of one running object that a search finds; nothing where it has none."""
        actions = [
            action
            for action in type(live).actions()
            if matches(search, f"{action.name} {action.name.replace('_', ' ')} {action.doc}")
        ]
        if any(self._revealed.is_it(f"{target.path}.{action.name}") for action in actions):
            imgui.set_next_item_open(True)
        if not actions or not imgui.collapsing_header(
            tr("Actions"), imgui.TreeNodeFlags_.default_open
        ):
            return
        for action in actions:
            imgui.push_id(action.name)
            self._action(target, action, live)
            imgui.pop_id()

    def _action(self, target: EditedObject, action: Action, live: HasProperties) -> None:
        if imgui.button(f"{action.name.replace('_', ' ')}##call"):
            self.call(target, action)
        self._revealed.mark_item(f"{target.path}.{action.name}")
        imgui.set_item_tooltip(f"{action.signature}\n\n{action.doc}")
        for parameter in action.parameters:
            imgui.push_item_width(imgui.get_content_region_avail().x * 0.5)
            key = (target.path, action.name, parameter.name)
            self._typed[key] = _argument(parameter, self._typed.get(key, _first(parameter)), live)
            imgui.pop_item_width()
            imgui.same_line()
            imgui.text_colored(GREY, parameter.type)

    def call(self, target: EditedObject, action: Action) -> None:
        """Run an action between steps; what it changed on a component is in the scene too."""
        state = self._edits.state
        state.attempt(lambda: self._call(target, action))

    def _call(self, target: EditedObject, action: Action) -> None:
        state, path = self._edits.state, target.path
        arguments = self._arguments(target, action)

        def run(world: World) -> tuple[Any, dict[str, object] | None]:
            live = existing(world, path)
            if live is None:
                raise MjrigError(tr("{path} does not run any more", path=path))
            result = call_action(live, action.name, arguments)
            twin = type(live) is type(target.obj)
            return result, HasProperties.to_data(live) if twin else None

        result, data = state.simulation.call(run)
        shown = "" if result is None else f" -> {result!r}"
        state.console.say(f"{path}.{action.name}({_shown(arguments)}){shown}")
        if data is not None:
            self._follow(target, action, data)

    def _follow(self, target: EditedObject, action: Action, data: dict[str, object]) -> None:
        """Write what the action changed into the scene: an edit like any other."""
        before = HasProperties.to_data(target.obj)
        names = [n for n in dict.fromkeys([*before, *data]) if not _same(before, data, n)]
        if names:
            values = {f"{target.path}.{n}": data.get(n, UNSET) for n in names}
            self._edits.put(values, tr("Call {path}.{name}", path=target.path, name=action.name))

    def _arguments(self, target: EditedObject, action: Action) -> dict[str, object]:
        """What was typed; an argument left empty is left out."""
        given: dict[str, object] = {}
        for parameter in action.parameters:
            key = (target.path, action.name, parameter.name)
            value = self._typed.get(key, _first(parameter))
            if parameter.type in _FIRST:
                given[parameter.name] = value
            elif str(value).strip():
                given[parameter.name] = parse_value(str(value))
        return given


def _same(a: dict[str, object], b: dict[str, object], name: str) -> bool:
    return name in a and name in b and same(a[name], b[name])


def _first(parameter: Parameter) -> Any:
    if parameter.type in _FIRST:
        return _FIRST[parameter.type] if parameter.required else parameter.default
    return "" if parameter.required or parameter.default is None else str(parameter.default)


def _argument(parameter: Parameter, value: Any, live: HasProperties) -> Any:
    """A field for an argument, by its type; YAML where the type is not plain."""
    label = f"{parameter.name}##{parameter.name}"
    if parameter.name == KEYFRAME and parameter.type == "str":
        chosen = keyframe_argument(label, str(value), live)
        if chosen is not None:
            return chosen
    if parameter.type == "bool":
        return imgui.checkbox(label, bool(value))[1]
    if parameter.type == "int":
        return whole_number_cell(label, int(value), 0.1, -math.inf, math.inf)[1]
    if parameter.type == "float":
        return number_cell(label, float(value), max(abs(value), 1.0) * 0.01)[1]
    return imgui.input_text(label, str(value))[1]


def _shown(arguments: dict[str, object]) -> str:
    return ", ".join(f"{name}={format_flow(value)}" for name, value in arguments.items())


# Inspector ----------------------------------------------------------------------------------------


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
