"""Session: the open scene, the world that runs it, and the path of every edit between them.

An edit changes the scene; the session finds what was changed and brings the running world in line
with it (between steps, keeping its state), or takes it back and raises the reason. Either way
there is one undo entry or none.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_text import update
from mjrig.core.sim.state_transfer import Kept, carry, left_behind
from mjrig.core.sim.world import World
from mjrig.editor.edits.edits import Data, Edit, UndoEntry, UndoStack, apply, inverse
from mjrig.editor.edits.live_edits import assign_live, edited_properties
from mjrig.editor.edits.scene_tracker import SceneTracker, followed
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.text import tr


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
        self._tracker = SceneTracker(scene)
        #: What the actors did in the world that the last edit replaced; None: it replaced none.
        self._left: Kept | None = None
        #: The data without what was edited while playing and not saved since; None: as at a start.
        self._unplayed: Data | None = None

    # Edits --------------------------------------------------------------------------------------

    @contextmanager
    def edit(self, name: str, *, merge: str | None = None) -> Iterator[Scene]:
        """Change the scene as you like; afterwards the world follows and undo knows the edit.

        Args:
            name: its name in the undo list.
            merge: edits that follow each other with one key are one undo entry, until `seal`.

        Raises:
            MjrigError: the scene or the world refused; both are as before.
        """
        with self._following() as edits:
            yield self.scene
        self._note_paused(edits)
        if edits:
            self._push(name, edits, merge)

    def _push(self, name: str, edits: Sequence[Edit], merge: str | None = None) -> None:
        folder, is_new = self.scene.base, self.scene.path is None
        entry = UndoEntry(name, tuple(edits), merge, folder, is_new, kept=self._left)
        self.undo_stack.push(entry)

    def seal(self) -> None:
        """End a merged edit: the mouse button was released."""
        self.undo_stack.seal()

    def set(self, path: str, value: object, *, merge: bool = False) -> None:
        """Set one property of the scene by path: `dog.PDController.kp`.

        Raises:
            MjrigError: it was refused; nothing was changed.
        """
        with self.edit(tr("Set {path}", path=path), merge=path if merge else None) as scene:
            scene.set(path, value)

    def recover(self, scene: Scene) -> None:
        """Replace the scene's data by that of another scene: one edit, which can be undone."""
        with self.edit(tr("Recover unsaved changes")) as mine:
            update(mine, scene.to_data())

    def undo(self) -> str | None:
        """Take the last edit back; returns its name, None if there is none."""
        entry = self.undo_stack.undoable
        if entry is None:
            return None
        with self._following(entry.kept) as edits, self._naming_as(entry):
            apply(self.scene, inverse(entry.edits))
        self._note_paused(edits)
        self.undo_stack.step_back(kept=self._left)
        return entry.name

    def redo(self) -> str | None:
        """Make the edit again that was undone last; returns its name, None if there is none."""
        entry = self.undo_stack.redoable
        if entry is None:
            return None
        with self._following(entry.kept) as edits, self._naming_as(entry):
            apply(self.scene, entry.edits)
        self._note_paused(edits)
        self.undo_stack.step_forward(kept=self._left)
        return entry.name

    def _naming_as(self, entry: UndoEntry) -> AbstractContextManager[None]:
        """Take names of files for what they meant when the edit was made: the scene may have moved.

        Saving a new scene shortens them; so are those that an older edit brings back.
        """
        shorten = entry.is_of_new_scene and self.scene.path is not None
        return self.scene.names_from(entry.folder, shorten=shorten)

    @property
    def data(self) -> Data:
        """What the running world was made from, as plain data that is never changed in place."""
        return self._tracker.data

    def edits_since(self, data: Data) -> tuple[Edit, ...]:
        """The edits that lead from an earlier `data` to the scene's present data."""
        return self._tracker.edits(data)

    # The world ----------------------------------------------------------------------------------

    @contextmanager
    def _following(self, kept: Kept | None = None) -> Iterator[list[Edit]]:
        """Bring the world in line with what is done inside; an error takes it back.

        Args:
            kept: what the actors did when the scene was as it will be.

        Yields:
            What was done, once it is done.
        """
        made: list[Edit] = []
        self._left = None
        try:
            yield made
            made += self._tracker.edits()
            if made:
                self._follow(made, kept)
        except BaseException:
            apply(self.scene, inverse(self._tracker.edits()))
            self._tracker.accept(())
            raise
        self._tracker.accept(made)

    def _follow(self, edits: Sequence[Edit], kept: Kept | None) -> None:
        edited = edited_properties(edits)
        if edited is not None:
            scene = self.scene
            if self.simulation.call(lambda world: assign_live(world, scene, edited)):
                return
        self._rebuild(kept)

    def _rebuild(self, kept: Kept | None = None) -> None:
        """A new world from the scene, in the state of the old one; see `carry`.

        Raises:
            MjrigError: it cannot be built; the old one keeps running.
        """
        execution = self.simulation.world.requested_execution

        def change(old: World, new: World) -> None:
            self._left = left_behind(old, new)
            carry(old, new, kept)

        self.simulation.replace(World(self.scene, execution), change)

    # Play ---------------------------------------------------------------------------------------

    def play(self) -> None:
        """Run, and remember the scene's data at the start."""
        if self._unplayed is None:
            self._unplayed = self.data
        self.simulation.play()

    def _note_paused(self, edits: Sequence[Edit]) -> None:
        """What is edited while paused is none of what was edited while playing."""
        if self._unplayed is not None and not self.simulation.playing:
            for edit in edits:
                self._unplayed = followed(self._unplayed, edit)

    def stop(self) -> tuple[Edit, ...]:
        """Pause and go back to the start; edits stay.

        Returns:
            The edits that were made while it ran, but for those that were taken back or saved.
        """
        self.simulation.pause()
        self.simulation.reset()
        unplayed, self._unplayed = self._unplayed, None
        return self.edits_since(unplayed) if unplayed is not None else ()

    # Files --------------------------------------------------------------------------------------

    def save(self, path: Path | None = None, *, overwrite: bool = False) -> None:
        """Write the scene; `overwrite` a file that another program changed meanwhile.

        In another folder it names the same files; the first time, those below by their relative
        path.

        Raises:
            SceneError: it cannot be written, or was changed on disk meanwhile.
        """
        self.scene.save(path, overwrite=overwrite, shorten=self.scene.path is None)
        self._tracker.accept(self._tracker.edits())
        self.undo_stack.mark_saved()
        if self._unplayed is not None:
            self._unplayed = self.data

    def reload(self) -> None:
        """Read the scene's file again, in the state that it is in; an edit, which can be undone.

        Raises:
            SceneError: something in it is wrong, or its world cannot be built; nothing changed.
        """
        version = self.scene.version
        with self._keeping_objects():
            try:
                self.scene.reload()
                self._make_again()
                self._rebuild()
            except BaseException:
                self.scene.return_to(version)
                raise
        edits = self._tracker.edits()
        self._tracker.accept(edits)
        self._note_paused(edits)
        if edits:
            self._push(tr("Reload the file"), edits)
        self.undo_stack.mark_saved()

    def renew(self) -> None:
        """A new world of the same scene, in the same state: a file that it names was changed.

        Raises:
            MjrigError: it cannot be built; the old one keeps running.
        """
        self.scene.forget_included()
        with self._keeping_objects():
            self._make_again()
            self._rebuild()
        self._tracker.accept(())

    @contextmanager
    def _keeping_objects(self) -> Iterator[None]:
        """Bring back the very actors and components after an error.

        They could not be made again from their data if their modules are what is broken.
        """
        scene = self.scene
        kept = [(actor, actor.components) for actor in scene.actors]
        try:
            yield
        except BaseException:
            scene.property_named("actors").assign(scene, [actor for actor, _ in kept])
            for actor, components in kept:
                if actor.components != components:
                    actor.property_named("components").assign(actor, list(components))
            apply(scene, inverse(self._tracker.edits()))
            self._tracker.accept(())
            raise

    def _make_again(self) -> None:
        """Make the actors again from their data, with the classes that modules have now."""
        scene = self.scene
        if any("_module_file" in vars(type(obj)) for obj in scene._family()):
            scene.property_named("actors").assign(scene, scene.to_data()["actors"])

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to save."""
        return self.undo_stack.is_dirty
