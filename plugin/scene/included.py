"""Items of included files, under their names in the including scene."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from mjrig.errors import PropertyError
from mjrig.scene.actor import ActorDescription
from mjrig.scene.include import IncludedScene
from mjrig.scene.randomise import Draw
from mjrig.scene.scene_parts import CollisionGroup, Frame, Randomise


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
