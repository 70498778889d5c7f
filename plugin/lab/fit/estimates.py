"""Unknowns of a fit with bounds and scale, and the estimates of parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import at_joint
from mjrig.core.errors import FitError
from mjrig.core.findings import Finding, note
from mjrig.core.names import listed, suggestion
from mjrig.core.scene.scene_sections import Dynamics
from mjrig.core.sim.world import World
from mjrig.lab.fit import inertial_parameters
from mjrig.lab.fit.plant import (
    DELAY,
    ENCODER,
    FEEDBACK,
    GAINS,
    INERTIAL,
    OF_BODIES,
    PARAMETERS,
    PAYLOAD,
    TORQUE_GAIN,
    UNITS,
    Drives,
)
from mjrig.lab.fit.problem import Unknown

# Estimate -----------------------------------------------------------------------------------------
# Estimates of parameters, and what else a fit by one kind of evidence finds.


#: Kinds of evidence.
MOTION, EFFORTS = "motion", "efforts"


@dataclass(frozen=True)
class Estimate:
    """The estimate of one parameter of one joint.

    Attributes:
        value: the best one; without information in the data, the scene's.
        old: the scene's value.
        low, high: 95 % interval; infinite where nothing bounds it, NaN where none can be given.
        identifiable: whether the data determine the value well enough to use it.
        reason: why not, or what the value rests on.
        rests_on: parameters that must be as in the scene for it.
        evidence: `motion` or `efforts`.
        slides: whether it is of a joint that moves along its axis.
    """

    joint: str
    actuator: str
    parameter: str
    value: float
    old: float
    low: float
    high: float
    identifiable: bool = True
    reason: str = ""
    evidence: str = MOTION
    slides: bool = False
    rests_on: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, drives: Drives, place: int, parameter: str,
        value: float, old: float, low: float, high: float,
    ) -> "Estimate":  # fmt: skip
        """An estimate of a joint."""
        joint, actuator, slides = (
            drives.joints[place],
            drives.actuators[place],
            drives.slides[place],
        )
        return cls(joint, actuator, parameter, value, old, low, high, slides=slides)

    @property
    def unit(self) -> str:
        """Of its numbers."""
        return at_joint(UNITS[self.parameter], slides=self.slides)


def as_in_scene(names: Sequence[str]) -> str:
    """What a value rests on, in words."""
    return f"if {listed(names)} {'is' if len(names) == 1 else 'are'} as in the scene"


@dataclass(frozen=True)
class Curves:
    """Positions of joints in a stretch of a recording: recorded, and simulated before and after.

    Attributes:
        recording: its name.
        is_held_out: whether the fit has not seen it.
        time: (n,) [s].
        joints: names of the columns.
        units: of the columns.
        recorded, before, after: (n, joints) [rad or m].
    """

    recording: str
    is_held_out: bool
    time: FloatArray
    joints: tuple[str, ...]
    units: tuple[str, ...]
    recorded: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class Correlated:
    """Two estimates that the recording hardly tells apart, and which motion would."""

    first: str
    second: str
    correlation: float
    remedy: str

    @property
    def finding(self) -> Finding:
        """The same as a finding."""
        pair = {"first": self.first, "second": self.second, "apart": self.remedy}
        return note("correlated", "", here=self.correlation, **pair)

    def __str__(self) -> str:
        return self.finding.text


@dataclass(frozen=True)
class Correlations:
    """All correlations: labels, and a matrix (labels, labels)."""

    labels: tuple[str, ...] = ()
    matrix: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Findings:
    """Estimates from one kind of evidence.

    `before` and `after`: joint → root mean square of the residuals with the scene's and with the
    fitted values, of positions [rad or m] or of efforts [N·m or N]. `rejection` is why the model
    cannot be right; empty: nothing speaks against it. `held_before` and `held_after` are of what
    the fit has not seen.
    """

    estimates: tuple[Estimate, ...] = ()
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    converged: bool = True
    rejection: str = ""
    held_before: dict[str, float] = field(default_factory=dict)
    held_after: dict[str, float] = field(default_factory=dict)
    curves: tuple[Curves, ...] = ()
    correlations: Correlations = field(default_factory=Correlations)
    correlated: tuple[Correlated, ...] = ()


# Unknowns -----------------------------------------------------------------------------------------
# Unknowns of a fit: their bounds, from the declarations, and their scale.


Bounds = Mapping[str, tuple[float, float]]
#: Parameter → indices of the joints, or bodies, it is estimated for.
Wanted = Mapping[str, Sequence[int]]
#: Parameters that no property declares: bounds and scale.
UNDECLARED = {ENCODER: (-0.3, 0.3, 0.01), FEEDBACK: (0.0, 20.0, 1.0)}
#: Bounds and scale of the numbers of a body, by the parameter they belong to.
OF_BODY = {"mass": (-2.3, 2.3, 0.2), "centre": (-3.0, 3.0, 0.3), "inertia": (-1.5, 1.5, 0.3)}
#: Bodies are as the model has them, give or take this much, unless the user says otherwise.
BODY_PRIOR = 0.5
#: Largest delay that is tried without bounds [ticks].
LONGEST_DELAY = 20
#: The same of a robot [s].
REAL_DELAY = 0.06


def unknowns_of(
    world: World,
    drives: Drives,
    wanted: Wanted,
    bounds: Bounds,
    efforts: FloatArray,
    prior: float | None = None,
) -> list[Unknown]:
    """One per parameter and joint, delays and what efforts alone show aside.

    Args:
        wanted: parameter → places of joints.
        bounds: parameter → (low, high) inside of what the properties allow.
        efforts: (n,) the largest effort each law asks for, for the size of friction.
        prior: standard deviation around the scene's values that is assumed beforehand, as a share
            of them; None: `BODY_PRIOR` for bodies, nothing for joints.
    """
    inertia = joint_inertia(world, drives)
    found = []
    for name, places in wanted.items():
        if name in OF_BODIES:
            found += _of_bodies(world, drives, name, places, BODY_PRIOR if prior is None else prior)
            continue
        for place in places if name not in (DELAY, TORQUE_GAIN) else ():
            low, high = _range(world, drives, name, place, bounds)
            scale = _scale(drives, name, place, inertia, efforts)
            assumed = np.inf if prior is None else prior * scale
            found.append(Unknown(name, place, low, high, scale, assumed))
    return found


def _of_bodies(
    world: World, drives: Drives, name: str, places: Sequence[int], prior: float
) -> list[Unknown]:
    if name == PAYLOAD:
        body = list(drives.links.values())[drives.payload]
        size = float(world.model.body_mass[body])
        return [Unknown(PAYLOAD, 0, 0.0, np.inf, 0.1 * size)]
    low, high, scale = OF_BODY[name]
    return [
        Unknown(INERTIAL, place * inertial_parameters.SIZE + k, low, high, scale, prior)
        for place in places
        for k in inertial_parameters.PARTS[name]
    ]


def delay_bounds(bounds: Bounds) -> tuple[int, int]:
    """Least and most delay in ticks."""
    low, high = bounds.get(DELAY, (0, LONGEST_DELAY))
    return int(low), int(high)


def with_real_delays(bounds: Bounds, tick: float) -> Bounds:
    """The bounds, with one of a robot's delays, which knows no steps [s] of a scene."""
    longest = max(LONGEST_DELAY, int(np.ceil(REAL_DELAY / tick)))
    return {DELAY: (0, longest), **bounds}


def check_bounds(bounds: Bounds, parameters: Sequence[str]) -> None:
    """Refuse bounds of parameters that are not fitted, and invalid intervals.

    Raises:
        FitError: the message names the parameter.
    """
    for name, (low, high) in bounds.items():
        if name not in PARAMETERS:
            raise FitError(f"bounds of {name!r}: no such parameter; {suggestion(name, PARAMETERS)}")
        if name not in parameters:
            raise FitError(f"bounds of {name}: it is not among the parameters to fit")
        if name in OF_BODIES or name == TORQUE_GAIN:
            raise FitError(f"bounds of {name}: it has none")
        if not (low if name == ENCODER else max(low, 0.0)) == low < high:
            raise FitError(
                f"bounds of {name}: must be 0 or more, the lower first, got {low:g} and {high:g}"
            )
        if name == DELAY and (low != int(low) or high != int(high)):
            raise FitError(f"bounds of {DELAY}: must be whole steps, got {low:g} and {high:g}")


def _range(
    world: World, drives: Drives, name: str, place: int, bounds: Bounds
) -> tuple[float, float]:
    if name in UNDECLARED:
        low, high, _ = UNDECLARED[name]
        asked = bounds.get(name, (low, high))
        return max(low, asked[0]), min(high, asked[1])
    if name in GAINS:
        controller: Any = world[drives.actor].part(drives.controllers[place])
        declared: Any = controller.property_named(name).bounds
    else:
        declared = Dynamics.property_named(name).bounds  # type: ignore[attr-defined]
    low, high = bounds.get(name, (declared.low, declared.high))
    if name == "torque_limit":
        high = min(high, float(drives.own_limits[place]))
    return max(low, declared.low), min(high, declared.high)


def _scale(
    drives: Drives, name: str, place: int, inertia: FloatArray, efforts: FloatArray
) -> float:
    """The size of a relevant change of a parameter."""
    if name in UNDECLARED:
        return UNDECLARED[name][2]
    value = float(drives.values[name][place])
    kp, kv = (float(np.nan_to_num(drives.values[n][place])) for n in ("kp", "kv"))
    least = {
        "kp": 1e-2 * float(efforts[place]) + 1e-6,
        "kv": 1e-2 * kp + 1e-6,
        "torque_limit": 0.1 * float(efforts[place]) + 1e-6,
        "armature": 0.1 * float(inertia[place]),
        "damping": 0.1 * kv + 1e-6,
        "frictionloss": 0.02 * float(efforts[place]) + 1e-6,
    }[name]
    return max(value, least) if np.isfinite(value) else least


def joint_inertia(world: World, drives: Drives) -> FloatArray:
    """(n,) inertia of each joint at the initial pose, rotor included."""
    model, data = world.model, world.data
    mujoco.mj_forward(model, data)
    unit = np.zeros((len(drives), model.nv))
    unit[np.arange(len(drives)), drives.dofs] = 1.0
    product = np.zeros(model.nv)
    found = np.zeros(len(drives))
    for i, row in enumerate(unit):
        mujoco.mj_mulM(model, data, product, row)
        found[i] = product[drives.dofs[i]]
    return found
