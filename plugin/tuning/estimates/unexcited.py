"""Joints that a recording does not excite: it evidently tells nothing about them, and why."""

from collections.abc import Sequence

import numpy as np

from mjrig.control.setpoints import VELOCITY
from mjrig.tuning.least_squares.fit_problem import Problem, roughness
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.plant import Drives

#: A joint whose position spreads by less than this many times its noise does not move.
STILL = 1.5
#: Under a constant setpoint, a joint that moves by less than this tells nothing [rad or m].
HARDLY = 0.02
HELD = "its setpoint never changes, and the joint hardly moves"


def is_held(problem: Problem, unknown: Unknown) -> bool:
    """Whether a joint stays about where it is told to be, all the time."""
    stage = problem.stage
    if not unknown.is_of_joint or not is_constant(stage.drives, stage.tracks, unknown.place):
        return False
    own = int(np.searchsorted(stage.tangent.dofs, stage.drives.dofs[unknown.place]))
    moves = [np.ptp(t.signal(stage.tangent, slice(None), 0)[:, own]) for t in stage.tracks]
    return bool(max(moves) < HARDLY)


def why_still(problem: Problem, unknown: Unknown) -> str:
    """Why a joint's recorded motion carries no information, if that is evident from it."""
    if not unknown.is_of_joint:
        return ""
    stage, name = problem.stage, unknown.parameter
    dof = int(stage.drives.dofs[unknown.place])
    own = int(np.searchsorted(stage.tangent.dofs, dof))
    moves, turns = False, 0
    for track in stage.tracks:
        signal = track.signal(stage.tangent, slice(None), 0)
        position, speed = signal[:, own], signal[:, own + len(stage.tangent)]
        noise = float(roughness(position[:, None])[0])
        moves |= bool(np.std(position) > max(STILL * noise, 1e-6))
        fast = np.abs(speed) > 0.2 * np.abs(speed).max(initial=1e-12)
        turns += int((np.diff(np.sign(speed[fast])) != 0).sum())
    if not moves:
        return "the joint never moves"
    if name == "frictionloss" and not turns:
        return "the joint never reverses: friction cannot be separated from other loads"
    return ""


def is_constant(drives: Drives, tracks: Sequence[RecordedTrack], place: int) -> bool:
    """Whether what was commanded to a joint never changes."""
    tables = [t.commands[drives.actor][:, :, drives.columns[place]] for t in tracks]
    return all(float(np.ptp(table, axis=0).max()) == 0.0 for table in tables)


def is_braked_alike(drives: Drives, tracks: Sequence[RecordedTrack], place: int) -> bool:
    """Whether kv and damping do the same to a joint of a robot: no setpoint has a velocity.

    In simulations they differ a little, as damping is implicit and kv is not: no robot has that
    from its physics.
    """
    speeds = (t.commands[drives.actor][:, VELOCITY, drives.columns[place]] for t in tracks)
    return any(t.is_real for t in tracks) and not any(speed.any() for speed in speeds)
