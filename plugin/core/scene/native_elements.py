"""MuJoCo's actuators and joints in a spec: gains, limits and joint dynamics, and their edits."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Self

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray

# Native actuator ----------------------------------------------------------------------------------


#: Bits of an input signature by name; a chart of an orientation is one of the last two.
INPUTS: Mapping[str, int] = {"pos": 1, "vel": 2, "ff": 4, "voltage": 8, "none": 16, "pressure": 32}
CHARTS: Mapping[str, int] = {"expmap": 1, "quat": 2}
_TYPE = mujoco.mjtActuator
_TRN = mujoco.mjtTrn
_GAIN, _BIAS, _DYN = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
_ON_JOINT = (_TRN.mjTRN_JOINT, _TRN.mjTRN_JOINTINPARENT)
_LIMITED = mujoco.mjtLimited.mjLIMITED_TRUE
_INHERITS_CTRLRANGE = (_TYPE.mjACTUATOR_POSITION, _TYPE.mjACTUATOR_PID)

GAINS = ("kp", "kv", "ki", "dampratio")
LIMITS = ("forcerange", "ctrlrange", "gear")
#: What each kind has; a kind that is not here has none.
GAINS_OF: Mapping[str, tuple[str, ...]] = {
    "position": ("kp", "kv", "dampratio"),
    "intvelocity": ("kp", "kv", "dampratio"),
    "velocity": ("kv",),
    "damper": ("kv",),
    "pid": GAINS,
    "orientation": ("kp", "kv", "dampratio"),
    "dcmotor": ("kp", "kv", "ki"),
}
_BY_GAINTYPE = {
    _GAIN.mjGAIN_MUSCLE: "muscle",
    _GAIN.mjGAIN_DCMOTOR: "dcmotor",
    _GAIN.mjGAIN_SO3: "orientation",
    _GAIN.mjGAIN_PID: "pid",
}
_BY_TYPE = {
    _TYPE.mjACTUATOR_POSITION: "position",
    _TYPE.mjACTUATOR_VELOCITY: "velocity",
    _TYPE.mjACTUATOR_CYLINDER: "cylinder",
    _TYPE.mjACTUATOR_DAMPER: "damper",
}
#: A dcmotor's gains among its parameters.
_OF_DCMOTOR = {"kp": 4, "ki": 5, "kv": 6}

Values = Mapping[str, Any]
_PLAIN = ("name", "target", "type", "trntype", "gaintype", "biastype", "dyntype", "actdim",
          "ctrlspec", "forcelimited", "ctrllimited", "inheritrange")  # fmt: skip
_ARRAYS = ("gainprm", "biasprm", "dynprm", "forcerange", "ctrlrange", "gear")
_read_plain, _read_arrays = attrgetter(*_PLAIN), attrgetter(*_ARRAYS)


@dataclass(slots=True)
class NativeActuator:
    """The law and the limits of an actuator as a spec has them; MuJoCo's own names.

    A damping ratio is, as in MuJoCo, a `biasprm[2]` above 0: compiling turns it into a damping.
    """

    name: str
    target: str
    plugin: bool
    type: Any
    trntype: Any
    gaintype: Any
    biastype: Any
    dyntype: Any
    actdim: int
    ctrlspec: int
    gainprm: FloatArray
    biasprm: FloatArray
    dynprm: FloatArray
    forcerange: FloatArray
    forcelimited: Any
    ctrlrange: FloatArray
    ctrllimited: Any
    inheritrange: float
    gear: FloatArray

    @classmethod
    def of(cls, element: Any) -> Self:
        """A copy of what a spec's actuator has."""
        values: dict[str, Any] = dict(zip(_PLAIN, _read_plain(element), strict=True))
        for name, array in zip(_ARRAYS, _read_arrays(element), strict=True):
            values[name] = array.copy()
        return cls(plugin=bool(element.plugin.active), **values)

    def copy(self) -> Self:
        """A copy to change."""
        return replace(self, **{n: getattr(self, n).copy() for n in _ARRAYS})

    def differs_in(self, other: "NativeActuator") -> set[str]:
        """The names of what is not the same in both."""
        found = {n for n in _PLAIN if getattr(self, n) != getattr(other, n)}
        return found | {n for n in _ARRAYS if (getattr(self, n) != getattr(other, n)).any()}

    def write_to(self, element: Any) -> None:
        """Write gains and limits to a spec's actuator."""
        for name in ("dyntype", "actdim", "inheritrange", "forcelimited", "ctrllimited"):
            setattr(element, name, getattr(self, name))
        for name in _ARRAYS:
            getattr(element, name)[:] = getattr(self, name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names a pattern may match: its own and its joint's."""
        return (self.name, self.target) if self.trntype in _ON_JOINT else (self.name,)

    @property
    def kind(self) -> str:
        """The MJCF element that its law is that of."""
        if self.plugin:
            return "plugin"
        if self.gaintype in _BY_GAINTYPE:
            return _BY_GAINTYPE[self.gaintype]
        if self.trntype == _TRN.mjTRN_BODY:
            return "adhesion"
        fixed = self.gaintype == _GAIN.mjGAIN_FIXED
        if fixed and self.biastype == _BIAS.mjBIAS_AFFINE:
            return self._servo_kind()
        if self.biastype != _BIAS.mjBIAS_NONE or self.dyntype != _DYN.mjDYN_NONE:
            return "general"
        return "motor" if fixed else "general" if self.gainprm[:2].any() else "damper"

    def _servo_kind(self) -> str:
        if self.dyntype == _DYN.mjDYN_INTEGRATOR:
            return "intvelocity"
        if self.type in _BY_TYPE:  # also where its gains are 0
            return _BY_TYPE[self.type]
        _, stiffness, damping = self.biasprm[:3]
        return "position" if stiffness else "velocity" if damping else "general"

    # Gains --------------------------------------------------------------------------------------

    def gains(self) -> dict[str, float]:
        """The gains it has by name: kv or dampratio, whichever the model gives."""
        kind = self.kind
        if kind == "dcmotor":
            return {n: float(self.gainprm[k]) for n, k in _OF_DCMOTOR.items() if self._takes(n)}
        if kind == "damper":
            return {"kv": -float(self.gainprm[2]) + 0.0}
        known = GAINS_OF.get(kind, ())
        found = {"kp": -float(self.biasprm[1]) + 0.0} if "kp" in known else {}
        if self.has_dampratio:
            found["dampratio"] = float(self.biasprm[2])
        elif "kv" in known:
            found["kv"] = -float(self.biasprm[2]) + 0.0
        if "ki" in known and self._takes("ki"):
            found["ki"] = float(self.gainprm[0])
        return found

    @property
    def has_dampratio(self) -> bool:
        """Whether its damping comes from a damping ratio when the model is compiled."""
        known = "dampratio" in GAINS_OF.get(self.kind, ())
        return bool(known and self.biasprm[2] > 0.0 and not self._has_other_units)

    @property
    def _has_other_units(self) -> bool:
        """Whether its control is not in the units of the position: gain and stiffness differ."""
        scaled = self.kind in ("position", "intvelocity", "orientation")
        return bool(scaled and self.gainprm[0] != -self.biasprm[1])

    def _takes(self, name: str) -> bool:
        """Whether the inputs it has are those that a gain needs."""
        inputs = int(self.ctrlspec) or (INPUTS["pos"] if self.kind == "pid" else 0)
        if self.kind == "dcmotor" and name == "kv":
            return bool(inputs & (INPUTS["pos"] | INPUTS["vel"] | INPUTS["ff"]))
        needs_position = name == "ki" or self.kind == "dcmotor"
        return not needs_position or bool(inputs & INPUTS["pos"])

    def why_not(self, name: str, values: Values) -> str:
        """Why one of the values cannot be given to it; empty if it can.

        Args:
            name: which of the values.
            values: everything that is given.
        """
        problems = self._gain_problems if name in GAINS else self._limit_problems
        return next(problems(name, values), "")

    def _gain_problems(self, name: str, values: Values) -> Iterator[str]:
        kind, known = self.kind, GAINS_OF.get(self.kind, ())
        what = f"{self.name!r} is {_a(kind)} actuator"
        if name not in known:
            has = f", which has {_listed(known)} and no {name}" if known else f" and has no {name}"
            yield f"{what}{has}{_REMEDY.get(kind, _OTHERWISE.get(name, ''))}"
        elif not self._takes(name):
            lacks = "an input pos" if name != "kv" else "an input pos, vel or ff"
            yield f"{what} without {lacks}, and {name} needs one"
        elif name == "dampratio" and "kv" in values:
            yield f"{self.name!r} is given kv ({values['kv']:g}) too; give one of them"
        elif name == "dampratio" and self._has_other_units:
            yield (
                f"{what} with the gain {self.gainprm[0]:g} and the stiffness "
                f"{-self.biasprm[1]:g}; MuJoCo takes a damping ratio only where they are equal, "
                "so give kv"
            )

    def _limit_problems(self, name: str, values: Values) -> Iterator[str]:
        kind, value = self.kind, values[name]
        what = f"{self.name!r} is {_a(kind)} actuator"
        if name == "ctrlrange" and kind in ("damper", "adhesion") and value[0] < 0.0:
            yield f"{what}, whose control cannot be negative, got {list(value)}"
        if name == "gear" and kind in ("orientation", "adhesion"):
            yield f"{what} and has no gear"
        if name == "ctrlrange" and kind == "orientation":
            yield f"{what}, whose control is an orientation and has no range"
        if name == "forcerange" and kind == "orientation" and value[0] != 0.0:
            yield f"{what}, whose forcerange limits a norm: low must be 0, got {list(value)}"

    # Changes ------------------------------------------------------------------------------------

    def override(self, values: Values) -> None:
        """Give it other gains and limits; `why_not` of each is empty."""
        for name in GAINS:
            if name in values:
                self._set_gain(name, float(values[name]))
        for name in ("forcerange", "ctrlrange"):
            if name in values:
                getattr(self, name)[:] = values[name]
                setattr(self, name.replace("range", "limited"), _LIMITED)
        if "ctrlrange" in values and self.type in _INHERITS_CTRLRANGE:
            self.inheritrange = 0.0
        if "gear" in values:
            self.gear[:] = [*values["gear"], *[0.0] * (6 - len(values["gear"]))]

    def _set_gain(self, name: str, value: float) -> None:
        kind = self.kind
        if kind == "dcmotor":
            place = _OF_DCMOTOR[name]
            if name == "ki":  # its integral is an activation
                self.actdim += bool(value) - bool(self.gainprm[place])
            self.gainprm[place] = value
        elif kind == "damper":
            self.gainprm[2] = -value
        elif kind == "velocity":
            self._scale(2, value)
        elif name == "kp":
            self._scale(1, value)
        elif name == "ki":
            self._set_integral(value)
        else:
            self.biasprm[2] = value if name == "dampratio" else -value

    def _scale(self, term: int, value: float) -> None:
        """Another feedback gain; where the control has other units, it keeps them."""
        before = -float(self.biasprm[term])
        if self.kind != "pid":
            is_plain = not before or self.gainprm[0] == before
            self.gainprm[0] = value if is_plain else self.gainprm[0] * (value / before)
            self.biasprm[0] *= value / before if before else 1.0
        self.biasprm[term] = -value

    def _set_integral(self, value: float) -> None:
        """An integral gain of a pid actuator, whose integrator exists only where it is not 0."""
        self.gainprm[0] = value
        slews = bool(self.dynprm[1])
        self.dyntype = _DYN.mjDYN_PID if value or slews else _DYN.mjDYN_NONE
        if not value:
            self.dynprm[0] = 0.0


@dataclass(frozen=True)
class NativeActuators:
    """All actuators of an actor as its spec has them, by local name."""

    #: As they are compiled: with the scene's gains, and with the actuators that it adds.
    now: dict[str, NativeActuator]
    #: Those of the model, as its file has them.
    model: dict[str, NativeActuator]
    #: Those of the model that the scene replaces by others.
    replaced: frozenset[str] = frozenset()

    @classmethod
    def nothing(cls) -> Self:
        """Of a model without a spec."""
        return cls({}, {})

    def kind(self, name: str) -> str:
        """The kind of an actuator; gains of 0 in the scene do not change it."""
        kept = name in self.model and name not in self.replaced
        known = self.model if kept else self.now
        return known[name].kind if name in known else ""


_REMEDY = {
    "motor": ", its ctrl is its force; a PDController gives it gains",
    "plugin": "; its gains are in the plugin's configuration, in the model file",
    "position": "; a PIDActuator that replaces it has one",
}
_OTHERWISE = {"ki": "; pid and dcmotor actuators have one"}


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Native joint -------------------------------------------------------------------------------------


_SLIDE = mujoco.mjtJoint.mjJNT_SLIDE
#: What a scene gives one number for.
NUMBERS = ("armature", "damping", "frictionloss", "stiffness")
_WRITTEN = (*NUMBERS, "range", "limited", "actfrcrange", "actfrclimited")
_read = attrgetter(*_WRITTEN)


@dataclass(frozen=True)
class NativeJoint:
    """Limits, armature, friction and springs of a joint; MuJoCo's own names and units."""

    name: str
    type: Any
    #: Whether angles are in degrees.
    degree: bool
    armature: float
    #: Polynomials, as stiffness.
    damping: tuple[float, ...]
    frictionloss: float
    stiffness: tuple[float, ...]
    range: tuple[float, ...]
    limited: Any
    actfrcrange: tuple[float, ...]
    actfrclimited: Any
    #: Whether compiling computes stiffness and damping from a time constant.
    springdamper: bool

    @classmethod
    def of(cls, element: Any) -> Self:
        """What a spec's joint has."""
        values: dict[str, Any] = {}
        for name, value in zip(_WRITTEN, _read(element), strict=True):
            values[name] = tuple(value.tolist()) if isinstance(value, np.ndarray) else value
        return cls(
            element.name,
            element.type,
            bool(element.compiler.degree),
            springdamper=all(v > 0.0 for v in element.springdamper.tolist()),
            **values,
        )

    def write_to(self, element: Any) -> None:
        """Write it to a spec's joint."""
        for name in _WRITTEN:
            setattr(element, name, getattr(self, name))

    def differs_in(self, other: "NativeJoint") -> set[str]:
        """The names of what is not the same in both."""
        names = [f.name for f in fields(self)]
        return {n for n in names if getattr(self, n) != getattr(other, n)}

    def with_number(self, name: str, value: float) -> Self:
        """With another armature, damping, frictionloss or stiffness."""
        before = getattr(self, name)
        new: Any = value
        if isinstance(before, tuple):  # a polynomial: the linear part, and nothing else
            new = (value, *([0.0] * (len(before) - 1)))
        return replace(self, **{name: new})

    def with_range(self, low: float, high: float) -> Self:
        """With other limits, in rad or m."""
        scale = math.degrees(1.0) if self.degree and self.type != _SLIDE else 1.0
        return replace(self, limited=_LIMITED, range=(low * scale, high * scale))

    def with_effort_range(self, low: float, high: float) -> Self:
        """With other limits of the actuators' total effort."""
        return replace(self, actfrclimited=_LIMITED, actfrcrange=(low, high))


@dataclass(frozen=True)
class NativeJoints:
    """All joints of an actor as its spec has them, by local name."""

    #: As they are compiled, with what the scene gives them.
    now: dict[str, NativeJoint]
    #: As the model's file has them.
    model: dict[str, NativeJoint]

    @classmethod
    def nothing(cls) -> Self:
        """Of a model without a spec."""
        return cls({}, {})


# Callbacks ----------------------------------------------------------------------------------------


ACTUATOR_CALLBACKS = ("act_dyn", "act_gain", "act_bias")


@contextmanager
def without_actuator_callbacks() -> Iterator[None]:
    """Compile without them: the compiler runs the model before Python can access it."""
    found = {name: getattr(mujoco, f"get_mjcb_{name}")() for name in ACTUATOR_CALLBACKS}
    try:
        for name in found:
            getattr(mujoco, f"set_mjcb_{name}")(None)
        yield
    finally:
        for name, callback in found.items():
            getattr(mujoco, f"set_mjcb_{name}")(callback)
