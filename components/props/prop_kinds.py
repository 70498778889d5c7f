"""Shared properties of props: lengths, colours, friction."""

from collections.abc import Sequence

from mjrig.properties.array_kinds import Vector
from mjrig.properties.scalar_kinds import Float


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
