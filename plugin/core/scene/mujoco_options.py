"""The `sim:` block of a scene and the `compiler:` block of an actor: options by MJCF name."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import mujoco
import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.properties.declaration import Property, number, plain
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import Choice, Text
from mjrig.core.yaml_text.formatting import format_flow

# Sim options --------------------------------------------------------------------------------------
# The `sim:` block: MuJoCo's options by their MJCF names.


_ENUMS = {
    "integrator": ("Euler", "RK4", "implicit", "implicitfast", "discrete"),
    "cone": ("pyramidal", "elliptic"),
    "jacobian": ("dense", "sparse", "auto"),
    "solver": ("PGS", "CG", "Newton"),
}
_POSITIVE = ("timestep", "impratio")
_MAX_INT = 2**31 - 1  # MuJoCo's own
#: A solver that never converges does not keep a step from ending.
MAX_ITERATIONS, MAX_LS_ITERATIONS = 10_000, 1_000
_MOST = {
    "ls_iterations": MAX_LS_ITERATIONS,
    **dict.fromkeys(
        ("iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints"),
        MAX_ITERATIONS,
    ),
}
_NO_GRAVITY = int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)


class Actuation(StrEnum):
    """How a lowered gain may be integrated under an implicit integrator."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


class ModelOption(Property[Any]):
    """One field of mjOption or one flag; the model's value if nothing is authored."""

    kind = "option"
    default_is_input = False  # None: the value of the model

    def __init__(self, *, like: object = None, choices: Sequence[str] = (), **about: Any) -> None:
        super().__init__(None, category="Simulation", structural=True, **about)
        self.like = like
        self.choices = tuple(choices) or None

    def accept(self, obj: HasProperties, value: object) -> tuple[object, object]:
        if self.choices is not None:
            return self._accept_choice(obj, value)
        if isinstance(self.like, np.ndarray):
            size = len(self.like)
            items = value.tolist() if isinstance(value, np.ndarray) else value
            if not isinstance(items, list | tuple) or len(items) != size:
                raise self.error(obj, f"must be a list of {size} numbers, got {value!r}")
            numbers = [self._number(obj, item, (i,)) for i, item in enumerate(items)]
            return [plain(item) for item in items], tuple(numbers)
        found = self._number(obj, value, ())
        if isinstance(self.like, int):
            most = _MOST.get(self.name, _MAX_INT)
            if found != int(found) or not 0 <= found <= most:
                raise self.error(obj, f"must be a whole number from 0 to {most}, got {value!r}")
            return int(found), int(found)
        if self.name in _POSITIVE and found <= 0:
            raise self.error(obj, f"must be > 0, got {found:g}")
        return plain(value), found

    def _accept_choice(self, obj: HasProperties, value: object) -> tuple[object, object]:
        assert self.choices is not None
        if self.choices == ("enable", "disable") and isinstance(value, bool):
            return value, "enable" if value else "disable"
        if value not in self.choices:
            allowed = ", ".join(self.choices)
            raise self.error(obj, f"must be one of {allowed}; got {value!r}")
        return value, value

    def _number(self, obj: HasProperties, value: object, at: tuple[int, ...]) -> float:
        found = number(value)
        if found is None or not np.isfinite(found):
            raise self.error(obj, f"must be a finite number, got {value!r}", at)
        return found

    def json_schema(self) -> dict[str, object]:
        if self.choices == ("enable", "disable"):
            return {"enum": ["enable", "disable", True, False]}
        if self.choices is not None:
            return {"enum": list(self.choices)}
        text: dict[str, object] = {"type": ["number", "string"]}
        if isinstance(self.like, np.ndarray):
            size = len(self.like)
            return {"type": "array", "items": text, "minItems": size, "maxItems": size}
        return {"type": "integer", "minimum": 0} if isinstance(self.like, int) else text

    def default_text(self) -> str:
        return "the model's value"


def _flags() -> dict[str, tuple[str, int]]:
    """MJCF flag name → (mjOption field, bit)."""
    found: dict[str, tuple[str, int]] = {}
    for enum, prefix, field in (
        (mujoco.mjtDisableBit, "mjDSBL_", "disableflags"),
        (mujoco.mjtEnableBit, "mjENBL_", "enableflags"),
    ):
        for name, bit in enum.__members__.items():
            if name.startswith(prefix):
                found[name.removeprefix(prefix).lower()] = (field, int(bit))
    # `actuation` is a property of mjrig itself; without actuators mjrig is of no use anyway.
    found.pop("actuation")
    found.pop("gravity")  # the name of the vector; [0, 0, 0] has the same effect
    return found


FLAGS = _flags()
_DEFAULTS = mujoco.MjOption()
FIELDS = tuple(
    n for n in dir(_DEFAULTS) if n[0] != "_" and n not in ("disableflags", "enableflags")
)
_MJCF_NAME = {"disableactuator": "actuatorgroupdisable"}


def _declarations() -> dict[str, ModelOption]:
    """One property per field of mjOption and per flag."""
    fields = {_MJCF_NAME.get(field, field): field for field in FIELDS}
    options = {
        name: ModelOption(
            like=getattr(_DEFAULTS, field),
            choices=_ENUMS.get(field, ()),
            unit="s" if field == "timestep" else "",
            doc=f"MJCF option `{name}`.",
        )
        for name, field in fields.items()
    }
    flags = {
        name: ModelOption(choices=("enable", "disable"), doc=f"MJCF option flag `{name}`.")
        for name in FLAGS
    }
    return options | flags


class SimOptions(HasProperties):
    """Options of the simulation; what is not given comes from the model."""

    actuation = Choice(
        Actuation.EXPLICIT,
        category="Simulation",
        structural=True,
        doc="implicit: gains lowered to MuJoCo actuators may be integrated implicitly.",
    )
    # MuJoCo's own list of options is the declaration: no second list of fields here.
    locals().update(_declarations())

    @property
    def label(self) -> str:
        return "sim"

    def apply(self, option: Any) -> None:
        """Write what was authored into an mjOption."""
        for field in FIELDS:
            value = self.__dict__[_MJCF_NAME.get(field, field)]
            if value is None:
                continue
            if field in _ENUMS:
                value = _ENUMS[field].index(value)
            if isinstance(value, tuple):
                getattr(option, field)[:] = value
            else:
                setattr(option, field, value)
        if self.__dict__["gravity"] is not None:  # a model may have switched it off by its flag
            option.disableflags = int(option.disableflags) & ~_NO_GRAVITY
        for flag, (field, bit) in FLAGS.items():
            value = self.__dict__[flag]
            if value is not None:
                on = (value == "enable") == (field == "enableflags")
                bits = int(getattr(option, field))
                setattr(option, field, bits | bit if on else bits & ~bit)


def option_in(option: Any, name: str) -> Any:
    """The value of an mjOption field as plain data for `sim:`; None for an unknown name."""
    if name in FLAGS:
        field, bit = FLAGS[name]
        is_set = bool(int(getattr(option, field)) & bit)
        return "enable" if is_set == (field == "enableflags") else "disable"
    field = next((f for f in FIELDS if _MJCF_NAME.get(f, f) == name), "")
    if not field:
        return None
    value = _effective(option, field)
    if field in _ENUMS:
        return _ENUMS[field][int(value)]
    return value.tolist() if isinstance(value, np.ndarray) else value


def check_iterations(option: Any) -> None:
    """Refuse options of a model that keep a step from ending.

    Raises:
        PropertyError: a solver may take too many iterations.
    """
    for name, most in _MOST.items():
        if getattr(option, name) > most:
            raise PropertyError(
                f"<option {name}> must be at most {most}, got {getattr(option, name)}"
            )


def differing_option(options: Sequence[tuple[str, Any]], sim: SimOptions) -> PropertyError | None:
    """The error for models that disagree about options `sim` does not set, or None."""
    (first, reference), *others = options
    found: dict[str, str] = {}
    for name, option in others:
        for mjcf, ours, theirs in _disagreements(reference, option, sim):
            found.setdefault(mjcf, f"{ours} in {first!r}, {theirs} in {name!r}")
    if not found:
        return None
    if len(found) == 1:
        mjcf, text = next(iter(found.items()))
        problem = f"sim.{mjcf}: the models differ: {text}; set it under sim:"
        return PropertyError(problem, ("sim", mjcf))
    kept: dict[str, object] = {}
    for _, option in others:
        kept |= settling(reference, option, sim)
    each = "; ".join(f"{mjcf}: {text}" for mjcf, text in found.items())
    return PropertyError(
        f"sim: the models differ in {len(found)} options: {each}; set them under sim:, with those "
        f"of {first!r} sim: {format_flow(kept)}",
        ("sim",),
    )


def _disagreements(reference: Any, option: Any, sim: SimOptions) -> Iterator[tuple[str, str, str]]:
    """Options that two models set otherwise and `sim` does not set: name, one value, the other."""
    for field in FIELDS:
        mjcf = _MJCF_NAME.get(field, field)
        ours, theirs = _effective(reference, field), _effective(option, field)
        if sim.__dict__[mjcf] is None and not np.array_equal(ours, theirs):
            yield mjcf, _text(field, ours), _text(field, theirs)
    for flag, (field, bit) in FLAGS.items():
        ours, theirs = (bool(int(getattr(o, field)) & bit) for o in (reference, option))
        if sim.__dict__[flag] is None and ours != theirs:
            words = ("disable", "enable") if field == "enableflags" else ("enable", "disable")
            yield flag, words[ours], words[theirs]


def settling(ours: Any, theirs: Any, sim: SimOptions) -> dict[str, object]:
    """The `sim` entries that keep one model's options beside another that differs."""
    found: dict[str, object] = {}
    for field in FIELDS:
        name = _MJCF_NAME.get(field, field)
        kept, other = _effective(ours, field), _effective(theirs, field)
        if sim.__dict__[name] is None and not np.array_equal(kept, other):
            found[name] = _ENUMS[field][int(kept)] if field in _ENUMS else np.array(kept).tolist()
    for flag, (field, bit) in FLAGS.items():
        kept, other = (bool(int(getattr(o, field)) & bit) for o in (ours, theirs))
        if sim.__dict__[flag] is None and kept != other:
            found[flag] = "enable" if kept == (field == "enableflags") else "disable"
    return found


def _effective(option: Any, field: str) -> Any:
    off = field == "gravity" and int(option.disableflags) & _NO_GRAVITY
    return np.zeros(3) if off else getattr(option, field)


def _text(field: str, value: Any) -> str:
    return _ENUMS[field][int(value)] if field in _ENUMS else str(value)


# Compiler options ---------------------------------------------------------------------------------


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

    def validate(self) -> None:
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
