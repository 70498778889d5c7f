"""Fit to recorded efforts: the law of each joint, without simulation.

kv and damping: without velocity setpoints both brake a joint alike, and the motion gives only their
sum. Efforts contain kv and kp, both times the error of the torque constant. kp is known from the
motion, so that kv = kp · (kv / kp by efforts), and damping is the rest of the sum.

Torque constant: efforts estimated from currents are the true efforts times a factor. If both motion
and efforts give kp, the factor is their ratio; kv by motion may include damping.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import FitError
from mjrig.core.names import listed
from mjrig.core.sim.world import World
from mjrig.lab.fit.effort_laws import (
    MARGIN,
    ROUNDING,
    FittedLaw,
    JointEfforts,
    LawSamples,
    distance,
    equally_good,
    errors_of,
    explain,
    limit_error,
    why_not,
)
from mjrig.lab.fit.estimates import (
    EFFORTS,
    Bounds,
    Estimate,
    Findings,
    Wanted,
    as_in_scene,
    delay_bounds,
    unknowns_of,
)
from mjrig.lab.fit.fit_data import RecordedTrack
from mjrig.lab.fit.identifiability import (
    VAGUE,
    Dropped,
    delay_of,
    estimate,
    hidden_damping,
    interval_of,
    is_constant,
    left_alone,
    not_found,
    too_little,
    unit_of,
    unreached,
)
from mjrig.lab.fit.plant import DELAY, TORQUE_GAIN, Drives
from mjrig.lab.fit.problem import Unknown
from mjrig.lab.fit.solver import QUANTILE, long_run

# By efforts ---------------------------------------------------------------------------------------
# A fit to recorded efforts: every joint's law by itself, nothing simulated.


#: Efforts with a larger unexplained share come from another law.
UNEXPLAINED = 0.2
LIMIT = "torque_limit"
#: Two kinds of evidence disagree if they differ by more than so many half widths of intervals, ...
APART = 2.0
#: ... and by more than this share.
WORTH_SAYING = 0.02


def fit_efforts(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], wanted: Wanted, bounds: Bounds
) -> Findings:
    """Estimates of gains, delays and limits from efforts.

    Args:
        wanted: parameter → places, all of joints that `why_not` has nothing against.
    """
    places = sorted({place for own in wanted.values() for place in own})
    longest = int(max(drives.lags.max(), delay_bounds(bounds)[1] * (DELAY in wanted)))
    joints = {p: JointEfforts(world, drives, tracks, p, longest) for p in places}
    most = np.zeros(len(drives))
    most[places] = [joints[p].most for p in places]
    unknowns = unknowns_of(world, drives, wanted, bounds, most)
    found: list[Estimate] = []
    before, after, odd = {}, {}, []
    for place, joint in joints.items():
        own = [u for u in unknowns if u.place == place]
        delayed = place in wanted.get(DELAY, ())
        one = _Joint(drives, tracks, place, joint, own, delay_bounds(bounds), delayed=delayed)
        estimates, law = one.go()
        found += [replace(e, evidence=EFFORTS) for e in estimates]
        name = drives.joints[place]
        before[name], after[name] = one.rms_of_scene(), _rms(law.left)
        if after[name] > UNEXPLAINED * one.rms_of_effort():
            odd.append(f"{name} ({100.0 * after[name] / one.rms_of_effort():.0f} %)")
    return Findings(tuple(found), before, after, _notes(odd))


def _notes(odd: Sequence[str]) -> tuple[str, ...]:
    if not odd:
        return ()
    return (
        f"much of the recorded efforts is unexplained: {listed(odd)}; they come from another law, "
        "or belong to another step than the one they are recorded with",
    )


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


@dataclass(frozen=True)
class _Joint:
    """One joint: its gains and delays."""

    drives: Drives
    tracks: Sequence[RecordedTrack]
    place: int
    efforts: JointEfforts
    unknowns: Sequence[Unknown]
    bounds: tuple[int, int]
    delayed: bool

    def go(self) -> tuple[list[Estimate], FittedLaw]:
        gains = [u for u in self.unknowns if u.parameter != LIMIT]
        lag, good = self._lag([u.parameter for u in gains])
        gap = self._gap(lag, gains)
        gone: list[Dropped] = []
        samples, law = self._explained(lag, gains, gap)
        errors, _ = errors_of(samples, law)
        while gains and (worst := self._vaguest(gains, law, errors)) is not None:
            gone.append(worst)
            gains.remove(worst.unknown)
            samples, law = self._explained(lag, gains, gap)
            errors, _ = errors_of(samples, law)
        found = [
            _resting_on(estimate(self.drives, u, *self._inside(u, value, error)), gone)
            for u, value, error in zip(gains, law.gains, errors, strict=False)
        ]
        found += [left_alone(self.drives, d, self._old(d.unknown)) for d in gone]
        found += [self._limit(u, samples, law) for u in self.unknowns if u.parameter == LIMIT]
        if self.delayed:
            drives, tracks = self.drives, self.tracks
            found.append(delay_of(drives, tracks, self.place, lag, good, self.bounds))
        return found, law

    def _explained(
        self, lag: int, gains: Sequence[Unknown], gap: int
    ) -> tuple[LawSamples, FittedLaw]:
        samples = self.efforts.samples(lag, [u.parameter for u in gains], gap)
        return samples, explain(samples)

    def _lag(self, names: Sequence[str]) -> tuple[int, list[int]]:
        """The delay that explains the efforts best, and all that do so equally well."""
        old = int(self.drives.lags[self.place])
        if not self.delayed:
            return old, [old]
        old = min(max(old, self.bounds[0]), self.bounds[1])
        if is_constant(self.drives, self.tracks, self.place):
            return old, [old]
        lags = range(self.bounds[0], self.bounds[1] + 1)
        tried = [self.efforts.samples(lag, names, 1) for lag in lags]
        laws = [explain(samples) for samples in tried]
        best = int(np.argmin([law.cost for law in laws]))
        _, inflation = errors_of(tried[best], laws[best])
        count = len(laws[best].left)
        floor = count * (ROUNDING * self.efforts.most) ** 2
        good = equally_good([law.cost for law in laws], count, inflation, floor)
        # Among equally good delays the scene's is kept.
        return (old if old - self.bounds[0] in good else lags[best]), [lags[k] for k in good]

    def _gap(self, lag: int, gains: Sequence[Unknown]) -> int:
        _, law = self._explained(lag, gains, 1)
        rounding = _rms(law.left) <= ROUNDING * self.efforts.most
        return 1 if rounding else distance(law.left)

    def _vaguest(
        self, gains: Sequence[Unknown], law: FittedLaw, errors: FloatArray
    ) -> Dropped | None:
        sizes = [max(u.scale, abs(g)) for u, g in zip(gains, law.gains, strict=False)]
        vague = QUANTILE * errors[: len(gains)] / np.array(sizes)
        worst = int(np.argmax(vague))
        if vague[worst] <= VAGUE:
            return None
        unknown, half = gains[worst], QUANTILE * float(errors[worst])
        ends = interval_of(unknown, float(law.gains[worst]), half)
        unit = unit_of(self.drives, unknown)
        return Dropped(unknown, too_little(float(vague[worst]), *ends, unit))

    def _inside(self, unknown: Unknown, value: float, error: float) -> tuple[float, float]:
        return min(max(float(value), unknown.low), unknown.high), float(error)

    def _old(self, unknown: Unknown) -> float:
        return float(self.drives.values[unknown.parameter][self.place])

    def _limit(self, unknown: Unknown, samples: LawSamples, law: FittedLaw) -> Estimate:
        own = float(self.drives.own_limits[self.place])
        if np.isinf(law.limit):
            # The largest of many noisy efforts is biased upwards.
            most = max(self.efforts.most - MARGIN * _rms(law.left), 0.0)
            drop = unreached(self.drives, unknown, min(most, own))
            return left_alone(self.drives, drop, self._old(unknown))
        error = limit_error(samples, law)
        if law.limit + QUANTILE * error >= own * (1.0 - 1e-6):
            drop = unreached(self.drives, unknown, np.inf)
            return left_alone(self.drives, drop, self._old(unknown))
        return estimate(self.drives, unknown, *self._inside(unknown, law.limit, error))

    def rms_of_scene(self) -> float:
        """Residuals with the gains, the delay and the limit of the scene."""
        samples = self.efforts.samples(int(self.drives.lags[self.place]), [], 1)
        limit = float(self.drives.values[LIMIT][self.place])
        if self.efforts.has_integral:
            return _rms(explain(samples).left)
        effort = samples.effort + samples.known
        return _rms(effort - np.clip(samples.known, -limit, limit))

    def rms_of_effort(self) -> float:
        """The size of the efforts."""
        samples = self.efforts.samples(int(self.drives.lags[self.place]), [], 1)
        return _rms(samples.effort + samples.known)


def _resting_on(found: Estimate, gone: Sequence[Dropped]) -> Estimate:
    if not gone:
        return found
    names = listed(d.unknown.parameter for d in gone)
    return replace(found, reason=f"if {names} is as in the scene")


def disagreements(motion: Sequence[Estimate], efforts: Sequence[Estimate]) -> tuple[str, ...]:
    """Notes where efforts and motion disagree."""
    other = {(e.actuator, e.parameter): e for e in efforts if e.identifiable}
    resting = {e.joint for e in motion if "armature" in e.reason}
    found, scales = [], []
    for e in motion:
        second = other.get((e.actuator, e.parameter))
        if second is None or not e.identifiable:
            continue
        width = APART * 0.5 * np.hypot(*np.nan_to_num([e.high - e.low, second.high - second.low]))
        if abs(e.value - second.value) <= max(width, WORTH_SAYING * abs(e.value)):
            continue
        if e.joint in resting:  # the motion does not show how large all efforts are
            scales.append(f"{e.parameter} of {e.joint} {second.value:.4g}")
        else:
            found.append(f"{e.parameter} of {e.joint} {second.value:.4g} instead of {e.value:.4g}")
    notes: tuple[str, ...] = ()
    if scales:
        notes += (
            f"recorded efforts say {listed(scales)}: if they are right, so is the armature that "
            "goes with it, in proportion, not the scene's",
        )
    if found:
        notes += (
            f"recorded efforts imply {listed(found)}: they are not what moved the joints, their "
            "torque constant is wrong (fit torque_gain), or the model differs from the recorded "
            "robot",
        )
    return notes


# Kv by efforts ------------------------------------------------------------------------------------
# kv and damping of the same joint, told apart by recorded efforts.
#
# Without velocity setpoints both brake a joint alike, and the motion gives their sum only. Efforts
# hold kv alone, times what the torque constant is wrong by, and kp times the same: kp is known from
# the motion, so that kv = kp · (kv / kp by efforts), and damping is the rest of the sum.


#: What a value found this way rests on.
HOW = "told apart from {other} by the recorded efforts"

Key = tuple[str, str]


def told_apart(motion: Findings, efforts: Sequence[Estimate]) -> Findings:
    """The findings with kv and damping told apart, where the motion could not and efforts can."""
    if motion.rejection or not motion.converged:
        return motion
    own = {(e.joint, e.parameter): e for e in motion.estimates}
    seen = {(e.joint, e.parameter): e for e in efforts if e.identifiable}
    for joint, parameter in list(own):
        if parameter == "damping" and not own[joint, parameter].identifiable:
            own |= _pair(joint, own, seen)
    return replace(motion, estimates=tuple(own.values()))


def _pair(
    joint: str, own: Mapping[Key, Estimate], seen: Mapping[Key, Estimate]
) -> dict[Key, Estimate]:
    """kv and damping of a joint; empty: there is something that does not tell."""
    kp, kv = own.get((joint, "kp")), own.get((joint, "kv"))
    kp_seen, kv_seen = seen.get((joint, "kp")), seen.get((joint, "kv"))
    if kp is None or kv is None or kp_seen is None or kv_seen is None:
        return {}
    known = (kp, kv, kp_seen, kv_seen)
    if not kv.reason or not all(e.identifiable and _error(e) < np.inf and e.value for e in known):
        return {}
    damping = own[joint, "damping"]
    value = kp.value * kv_seen.value / kp_seen.value
    shares = [_error(e) / e.value for e in (kp, kp_seen, kv_seen)]
    error = abs(value) * float(np.hypot.reduce(shares))
    rest = max(damping.value + kv.value - value, 0.0)
    rests_on = tuple(name for name in kv.rests_on if name != "damping")
    braking = _found(damping, rest, float(np.hypot(error, _error(kv))), "kv", rests_on)
    told = _found(kv, value, error, "damping", rests_on)
    # Efforts of a law that ran before the states beside them were measured have less of kv.
    hidden = hidden_damping(kp.value)
    low, high = max(braking.low - hidden, 0.0), braking.high + hidden
    return {
        (joint, "kv"): replace(told, high=told.high + hidden),
        (joint, "damping"): replace(braking, low=low, high=high),
    }


def _error(found: Estimate) -> float:
    """The standard error of an estimate; infinite: it has no interval."""
    half = 0.5 * (found.high - found.low) / QUANTILE
    return float(half) if np.isfinite(half) else np.inf


def _found(
    one: Estimate, value: float, error: float, other: str, rests_on: tuple[str, ...]
) -> Estimate:
    low, high = max(value - QUANTILE * error, 0.0), value + QUANTILE * error
    reason = HOW.format(other=other)
    if rests_on:
        reason += f", {as_in_scene(rests_on)}"
    known = replace(one, value=value, low=low, high=high, identifiable=True)
    return replace(known, reason=reason, rests_on=rests_on)


# Torque gain --------------------------------------------------------------------------------------
# Recorded over true efforts: what the torque constant behind a log is wrong by.
#
# Efforts that are estimated from currents are the true ones times a number. The motion knows the
# true ones: the law, with the gains that the motion gives, says what they were. Where both give kp,
# the number is their ratio: kv by motion may include damping, which efforts do not.


#: Efforts above this share of the limit are left out.
BELOW_LIMIT = 0.95
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
