"""Controllers that compute in another precision than the recording's."""

from collections.abc import Iterator

from mjrig.errors import MjrigError
from mjrig.sim.world import World
from mjrig.sim2sim.play.world_copy import twin

PRECISION = "precision"


def other_precisions(world: World, robot: str) -> Iterator[tuple[str, str, str, World]]:
    """Per controller: its path, its precision, the other one, and a world with that.

    Args:
        world: stays as it is.
        robot: whose controllers.
    """
    for place, component in enumerate(world[robot].components):
        known = {p.name: p for p in component.properties()}
        if PRECISION not in known or not component.__dict__.get("enabled", True):
            continue
        here = str(component.__dict__[PRECISION])
        other = next(str(c) for c in type(component.__dict__[PRECISION]) if str(c) != here)
        try:
            copy = twin(world)
            own = copy[robot]
            changed = own.components[place].copy()
            own.remove_component(own.components[place])
            changed.assign({PRECISION: other})
            own.add_component(changed)
            copy.reset()
        except MjrigError:
            continue
        yield component.label, here, other, copy
