"""Places of sensors of a training on the bodies of the model."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.vendor_file import VendorEntry

#: Largest difference of positions [m] and quaternions that are the same.
SAME = 1e-4


@dataclass(frozen=True)
class SensorPlace:
    """A sensor in the frame of the base, or of a site of the base."""

    site: str = ""

    @property
    def site_key(self) -> dict[str, Any]:
        """The term's key."""
        return {"site": self.site} if self.site else {}


def body_of(entry: VendorEntry) -> str:
    """The body of a sensor: the last part of `/World/envs/env_.*/Robot/base`."""
    return entry.text("prim_path").rstrip("/").rpartition("/")[2]


def pose_of(entry: VendorEntry, xyzw: bool) -> tuple[list[float], list[float]]:
    """Offset of a sensor from its body: position and quaternion wxyz."""
    if "offset" not in entry:
        return [0.0] * 3, [1.0, 0.0, 0.0, 0.0]
    offset = entry.at("offset")
    position = offset.numbers("pos", 3, "component") if "pos" in offset else [0.0] * 3
    turn = offset.numbers("rot", 4, "component") if "rot" in offset else [1.0, 0.0, 0.0, 0.0]
    return position, [turn[3], *turn[:3]] if xyzw and "rot" in offset else turn


def imu_place(entry: VendorEntry, robot: Robot, xyzw: bool) -> SensorPlace:
    """An IMU as the base itself, or as the site of the base that is where it is.

    Raises:
        ValueError: it is on another body, or the model has no such site.
    """
    body = body_of(entry)
    if body != robot.base:
        raise ValueError(f"its sensor is on {body!r}, not on the base {robot.base!r}")
    position, turn = pose_of(entry, xyzw)
    if np.allclose(turn, (1.0, 0.0, 0.0, 0.0), atol=SAME) and np.allclose(position, 0.0, atol=SAME):
        return SensorPlace()
    for name in robot.base_sites():
        there, turned = robot.site_pose(name)
        same = np.allclose(there, position, atol=SAME) and _turned_alike(turned, turn)
        if same:
            return SensorPlace(name)
    where = ", ".join(f"{v:g}" for v in (*position, *turn))
    raise ValueError(
        f"the model has no site on {body!r} where its sensor is (position and quaternion {where}); "
        "add one"
    )


def _turned_alike(one: Any, other: Any) -> bool:
    difference = np.zeros(3)
    mujoco.mju_subQuat(difference, np.asarray(one, float), np.asarray(other, float))
    return bool(np.linalg.norm(difference) < SAME)
