"""From a scene to the actors that will be in the world: includes, copies, random draws."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from mjrig.errors import PropertyError
from mjrig.scene.actor import ActorDescription
from mjrig.scene.actor_parts import MAX_COPIES
from mjrig.scene.included import Placed, described, own_copy
from mjrig.scene.randomise import Draw, draws, is_for_bound
from mjrig.scene.replicate import Copies
from mjrig.scene.scene import SceneDescription
from mjrig.scene.scene_parts import Frame
from mjrig.scene.sim_options import SimOptions

S = TypeVar("S", bound=SceneDescription)


@dataclass(frozen=True)
class Placements:
    """Everything that a scene puts into the world, in order: included items first."""

    actors: tuple[Placed, ...]
    frames: tuple[Placed, ...]
    groups: tuple[Placed, ...]


def place(scene: SceneDescription, seed: int | None = None) -> Placements:
    """Everything in a scene as it will be in the world.

    Args:
        scene: the description; it is not changed.
        seed: random seed of the draws; None: the scene's own.

    Raises:
        SceneError, PropertyError: a name is not unique, an include or a random path is wrong.
    """
    actors = list(_replicated(described(scene, "actors")))
    frames = tuple(described(scene, "frames"))
    groups = tuple(described(scene, "collision_groups"))
    _check_unique([*frames, *actors])
    _check_unique(groups)
    drawn = _randomised(actors, scene, scene.seed if seed is None else seed)
    return Placements(tuple(drawn), frames, groups)


def flattened(cls: type[S], placements: Placements, sim: SimOptions | None) -> S:
    """A scene that lists everything itself: no includes, copies or draws are left to make."""
    scene = cls()
    if sim is not None:
        scene.sim = sim.copy()
    scene.frames = tuple(p.item.copy() for p in placements.frames)
    scene.collision_groups = tuple(p.item.copy() for p in placements.groups)
    scene.actors = tuple(own_copy(p.item) for p in placements.actors)
    return scene


# Names ------------------------------------------------------------------------------------------


def actor_names(scene: SceneDescription) -> list[str]:
    """The names that actors have in the world, those of included files and copies among them."""
    return [placed.name for placed in _replicated(described(scene, "actors"))]


def _check_unique(items: list[Placed] | tuple[Placed, ...]) -> None:
    seen: dict[str, Placed] = {}
    for placed in items:
        other = seen.setdefault(placed.name, placed)
        if other is not placed:
            with placed.locating():
                raise PropertyError(
                    f"the name {placed.name!r} is not unique in the scene; "
                    "rename it or give the include a prefix",
                    ("name",),
                )


# Copies -----------------------------------------------------------------------------------------


def copy_names(actor: ActorDescription) -> list[str]:
    """The names of an actor in the world: those of its copies, or its own without any."""
    scene = actor._parent
    among = scene.actors if isinstance(scene, SceneDescription) else (actor,)
    return [actor.name + copy.suffix for copy in Copies(among).of(actor)] or [actor.name]


def _replicated(actors: list[Placed]) -> Iterator[Placed]:
    """The actors with the copies that are made of them in their place."""
    copies, total = Copies(placed.item for placed in actors), 0
    for placed in actors:
        with placed.locating():
            made = copies.of(placed.item)
            total += len(made)
            if total > MAX_COPIES:
                raise PropertyError(
                    f"{placed.item.label}: a scene has at most {MAX_COPIES} copies of actors, this "
                    f"one would have {total} or more",
                    ("replicate",),
                )
        if not made:
            yield placed
        for copy in made:
            item = own_copy(placed.item)
            copy.apply(item)
            yield Placed(item, placed.original, placed.scene, placed.keys)


# Attachments ------------------------------------------------------------------------------------


def root_name(name: str, actors: Iterable[ActorDescription], frames: Iterable[Frame] = ()) -> str:
    """The name at the end of an actor's chain of attachments; its own where it has none."""
    on = {frame.name: frame.on for frame in frames}
    on |= {a.name: a.attach.to if a.attach is not None else "world" for a in actors}
    frame_names = set(on) - {a.name for a in actors}
    seen = [name]
    root = name
    while True:
        parent = on.get(seen[-1], "world").partition("/")[0]
        if parent == "world" or parent not in on or parent in seen:
            return root
        seen.append(parent)
        if parent not in frame_names:
            root = parent


# Random draws -----------------------------------------------------------------------------------


def _randomised(actors: list[Placed], scene: SceneDescription, seed: int) -> list[Placed]:
    """The actors with the scene's draws made; those per actuator are left for the world."""
    drawn = list(actors)
    for i, placed in enumerate(described(scene, "randomise")):
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
