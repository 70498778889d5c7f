"""Pre-flight: what models say about the whole world, of which a world has one."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mjrig.check.finding import Finding, note
from mjrig.model.global_sections import IN_ONE_MODEL, differing_appearance
from mjrig.model_files.model_source import is_binary, load
from mjrig.sim.world import World


def about_merged(world: World) -> Iterator[Finding]:
    """Visual and statistic attributes that models give differently."""
    models = [p for p in world.placements.actors if p.item.model and not is_binary(p.item)]
    if len(models) < 2:
        return
    specs: dict[object, tuple[str, Any]] = {}
    for placed in models:
        if placed.item.model not in specs:  # copies say the same
            specs[placed.item.model] = (placed.name, load(placed.item))
    for name, given in differing_appearance(list(specs.values())):
        said = ", ".join(f"{_text(value)} in {actor!r}" for actor, value in given.items())
        used = f"that of {next(iter(given))!r}, the first that gives it, is used"
        if name == IN_ONE_MODEL:
            used = "it counts the cameras of one model, and is not used beside another"
        yield note("one-for-all", "", (), f"the world has one {name}, models give {said}: {used}")


def _text(value: Any) -> str:
    return " ".join(f"{v:g}" for v in np.atleast_1d(np.asarray(value, float)))
