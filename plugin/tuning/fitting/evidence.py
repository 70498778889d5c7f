"""The choice of evidence: what is found by motion, and what by efforts."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco

from mjrig.errors import FitError
from mjrig.names import listed
from mjrig.sim.world import World
from mjrig.tuning.effort_fits.effort_laws import OF_LAWS, why_not
from mjrig.tuning.estimates.estimate import EFFORTS, MOTION
from mjrig.tuning.estimates.unknowns import Wanted
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.plant import TORQUE_GAIN, Drives
from mjrig.tuning.simulated.tangent import Tangent

#: Kinds of evidence; auto: efforts for laws of free-base robots, else motion.
AUTO = "auto"
EVIDENCE = (AUTO, MOTION, EFFORTS)


@dataclass(frozen=True)
class EvidencePlan:
    """Evidence for each parameter and joint; `is_check`: efforts serve as a cross-check."""

    efforts: Wanted
    motion: Wanted
    notes: tuple[str, ...] = ()
    is_check: bool = False


def plan_of(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], wanted: Wanted, evidence: str
) -> EvidencePlan:
    """Which evidence there is for what is wanted.

    Args:
        wanted: parameter → places.
        evidence: one of `EVIDENCE`.

    Raises:
        FitError: efforts alone are to identify what they cannot.
    """
    by_both = wanted
    wanted = {name: places for name, places in wanted.items() if name != TORQUE_GAIN}
    if evidence == MOTION or not wanted:
        return EvidencePlan({}, wanted)
    laws = {name: places for name, places in wanted.items() if name in OF_LAWS}
    silent: dict[str, list[int]] = {}
    by_effort: dict[str, list[int]] = {}
    for name, places in laws.items():
        for place in places:
            reason = why_not(world, drives, tracks, place, name)
            if reason:
                silent.setdefault(reason, []).append(place)
            else:
                by_effort.setdefault(name, []).append(place)
    lines = [f"{_whose(drives, places)}: {reason}" for reason, places in silent.items()]
    if evidence == EFFORTS:
        others = [name for name in by_both if name not in OF_LAWS]
        if others:
            raise FitError(f"efforts cannot identify {listed(others)}; use motion, or auto")
        if lines:
            raise FitError(f"{drives.actor}: efforts cannot be used: {'; '.join(lines)}")
        return EvidencePlan(by_effort, {})
    if not _touches(world, drives):
        return EvidencePlan(by_effort, wanted, is_check=True)
    rest = {n: [p for p in places if p not in by_effort.get(n, ())] for n, places in wanted.items()}
    notes = tuple(f"found by motion, not by efforts: {line}" for line in lines)
    return EvidencePlan(by_effort, {n: places for n, places in rest.items() if places}, notes)


def _whose(drives: Drives, places: Sequence[int]) -> str:
    own = sorted(set(places))
    return "all joints" if len(own) == len(drives) else listed(drives.joints[p] for p in own)


def _touches(world: World, drives: Drives) -> bool:
    """Whether the base is free and can make contact: then simulations are unpredictable."""
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    flags = int(world.model.opt.disableflags)
    return bool(tangent.turns) and not flags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
