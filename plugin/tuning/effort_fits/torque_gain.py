"""Recorded over true efforts: what the torque constant behind a log is wrong by.

Efforts that are estimated from currents are the true ones times a number. The motion knows the
true ones: the law, with the gains that the motion gives, says what they were. Where both give kp,
the number is their ratio: kv by motion may include damping, which efforts do not.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mjrig.errors import FitError
from mjrig.names import listed
from mjrig.sim.world import World
from mjrig.tuning.effort_fits.effort_laws import JointEfforts, why_not
from mjrig.tuning.effort_fits.fit_law import distance
from mjrig.tuning.estimates.estimate import EFFORTS, Estimate, Findings
from mjrig.tuning.estimates.identifiability import not_found
from mjrig.tuning.least_squares.statistics import QUANTILE, long_run
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.plant import TORQUE_GAIN, Drives

#: Efforts above this share of the limit are left out.
BELOW_LIMIT = 0.95
#: A law that leaves more of the efforts unexplained is another one.
UNEXPLAINED = 0.2
#: A delay between two steps is off by at most this share of one.
HALF_A_STEP = 0.5


def torque_gains(
    world: World,
    drives: Drives,
    tracks: Sequence[RecordedTrack],
    places: Sequence[int],
    motion: Findings,
    efforts: Sequence[Estimate] = (),
) -> tuple[Estimate, ...]:
    """One estimate per joint.

    Args:
        drives: with the gains and delays that the motion gave.
        places: the joints.
        motion: what it found, with intervals.
        efforts: what they gave by themselves.

    Raises:
        FitError: a joint has no recorded efforts.
    """
    reasons = {p: why_not(world, drives, tracks, p, TORQUE_GAIN) for p in places}
    lacking = [f"{drives.joints[p]}: {reason}" for p, reason in reasons.items() if reason]
    if lacking:
        raise FitError(f"{TORQUE_GAIN}: it needs recorded efforts; {listed(lacking)}")
    return tuple(
        _ratio(drives, place, motion, efforts) or _gain(world, drives, tracks, place, motion)
        for place in places
    )


def _ratio(
    drives: Drives, place: int, motion: Findings, efforts: Sequence[Estimate]
) -> Estimate | None:
    """kp by efforts over kp by motion; None: one of them is not known."""
    joint = drives.joints[place]
    own = [e for e in motion.estimates if (e.joint, e.parameter) == (joint, "kp")]
    seen = [e for e in efforts if (e.joint, e.parameter) == (joint, "kp")]
    if not own or not seen or not (own[0].identifiable and seen[0].identifiable):
        return None
    first, second = (0.5 * (e.high - e.low) / abs(e.value) for e in (own[0], seen[0]))
    value = seen[0].value / own[0].value
    half = abs(value) * float(np.hypot(first, second))
    low, high = value - half, value + half
    return _by_efforts(Estimate.of(drives, place, TORQUE_GAIN, value, 1.0, low, high))


def _gain(
    world: World,
    drives: Drives,
    tracks: Sequence[RecordedTrack],
    place: int,
    motion: Findings,
) -> Estimate:
    lag = int(drives.lags[place])
    value, error, share = _regressed(world, drives, tracks, place, lag)
    if any(track.is_real for track in tracks):  # its delay is somewhere between two steps
        others = [_regressed(world, drives, tracks, place, max(lag + k, 0))[0] for k in (-1, 1)]
        error = float(np.hypot(error, HALF_A_STEP * max(abs(o - value) for o in others)))
    error = float(np.hypot(error, abs(value) * _relative(motion, drives.joints[place])))
    half = QUANTILE * error
    low, high = value - half, value + half
    found = _by_efforts(Estimate.of(drives, place, TORQUE_GAIN, value, 1.0, low, high))
    if share > UNEXPLAINED:
        why = f"{100.0 * share:.0f} % of the efforts is unexplained: they come from another law"
        return not_found(found, why)
    return found


def _by_efforts(found: Estimate) -> Estimate:
    return replace(found, evidence=EFFORTS)


def _regressed(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], place: int, lag: int
) -> tuple[float, float, float]:
    """The gain, its standard error, and the share of the efforts that it leaves."""
    joint = JointEfforts(world, drives, tracks, place, lag)
    law = np.array([drives.values[name][place] for name in ("kp", "kv")])
    limit = BELOW_LIMIT * float(drives.values["torque_limit"][place])
    gap, value = 1, 1.0
    asked = near = effort = left = np.zeros(0)
    for _ in range(2):  # the second time with instruments that are far enough away
        samples = joint.samples(lag, ["kp", "kv"], gap)
        asked, near = (
            samples.known + table @ law for table in (samples.columns, samples.instruments)
        )
        keep = np.abs(asked) < limit
        asked, near = asked[keep], near[keep]
        effort = (samples.effort + samples.known)[keep]
        value = float(near @ effort) / float(near @ asked)
        left = effort - value * asked
        gap = distance(left)
    scores = (near * left)[:, None]
    error = float(np.sqrt(long_run(scores)[0, 0])) / abs(float(near @ asked))
    return value, error, float(np.sqrt(np.mean(left**2) / np.mean(effort**2)))


def _relative(motion: Findings, joint: str) -> float:
    """The standard error of kp by motion, as a share."""
    for e in motion.estimates:
        if e.joint == joint and e.parameter == "kp" and np.isfinite(e.high - e.low):
            return float(e.high - e.low) / (2.0 * QUANTILE * abs(e.value))
    return 0.0
