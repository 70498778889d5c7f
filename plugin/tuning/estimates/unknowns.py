"""Unknowns of a fit: their bounds, from the declarations, and their scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import FitError
from mjrig.names import suggestion
from mjrig.scene.actor_parts import Dynamics
from mjrig.sim.world import World
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.simulated import inertial
from mjrig.tuning.simulated.plant import (
    DELAY,
    ENCODER,
    FEEDBACK,
    GAINS,
    INERTIAL,
    OF_BODIES,
    PARAMETERS,
    PAYLOAD,
    TORQUE_GAIN,
    Drives,
)

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
        Unknown(INERTIAL, place * inertial.SIZE + k, low, high, scale, prior)
        for place in places
        for k in inertial.PARTS[name]
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
