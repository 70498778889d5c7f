"""The `<size>` of models that are merged into one world."""

from collections.abc import Sequence
from typing import Any

_SIZES = (
    "memory", "nconmax", "njmax", "nstack", "nuserdata", "nuser_actuator", "nuser_body",
    "nuser_cam", "nuser_geom", "nuser_jnt", "nuser_sensor", "nuser_site", "nuser_tendon",
)  # fmt: skip


def share_sizes(world: Any, specs: Sequence[Any]) -> None:
    """Give the world and its models the largest of each size: attaching drops what differs."""
    everything = (world, *specs)
    for name in _SIZES:
        largest = max(getattr(spec, name) for spec in everything)
        for spec in everything:
            setattr(spec, name, largest)
    for spec in specs:
        spec.nkey = 0  # MuJoCo counts them itself
