"""Estimates from the solution of a fit: of joints and bodies, with correlations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.names import how_many, listed
from mjrig.lab.fit import inertial_parameters
from mjrig.lab.fit.estimates import Correlated, Correlations, Curves, Estimate, Wanted, as_in_scene
from mjrig.lab.fit.identifiability import (
    UNCHANGED,
    VAGUE,
    Dropped,
    apart,
    delay_of,
    hidden_damping,
    is_braked_alike,
    is_constant,
    owner,
    too_little,
)
from mjrig.lab.fit.plant import (
    BEYOND_LAGS,
    CREEP,
    DELAY,
    ENCODER,
    FRICTION,
    INERTIAL,
    OF_BODIES,
    PAYLOAD,
)
from mjrig.lab.fit.problem import Point, Problem, Unknown, roughness
from mjrig.lab.fit.search import Profile
from mjrig.lab.fit.simulation import Stage
from mjrig.lab.fit.solver import QUANTILE, Solution, Spread, System, solve

# Findings -----------------------------------------------------------------------------------------
# Estimates from the solution of a fit: of joints, of bodies, and what goes together.


#: Two estimates whose correlation is larger can hardly be told apart.
CORRELATED = 0.95
#: Bounds of the creep of joints, as a multiple of the model's.
CREEP_BOUNDS = (0.01, 100.0)
#: A mean residual beyond so many times the noise, and this [rad or m], is said.
OFFSET, LEAST_OFFSET = 3.0, 5e-4


def label_of(problem: Problem, unknown: Unknown) -> tuple[str, str]:
    """What an unknown is of, and its parameter."""
    drives = problem.stage.drives
    if unknown.parameter == INERTIAL:
        part = next(
            n
            for n, own in inertial_parameters.PARTS.items()
            if unknown.place % inertial_parameters.SIZE in own
        )
        return list(drives.links)[unknown.place // inertial_parameters.SIZE], part
    if unknown.parameter == PAYLOAD:
        return list(drives.links)[drives.payload], PAYLOAD
    name = DELAY if unknown.parameter == BEYOND_LAGS else unknown.parameter
    return drives.joints[unknown.place], name


def correlations(problem: Problem, spread: Spread) -> Correlations:
    """Of all unknowns."""
    labels = [" ".join(reversed(label_of(problem, u))) for u in problem.unknowns]
    return Correlations(tuple(labels), spread.correlation)


def correlated(problem: Problem, spread: Spread) -> tuple[Correlated, ...]:
    """Pairs that can hardly be told apart, worst first."""
    found = []
    count = len(problem.unknowns)
    for i in range(count):
        for j in range(i + 1, count):
            value = float(spread.correlation[i, j])
            (one, first), (two, second) = (label_of(problem, problem.unknowns[k]) for k in (i, j))
            if abs(value) <= CORRELATED or (one == two and first == second):
                continue
            remedy = apart(first, second)
            found.append(Correlated(f"{first} of {one}", f"{second} of {two}", value, remedy))
    return tuple(sorted(found, key=lambda pair: -abs(pair.correlation)))


def creeps_of(problem: Problem, wanted: Wanted) -> list[Unknown]:
    """How far joints creep while friction holds them, as unknowns that are of no interest."""
    friction = problem.stage.drives.values[FRICTION]
    places = sorted({p for name, own in wanted.items() if name not in OF_BODIES for p in own})
    asked = wanted.get(FRICTION, ())
    return [
        Unknown(CREEP, p, *CREEP_BOUNDS, 1.0) for p in places if p in asked or friction[p] > 0.0
    ]


def as_vague(found: Estimate, problem: Problem, vague: Sequence[Dropped]) -> Estimate:
    """An estimate with the remark that it is none, if its interval is wide."""
    half = max(found.high - found.value, found.value - found.low)  # a bound may cut one side
    if not found.identifiable or found.parameter == DELAY or not half > VAGUE * abs(found.value):
        return found
    for one in vague:
        if label_of(problem, one.unknown) == (found.joint, found.parameter):
            return replace(found, identifiable=False, reason=one.reason)
    own = {label_of(problem, u): u for u in problem.unknowns}.get((found.joint, found.parameter))
    if own is None or not own.is_of_joint or np.isfinite(own.prior) or half <= VAGUE * own.scale:
        return found
    share = half / max(abs(found.value), own.scale)
    reason = too_little(share, found.low, found.high, found.unit)
    return replace(found, identifiable=False, reason=reason)


def offset_notes(problem: Problem, solution: Solution) -> tuple[str, ...]:
    """Joints that are simulated beside where they were recorded, all the time."""
    stage = problem.stage
    fitted = {u.place for u in problem.unknowns if u.parameter == ENCODER}
    found = []
    columns = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
    for place, column in enumerate(columns):
        left = np.concatenate([r[:, column] for r in solution.residuals])
        noise = float(roughness(left[:, None])[0]) if len(left) > 3 else np.inf
        mean = float(np.mean(left))
        rest = float(np.std(left))
        unit = stage.drives.unit(ENCODER, place)
        if place not in fitted and abs(mean) > max(OFFSET * noise, LEAST_OFFSET, rest):
            found.append(f"{stage.drives.joints[place]} ({1e3 * mean:+.2g} m{unit})")
    if not found:
        return ()
    return (
        f"{listed(found)}: simulated beside where it was recorded, all the time: an encoder offset "
        "or a load does that; fit encoder_offset, or payload",
    )


# Bodies -----------------------------------------------------------------------------------------


def bodies(
    problem: Problem, point: Point, spread: Spread, wanted: Wanted, shift: FloatArray
) -> list[Estimate]:
    """Mass, centre and inertia of each body that was asked for.

    Args:
        shift: (unknowns,) what the timestep may add to each unknown.
    """
    drives = problem.stage.drives
    found: list[Estimate] = []
    names = list(drives.links)
    for body in dict.fromkeys(
        p for part in inertial_parameters.PARTS for p in wanted.get(part, ())
    ):
        found += _body(problem, point, spread, wanted, shift, names[body], body)
    return found


def _body(
    problem: Problem,
    point: Point,
    spread: Spread,
    wanted: Wanted,
    shift: FloatArray,
    name: str,
    body: int,
) -> list[Estimate]:
    base, own = (
        problem.stage.factors[body],
        slice(body * inertial_parameters.SIZE, (body + 1) * inertial_parameters.SIZE),
    )
    theta = point.values[INERTIAL][own]
    rows = [
        i
        for i, u in enumerate(problem.unknowns)
        if u.parameter == INERTIAL and u.place // inertial_parameters.SIZE == body
    ]
    columns = [problem.unknowns[i].place % inertial_parameters.SIZE for i in rows]

    def described(at: FloatArray) -> FloatArray:
        return inertial_parameters.described(inertial_parameters.pseudo_of(base, at))

    value, old = described(theta), described(np.zeros(inertial_parameters.SIZE))
    slopes = _slopes(described, theta, columns)
    errors = np.sqrt(
        np.einsum("ai,ij,aj->a", slopes, spread.covariance[np.ix_(rows, rows)], slopes)
    )
    before = slopes * np.array([problem.unknowns[i].prior for i in rows])
    assumed = np.sqrt(np.sum(before**2, axis=1))
    moved = slopes @ shift[rows]
    asked = {
        n
        for part, own_ in inertial_parameters.REPORTED.items()
        for n in own_
        if body in wanted.get(part, ())
    }
    found = []
    for k, label in enumerate(inertial_parameters.NAMES):
        if label not in asked:
            continue
        half = QUANTILE * float(errors[k])
        low, high = float(value[k]) - half, float(value[k]) + half
        low, high = low - abs(float(moved[k])), high + abs(float(moved[k]))
        is_new = bool(errors[k] < UNCHANGED * assumed[k])
        reason = "" if is_new else "the motion hardly shows it: this is what was assumed beforehand"
        found.append(
            Estimate(name, "", label, float(value[k]), float(old[k]), low, high, is_new, reason)
        )
    return found


def _slopes(
    function: Callable[[FloatArray], FloatArray], at: FloatArray, columns: Sequence[int]
) -> FloatArray:
    step = 1e-6
    found = np.zeros((len(inertial_parameters.NAMES), len(columns)))
    for j, k in enumerate(columns):
        up, down = at.copy(), at.copy()
        up[k] += step
        down[k] -= step
        found[:, j] = (function(up) - function(down)) / (2.0 * step)
    return found


# Curves -----------------------------------------------------------------------------------------


def with_slow_law(found: Estimate, problem: Problem, point: Point, unknown: Unknown) -> Estimate:
    """What brakes a robot, whose law may act half a period late: kp T/2 less of it to the eye.

    That is missing in damping, or in kv where it does the same.
    """
    drives, tracks = problem.stage.drives, problem.stage.tracks
    is_alike = unknown.parameter == "kv" and is_braked_alike(drives, tracks, unknown.place)
    if unknown.parameter != "damping" and not is_alike:
        return found
    hidden = hidden_damping(float(np.nan_to_num(point.values["kp"][unknown.place])))
    return replace(found, high=found.high + hidden)


def with_shift(found: Estimate, unknown: Unknown, shift: float) -> Estimate:
    """An estimate whose interval also holds what smaller timesteps would make of it.

    To both sides: what is left of the method's error has no known sign.
    """
    low, high = found.low - abs(shift), found.high + abs(shift)
    return replace(found, low=max(low, unknown.low), high=min(high, unknown.high))


def curves_of(
    stage: Stage, before: Sequence[FloatArray], after: Sequence[FloatArray], *, held: bool
) -> list[Curves]:
    """Recorded and simulated positions of the driven joints, window by window."""
    columns = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
    found = []
    for window, old, new in zip(stage.windows, before, after, strict=True):
        track = stage.tracks[window.track]
        recorded = track.qpos[window.samples][:, stage.drives.qpos]
        found.append(
            Curves(
                track.name,
                held,
                np.asarray(track.step[window.samples] * stage.timestep, dtype=np.float64),
                stage.drives.joints,
                tuple(stage.drives.unit(ENCODER, p) for p in range(len(stage.drives))),
                recorded,
                recorded + old[:, columns],
                recorded + new[:, columns],
            )
        )
    return found


def resting_on(found: Estimate, problem: Problem, gone: Sequence[Dropped]) -> Estimate:
    """Mark values that are valid only together with some that were kept fixed."""
    drives, names = problem.stage.drives, []
    for drop in gone:
        if drop.unknown.parameter == CREEP:  # nobody asked for it
            continue
        if any(label_of(problem, p) == (found.joint, found.parameter) for p in drop.partners):
            mine = drop.unknown.is_of_joint and drives.joints[drop.unknown.place] == found.joint
            whose = "" if mine else f" of {owner(drives, drop.unknown)!r}"
            names.append(f"{drop.unknown.parameter}{whose}")
    if not names:
        return found
    return replace(found, reason=as_in_scene(names), rests_on=tuple(names))


# As written ---------------------------------------------------------------------------------------
# What a fit is worth as it would be written: without values that are not identified.


#: Errors are clearly larger beyond so many times.
WORSE = 1.5
#: Steps that initial states may take.
STARTS = 8


def as_written(
    problem: Problem,
    solution: Solution,
    found: Sequence[Estimate],
    rms_of: Callable[[Sequence[FloatArray]], dict[str, float]],
) -> tuple[str, ...]:
    """A note if the scene with what is identified alone is clearly worse than the fit.

    Args:
        rms_of: residuals → joint → root mean square of its position's [rad or m].
    """
    values = problem.stage.drives.values
    left = {(e.joint, e.parameter) for e in found if not e.identifiable}
    out = [u for u in problem.unknowns if u.is_of_joint and label_of(problem, u) in left]
    out = [u for u in out if u.parameter in values and np.isfinite(values[u.parameter][u.place])]
    if not out:
        return ()
    old = np.array([values[u.parameter][u.place] for u in out])
    point, weights = solution.point.put(out, old), solution.system.weights
    again = solve(problem.with_unknowns([]), point, weights, most=STARTS)
    fitted, written = rms_of(solution.residuals), rms_of(again.residuals)
    worse = [joint for joint in fitted if written[joint] > WORSE * fitted[joint]]
    if not worse:
        return ()
    said = listed(f"{joint} {written[joint]:.2g} instead of {fitted[joint]:.2g}" for joint in worse)
    return (
        "values with `?` are part of the fit and are not written: without them rms errors are "
        f"larger ({said}); fit fewer at once, or put them into the scene by hand",
    )


# Common delay -------------------------------------------------------------------------------------
# One delay of all joints of a robot, where their own ones do not contradict it.
#
# The setpoints of a robot's joints travel together. A delay that each joint tells only roughly, as
# it acts like kv or armature, is told well by all of them, and then these are found well, too.


#: So many joints tell whether they have one delay.
FEWEST = 3
#: One delay in a thousand is farther from the mean by chance, in standard errors; the sum of the
#: squares of all of them is larger in one robot of a hundred, by the normal quantile of it.
FARTHEST, RARE = 3.29, 2.33
#: Delays of drives that run by themselves differ by about this much [s].
APART = 1e-4


@dataclass(frozen=True)
class CommonDelay:
    """A delay of all joints; that of one differs from it by a standard `error` [steps]."""

    steps: float
    error: float
    joints: int

    @property
    def said(self) -> str:
        """It in words, for a note."""
        return (
            f"the delays of {how_many(self.joints, 'joint')} are as if they had one: what one of "
            "them tells of it counts for all"
        )


def common_delay(problem: Problem, point: Point, errors: FloatArray) -> CommonDelay | None:
    """The delay that joints have in common; None: they have not, or there are too few.

    Args:
        errors: (unknowns,) standard errors.
    """
    own = _delays(problem)
    if len(own) < FEWEST:
        return None
    delays = point.get([problem.unknowns[i] for i in own])
    apart = APART / problem.stage.timestep
    weights = 1.0 / (errors[own] ** 2 + apart**2)
    mean = float((weights * delays).sum() / weights.sum())
    away = weights * (delays - mean) ** 2
    if away.max() > FARTHEST**2 or away.sum() > _chance(len(own) - 1):
        return None
    return CommonDelay(mean, float(np.sqrt(1.0 / weights.sum() + apart**2)), len(own))


def with_common(problem: Problem, common: CommonDelay, counted: FloatArray) -> Problem:
    """The same with what all joints tell of the delay of each.

    Args:
        counted: (unknowns,) see `Spread`.
    """
    unknowns, own = list(problem.unknowns), _delays(problem)
    for i in own:
        unknowns[i] = replace(
            unknowns[i], prior=common.error, centre=common.steps, counted=float(counted[i])
        )
    return problem.with_unknowns(unknowns)


def with_free_centre(problem: Problem, system: System) -> System:
    """The same where all delays may move together, with the one that they have in common."""
    own = [u.centre is not None for u in problem.unknowns]
    weights = np.where(own, system.precision, 0.0)
    if not weights.any():
        return system
    return replace(system, hessian=system.hessian - np.outer(weights, weights) / weights.sum())


def _chance(freedom: int) -> float:
    """What χ² with some degrees of freedom seldom exceeds (Wilson and Hilferty)."""
    part = 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - part + RARE * part**0.5) ** 3)


def _delays(problem: Problem) -> npt.NDArray[np.intp]:
    names = [u.parameter for u in problem.unknowns]
    return np.flatnonzero([name == BEYOND_LAGS for name in names])


# Delays as the motion shows them: whole ticks of simulators, real numbers of robots.


#: Δχ² of a 95 % interval of one number.
CHI2 = 3.84


# Of simulators ----------------------------------------------------------------------------------


def delay_estimate(
    problem: Problem, point: Point, profile: Profile, spread: Spread, bounds: tuple[int, int]
) -> Estimate:
    """A delay and nearby ones that explain the data equally well."""
    good = [profile.lags[k] for k in equally_good_lags(problem, profile, spread)]
    stage, now = problem.stage, int(point.lags[profile.place])
    return delay_of(stage.drives, stage.tracks, profile.place, now, good, bounds)


def equally_good_lags(problem: Problem, profile: Profile, spread: Spread) -> list[int]:
    """Indices of the delays that explain the data as well as the best one does."""
    least, own = min(profile.costs), problem.block_of(profile.place)
    near = CHI2 * float(spread.variance[own] * spread.inflation[own])
    return [k for k, cost in enumerate(profile.costs) if cost - least <= near]


def with_other_lags(
    found: Estimate, problem: Problem, index: int, profiles: Sequence[Profile], spread: Spread
) -> Estimate:
    """An estimate whose interval also holds what it would be with delays that fit as well."""
    half, low, high = QUANTILE * float(spread.errors[index]), found.low, found.high
    for profile in profiles:
        for k in equally_good_lags(problem, profile, spread):
            value = float(profile.values[k, index])
            low, high = min(low, value - half), max(high, value + half)
    unknown = problem.unknowns[index]
    return replace(found, low=max(low, unknown.low), high=min(high, unknown.high))


# Of robots --------------------------------------------------------------------------------------


def delay_unknowns(problem: Problem, wanted: Wanted, bounds: tuple[int, int]) -> list[Unknown]:
    """Delays of a robot as unknowns, within bounds [ticks]; its lags are 0."""
    drives, tracks = problem.stage.drives, problem.stage.tracks
    low, high = (float(b) * drives.ticks for b in bounds)
    return [
        Unknown(BEYOND_LAGS, p, low[p], high[p], 1.0)
        for p in wanted.get(DELAY, ())
        if not is_constant(drives, tracks, p)
    ]


def real_delays(
    problem: Problem, point: Point, spread: Spread, wanted: Wanted, shift: FloatArray
) -> list[Estimate]:
    """Delays in ticks, as real numbers.

    Args:
        shift: (unknowns,) what ever smaller steps would add to each.
    """
    drives, tracks = problem.stage.drives, problem.stage.tracks
    index = {u.place: i for i, u in enumerate(problem.unknowns) if u.parameter == BEYOND_LAGS}
    found = []
    for p in wanted.get(DELAY, ()):
        lag = int(point.lags[p])
        if p not in index:
            found.append(delay_of(drives, tracks, p, lag, [lag], (0, lag)))
            continue
        unknown, tick = problem.unknowns[index[p]], float(drives.ticks[p])
        late, error = float(point.values[BEYOND_LAGS][p]), float(spread.errors[index[p]])
        value = max(lag + late / tick, 0.0)
        half = QUANTILE * error / tick
        one = Estimate.of(
            drives, p, DELAY, value, float(drives.lags[p]), max(value - half, 0.0), value + half
        )
        one = with_shift(one, unknown, float(shift[index[p]]) / tick)
        one = replace(
            one, high=one.high + max(t.late for t in tracks) / problem.stage.timestep / tick
        )
        found.append(_told(one, half, is_last=late > unknown.high - 0.5 * tick))
    return found


def _told(delay: Estimate, half: float, *, is_last: bool) -> Estimate:
    """A delay with the remark that it is none, if it is vague or the longest that was tried."""
    share = half / max(delay.value, 1.0)
    if is_last:
        most = round(delay.value)
        reason = f"the longest that was tried: --bounds delay=0:{2 * most} tries longer ones"
        return replace(delay, identifiable=False, high=np.inf, reason=reason)
    if share > VAGUE:
        reason = too_little(share, delay.low, delay.high, delay.unit)
        return replace(delay, identifiable=False, reason=reason)
    return delay
