"""Pre-flight: what models say about the whole world, of which a world has one."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mjrig.check.finding import Finding, note
from mjrig.model.global_sections import IN_ONE_MODEL
from mjrig.sim.world import World

#: How many models are named.
_SHOWN = 3


def about_merged(world: World) -> Iterator[Finding]:
    """Visual and statistic attributes that models give differently."""
    said = [_said(name, given) for name, given in world.differing.items()]
    if said:
        text = "of these the world has one, that of the model named first: "
        yield note("one-for-all", "", (), text + "; ".join(said))


def _said(name: str, given: Mapping[str, Any]) -> str:
    values = [f"{_text(value)} in {actor!r}" for actor, value in given.items()]
    more = f" … {len(values)} in all" if len(values) > _SHOWN else ""
    unused = " (not used: it counts the cameras of one model)" if name == IN_ONE_MODEL else ""
    return f"{name} {', '.join(values[:_SHOWN])}{more}{unused}"


def _text(value: Any) -> str:
    return " ".join(f"{v:g}" for v in np.atleast_1d(np.asarray(value, float)))
