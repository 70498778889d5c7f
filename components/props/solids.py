"""Solid props: a box, a sphere, a cylinder, a capsule or a mesh, fixed or free to move."""

from collections.abc import Sequence
from typing import Any

import mujoco

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.hooks import required
from mjrig.core.properties.scalar_kinds import Bool, FilePath, Float, Int, OptionalFloat
from mjrig.core.scene.actor_description import Prop

# Prop kinds ---------------------------------------------------------------------------------------
# Shared properties of props: lengths, colours, friction.


def extent(default: float, doc: str, *, soft_max: float | None = None) -> Float:
    """A length of a shape."""
    return Float(
        default,
        min=0.0,
        above=True,
        soft_max=soft_max,
        unit="m",
        structural=True,
        category="Shape",
        doc=doc,
    )


def colour(default: Sequence[float], doc: str = "Red, green, blue and opacity.") -> Vector:
    """An RGBA colour, components from 0 to 1."""
    return Vector(default, min=0.0, max=1.0, structural=True, category="Look", doc=doc)


def surface_friction(of: str) -> Vector:
    """MuJoCo's three coefficients of friction of a surface."""
    return Vector(
        [1.0, 0.005, 0.0001],
        min=0.0,
        partial=True,
        structural=True,
        category="Contact",
        doc=f"Sliding [1], torsional [m] and rolling [m] friction of the {of}.",
    )


# Solids -------------------------------------------------------------------------------------------


MESHES = (".stl", ".obj", ".msh")
_CONDIMS = (1, 3, 4, 6)


class SolidProp(Prop):
    """A body with one shape.

    Its names are `body` and `geom`, and `free` for the joint where it has one: a box on the actor
    `crate` is `crate/body` in the model.
    """

    free = Bool(False, structural=True, category="Body", doc="Free to move and fall; false: fixed.")
    mass = OptionalFloat(
        None,
        min=0.0,
        above=True,
        unit="kg",
        structural=True,
        category="Body",
        doc="Mass; none: from density.",
    )
    density = Float(
        1000.0,
        min=0.0,
        above=True,
        unit="kg/m³",
        structural=True,
        category="Body",
        doc="Density, where no mass is given.",
    )
    rgba = colour([0.62, 0.64, 0.67, 1.0])
    collides = Bool(True, structural=True, category="Contact", doc="Collides; false: visual only.")
    friction = surface_friction("geom")
    condim = Int(
        3,
        structural=True,
        category="Contact",
        doc="Contact dimension: 1 normal force, 3 plus sliding, 4 plus torsional, 6 plus rolling.",
    )

    def validate(self) -> None:
        if self.is_authored("mass") and self.is_authored("density"):
            raise PropertyError(f"{self.label}: has both mass and density; give one", ("density",))
        if self.condim not in _CONDIMS:
            raise PropertyError(
                f"{self.label}.condim: must be 1, 3, 4 or 6, got {self.condim}", ("condim",)
            )

    def fill(self, spec: Any) -> None:
        body = spec.worldbody.add_body(name="body")
        if self.free:
            body.add_freejoint(name="free")
        geom = body.add_geom(
            name="geom",
            rgba=self.rgba,
            friction=self.friction,
            condim=self.condim,
            contype=int(self.collides),
            conaffinity=int(self.collides),
            density=self.density,
        )
        if self.mass is not None:
            geom.mass = self.mass
        self.shape(spec, geom)

    @required()
    def shape(self, spec: Any, geom: Any) -> None:
        """Hook: give the geom its type and size."""
        raise NotImplementedError


class BoxProp(SolidProp):
    """A box around its origin."""

    size = Vector(
        [0.1, 0.1, 0.1],
        min=0.0,
        soft_max=2.0,
        unit="m",
        structural=True,
        category="Shape",
        doc="Edge lengths (MuJoCo's size is half of them).",
    )

    def validate(self) -> None:
        super().validate()
        refuse_zeros(self, "size", self.size)

    def shape(self, spec: Any, geom: Any) -> None:
        geom.type = mujoco.mjtGeom.mjGEOM_BOX
        geom.size = self.size / 2.0


class SphereProp(SolidProp):
    """A ball around its origin."""

    radius = extent(0.05, "Radius.", soft_max=1.0)

    def shape(self, spec: Any, geom: Any) -> None:
        geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
        geom.size = [self.radius, 0.0, 0.0]


class CylinderProp(SphereProp):
    """A cylinder around its origin, along z."""

    height = extent(0.1, "Height, from end to end.", soft_max=2.0)

    def shape(self, spec: Any, geom: Any) -> None:
        geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
        geom.size = [self.radius, self.height / 2.0, 0.0]


class CapsuleProp(SphereProp):
    """A cylinder with round ends around its origin, along z."""

    length = extent(
        0.1, "Length of the straight part; the ends add twice the radius.", soft_max=2.0
    )

    def shape(self, spec: Any, geom: Any) -> None:
        geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
        geom.size = [self.radius, self.length / 2.0, 0.0]


class MeshProp(SolidProp):
    """A mesh from a file; it collides as its convex hull.

    Its origin is the file's.
    """

    file = FilePath(
        suffixes=MESHES,
        structural=True,
        category="Shape",
        doc="Mesh file, relative to the scene; package:…",
    )
    scale = Vector(
        [1.0, 1.0, 1.0],
        structural=True,
        category="Shape",
        doc="Scale along x, y and z; 0.001 each for a file in millimetres.",
    )

    def validate(self) -> None:
        super().validate()
        refuse_zeros(self, "scale", self.scale)

    def shape(self, spec: Any, geom: Any) -> None:
        if self.file is None:
            raise PropertyError(f"{self.label}: needs a file")
        try:
            path = self.find_file(self.file)
        except PropertyError as error:
            raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        spec.add_mesh(name="mesh", file=str(path.absolute()), scale=self.scale)
        geom.type = mujoco.mjtGeom.mjGEOM_MESH
        geom.meshname = "mesh"
        # NOTE: MuJoCo moves a mesh to its centre of mass, and the geom back to where it was.


def refuse_zeros(prop: Prop, name: str, values: FloatArray) -> None:
    """Refuse a vector with a zero in it.

    Raises:
        PropertyError: there is one.
    """
    for i, value in enumerate(values):
        if value == 0.0:
            raise PropertyError(f"{prop.label}.{name}: must not be 0", (name,), at=(i,))
