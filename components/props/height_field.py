"""HeightFieldProp: uneven ground, from numbers or an image."""

from typing import Any

import mujoco
import numpy as np

from mjrig.components.props.prop_kinds import colour, extent, surface_friction
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Samples, Vector
from mjrig.properties.scalar_kinds import FilePath
from mjrig.scene.prop import Prop


class HeightFieldProp(Prop):
    """Uneven ground around its origin; it cannot move.

    Heights come from `heights`, or from the brightness of an image, black 0 and white `top`.
    Its name is `geom`.
    """

    size = Vector(
        [4.0, 4.0], min=1e-6, unit="m", structural=True, category="Shape", doc="Extent in x and y."
    )
    heights = Samples(
        [],
        unit="m",
        structural=True,
        category="Shape",
        doc="Rows of heights as on a map: the first row is at +y, the first column at −x.",
    )
    file = FilePath(
        suffixes=(".png",), structural=True, category="Shape", doc="Image, instead of heights."
    )
    top = extent(0.2, "Height of the brightest pixel in the image.")
    base = extent(0.1, "Thickness below the lowest point.")
    rgba = colour([0.62, 0.60, 0.55, 1.0])
    friction = surface_friction("terrain")

    def _own_validate(self) -> None:
        if self.is_authored("heights"):
            if self.file is not None:
                raise PropertyError(f"{self.label}: has both heights and file; give one", ("file",))
            if self.heights.ndim != 2 or min(self.heights.shape) < 2:
                raise PropertyError(
                    f"{self.label}.heights: must be at least two rows of two numbers", ("heights",)
                )
            if np.ptp(self.heights) == 0.0:
                raise PropertyError(
                    f"{self.label}.heights: are all equal; use a GroundProp", ("heights",)
                )
        if self.is_authored("top") and self.file is None:
            raise PropertyError(f"{self.label}.top: is for a file only", ("top",))

    def fill(self, spec: Any) -> None:
        field = spec.add_hfield(name="field")
        bottom, span = 0.0, self.top
        if self.file is not None:
            try:
                field.file = str(self.find_file(self.file).absolute())
            except PropertyError as error:
                raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        elif self.is_authored("heights"):
            # NOTE: MuJoCo stretches the data to 0…1, and its first row is at −y.
            bottom, span = float(self.heights.min()), float(np.ptp(self.heights))
            field.nrow, field.ncol = self.heights.shape
            field.userdata = self.heights[::-1].reshape(-1)
        else:
            raise PropertyError(f"{self.label}: needs heights or a file")
        field.size = [*(self.size / 2.0), span, self.base]
        spec.worldbody.add_geom(
            name="geom",
            type=mujoco.mjtGeom.mjGEOM_HFIELD,
            hfieldname="field",
            pos=[0.0, 0.0, bottom],
            rgba=self.rgba,
            friction=self.friction,
        )
