"""The `<size>` of models that come together in one world."""

from collections.abc import Sequence
from typing import Any

_LARGEST = (
    "memory", "nuserdata", "nuser_actuator", "nuser_body", "nuser_cam", "nuser_geom", "nuser_jnt",
    "nuser_sensor", "nuser_site", "nuser_tendon",
)  # fmt: skip
#: What MuJoCo counts itself, or used to need for its memory: it is as without them.
_COUNTED = {"nkey": 0, "njmax": -1, "nconmax": -1, "nstack": -1}


def share_sizes(world: Any, specs: Sequence[Any]) -> None:
    """Give the world and its models the largest of each size: attaching drops what differs."""
    everything = (world, *specs)
    for name in _LARGEST:
        largest = max(getattr(spec, name) for spec in everything)
        for spec in everything:
            setattr(spec, name, largest)
    for name, value in _COUNTED.items():
        for spec in specs:
            setattr(spec, name, value)
