"""Placement: the actors of a world from a scene's includes, copies on grids and random draws."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.core.scene.pose import Pose
from mjrig.core.scene.randomisation import Draw, draws, is_for_bound
from mjrig.core.scene.scene_description import Placed, SceneDescription, described, own_copy
from mjrig.core.scene.scene_sections import MAX_COPIES, Frame

# Replicate ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy:
    """One copy of an actor: the suffix of its name, and of the name of its carrier."""

    carrier: str = ""
    carrier_suffix: str = ""
    index: int | None = None
    cell: tuple[int, ...] = (0, 0, 0)

    @property
    def suffix(self) -> str:
        """The suffix of the actor's name."""
        return self.carrier_suffix + ("" if self.index is None else f"_{self.index}")

    def apply(self, item: ActorDescription) -> None:
        """Make this copy of an actor that is a copy of the described one already."""
        item.name += self.suffix
        if self.carrier_suffix:
            self._follow(item)
        if self.index is not None:
            assert item.replicate is not None
            item.pose = pose = item.pose or Pose()
            pose.position = pose.position + np.array(self.cell) * item.replicate.spacing
            item.unset("replicate")

    def _follow(self, item: ActorDescription) -> None:
        """Refer to the copy of its carrier."""
        if item.attach is not None:
            item.attach.to = self._moved(item.attach.to)
        if item.pose is not None and item.pose.relative_to:
            item.pose.relative_to = self._moved(item.pose.relative_to)
        for actuator in item.actuators:
            if "/" in actuator.refsite:
                actuator.refsite = self._moved(actuator.refsite)

    def _moved(self, reference: str) -> str:
        head, slash, rest = reference.partition("/")
        return head + self.carrier_suffix + slash + rest if head == self.carrier else reference


class Copies:
    """Computes the copies of actors, those of their carriers first."""

    def __init__(self, actors: Iterable[ActorDescription]) -> None:
        self._actors = {actor.name: actor for actor in actors}
        self._found: dict[str, list[Copy]] = {}
        self._pending: list[str] = []

    def of(self, actor: ActorDescription) -> list[Copy]:
        """The copies of an actor, x slowest; none where it is not replicated.

        Raises:
            PropertyError: there are too many.
        """
        if actor.name not in self._found:
            carrier = self._actors.get(_carrier(actor))
            self._pending.append(actor.name)
            # NOTE: an attachment cycle is refused later, where frames are resolved.
            stands = carrier is not None and carrier.name not in self._pending
            below = self.of(carrier) if carrier is not None and stands else []
            self._pending.pop()
            self._found[actor.name] = list(_own(actor, below))
        return self._found[actor.name]


def _carrier(actor: ActorDescription) -> str:
    """The name of the actor or frame it is attached to."""
    if actor.attach is not None:
        return actor.attach.to.partition("/")[0]
    return actor.pose.relative_to.partition("/")[0] if actor.pose is not None else ""


def _own(actor: ActorDescription, below: list[Copy]) -> Iterator[Copy]:
    """The copies of an actor, on each copy of its carrier."""
    grid = actor.replicate
    if grid is None and not below:
        return
    cells: list[tuple[int, ...]] = [(0, 0, 0)]
    if grid is not None:
        cells = list(itertools.product(*(range(int(n)) for n in grid.count)))
    if len(cells) * len(below) > MAX_COPIES:
        raise PropertyError(
            f"{actor.label}: must be at most {MAX_COPIES} copies, got "
            f"{len(cells)} on each of {len(below)} {_carrier(actor)!r}",
            ("replicate",),
        )
    for under in below or [Copy()]:
        for i, cell in enumerate(cells):
            index = i if grid is not None else None
            yield Copy(_carrier(actor), under.suffix, index, cell)


# Placement ----------------------------------------------------------------------------------------


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
