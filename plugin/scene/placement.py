"""From a scene to the actors that will stand in the world: includes, copies, random draws."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from mjrig.errors import PropertyError
from mjrig.scene.actor import Actor
from mjrig.scene.randomise import Draw, draws, is_for_bound
from mjrig.scene.replicate import Copies
from mjrig.scene.scene import Scene
from mjrig.scene.scene_parts import CollisionGroup, Frame, Randomise
from mjrig.scene.sim_options import SimOptions


@dataclass(frozen=True)
class Placed:
    """One actor, frame or group of the world, and where in which file it is described.

    `item` is the described object itself, or an own copy where the world's differs from it.
    """

    item: Any
    original: Any
    scene: Scene
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


@dataclass(frozen=True)
class Placements:
    """Everything that a scene puts into the world, in order: included things first."""

    actors: tuple[Placed, ...]
    frames: tuple[Placed, ...]
    groups: tuple[Placed, ...]


def place(scene: Scene, seed: int | None = None) -> Placements:
    """Everything in a scene as it will be in the world.

    Args:
        scene: the description; it is not changed.
        seed: of the random draws; None: the scene's own.

    Raises:
        SceneError, PropertyError: a name stands twice, an include or a random path is wrong.
    """
    actors = list(_replicated(list(_placed(scene, "actors"))))
    frames = tuple(_placed(scene, "frames"))
    groups = tuple(_placed(scene, "collision_groups"))
    _check_unique([*frames, *actors])
    _check_unique(groups)
    drawn = _randomised(actors, scene, scene.seed if seed is None else seed)
    return Placements(tuple(drawn), frames, groups)


def flattened(placements: Placements, sim: SimOptions | None) -> Scene:
    """A scene that lists everything itself: no includes, copies or draws are left to make."""
    scene = Scene()
    if sim is not None:
        scene.sim = sim.copy()
    scene.frames = tuple(p.item.copy() for p in placements.frames)
    scene.collision_groups = tuple(p.item.copy() for p in placements.groups)
    scene.actors = tuple(own_copy(p.item) for p in placements.actors)
    return scene


# Includes ---------------------------------------------------------------------------------------


def _placed(scene: Scene, kind: str) -> Iterator[Placed]:
    """The items of one kind: those of the included files, then the scene's own."""
    for i, include in enumerate(scene.include):
        with scene.locating("include", i):
            part = include.scene()
        for placed in _placed(part, kind):
            yield _prefixed(placed, include.prefix, _names(part)) if include.prefix else placed
    for i, item in enumerate(getattr(scene, kind)):
        yield Placed(item, item, scene, (kind, i))


def described(scene: Scene, kind: str) -> list[Placed]:
    """The items of one kind, included ones under their names here; no copies or draws are made."""
    return list(_placed(scene, kind))


def actor_names(scene: Scene) -> list[str]:
    """The names that actors have in the world, those of included files and copies among them."""
    return [placed.name for placed in _replicated(described(scene, "actors"))]


def included_actor(scene: Scene, name: str) -> Actor:
    """A copy of an actor of an included file, as it stands in the scene.

    Raises:
        PropertyError: there is none of that name.
    """
    for placed in _placed(scene, "actors"):
        if placed.name == name and placed.scene is not scene:
            copied: Actor = own_copy(placed.item)
            return copied
    raise PropertyError(f"no included file has an actor {name!r}")


def _names(scene: Scene) -> set[str]:
    """What a reference inside a file may mean."""
    kinds = ("actors", "frames", "collision_groups")
    return {placed.name for kind in kinds for placed in _placed(scene, kind)}


def _prefixed(placed: Placed, prefix: str, known: set[str]) -> Placed:
    """An included item under its name in the including scene; its references follow."""

    def follow(name: str) -> str:
        return prefix + name if name.partition("/")[0] in known else name

    item = own_copy(placed.item)
    if isinstance(item, Randomise):
        item.path = prefix + item.path
        return Placed(item, placed.original, placed.scene, placed.keys)
    item.name = prefix + item.name
    if isinstance(item, Actor):
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
    """A copy that may be changed; its files are found from where the original stands."""
    copied = item.copy()
    if isinstance(copied, Actor):
        copied.stand_alone(item)
    return copied


def _check_unique(items: list[Placed] | tuple[Placed, ...]) -> None:
    seen: dict[str, Placed] = {}
    for placed in items:
        other = seen.setdefault(placed.name, placed)
        if other is not placed:
            with placed.locating():
                raise PropertyError(
                    f"the name {placed.name!r} stands twice in the scene; "
                    "an include may have a prefix",
                    ("name",),
                )


# Copies -----------------------------------------------------------------------------------------


def copy_names(actor: Actor) -> list[str]:
    """What an actor is called in the world: its copies, or without any itself."""
    scene = actor._parent
    among = scene.actors if isinstance(scene, Scene) else (actor,)
    return [actor.name + copy.suffix for copy in Copies(among).of(actor)] or [actor.name]


def _replicated(actors: list[Placed]) -> Iterator[Placed]:
    """The actors with the copies that are made of them in their place."""
    copies = Copies(placed.item for placed in actors)
    for placed in actors:
        with placed.locating():
            made = copies.of(placed.item)
        if not made:
            yield placed
        for copy in made:
            item = own_copy(placed.item)
            copy.apply(item)
            yield Placed(item, placed.original, placed.scene, placed.keys)


# Random draws -----------------------------------------------------------------------------------


def _randomised(actors: list[Placed], scene: Scene, seed: int) -> list[Placed]:
    """The actors with the scene's draws made; those per actuator are left for the world."""
    drawn = list(actors)
    for i, placed in enumerate(_placed(scene, "randomise")):
        with placed.locating():
            for k, draw in draws(placed.item, [a.name for a in actors], (seed, i)):
                drawn[k] = _with_draw(drawn[k], replace(draw, locating=placed.locating))
    return drawn


def _with_draw(placed: Placed, draw: Draw) -> Placed:
    if is_for_bound(draw, placed.item):
        return replace(placed, draws=(*placed.draws, draw))
    if placed.item is placed.original:
        placed = replace(placed, item=own_copy(placed.item))
    draw.apply(placed.item)
    return placed
