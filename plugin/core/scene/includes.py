"""Includes: scene files inside a scene, overrides of their properties, names of their items."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mjrig.core.errors import LocatedError, PropertyError, SceneError
from mjrig.core.properties.collection_kinds import Table, anything
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import FilePath, Text
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.core.scene.randomisation import Draw
from mjrig.core.scene.scene_file import Elsewhere, Reading
from mjrig.core.scene.scene_sections import NAME, CollisionGroup, Frame, Randomise
from mjrig.core.yaml_text.yaml_document import Keys

# Include ------------------------------------------------------------------------------------------
# Include: another scene file inside a scene, with properties that override it.


SCENES = (".yaml", ".yml")


class IncludedScene(Protocol):
    """The interface of a scene to its includes and to code that walks included files."""

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        ...

    @property
    def file_count(self) -> int:
        """Number of files it consists of, itself included."""
        ...

    def actor_names(self) -> list[str]:
        """The names of all actors, those of included files first."""
        ...

    def effective_sim(self) -> SimOptions:
        """Simulation options: its own, and those of included files."""
        ...

    def __getitem__(self, name: str) -> ActorDescription:
        """An actor by name."""
        ...

    def own_items(self, kind: str) -> Sequence[Any]:
        """What is listed in its own file under `include`, `actors`, `frames`, …"""
        ...

    def locating(self, *keys: Any) -> AbstractContextManager[None]:
        """Turn errors about it into SceneErrors with their place in the file."""
        ...

    def put(self, path: str, value: object) -> Keys:
        """Set one property by path; returns where in its data that is."""
        ...

    def remember_set(self, keys: Keys, elsewhere: Elsewhere) -> None:
        """Note that the including file sets the value at `keys`."""
        ...


@runtime_checkable
class IncludingScene(Protocol):
    """The interface of a scene to the includes in it."""

    @property
    def reading(self) -> Reading:
        """How it was read; files it includes are read the same way."""
        ...

    @property
    def is_from_text(self) -> bool:
        """Whether its errors have a place in a file."""
        ...

    def located(self, path: Keys, error: LocatedError) -> SceneError | None:
        """An error about the value at a path, with its place in the file."""
        ...

    @classmethod
    def read_file(cls, path: Path, reading: Reading) -> IncludedScene:
        """Read a file as a scene of the same class."""
        ...


class Include(HasProperties):
    """Another scene file, whose actors, frames and groups are part of this scene."""

    file = FilePath(suffixes=SCENES, structural=True, doc="Scene file, relative to this one.")
    prefix = Text("", structural=True, doc="Prefix of every name of the included file.")
    vars = Table(anything, structural=True, doc="Values for variables of the included file.")
    set = Table(
        anything, structural=True, doc="Properties to override, by path: dog.PDController.kp: 50."
    )

    _scene: IncludedScene | None

    def prepare(self) -> None:
        self._scene = None

    def validate(self) -> None:
        self.forget()
        if self.prefix and not NAME.fullmatch(self.prefix):
            raise PropertyError(
                f"{self.label}.prefix: must be letters, digits, _ and -, "
                f"starting with a letter, got {self.prefix!r}",
                ("prefix",),
            )
        outer = self._outer
        if outer is not None and outer.is_from_text:
            self.scene()  # raises what is wrong with it now

    def forget(self) -> None:
        """Read the file again when it is needed next."""
        self._scene = None

    def scene(self) -> IncludedScene:
        """The included scene, read once, with the overrides set.

        Raises:
            SceneError: something in the file is wrong.
            PropertyError: it cannot be found, includes itself, or what is set does not fit.
        """
        if self._scene is None:
            part = self._read()
            for path, value in self.set.items():
                self._set(part, path, value)
            self._scene = part
        return self._scene

    def put(self, path: str, value: object) -> str:
        """Override a property of the included scene; returns its canonical path."""
        path = self._as_listed(path)
        self.set = {**self.set, path: value}
        return path

    def _read(self) -> IncludedScene:
        if self.file is None:
            raise PropertyError(f"{self.label}: needs a file")
        outer = self._outer
        if outer is None:
            raise PropertyError(f"{self.label}: is not part of a scene")
        try:
            path = self.find_file(self.file)
            outer.reading.into(path)
        except PropertyError as error:
            raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        return type(outer).read_file(path, outer.reading.with_vars(self.vars))

    @property
    def _outer(self) -> IncludingScene | None:
        return self._parent if isinstance(self._parent, IncludingScene) else None

    def _set(self, part: IncludedScene, path: str, value: object) -> None:
        try:
            keys = part.put(path, value)
        except PropertyError as error:
            leads_nowhere = not error.keys
            raise PropertyError(
                str(error),
                ("set",),
                at=(path, *error.at),
                about_key=error.about_key or leads_nowhere,
            ) from None
        part.remember_set(keys, lambda error: self._located(path, error))

    def _located(self, path: str, error: LocatedError) -> SceneError | None:
        """An error about an override, with its place in the including file, if any."""
        moved = LocatedError(str(error), at=(path, *error.at), about_key=error.about_key)
        outer = self._outer
        return outer.located((*self.keys_below(), "set"), moved) if outer is not None else None

    def _as_listed(self, path: str) -> str:
        """The path by the name its component is listed by: `dog.pd.kp` is `dog.PDController.kp`."""
        actor, _, rest = path.partition(".")
        component, _, name = rest.partition(".")
        try:
            role = self.scene()[actor].component_role(component) if name else component
        except PropertyError:
            return path
        return ".".join(filter(None, (actor, role, name)))


# Included -----------------------------------------------------------------------------------------
# Items of included files, under their names in the including scene.


@dataclass(frozen=True)
class Placed:
    """One actor, frame or group of the world, and where in which file it is described.

    `item` is the described object itself, or a copy where the world's differs from it.
    """

    item: Any
    original: Any
    scene: IncludedScene
    keys: tuple[Any, ...]
    #: Random draws that wait until the actuators are known.
    draws: tuple[Draw, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the world."""
        return str(self.item.name)

    def locating(self, *keys: Any) -> AbstractContextManager[None]:
        """Turn errors about it into SceneErrors with their place in the file."""
        return self.scene.locating(*self.keys, *keys)


def placed_items(scene: IncludedScene, kind: str) -> Iterator[Placed]:
    """The items of one kind: those of the included files, then the scene's own."""
    for i, include in enumerate(scene.own_items("include")):
        with scene.locating("include", i):
            part = include.scene()
        for placed in placed_items(part, kind):
            yield _prefixed(placed, include.prefix, _names(part)) if include.prefix else placed
    for i, item in enumerate(scene.own_items(kind)):
        yield Placed(item, item, scene, (kind, i))


def described(scene: IncludedScene, kind: str) -> list[Placed]:
    """The items of one kind, included ones under their names here; no copies or draws are made."""
    return list(placed_items(scene, kind))


def included_actor(scene: IncludedScene, name: str) -> ActorDescription:
    """A copy of an actor of an included file, as it is in the scene.

    Raises:
        PropertyError: there is none of that name.
    """
    for placed in placed_items(scene, "actors"):
        if placed.name == name and placed.scene is not scene:
            copied: ActorDescription = own_copy(placed.item)
            return copied
    raise PropertyError(f"no included file has an actor {name!r}")


def _names(scene: IncludedScene) -> set[str]:
    """What a reference inside a file may refer to."""
    kinds = ("actors", "frames", "collision_groups")
    return {placed.name for kind in kinds for placed in placed_items(scene, kind)}


def _prefixed(placed: Placed, prefix: str, known: set[str]) -> Placed:
    """An included item under its name in the including scene; its references follow."""

    def follow(name: str) -> str:
        return prefix + name if name.partition("/")[0] in known else name

    item = own_copy(placed.item)
    if isinstance(item, Randomise):
        item.path = prefix + item.path
        return Placed(item, placed.original, placed.scene, placed.keys)
    item.name = prefix + item.name
    if isinstance(item, ActorDescription):
        if item.attach is not None and item.attach.to != "world":
            item.attach.to = follow(item.attach.to)
        if item.pose is not None and item.pose.relative_to:
            item.pose.relative_to = follow(item.pose.relative_to)
        for actuator in item.actuators:
            if "/" in actuator.refsite:
                actuator.refsite = follow(actuator.refsite)
    elif isinstance(item, Frame):
        item.on = follow(item.on)
    elif isinstance(item, CollisionGroup):
        for field in ("members", "groups", "ignores"):
            patterns = getattr(item, field)
            if patterns:
                setattr(item, field, [f"{re.escape(prefix)}(?:{p})" for p in patterns])
    return Placed(item, placed.original, placed.scene, placed.keys)


def own_copy(item: Any) -> Any:
    """A copy that may be changed; its files are found relative to the original."""
    copied = item.copy()
    if isinstance(copied, ActorDescription):
        copied.stand_alone(item)
    return copied
