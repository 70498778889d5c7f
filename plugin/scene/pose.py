"""Pose: where something stands."""

from typing import NamedTuple, Self

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Vector
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Text

#: What `refers` says of a value that names an actor, a frame, or actor/body and the like.
PLACE = ("place",)
#: Quaternions are normalised; one that is as good as zero cannot be.
MIN_LENGTH = 1e-9


class Transform(HasProperties):
    """A position and a rotation."""

    position = Vector(
        [0.0, 0.0, 0.0], unit="m", category="Pose", structural=True, doc="Position in the parent."
    )
    euler_deg = Vector(
        [0.0, 0.0, 0.0],
        unit="deg",
        category="Pose",
        structural=True,
        doc="Rotation about the turned x, y and z axes, in that order (MJCF's xyz).",
    )
    quaternion = Vector(
        [1.0, 0.0, 0.0, 0.0],
        category="Pose",
        structural=True,
        doc="Rotation as w, x, y, z; instead of euler_deg.",
    )

    def _own_validate(self) -> None:
        if self.is_authored("euler_deg") and self.is_authored("quaternion"):
            raise PropertyError(
                f"{self.label}: has both euler_deg and quaternion; give one", ("quaternion",)
            )
        largest = np.abs(self.quaternion).max()
        if not MIN_LENGTH < largest < 1.0 / MIN_LENGTH:  # there is no direction left in it
            size = "must not be zero" if largest <= MIN_LENGTH else "is too long"
            raise PropertyError(
                f"{self.label}.quaternion: {size}; no rotation is [1, 0, 0, 0]", ("quaternion",)
            )
        if np.abs(self.position).max() > mujoco.mjMAXVAL:
            raise PropertyError(
                f"{self.label}.position: MuJoCo takes numbers up to {mujoco.mjMAXVAL:g}",
                ("position",),
            )


class Pose(Transform):
    """Where an actor stands."""

    relative_to = Text(
        "",
        category="Pose",
        structural=True,
        refers=PLACE,
        doc="A frame of the scene, or actor/body or actor/site where those start; empty: world.",
    )


def rotation(pose: Transform | None) -> tuple[FloatArray, FloatArray]:
    """Position and unit quaternion (w, x, y, z) of a pose; None: the origin."""
    quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    if pose is None:
        return np.zeros(3), quaternion
    if pose.is_authored("euler_deg"):
        mujoco.mju_euler2Quat(quaternion, np.radians(pose.euler_deg), "xyz")
    else:
        quaternion = pose.quaternion / np.linalg.norm(pose.quaternion)
    return np.array(pose.position), quaternion


def composed(
    position: FloatArray, quaternion: FloatArray, point: FloatArray, turn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A pose given in a frame, in that frame's parent."""
    at, turned = np.zeros(3), np.zeros(4)
    mujoco.mju_mulPose(at, turned, position, quaternion, point, turn)
    return at, turned


class Rigid(NamedTuple):
    """A rigid motion: from a frame to the one it stands in."""

    position: FloatArray
    quaternion: FloatArray

    @classmethod
    def identity(cls) -> Self:
        """The one that moves nothing."""
        return cls(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))

    @classmethod
    def of(cls, pose: Transform | None) -> Self:
        """What a described pose stands for; None: nothing is moved."""
        return cls(*rotation(pose))

    @property
    def is_identity(self) -> bool:
        """Whether it moves nothing at all."""
        return not self.position.any() and self.quaternion.tolist() == [1.0, 0.0, 0.0, 0.0]

    def then(self, inner: "Rigid") -> "Rigid":
        """What `inner`, given in this frame, is in this frame's parent."""
        if self.is_identity:  # not a bit may change: composing would normalise the quaternion
            return inner
        return Rigid(*composed(*self, *inner))

    def inverse(self) -> "Rigid":
        """The motion back."""
        position, quaternion = np.zeros(3), np.zeros(4)
        mujoco.mju_negPose(position, quaternion, *self)
        return Rigid(position, quaternion)
