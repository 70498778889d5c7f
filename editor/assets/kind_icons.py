"""Icons of types and of what a selection path means."""

from mjrig.actuators.actuator import Actuator
from mjrig.control.controller import ArticulationController
from mjrig.control.policy import PolicyComponent
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui import icons
from mjrig.properties import registry
from mjrig.properties.component import Component
from mjrig.scene.actor import ActorDescription
from mjrig.scene.prop import Prop
from mjrig.scene.scene_path import SCENE

#: Icons of parts of a model and of lists of a scene, by what their paths contain.
_BY_WORD = {
    ".joint:": icons.JOINT,
    ".actuator:": icons.ACTUATOR,
    ".keyframes[": icons.KEYFRAME,
    "frames[": icons.FRAME,
    "collision_groups[": icons.GROUP,
}


def icon_of_type(kind: type) -> str:
    """The icon of a component type."""
    if issubclass(kind, PolicyComponent):
        return icons.POLICY
    if issubclass(kind, ArticulationController):
        return icons.CONTROLLER
    if issubclass(kind, Actuator):
        return icons.ACTUATOR
    return icons.PROP if issubclass(kind, Prop) else icons.COMPONENT


def icon_of_asset(kind: str, value: str) -> str:
    """The icon of what can be dropped: of its type, where it is one."""
    if kind in ("component", "prop"):
        return icon_of_type(registry.get(value, Component))
    return icons.OF_KIND.get(kind, icons.COMPONENT)


def icon_of_path(state: EditorState, path: str) -> str:
    """The icon of something in the hierarchy."""
    if path == SCENE:
        return icons.SCENE
    for word, icon in _BY_WORD.items():
        if word in path:
            return icon
    obj = state.described(path)
    if isinstance(obj, ActorDescription):
        return icons.PROP if obj.prop is not None else icons.ROBOT
    return icon_of_type(type(obj)) if obj is not None else icons.ROBOT
