"""Scene: a description that can be edited by name: add actors, rename and remove elements."""

from pathlib import Path

from mjrig.properties.nested_kinds import NestedList
from mjrig.scene.scene import SceneDescription
from mjrig.scene_edit.actor import Actor
from mjrig.scene_edit.removal import remove
from mjrig.scene_edit.renaming import rename


class Scene(SceneDescription):
    """Actors and simulation options, made in Python or read from a file."""

    # Narrower than in the description; assigning any other type is refused at run time.
    actors: NestedList[Actor] = NestedList(  # pyrefly: ignore[bad-override]
        Actor, polymorphic=False, structural=True, doc="Actors of the scene."
    )

    def __getitem__(self, name: str) -> Actor:
        """An actor by name; one of an included file as a copy that refuses to be changed.

        Raises:
            PropertyError: there is none of that name.
        """
        actor = super().__getitem__(name)
        assert isinstance(actor, Actor)
        return actor

    def add_actor(
        self, name: str, *, model: str | Path | None = None, **properties: object
    ) -> Actor:
        """Add an actor and return it.

        Args:
            name: its name, unique in the scene.
            model: file of the model; none for an actor with a `prop`.
            properties: of Actor.

        Raises:
            PropertyError: the name is taken or a value does not fit; nothing was changed.
        """
        actor = super().add_actor(name, model=model, **properties)
        assert isinstance(actor, Actor)
        return actor

    def rename(self, path: str, new: str) -> list[str]:
        """Rename an actor, frame, group, or an element of an actor (`dog.FL_hip`).

        Every reference in the scene follows; a model's own element is renamed in `renamed:`.

        Returns:
            The references that were updated.

        Raises:
            PropertyError: there is no such item, or the new name is taken; nothing was changed.
        """
        return rename(self, path, new)

    def remove(self, path: str, *, dry_run: bool = False, dependents: str = "refuse") -> list[str]:
        """Remove an actor, frame, group, or an element of an actor (`dog.FL_hip`) from the scene.

        Args:
            path: what to remove; a model's own element is listed in `removed:`.
            dry_run: change nothing, only report.
            dependents: `refuse` if something needs it, or `remove` that too.

        Returns:
            What is, or would be, removed: the item itself first, then what depended on it.

        Raises:
            PropertyError: there is no such item, or something needs it; nothing was changed.
        """
        return remove(self, path, dry_run=dry_run, dependents=dependents)
