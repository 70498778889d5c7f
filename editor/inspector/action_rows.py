"""Actions of running components, as buttons with a field per argument."""

import math
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.edits.edits import UNSET
from mjrig.editor.inspector.fields import EditedObject
from mjrig.editor.inspector.keyframe_widgets import KEYFRAME, keyframe_argument
from mjrig.editor.inspector.revealed import Revealed
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.number_cell import number_cell, whole_number_cell
from mjrig.editor.ui.text_filter import matches
from mjrig.errors import MjrigError
from mjrig.properties.actions import Action, Parameter, call_action
from mjrig.properties.has_properties import HasProperties
from mjrig.scene.scene_path import existing
from mjrig.sim.world import World
from mjrig.yaml_text.comparison import same
from mjrig.yaml_text.formatting import format_flow
from mjrig.yaml_text.yaml_document import parse_value

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
