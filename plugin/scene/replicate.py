"""Copies of actors on grids; what is attached to a copied actor is copied with it."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mjrig.errors import PropertyError
from mjrig.scene.actor import ActorDescription
from mjrig.scene.actor_parts import MAX_COPIES
from mjrig.scene.pose import Pose


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
