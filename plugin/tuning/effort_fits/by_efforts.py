"""A fit to recorded efforts: every joint's law by itself, nothing simulated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.sim.world import World
from mjrig.tuning.effort_fits.effort_laws import JointEfforts
from mjrig.tuning.effort_fits.fit_law import (
    MARGIN,
    ROUNDING,
    FittedLaw,
    LawSamples,
    distance,
    equally_good,
    errors_of,
    explain,
    limit_error,
)
from mjrig.tuning.estimates.estimate import EFFORTS, Estimate, Findings
from mjrig.tuning.estimates.identifiability import (
    VAGUE,
    Dropped,
    delay_of,
    estimate,
    interval_of,
    left_alone,
    unit_of,
    unreached,
)
from mjrig.tuning.estimates.remedies import too_little
from mjrig.tuning.estimates.unexcited import is_constant
from mjrig.tuning.estimates.unknowns import Bounds, Wanted, delay_bounds, unknowns_of
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.least_squares.statistics import QUANTILE
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.plant import DELAY, Drives

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
