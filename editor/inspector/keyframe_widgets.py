"""Keyframes are chosen from a list: those of the model and of the scene."""

from collections.abc import Sequence

from imgui_bundle import imgui

from mjrig.control.articulation import Articulation
from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.sheet import MIXED, Sheet
from mjrig.editor.inspector.text_widgets import combo
from mjrig.editor.texts.texts import tr
from mjrig.properties.has_properties import HasProperties
from mjrig.scene.actor import ActorDescription

#: The kind that a property which names a keyframe refers to.
KEYFRAME = "keyframe"


def keyframe_value(field: Field, sheet: Sheet) -> None:
    """The name of a keyframe that every selected object's actor has, or none."""
    none = tr("(none)")
    shown = MIXED if field.is_mixed else str(field.data()[0] or none)
    new = combo("##v", shown, lambda: (none, *_of_all(field, sheet)))
    if new == none:
        field.reset()
    elif new is not None:
        field.set_all(new)


def keyframe_argument(label: str, value: str, live: HasProperties) -> str | None:
    """The name of a keyframe as an argument; None where the object has no keyframes."""
    if not isinstance(live, Articulation):
        return None
    if not live.keyframes:
        imgui.text_disabled(tr("{name} has no keyframes", name=live.name))
        return ""
    return combo(label, value, live.keyframes) or value or live.keyframes[0]


def _of_all(field: Field, sheet: Sheet) -> Sequence[str]:
    """The keyframes that the actors of all targets have, in the order of the first."""
    found = [_of(target.obj, sheet) for target in field.targets]
    return [name for name in found[0] if all(name in others for others in found)]


def _of(obj: HasProperties, sheet: Sheet) -> Sequence[str]:
    owner: HasProperties | None = obj
    while owner is not None and not isinstance(owner, ActorDescription):
        owner = owner.parent
    live = sheet.state.live(owner.name) if owner is not None else None
    return live.keyframes if isinstance(live, Articulation) else ()
