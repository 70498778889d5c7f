"""Session: the scene that is open, the world that runs it, and the way every edit takes.

An edit changes the scene; the session brings the running world in line with it (between steps,
keeping its state), or puts the scene back and says why not. Either way there is one undo entry or
none.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.editor.session.carry_state import carry
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.undo import Data, UndoStack
from mjrig.errors import BindingError, MjrigError
from mjrig.properties.has_properties import HasProperties
from mjrig.scene.scene import Scene
from mjrig.sim.world import World
from mjrig.yaml_text.yaml_edit import same


@dataclass(frozen=True)
class LiveEdit:
    """A change of one property that the running world can take as it is."""

    actor: int
    component: int
    name: str
    value: Any
    is_set: bool


class Session:
    """One open scene with its simulation and undo history.

    Args:
        scene: the description; the session edits it from now on.
        simulation: what runs its world.
    """

    def __init__(self, scene: Scene, simulation: Simulation) -> None:
        self.scene = scene
        self.simulation = simulation
        self.undo_stack = UndoStack()
        self._running: Data = scene.to_data()
        self._played_from: Data | None = None

    # Edits --------------------------------------------------------------------------------------

    @contextmanager
    def edit(self, name: str, *, merge: str | None = None) -> Iterator[Scene]:
        """Change the scene as you like; afterwards the world follows and undo knows the edit.

        Args:
            name: what undo calls it.
            merge: edits that follow each other with one key are one undo entry, until `seal`.

        Raises:
            MjrigError: the scene or the world refused; both are as before.
        """
        before = self._running
        try:
            yield self.scene
            after = self._follow()
        except BaseException:
            restore(self.scene, before)
            raise
        if not same(before, after):
            self.undo_stack.push(name, before, after, merge)

    def seal(self) -> None:
        """End a merged edit: the mouse button was let go."""
        self.undo_stack.seal()

    def set(self, path: str, value: object, *, merge: bool = False) -> None:
        """Set one property of the scene by path: `dog.PDController.kp`.

        Raises:
            MjrigError: it was refused; nothing was changed.
        """
        with self.edit(f"Set {path}", merge=path if merge else None) as scene:
            scene.set(path, value)

    def recover(self, scene: Scene) -> None:
        """Make the scene say what another one does: one edit, so that it can be taken back."""
        with self.edit("Recover unsaved changes") as mine:
            restore(mine, scene.to_data())

    def undo(self) -> str | None:
        """Take the last edit back; returns its name, None if there is none."""
        entry = self.undo_stack.undoable
        if entry is None:
            return None
        self._go_to(entry.before)
        self.undo_stack.step_back()
        return entry.name

    def redo(self) -> str | None:
        """Make the edit again that was undone last; returns its name, None if there is none."""
        entry = self.undo_stack.redoable
        if entry is None:
            return None
        self._go_to(entry.after)
        self.undo_stack.step_forward()
        return entry.name

    def _go_to(self, data: Data) -> None:
        before = self._running
        try:
            restore(self.scene, data)
            self._follow()
        except BaseException:
            restore(self.scene, before)
            raise

    # The world ----------------------------------------------------------------------------------

    def _follow(self) -> Data:
        """Bring the running world in line with the scene."""
        after = self.scene.to_data()
        if same(self._running, after):
            return after
        edits = live_edits(self._running, after)
        if edits is None or not self._apply_live(edits):
            self._rebuild()
        self._running = deepcopy(after)
        return self._running

    def _apply_live(self, edits: list[LiveEdit]) -> bool:
        """Whether the running world took the edits; a new one is needed if not."""
        scene = self.scene

        def run(world: World) -> bool:
            placed = world.placements.actors
            robots = list(world.articulations.values())
            targets: list[tuple[HasProperties, LiveEdit]] = []
            for edit in edits:
                hit = [k for k, p in enumerate(placed) if p.keys == ("actors", edit.actor)]
                hit = [k for k in hit if placed[k].scene is scene]
                if not hit or any(placed[k].draws for k in hit):
                    return False
                targets += [(robots[k].components[edit.component], edit) for k in hit]
            return _assign_all(targets)

        return self.simulation.call(run)

    def _rebuild(self) -> None:
        """A new world from the scene, in the state of the old one.

        Raises:
            MjrigError: it cannot be built; the old one goes on.
        """
        execution = self.simulation.world.requested_execution
        self.simulation.replace(World(self.scene, execution), carry)

    # Play ---------------------------------------------------------------------------------------

    def play(self) -> None:
        """Run, and remember what the scene said when it began."""
        if self._played_from is None:
            self._played_from = self._running
        self.simulation.play()

    def stop(self) -> Data | None:
        """Pause and go back to the start; edits stay.

        Returns:
            What the scene said when play began, if it says something else now.
        """
        self.simulation.pause()
        self.simulation.reset()
        began, self._played_from = self._played_from, None
        return began if began is not None and not same(began, self._running) else None

    # Files --------------------------------------------------------------------------------------

    def save(self, path: Path | None = None, *, overwrite: bool = False) -> None:
        """Write the scene; `overwrite` what somebody else wrote into its file meanwhile.

        Raises:
            SceneError: it cannot be written, or was changed on disk meanwhile.
        """
        self.scene.save(path, overwrite=overwrite)
        self.undo_stack.mark_saved()

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to save."""
        return self.undo_stack.is_dirty


def restore(scene: Scene, data: Mapping[str, Any]) -> None:
    """Make a scene say what it said when `to_data` gave this."""
    with scene.changes():
        now = scene.to_data()
        for name in now.keys() - data.keys():
            scene.unset(name)
        for name, value in data.items():
            if name not in now or not same(now[name], value):
                scene.property_named(name).assign(scene, deepcopy(value))


def live_edits(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[LiveEdit] | None:
    """The property changes that lead from one scene to another; None where it takes a new world."""
    if not _same_but(before, after, "actors"):
        return None
    old, new = before.get("actors", []), after.get("actors", [])
    if len(old) != len(new):
        return None
    edits: list[LiveEdit] = []
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        parts = a.get("components", []), b.get("components", [])
        types = [[c["type"] for c in part] for part in parts]
        if not _same_but(a, b, "components") or types[0] != types[1]:
            return None
        for j, (c, d) in enumerate(zip(*parts, strict=True)):
            names = [n for n in dict.fromkeys([*c, *d]) if not same(c.get(n), d.get(n))]
            edits += [LiveEdit(i, j, n, d.get(n), n in d) for n in names]
    return edits


def _same_but(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> bool:
    return same(
        {k: v for k, v in a.items() if k != name}, {k: v for k, v in b.items() if k != name}
    )


def _assign_all(targets: list[tuple[HasProperties, LiveEdit]]) -> bool:
    """Assign to components of the running world, all or nothing; False: it needs a new one."""
    undo: list[tuple[HasProperties, LiveEdit]] = []
    try:
        for component, edit in targets:
            before = LiveEdit(
                edit.actor,
                edit.component,
                edit.name,
                component.authored(edit.name),
                component.is_authored(edit.name),
            )
            _assign(component, edit)
            undo.append((component, before))
    except MjrigError as error:
        for component, before in reversed(undo):
            _assign(component, before)
        if isinstance(error, BindingError) and "needs a new world" in str(error):
            return False
        raise
    return True


def _assign(component: HasProperties, edit: LiveEdit) -> None:
    if edit.is_set:
        component.property_named(edit.name).assign(component, deepcopy(edit.value))
    else:
        component.unset(edit.name)
