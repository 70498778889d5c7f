"""Height scanners: ray casters over the ground as HeightScan terms."""

from typing import Any

import numpy as np

from mjrig.components.importers.isaac.sensors import body_of, pose_of
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.names import listed, nearest

_DOWN = (0.0, 0.0, -1.0)
#: What Isaac Lab observes where a ray hits nothing: −∞, which the term's clip bounds.
NOTHING = -1.0e6


def height_scan(
    entry: VendorEntry, offset: float, robot: Robot, xyzw: bool
) -> tuple[str, int, dict[str, Any]]:
    """Type, size and keys of the term of a scanner.

    Raises:
        ValueError: its pattern, direction or alignment cannot be expressed.
    """
    isaac = "pattern_cfg" in entry
    pattern = entry.at("pattern_cfg") if isaac else entry.at("pattern")
    body = body_of(entry) if isaac else entry.at("frame").text("name")
    if body not in robot.bodies:
        close = nearest(body, robot.bodies)
        raise ValueError(f"the model has no body {body!r} (nearest: {close or 'none'})")
    if "size" not in pattern or "resolution" not in pattern:
        raise ValueError(f"its rays are no grid: {listed(pattern.mapping())}")
    direction = pattern.numbers("direction", 3, "component") if "direction" in pattern else _DOWN
    if tuple(direction) != _DOWN:
        raise ValueError("its rays do not go straight down")
    if alignment(entry) != "yaw":
        raise ValueError(f"its rays are aligned to {alignment(entry)!r}; known is yaw")
    extent = pattern.numbers("size", 2, "side")
    step = pattern.number("resolution", above=0.0)
    data: dict[str, Any] = {"extent": extent, "resolution": step, "offset": offset}
    if body != robot.base:
        data["body"] = body
    order = pattern.text("ordering", "xy")
    if order not in ("xy", "yx"):
        raise ValueError(f"its order of rays is {order!r}; known are xy and yx")
    data |= {"grid": order} if order != "xy" else {}
    if isaac:
        position, turn = pose_of(entry, xyzw)
        if any(position[:2]) or not np.allclose(turn, (1.0, 0.0, 0.0, 0.0)):
            raise ValueError("its grid is moved or turned against the body")
        data["above"] = max(0.0, position[2])
        data["miss"] = NOTHING
    data["reach"] = entry.number("max_distance", 1.0e6, above=0.0)
    sizes = [_count(side, step) for side in extent]
    if isaac and sizes != [len(np.arange(-s / 2.0, s / 2.0 + 1.0e-9, step)) for s in extent]:
        raise ValueError(f"its sides {extent} are no multiples of its resolution {step:g}")
    return "HeightScan", sizes[0] * sizes[1], data


def alignment(entry: VendorEntry) -> str:
    """`ray_alignment`, or its older form `attach_yaw_only`."""
    said = entry.mapping().get("attach_yaw_only")
    if isinstance(said, bool):
        return "yaw" if said else "base"
    return entry.text("ray_alignment", "base")


def _count(size: float, step: float) -> int:
    """Points of an axis, as HeightScan places them."""
    return len(np.arange(-size / 2.0, size / 2.0 + step / 2.0, step))
