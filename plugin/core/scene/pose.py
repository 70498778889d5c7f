"""Pose: position and rotation of an actor or frame."""

from typing import NamedTuple, Self

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import Text

#: The kind in `refers` for a value that names an actor, a frame, or actor/body and the like.
PLACE = ("place",)
#: Quaternions are normalised; one that is nearly zero cannot be.
MIN_LENGTH = 1e-9


class Transform(HasProperties):
    """A position and a rotation."""

    position = Vector(
        [0.0, 0.0, 0.0],
        unit="m",
        category="Pose",
        structural=True,
        doc="Position in the parent frame.",
    )
    euler_deg = Vector(
        [0.0, 0.0, 0.0],
        unit="deg",
        category="Pose",
        structural=True,
        doc="Intrinsic rotations about x, y and z, in that order (MJCF's xyz).",
    )
    quaternion = Vector(
        [1.0, 0.0, 0.0, 0.0],
        category="Pose",
        structural=True,
        doc="Rotation as a quaternion (w, x, y, z), instead of euler_deg.",
    )

    def validate(self) -> None:
        if self.is_authored("euler_deg") and self.is_authored("quaternion"):
            raise PropertyError(
                f"{self.label}: has both euler_deg and quaternion; give one", ("quaternion",)
            )
        largest = np.abs(self.quaternion).max()
        if not MIN_LENGTH < largest < 1.0 / MIN_LENGTH:  # it has no usable direction
            size = "must not be zero" if largest <= MIN_LENGTH else "is too long"
            raise PropertyError(
                f"{self.label}.quaternion: {size}; the identity is [1, 0, 0, 0]", ("quaternion",)
            )
        if np.abs(self.position).max() > mujoco.mjMAXVAL:
            raise PropertyError(
                f"{self.label}.position: must not exceed MuJoCo's limit of {mujoco.mjMAXVAL:g}",
                ("position",),
            )


class Pose(Transform):
    """Pose of an actor."""

    relative_to = Text(
        "",
        category="Pose",
        structural=True,
        refers=PLACE,
        doc="Frame of the scene, or the initial pose of actor/body or actor/site; empty: world.",
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
    """A rigid transform: from a frame to its parent."""

    position: FloatArray
    quaternion: FloatArray

    @classmethod
    def identity(cls) -> Self:
        """The identity."""
        return cls(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))

    @classmethod
    def of(cls, pose: Transform | None) -> Self:
        """The transform of a described pose; None: the identity."""
        return cls(*rotation(pose))

    @property
    def is_identity(self) -> bool:
        """Whether it is exactly the identity."""
        return not self.position.any() and self.quaternion.tolist() == [1.0, 0.0, 0.0, 0.0]

    def then(self, inner: "Rigid") -> "Rigid":
        """`inner`, given in this frame, expressed in this frame's parent."""
        if self.is_identity:  # keeps it bit-identical: composing would normalise the quaternion
            return inner
        return Rigid(*composed(*self, *inner))

    def inverse(self) -> "Rigid":
        """The inverse transform."""
        position, quaternion = np.zeros(3), np.zeros(4)
        mujoco.mju_negPose(position, quaternion, *self)
        return Rigid(position, quaternion)
