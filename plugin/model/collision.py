"""Collision groups: bodies that do not collide, as contact excludes."""

import itertools
from collections.abc import Sequence
from typing import Any

from mjrig.errors import PropertyError
from mjrig.names import Slots, suggestion
from mjrig.pattern_budget import pattern_budget
from mjrig.patterns import compile_pattern
from mjrig.scene.included import Placed

WORLD = "world"
#: Pairs of bodies that the groups of a scene may keep apart, each group counted.
MAX_PAIRS = 250_000


def exclude_contacts(world: Any, groups: Sequence[Placed], actors: Sequence[str]) -> None:
    """Add the excludes of all groups to the spec of the world.

    Raises:
        SceneError, PropertyError: a member or group does not exist, or groups contain each other.
    """
    if not groups:
        return
    bodies = [b.name for b in world.bodies]
    members = _Members(groups, bodies, actors)
    with_geoms = {b.name for b in world.bodies if b.geoms}
    done = {frozenset((e.bodyname1, e.bodyname2)) for e in world.excludes}
    tried = 0
    for placed in groups:
        with placed.locating():
            ignored = (members.of(name) for name in _ignored(placed, groups))
            others = list(dict.fromkeys(itertools.chain.from_iterable(ignored)))
            own = members.of(placed.name)
            tried += len(own) * len(others)
            if tried > MAX_PAIRS:
                raise PropertyError(
                    f"{placed.item.label}.ignores: the groups keep apart more than {MAX_PAIRS} "
                    "pairs of bodies; give the geoms contype and conaffinity instead",
                    ("ignores",),
                )
            for one, other in itertools.product(own, others):
                pair = frozenset((one, other))
                if len(pair) == 2 and pair <= with_geoms and pair not in done:
                    done.add(pair)
                    world.add_exclude(bodyname1=one, bodyname2=other)


@pattern_budget()
def _ignored(placed: Placed, groups: Sequence[Placed]) -> list[str]:
    found = []
    for i, pattern in enumerate(placed.item.ignores):
        found += _matching(placed, "ignores", i, pattern, groups)
    return list(dict.fromkeys(found))


@pattern_budget()
def _matching(
    placed: Placed, field: str, i: int, pattern: str, groups: Sequence[Placed]
) -> list[str]:
    """Names of the groups a pattern matches."""
    names = [g.name for g in groups]
    found = [n for n in names if compile_pattern(pattern).fullmatch(n)]
    if not found:
        raise PropertyError(
            f"{placed.item.label}.{field}: there is no group {pattern!r}; "
            f"{suggestion(pattern, names)}",
            (field,),
            at=(i,) if isinstance(placed.item.authored(field), list) else (),
        )
    return found


class _Members:
    """The bodies of each group, with those of the groups in it."""

    def __init__(
        self, groups: Sequence[Placed], bodies: Sequence[str], actors: Sequence[str]
    ) -> None:
        self._groups = {g.name: g for g in groups}
        self._bodies, self._actors = bodies, actors
        self._found: dict[str, list[str]] = {}
        self._pending: list[str] = []

    def of(self, name: str) -> list[str]:
        """The bodies of a group."""
        if name not in self._found:
            placed = self._groups[name]
            with placed.locating():
                if name in self._pending:
                    circle = " → ".join([*self._pending[self._pending.index(name) :], name])
                    problem = f"{placed.item.label}.groups: is circular: {circle}"
                    raise PropertyError(problem, ("groups",))
                self._pending.append(name)
                self._found[name] = self._all_of(placed)
                self._pending.pop()
        return self._found[name]

    @pattern_budget()
    def _all_of(self, placed: Placed) -> list[str]:
        found: list[str] = []
        for i, pattern in enumerate(placed.item.members):
            found += self._members(placed, i, pattern)
        for i, pattern in enumerate(placed.item.groups):
            names = _matching(placed, "groups", i, pattern, list(self._groups.values()))
            for name in names:
                found += self.of(name)
        return list(dict.fromkeys(found))

    @pattern_budget()
    def _members(self, placed: Placed, i: int, pattern: str) -> list[str]:
        """The bodies a pattern selects: of whole actors, or single ones."""
        fullmatch = compile_pattern(pattern).fullmatch
        actors = tuple(f"{a}/" for a in self._actors if fullmatch(a))
        found = [b for b in self._bodies if fullmatch(b) or (actors and b.startswith(actors))]
        if not found and not actors:  # an actor may have no bodies, such as a light
            slots = Slots([(n,) for n in (*self._actors, *self._bodies)], "", "actor or body")
            raise PropertyError(
                f"{placed.item.label}.members: {slots.nothing_matches(pattern)}",
                ("members",),
                at=(i,) if isinstance(placed.item.authored("members"), list) else (),
            )
        return found
