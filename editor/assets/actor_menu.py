"""Actions on an actor and its parts, listed once for menus and palette, and icons of types."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from imgui_bundle import imgui

from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.properties import registry
from mjrig.core.properties.component import Component
from mjrig.core.scene.actor_description import ActorDescription, Prop
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.scene_description import SCENE
from mjrig.editor.assets.assets import COMPONENT_GROUPS, Asset
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import icons

# Kind icons ---------------------------------------------------------------------------------------
# Icons of types and of what a selection path means.


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


# Actor menu ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MenuEntry:
    """One entry; `below` is the way through the menus below: `Add component/Controllers`."""

    label: str
    run: Callable[[], object]
    icon: str
    keys: str = ""
    below: str = ""
    #: Whether a line stands above it.
    begins_section: bool = False
    doc: str = ""


@dataclass(frozen=True)
class ActorActions:
    """What the entries of an actor do, given its name."""

    #: Adds a component, given its kind as an asset, its type and the actor.
    add: Callable[[str, Any, str | None], object]
    focus: Callable[[str], object]
    follow: Callable[[str], object]
    capture: Callable[[str], object]
    rename: Callable[[str], object]
    duplicate: Callable[[str], object]
    delete: Callable[[str], object]
    #: Goes to a keyframe.
    go_to: Callable[[str], object]


def actor_entries(name: str, actions: ActorActions, types: Sequence[Asset]) -> Iterator[MenuEntry]:
    """The menu of an actor, with the component types that it may get."""
    yield from _components(name, actions, types)
    yield MenuEntry(tr("Focus"), partial(actions.focus, name), icons.FOCUS, tr("Home"))
    yield MenuEntry(tr("Follow"), partial(actions.follow, name), icons.FOLLOW)
    label, run = tr("Capture pose as keyframe"), partial(actions.capture, name)
    yield MenuEntry(label, run, icons.KEYFRAME, begins_section=True)
    run = partial(actions.rename, name)
    yield MenuEntry(tr("Rename"), run, icons.RENAME, "F2", begins_section=True)
    yield MenuEntry(tr("Duplicate"), partial(actions.duplicate, name), icons.COPY, tr("Ctrl+D"))
    yield MenuEntry(tr("Delete"), partial(actions.delete, name), icons.DELETE, tr("Del"))


def _components(name: str, actions: ActorActions, types: Sequence[Asset]) -> Iterator[MenuEntry]:
    """The component types by group; the console shows why one is refused."""
    for group in COMPONENT_GROUPS:
        for asset in (asset for asset in types if asset.group == group):
            add = partial(actions.add, asset.kind, asset.value, name)
            icon, below = icon_of_asset(asset.kind, asset.value), tr("Add component")
            yield MenuEntry(asset.name, add, icon, below=f"{below}/{group}", doc=asset.doc)


def component_entries(path: str, actions: ActorActions) -> Iterator[MenuEntry]:
    """The menu of a component."""
    yield MenuEntry(tr("Remove"), partial(actions.delete, path), icons.DELETE)


def keyframe_entries(name: str, actions: ActorActions) -> Iterator[MenuEntry]:
    """What can be done with a keyframe."""
    label = tr("Go to the keyframe {name}", name=name)
    yield MenuEntry(label, partial(actions.go_to, name), icons.KEYFRAME)


def draw_entries(entries: Sequence[MenuEntry], depth: int = 0) -> None:
    """Build an open menu of them; a menu below stands where its first entry is."""
    drawn: set[str] = set()
    for entry in entries:
        way = entry.below.split("/")[depth:] if entry.below else []
        if not way:
            _draw_entry(entry)
        elif way[0] not in drawn:
            drawn.add(way[0])
            label = icons.labelled(icons.ADD, way[0], way[0]) if not depth else way[0]
            if imgui.begin_menu(label):
                inside = [e for e in entries if e.below.split("/")[depth : depth + 1] == way[:1]]
                draw_entries(inside, depth + 1)
                imgui.end_menu()


def _draw_entry(entry: MenuEntry) -> None:
    if entry.begins_section:
        imgui.separator()
    if imgui.menu_item_simple(icons.labelled(entry.icon, entry.label, entry.label), entry.keys):
        entry.run()
    if entry.doc:
        imgui.set_item_tooltip(entry.doc)
