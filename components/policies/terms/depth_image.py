"""DepthImage: what a depth camera sees, by rays of MuJoCo: no window, OpenGL or GPU."""

import math
from enum import StrEnum
from typing import ClassVar

import mujoco
import numpy as np

from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Text


class DepthKind(StrEnum):
    """What the depth of a pixel is."""

    PLANE = "plane"
    RANGE = "range"


class DepthImage(ObservationTerm):
    """Depth image of a camera [m]: rows from the top, each from left to right.

    Rendered, cropped, made smaller by averaging, limited to `near` and `far`; then
    `(depth − near) / (far − near) + shift` where it is to `normalise`. A camera sees everything
    that is visible but the body it is on. `interval` is its rate, `history` stacks frames.
    """

    camera = Text("", doc="Camera, by local name.")
    size = Vector([64, 36], min=1, max=2048, unit="px", doc="Width and height that are rendered.")
    crop = Vector(
        [0, 0, 0, 0], min=0, unit="px", doc="Pixels cut off: top, bottom, left and right."
    )
    smaller = Vector([1, 1], min=1, doc="Pixels in x and y that are averaged to one.")
    kind = Choice(
        DepthKind.PLANE,
        doc="plane: distance to the image plane; range: distance to the camera.",
    )
    near = Float(0.0, min=0.0, unit="m", doc="Smallest depth.")
    far = Float(2.0, min=0.0, above=True, unit="m", doc="Largest depth, and that of a miss.")
    normalise = Bool(False, doc="Depths from near to far become 0 to 1.")
    shift = Float(0.0, doc="Added at the end.")

    needs_position_stage: ClassVar[bool] = True

    def validate(self) -> None:
        super().validate()
        for name in ("size", "crop", "smaller"):
            if np.any(getattr(self, name) % 1.0):
                raise PropertyError(f"{self.label}.{name}: must be whole numbers", (name,))
        if not self.far > self.near:
            raise PropertyError(f"{self.label}.far: must be more than near", ("far",))
        width, height = self._cropped()
        if width < 1 or height < 1:
            raise PropertyError(f"{self.label}.crop: leaves no pixel", ("crop",))
        if width % self.smaller[0] or height % self.smaller[1]:
            raise PropertyError(
                f"{self.label}.smaller: does not divide the {width} × {height} pixels left",
                ("smaller",),
            )

    def _cropped(self) -> tuple[int, int]:
        """Width and height after the crop."""
        top, bottom, left, right = map(int, self.crop)
        return int(self.size[0]) - left - right, int(self.size[1]) - top - bottom

    def image_size(self) -> tuple[int, int]:
        width, height = self._cropped()
        return height // int(self.smaller[1]), width // int(self.smaller[0])

    def connect(self, view: View) -> int:
        model, self._data = view.model, view.data
        self._model = model
        if not self.camera:
            raise BindingError(f"{self.label}: needs a camera")
        camera = view.camera_id(self.camera, self)
        if np.any(model.cam_sensorsize[camera]):
            raise BindingError(
                f"{self.label}: the camera {self.camera!r} must be given by its fovy"
            )
        self._place, self._turned = view.data.cam_xpos[camera], view.data.cam_xmat[camera]
        self._body = int(model.cam_bodyid[camera])
        self._rays, self._cosines = self._pixels(float(model.cam_fovy[camera]))
        count = len(self._rays)
        self._geoms, self._far = np.zeros(count, np.int32), np.zeros(count)
        x, y = map(int, self.smaller)
        return count // (x * y)

    def _pixels(self, fovy: float) -> tuple[FloatArray, FloatArray]:
        """Unit vectors through the middles of the pixels, and their cosines to the axis."""
        width, height = map(int, self.size)
        top, bottom, left, right = map(int, self.crop)
        pitch = 2.0 * math.tan(math.radians(fovy) / 2.0) / height
        x = (np.arange(width)[left : width - right] + 0.5 - width / 2.0) * pitch
        y = (height / 2.0 - 0.5 - np.arange(height)[top : height - bottom]) * pitch
        down, along = np.meshgrid(y, x, indexing="ij")
        rays = np.stack([along.ravel(), down.ravel(), np.full(along.size, -1.0)], axis=1)
        lengths = np.linalg.norm(rays, axis=1)
        return rays / lengths[:, None], 1.0 / lengths

    def measure(self, out: FloatArray) -> None:
        rays = self._rays @ self._turned.reshape(3, 3).T
        mujoco.mj_multiRay(
            self._model, self._data, self._place, rays.reshape(-1), None, 1, self._body,
            self._geoms, self._far, None, len(rays), mujoco.mjMAXVAL,
        )  # fmt: skip
        depth = np.where(self._far < 0.0, np.inf, self._far)
        if self.kind is DepthKind.PLANE:
            depth = depth * self._cosines
        depth = np.clip(depth, self.near, self.far)
        width, height = self._cropped()
        x, y = map(int, self.smaller)
        small = depth.reshape(height // y, y, width // x, x).mean(axis=(1, 3)).reshape(-1)
        if self.normalise:
            small = (small - self.near) / (self.far - self.near)
        out[:] = small + self.shift
