"""The hierarchy: actors, their components, joints, actuators and keyframes, frames and groups."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import listed, unique
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.core.scene.pose import Pose
from mjrig.core.scene.scene_description import SCENE
from mjrig.core.scene.scene_sections import Keyframe
from mjrig.core.sim.world import World
from mjrig.editor.assets.actor_menu import (
    ActorActions,
    MenuEntry,
    actor_entries,
    component_entries,
    draw_entries,
    icon_of_path,
    keyframe_entries,
)
from mjrig.editor.assets.assets import component_types
from mjrig.editor.session.elements import actuator_path, joint_path
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import icons
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import Panel, drag_source

# Keyframe edits -----------------------------------------------------------------------------------


def capture(state: EditorState, actor: str) -> str:
    """Keep the present state of an actor as a keyframe of the scene; one edit.

    Returns:
        Its name: `pose`, `pose_2`, …

    Raises:
        BindingError: the actor is described elsewhere.
    """
    reason = state.why_not_edited(actor)
    if reason:
        raise BindingError(reason)

    def read(world: World) -> Keyframe:
        robot = world[actor]
        return robot.capture(unique("pose", list(robot.keyframes)))

    keyframe = state.simulation.call(read)
    with state.session.edit(
        tr("Capture {name} of {actor}", name=keyframe.name, actor=actor)
    ) as scene:
        scene[actor].add_keyframe(keyframe)
    state.console.say(
        tr("the pose of {actor} is its keyframe {name!r} now", actor=actor, name=keyframe.name)
    )
    return str(keyframe.name)


def go_to(state: EditorState, keyframe: str) -> None:
    """Reset to a keyframe, paused: every actor that has it starts there."""
    state.simulation.pause()
    state.simulation.reset(keyframe)
    state.console.say(tr("reset to the keyframe {keyframe!r}", keyframe=keyframe))


# Hierarchy ----------------------------------------------------------------------------------------


_LEAF = int(imgui.TreeNodeFlags_.leaf) | int(imgui.TreeNodeFlags_.no_tree_push_on_open)
_NODE = (
    int(imgui.TreeNodeFlags_.open_on_arrow)
    | int(imgui.TreeNodeFlags_.open_on_double_click)
    | int(imgui.TreeNodeFlags_.span_avail_width)
)


#: How far parts of a thing stand to its right [pixels at scale 1].
_INDENT = 12.0
#: Up to this many actors are expanded at first.
_FEW = 3
#: Where a copy is put beside the original [m].
_ASIDE = np.array([0.0, 1.0, 0.0])


class Hierarchy(Panel):
    """The tree of the scene's contents; selecting here selects everywhere.

    Args:
        state: state of the editor.
        on_drop: called with kind, value and the actor something was dropped on.
    """

    title = "Hierarchy"
    place = "left"

    def __init__(
        self,
        state: EditorState,
        on_drop: Callable[[str, Any, str | None], None] = lambda kind, value, actor: None,
    ) -> None:
        super().__init__(state)
        self._on_drop = on_drop
        self._filter = ""
        self._renaming: str | None = None
        self._name = ""
        self._has_focus = False
        self._seen: list[str] = []
        #: What was just selected and is to be seen; empty: it is.
        self._reveal = ""
        #: The menu that is open.
        self._menu: list[MenuEntry] = []
        #: What the viewport does with an actor: look at it, or follow it.
        self.focus: Callable[[str], object] = lambda actor: None
        self.follow: Callable[[str], object] = lambda actor: None

    def draw(self) -> None:
        if self.state.selection.paths != self._seen:
            self._seen = list(self.state.selection.paths)
            self._reveal = self._seen[-1] if self._seen else ""
        imgui.set_next_item_width(-1)
        _, self._filter = imgui.input_text_with_hint("##filter", tr("search"), self._filter)
        imgui.push_style_var(imgui.StyleVar_.indent_spacing, px(_INDENT))
        self._contents(self.state.scene)
        imgui.pop_style_var()
        self._keys()
        self._reveal = ""

    def _contents(self, scene: Scene) -> None:
        self._node("scene", "Scene", leaf=True)
        for actor in scene.actors:
            self._actor(actor)
        included = [n for n in self.state.simulation.frame.robots if not _describes(scene, n)]
        for name in included:
            self._included(name)
        if scene.frames:
            frames = [(f"frames[{i}]", f.name) for i, f in enumerate(scene.frames)]
            self._group("Frames", frames, icons.FRAME)
        if scene.collision_groups:
            listed = enumerate(scene.collision_groups)
            groups = [(f"collision_groups[{i}]", group.name) for i, group in listed]
            self._group(tr("Collision groups"), groups, icons.GROUP)

    def _included(self, name: str) -> None:
        """An actor of another file, or a copy: what it has can be seen, not edited."""
        self._open_for(name)
        if self._node(name, tr("{name} (included or copied)", name=name), leaf=False):
            self._elements(name)
            imgui.tree_pop()

    def _open_for(self, actor: str) -> None:
        """Open an actor whose part was just selected."""
        if self._reveal.startswith(f"{actor}."):
            imgui.set_next_item_open(True)

    def _actor(self, actor: Actor) -> None:
        children = self._children(actor)
        shown = self._matches(actor.name) or any(self._matches(label) for _, label in children)
        if not shown:
            return
        if self._renaming == actor.name:
            self._rename_field(actor.name)
            return
        if len(self.state.scene.actors) <= _FEW:
            imgui.set_next_item_open(True, imgui.Cond_.once)
        self._open_for(actor.name)
        opened = self._node(actor.name, actor.name, leaf=False)
        self._drop_on(actor.name)
        self._context(actor.name)
        if not opened:
            return
        for component in actor.components:
            path = f"{actor.name}.{component.role}"
            if self._matches(component.role) or self._matches(actor.name):
                self._node(path, component.role, leaf=True)
                self._component_context(path)
        self._elements(actor.name)
        imgui.tree_pop()

    def _children(self, actor: Actor) -> list[tuple[str, str]]:
        robot = self.state.simulation.world.articulations.get(actor.name)
        names = [c.role for c in actor.components]
        if robot is not None:
            names += [*robot.joint_names, *(b.actuator for b in robot.actuators)]
        return [(f"{actor.name}.{name}", name) for name in names]

    def _elements(self, name: str) -> None:
        robot = self.state.simulation.world.articulations.get(name)
        if robot is None:
            return
        joints = [(joint_path(name, j), j) for j in robot.joint_names]
        actuators = [(actuator_path(name, b.actuator), b.actuator) for b in robot.actuators]
        self._group(
            tr("Joints ({count})##{actor}", count=len(joints), actor=name), joints, icons.JOINT
        )
        self._group(
            tr("Actuators ({count})##{actor}", count=len(actuators), actor=name),
            actuators,
            icons.ACTUATOR,
        )
        self._keyframes(name, list(robot.keyframes))

    def _keyframes(self, actor: str, names: Sequence[str]) -> None:
        """Keyframes of the model and of the scene; a double click goes to one."""
        names = [name for name in names if self._matches(name)]
        label = tr("Keyframes ({count})##{actor}", count=len(names), actor=actor)
        if not names or not imgui.tree_node_ex(f"{icons.KEYFRAME}  {label}###{label}", _NODE):
            return
        described = [a for a in self.state.scene.actors if a.name == actor]
        own = [keyframe.name for a in described for keyframe in a.keyframes]
        for name in names:
            imgui.tree_node_ex(icons.labelled(icons.KEYFRAME, name, f"{actor} {name}"), _LEAF)
            imgui.set_item_tooltip(tr("Double click: reset to it"))
            if imgui.is_item_hovered() and imgui.is_mouse_double_clicked(0):
                self.state.attempt(partial(go_to, self.state, name))
            elif imgui.is_item_clicked() and name in own:
                self.state.selection.only(f"{actor}.keyframes[{own.index(name)}]")
        imgui.tree_pop()

    def _group(self, label: str, items: Sequence[tuple[str, str]], icon: str) -> None:
        items = [item for item in items if self._matches(item[1])]
        if any(path == self._reveal for path, _ in items):
            imgui.set_next_item_open(True)
        if items and imgui.tree_node_ex(f"{icon}  {label}###{label}", _NODE):
            for path, text in items:
                self._node(path, text, leaf=True)
                actor, _, actuator = path.partition(".actuator:")
                if actuator:
                    drag_source(self.state, "actuator", f"{actor}.{actuator}", actuator)
            imgui.tree_pop()

    def _node(self, path: str, label: str, *, leaf: bool) -> bool:
        selection = self.state.selection
        flags = (_LEAF if leaf else _NODE) | int(imgui.TreeNodeFlags_.span_avail_width)
        if path in selection.paths:
            flags |= int(imgui.TreeNodeFlags_.selected)
        icon = icon_of_path(self.state, path)
        opened = imgui.tree_node_ex(icons.labelled(icon, label, path), flags)
        if path == self._reveal and not imgui.is_item_visible():
            imgui.set_scroll_here_y()
        if imgui.is_item_clicked() and not imgui.is_item_toggled_open():
            if imgui.get_io().key_ctrl or imgui.get_io().key_shift:
                selection.toggle(path)
            else:
                selection.only(path)
        return opened

    def _matches(self, text: str) -> bool:
        return self._filter.lower() in text.lower()

    # Edits ----------------------------------------------------------------------------------------

    def _context(self, name: str) -> None:
        if imgui.begin_popup_context_item(f"menu {name}"):
            if imgui.is_window_appearing():
                self._menu = self._entries_of(name)
            draw_entries(self._menu)
            imgui.end_popup()

    def _component_context(self, path: str) -> None:
        if imgui.begin_popup_context_item(f"menu {path}"):
            draw_entries(list(component_entries(path, self._actions)))
            imgui.end_popup()

    def _entries_of(self, actor: str) -> list[MenuEntry]:
        return list(actor_entries(actor, self._actions, component_types().assets))

    def entries(self) -> Iterator[tuple[str, MenuEntry]]:
        """Whatever the menus here offer, with the path of what it is for."""
        for actor in self.state.scene.actors:
            yield from ((actor.name, entry) for entry in self._entries_of(actor.name))
            for component in actor.components:
                path = f"{actor.name}.{component.role}"
                yield from ((path, e) for e in component_entries(path, self._actions))
        for name, robot in self.state.simulation.world.articulations.items():
            for keyframe in robot.keyframes:
                yield from ((name, e) for e in keyframe_entries(keyframe, self._actions))

    @property
    def _actions(self) -> ActorActions:
        state, attempt = self.state, self.state.attempt
        return ActorActions(
            self._on_drop,
            self._focus,
            self.follow,
            lambda name: attempt(lambda: capture(state, name)),
            self.start_renaming,
            lambda name: attempt(lambda: duplicate(state, name)),
            lambda path: attempt(lambda: delete(state, path)),
            lambda keyframe: attempt(lambda: go_to(state, keyframe)),
        )

    def _focus(self, name: str) -> None:
        self.state.selection.only(name)
        self.focus(name)

    def start_renaming(self, name: str) -> None:
        """Show a field in place of an actor's name."""
        self._renaming = self._name = name
        self._has_focus = False

    def _rename_field(self, name: str) -> None:
        if not self._has_focus:
            imgui.set_keyboard_focus_here()
        flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.auto_select_all
        done, self._name = imgui.input_text("##rename", self._name, flags)
        if done:
            new = self._name
            self._renaming = None
            if new != name:
                self.state.attempt(lambda: rename(self.state, name, new))
        elif self._has_focus and not imgui.is_item_active():
            self._renaming = None  # Escape, or a click somewhere else
        self._has_focus = self._has_focus or imgui.is_item_active()

    def _drop_on(self, actor: str) -> None:
        if imgui.begin_drag_drop_target():
            if imgui.accept_drag_drop_payload_py_id("MJRIG") is not None:
                dragged, self.state.dragged = self.state.dragged, None
                if dragged is not None:
                    self._on_drop(*dragged, actor)
            imgui.end_drag_drop_target()

    def _keys(self) -> None:
        if not imgui.is_window_focused() or imgui.get_io().want_text_input:
            return
        if imgui.is_key_pressed(imgui.Key.delete):
            self.state.attempt(lambda: delete(self.state, *self.state.selection.paths))


def _describes(scene: Any, name: str) -> bool:
    return any(actor.name == name for actor in scene.actors)


def rename(state: EditorState, old: str, new: str) -> None:
    """Rename an actor; references and the selection follow."""
    _check_is_here(state, old)
    with state.session.edit(tr("Rename {old} to {new}", old=old, new=new)) as scene:
        scene.rename(old, new)
    state.selection.follow(old, new)


def delete(state: EditorState, *paths: str) -> None:
    """Remove actors with what depends on them, components, frames, joints...: one edit.

    Raises:
        MjrigError: something cannot be removed; nothing was changed.
    """
    if not paths:
        return
    gone: list[str] = []
    names = sorted((_name_of(state, path) for path in paths), key=_rank)
    with state.session.edit(tr("Delete {paths}", paths=listed(paths))) as scene:
        for name in names:
            gone += _remove(scene, name)
    for text in gone:
        state.console.say(tr("also removed: {what}", what=text))
    state.selection.paths = [p for p in state.selection.paths if p not in paths]


def _name_of(state: EditorState, path: str) -> str:
    """What a selected thing is called in the scene."""
    if path == SCENE:
        raise PropertyError(tr("the scene itself cannot be deleted"))
    if path.endswith("]"):  # frames[0], collision_groups[0]
        return str(getattr(state.described(path), "name", path))
    _check_is_here(state, path.partition(".")[0])
    return path


def _check_is_here(state: EditorState, actor: str) -> None:
    reason = state.why_not_edited(actor)
    if reason:
        raise BindingError(reason)


def _rank(name: str) -> int:
    """Order of removal: parts before wholes, actuators before the joints they need."""
    part = name.partition(".")[2]
    return 3 if not part else 2 if part.startswith("joint:") else 1


def _names(scene: Scene) -> set[str]:
    items: tuple[Any, ...] = (*scene.actors, *scene.frames, *scene.collision_groups)
    return {item.name for item in items}


def _remove(scene: Scene, name: str) -> list[str]:
    """Take something out of a scene; returns what went with it."""
    actor, _, part = name.partition(".")
    if part:
        components = [c for c in scene[actor].components if c.role == part]
        if components:
            scene[actor].remove_component(components[0])
            return []
    elif name not in _names(scene):
        return []  # it was removed with another one
    return scene.remove(name, dependents="remove")[1:]


def duplicate(state: EditorState, name: str) -> str:
    """A copy of an actor beside it, under a free name."""
    _check_is_here(state, name)
    with state.session.edit(tr("Duplicate {name}", name=name)) as scene:
        copied = scene[name].copy()
        copied.name = unique(name, [a.name for a in scene.actors])
        copied.pose = copied.pose or Pose()
        assert copied.pose is not None
        copied.pose.position = copied.pose.position + _ASIDE
        scene.actors = (*scene.actors, copied)
    state.selection.only(copied.name)
    return copied.name
