"""The `compiler:` block of an actor: MuJoCo's compiler attributes by their MJCF names."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mjrig.errors import PropertyError
from mjrig.properties.bounds import plain
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Text
from mjrig.scene.sim_options import ModelOption

_SWITCH = ("true", "false")
_GROUPS = np.array([0, 5])


class CompilerOption(ModelOption):
    """One compiler attribute; the model's own value if nothing is authored."""

    def accept(self, obj: HasProperties, value: object) -> tuple[object, object]:
        if self.choices is None:
            return self._accept_number(obj, value)
        word = str(value).lower() if isinstance(value, bool) else value
        if word not in self.choices:
            raise self.error(obj, f"must be one of {', '.join(self.choices)}; got {value!r}")
        return (word == "true" if word in _SWITCH else word), word

    def _accept_number(self, obj: HasProperties, value: object) -> tuple[object, object]:
        if isinstance(self.like, np.ndarray):
            items, numbers = super().accept(obj, value)
            assert isinstance(numbers, tuple)
            for i, found in enumerate(numbers):
                if found != int(found):
                    raise self.error(obj, f"must be whole numbers, got {found:g}", (i,))
            return items, tuple(map(int, numbers))
        found = self._number(obj, value, ())
        if found < 0 or (found == 0 and self.name == "settotalmass"):
            least = "> 0" if self.name == "settotalmass" else ">= 0"
            raise self.error(obj, f"must be {least} {self.unit}, got {found:g}")
        return plain(value), found

    def json_schema(self) -> dict[str, object]:
        if self.choices is None:
            return super().json_schema()
        words = [word for word in self.choices if word not in _SWITCH]
        switch = [True, False] if "true" in self.choices else []
        return {"enum": [*switch, *self.choices[: len(switch)], *words]}


def _switch(doc: str) -> CompilerOption:
    return CompilerOption(choices=_SWITCH, doc=doc)


class CompilerOptions(HasProperties):
    """How MuJoCo's compiler reads the actor's model; what is not given is as the file says."""

    balanceinertia = _switch("Average principal inertias that no body can have (A + B < C).")
    boundmass = CompilerOption(like=0.0, unit="kg", doc="Least mass of every body.")
    boundinertia = CompilerOption(like=0.0, unit="kg·m²", doc="Least inertia of every body.")
    settotalmass = CompilerOption(like=1.0, unit="kg", doc="Scale all masses to this sum.")
    inertiafromgeom = CompilerOption(
        choices=("true", "auto", "false"),
        doc="Inertia from geoms: always, never, or where a body has no <inertial>.",
    )
    inertiagrouprange = CompilerOption(like=_GROUPS, doc="Geom groups that inertia is made of.")
    fusestatic = _switch("Make bodies without joints part of their parents.")
    discardvisual = _switch("Leave out what is only seen; a URDF does so unless told otherwise.")
    alignfree = _switch("Align free bodies without children with their inertia.")
    fitaabb = _switch("Fit primitives to the bounding boxes of meshes, not to their inertia.")
    autolimits = _switch("A range makes a limit.")
    strippath = _switch("Look for files by their names alone, without the folders before them.")
    meshdir = Text("", structural=True, category="Simulation", doc="Folder of meshes.")
    texturedir = Text("", structural=True, category="Simulation", doc="Folder of textures.")
    assetdir = Text("", structural=True, category="Simulation", doc="Folder of both.")

    def _own_validate(self) -> None:
        low, high = self.inertiagrouprange or (0, 0)
        if low > high:
            raise PropertyError(
                f"{self.label}.inertiagrouprange: must be lowest and highest group, got "
                f"{low} and {high}",
                ("inertiagrouprange",),
            )

    def given(self) -> Iterator[tuple[str, Any]]:
        """Name and value of what the scene gives."""
        for name in self._properties:
            value = self.__dict__[name]
            if value is not None and value != "":
                yield name, value
