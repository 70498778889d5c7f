"""Scenery: props without a body: the ground, a light, a camera."""

from enum import StrEnum
from typing import Any

import mujoco
import numpy as np

from mjrig.components.props.solids import colour, surface_friction
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float
from mjrig.core.scene.actor_description import Prop


class GroundProp(Prop):
    """An infinite floor with a checker pattern, through its origin.

    Its name is `geom`. It cannot move: it can only be attached to the world.
    """

    tile = Float(
        0.5,
        min=0.0,
        above=True,
        soft_max=2.0,
        unit="m",
        structural=True,
        category="Look",
        doc="Edge length of one square.",
    )
    rgb1 = colour([0.83, 0.84, 0.85], "Colour of one half of the squares.")
    rgb2 = colour([0.76, 0.775, 0.79], "Colour of the other half.")
    reflectance = Float(
        0.0, min=0.0, max=1.0, structural=True, category="Look", doc="Reflectance; 1: a mirror."
    )
    friction = surface_friction("ground")

    def fill(self, spec: Any) -> None:
        spec.add_texture(
            name="checker",
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
            rgb1=self.rgb1,
            rgb2=self.rgb2,
            width=256,
            height=256,
        )
        # The texture is two squares wide, and repeats per metre.
        material = spec.add_material(
            name="checker",
            texuniform=True,
            texrepeat=[0.5 / self.tile] * 2,
            reflectance=self.reflectance,
            specular=0.1,
            shininess=0.2,
        )
        material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = "checker"
        spec.worldbody.add_geom(
            name="geom",
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0.0, 0.0, 0.05],
            material="checker",
            friction=self.friction,
        )


class LightKind(StrEnum):
    """Kind of light source."""

    DIRECTIONAL = "directional"
    POINT = "point"
    SPOT = "spot"


_LIGHTS = {
    LightKind.DIRECTIONAL: mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
    LightKind.POINT: mujoco.mjtLightType.mjLIGHT_POINT,
    LightKind.SPOT: mujoco.mjtLightType.mjLIGHT_SPOT,
}


class LightProp(Prop):
    """A light at its origin; its name is `light`."""

    kind = Choice(
        LightKind.DIRECTIONAL,
        structural=True,
        doc="directional: parallel rays; point: in all directions; spot: a cone.",
    )
    direction = Vector(
        [0.0, 0.0, -1.0],
        structural=True,
        doc="Direction of the light in the actor's frame; default: down.",
    )
    cutoff = Float(
        45.0,
        min=0.0,
        max=90.0,
        above=True,
        unit="deg",
        structural=True,
        edit_if="kind=spot",
        doc="Half angle of the cone.",
    )
    castshadow = Bool(True, structural=True, doc="Cast shadows.")
    diffuse = Vector(
        [0.6, 0.6, 0.6], min=0.0, max=1.0, structural=True, category="Look", doc="Colour."
    )
    ambient = Vector(
        [0.0, 0.0, 0.0], min=0.0, max=1.0, structural=True, category="Look", doc="Ambient colour."
    )
    specular = Vector(
        [0.3, 0.3, 0.3], min=0.0, max=1.0, structural=True, category="Look", doc="Highlights."
    )

    def validate(self) -> None:
        refuse_no_direction(self, "direction", self.direction)
        if self.is_authored("cutoff") and self.kind is not LightKind.SPOT:
            raise PropertyError(f"{self.label}.cutoff: is for kind: spot only", ("cutoff",))

    def fill(self, spec: Any) -> None:
        spec.worldbody.add_light(
            name="light",
            type=_LIGHTS[self.kind],
            dir=self.direction / np.linalg.norm(self.direction),
            cutoff=self.cutoff,
            castshadow=self.castshadow,
            diffuse=self.diffuse,
            ambient=self.ambient,
            specular=self.specular,
        )


class CameraProp(Prop):
    """A camera at its origin; its name is `camera`."""

    look_at = Vector(
        [1.0, 0.0, 0.0],
        unit="m",
        structural=True,
        doc="Point it looks at, in the actor's frame, whose z axis is up in the image.",
    )
    fovy = Float(
        45.0,
        min=0.0,
        max=179.0,
        above=True,
        unit="deg",
        structural=True,
        doc="Vertical field of view.",
    )
    resolution = Vector(
        [640, 480], min=1, unit="px", structural=True, doc="Image width and height."
    )

    def validate(self) -> None:
        refuse_no_direction(self, "look_at", self.look_at)
        for i, value in enumerate(self.resolution):
            if value != int(value):
                problem = f"{self.label}.resolution: must be whole numbers, got {value:g}"
                raise PropertyError(problem, ("resolution",), at=(i,))

    def fill(self, spec: Any) -> None:
        spec.worldbody.add_camera(
            name="camera",
            quat=looking_at(self.look_at),
            fovy=self.fovy,
            resolution=self.resolution.astype(int),
        )


def looking_at(point: FloatArray) -> FloatArray:
    """The quaternion (w, x, y, z) of a camera at the origin that looks at a point, z up.

    A MuJoCo camera looks along −z, with y up. Straight up or down, the top of the image is x.
    """
    back = -point / np.linalg.norm(point)
    right = np.cross([0.0, 0.0, 1.0], back)
    if np.linalg.norm(right) < 1e-9:
        right = np.array([0.0, -1.0, 0.0]) if back[2] > 0.0 else np.array([0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    turned = np.stack([right, np.cross(back, right), back], axis=1)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, turned.reshape(-1))
    return quaternion


def refuse_no_direction(prop: Prop, name: str, vector: FloatArray) -> None:
    """Refuse a direction of length zero.

    Raises:
        PropertyError: it is zero.
    """
    if not vector.any():
        raise PropertyError(f"{prop.label}.{name}: must not be zero", (name,))
