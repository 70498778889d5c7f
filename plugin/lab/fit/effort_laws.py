"""A law identified from its efforts: τ = clamp(ff + kp (q* − q) + kv (v* − v) [+ ki ∫(q* − q)]).

No simulation: for a given delay the efforts between the limits are linear in the gains. Measurement
noise that the law did not see would bias the gains towards zero. So the normal equations are formed
with instruments: the same columns with the states of neighbouring samples, whose noise is
independent. Noise that the law did see does no harm either.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.core.sim.world import World
from mjrig.lab.fit.fit_data import LEAST_SAMPLES, RecordedTrack
from mjrig.lab.fit.plant import Drives
from mjrig.lab.fit.solver import long_run

Mask = npt.NDArray[np.bool_]
#: Residuals below this share of the efforts are rounding.
ROUNDING = 1e-9
#: Passes over gains and limit; each sorts the samples by the ones before.
PASSES = 6
#: A clamp must explain this many times the residual variance to be accepted.
CLEAR = 25.0
#: Efforts at a limit spread by less than this share of it, unless the law does not fit.
PLATEAU = 0.03
#: Within this many standard deviations of a limit a sample may be on either side.
MARGIN = 3.0
#: Largest residual autocorrelation at the distance of the instruments, largest distance.
FORGOTTEN, FARTHEST = 0.1, 32
#: A column below this share of the effort carries no information.
NOTHING = 1e-12


@dataclass(frozen=True)
class LawSamples:
    """Commands and efforts of one law in n samples, for one delay.

    Attributes:
        effort: (n,) minus the known part: feedforward, and gains that are not estimated.
        known: (n,) that part.
        columns: (n, p) what each gain multiplies.
        instruments: (n, p) the same with states of other samples.
    """

    effort: FloatArray
    known: FloatArray
    columns: FloatArray
    instruments: FloatArray


@dataclass(frozen=True)
class FittedLaw:
    """Gains (p,), a limit, and the residuals.

    Attributes:
        limit: effort limit; inf: none visible.
        left: (n,) recorded minus explained effort.
        free: (n,) samples that determine the gains.
        held: (n,) samples that determine the limit.
    """

    gains: FloatArray
    limit: float
    left: FloatArray
    free: Mask
    held: Mask

    @property
    def cost(self) -> float:
        """Sum of squared residuals."""
        return float(self.left @ self.left)


def explain(samples: LawSamples) -> FittedLaw:
    """Gains and limit of the least squares."""
    effort = samples.effort + samples.known
    size = float(np.abs(effort).max(initial=0.0))
    free: Mask = np.abs(effort) <= 0.7 * size
    if free.sum() <= 2 * samples.columns.shape[1]:
        free = np.full(len(effort), True)
    gains, limit = _solve(samples, free), np.inf
    asked = samples.known + samples.columns @ gains
    held = np.zeros(len(effort), dtype=bool)
    for _ in range(PASSES):
        limit, held = _limit(effort, asked)
        near = samples.known + samples.instruments @ gains
        noise = _noise(effort - np.clip(asked, -limit, limit))
        edge = limit - MARGIN * noise if np.isfinite(limit) else np.inf
        inside = (np.abs(near) < edge) & (np.abs(effort) < edge * (1.0 - 1e-9))
        if np.array_equal(inside, free) or inside.sum() <= 2 * len(gains):
            break
        free = inside
        gains = _solve(samples, free)
        asked = samples.known + samples.columns @ gains
    left = effort - np.clip(asked, -limit, limit)
    return FittedLaw(gains, limit, left, free, held)


def _noise(left: FloatArray) -> float:
    return float(np.median(np.abs(left)) / 0.6745)


def _sizes(columns: FloatArray) -> FloatArray:
    sizes: FloatArray = np.sqrt(np.mean(columns**2, axis=0))
    return np.where(sizes > NOTHING, sizes, np.inf)


def _normal(samples: LawSamples, free: Mask) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The pseudo-inverse of ZᵀX in scaled columns, Z, and the scales."""
    sizes = _sizes(samples.columns)
    x, z = samples.columns[free] / sizes, samples.instruments[free] / sizes
    inverse: FloatArray = np.linalg.pinv(z.T @ x, rcond=1e-10).astype(np.float64)
    return inverse, z, sizes


def _solve(samples: LawSamples, free: Mask) -> FloatArray:
    inverse, z, sizes = _normal(samples, free)
    gains: FloatArray = inverse @ (z.T @ samples.effort[free]) / sizes
    return gains


def errors_of(samples: LawSamples, law: FittedLaw) -> tuple[FloatArray, float]:
    """Standard errors (p,) from the score covariance, autocorrelation included.

    Also the factor, 1 or more, by which autocorrelation inflates the variances.
    """
    inverse, z, sizes = _normal(samples, law.free)
    r = law.left[law.free]
    spare = len(r) / max(len(r) - z.shape[1], 1)
    white = inverse @ (z.T @ z) @ inverse.T * float(np.mean(r**2)) * spare
    robust = inverse @ long_run(z * r[:, None]) @ inverse.T * spare
    plain, wide = np.diag(white), np.diag(robust)
    seen = np.isfinite(sizes) & (plain >= 0.0)
    errors = np.where(seen, np.sqrt(np.maximum(plain, wide)) / sizes, np.inf)
    positive = seen & (plain > 0.0)
    ratio = wide[positive] / plain[positive]
    return errors, float(max(np.median(ratio), 1.0)) if len(ratio) else 1.0


# Limits -----------------------------------------------------------------------------------------


def _limit(effort: FloatArray, asked: FloatArray) -> tuple[float, Mask]:
    """The limit that explains the residuals best, and the samples at it; inf: none does."""
    along = effort * np.sign(asked)
    wanted = np.abs(asked)
    noise = max(_noise(effort - asked), ROUNDING * float(np.abs(effort).max(initial=0.0)))
    limit, held = float(along.max(initial=0.0)), np.zeros(len(effort), dtype=bool)
    for _ in range(PASSES):
        held = wanted > limit + MARGIN * noise
        if not held.any():
            break
        limit = float(np.median(along[held]))
    gain = (wanted - along)[held] ** 2 - (along[held] - limit) ** 2
    is_clear = held.sum() >= 3 and float(gain.sum()) >= CLEAR * noise**2 * held.sum() ** 0.5
    if is_clear and _noise(along[held] - limit) < PLATEAU * limit:
        return limit, held
    return np.inf, np.zeros(len(effort), dtype=bool)


def limit_error(samples: LawSamples, law: FittedLaw) -> float:
    """The standard error of a limit; inf: no limit visible."""
    if not law.held.any():
        return np.inf
    spread = np.abs((samples.effort + samples.known)[law.held])
    # A median varies 1.25 times as much as a mean; autocorrelation reduces the effective number.
    centred = (spread - np.median(spread))[:, None]
    variance = max(float(long_run(centred)[0, 0]) / len(spread), float(np.var(spread)))
    return float(1.2533 * np.sqrt(variance / len(spread)))


# Instruments ------------------------------------------------------------------------------------


def distance(left: FloatArray) -> int:
    """Distance in samples at which the noise is uncorrelated."""
    power = float(left @ left)
    if power <= 0.0:
        return 1
    enough = max(FORGOTTEN, 2.0 / np.sqrt(len(left)))
    for gap in range(1, min(FARTHEST, len(left) // 8)):
        if abs(float(left[gap:] @ left[:-gap])) < enough * power:
            return gap
    return FARTHEST


def neighbours(values: FloatArray, gap: int) -> FloatArray:
    """The mean of the samples `gap` before and after, (n,); NaN near the ends."""
    found = np.full(len(values), np.nan)
    if len(values) > 2 * gap:
        found[gap:-gap] = 0.5 * (values[2 * gap :] + values[: -2 * gap])
    return found


def equally_good(costs: Sequence[float], count: int, inflation: float, floor: float) -> list[int]:
    """Indices of the costs within a 95 % interval of the least (χ² of one number)."""
    costs_ = np.maximum(costs, floor)
    worse = count * np.log(costs_ / costs_.min())
    return np.flatnonzero(worse <= 3.84 * inflation).tolist()


# Effort laws --------------------------------------------------------------------------------------
# Recorded efforts as linear functions of gains, delays and limits, per joint.


#: Parameters of laws, which efforts identify.
OF_LAWS = ("kp", "kv", "delay", "torque_limit")


def why_not(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], place: int, name: str
) -> str:
    """Why recorded efforts cannot identify a parameter of a joint's law; empty: they can."""
    controller: Any = world[drives.actor].part(drives.controllers[place])
    if np.isnan(drives.values["kp"][place]):
        return "its law is neither PD nor PID"
    if getattr(controller, "effort", "explicit") == "implicit":
        return "its effort is implicit, computed from a state that is not recorded"
    if controller.clamps and name == "torque_limit":
        return "its clamps limit efforts too"
    return _what_is_missing(tracks, int(drives.columns[place]), has_clamps=bool(controller.clamps))


def _what_is_missing(tracks: Sequence[RecordedTrack], column: int, *, has_clamps: bool) -> str:
    seen = [t for t in tracks if np.isfinite(t.efforts[:, column]).sum() >= LEAST_SAMPLES]
    if not seen:
        return "no efforts are recorded"
    if not any(t.has_velocity for t in seen):
        return "no velocities are recorded"
    if has_clamps and not any(np.isfinite(t.raw_efforts[:, column]).any() for t in seen):
        return "recorded efforts are clamped, and raw efforts are not recorded"
    return ""


@dataclass(frozen=True)
class _Stretch:
    """One joint in one uninterrupted part of a recording, all its samples.

    `table` (steps, 3) are the commands of the whole recording; there are none before step `first`.
    """

    first: int
    step: npt.NDArray[np.int64]
    q: FloatArray
    v: FloatArray
    effort: FloatArray
    table: FloatArray


class JointEfforts:
    """The efforts of one joint, with the states and commands of its law.

    Args:
        world: the scene's, for what lies between the setpoints and the law.
        drives: the joints.
        tracks: recordings; those without efforts or velocities are left out.
        place: index of the joint.
        longest: the longest delay to be evaluated [ticks].
    """

    def __init__(
        self,
        world: World,
        drives: Drives,
        tracks: Sequence[RecordedTrack],
        place: int,
        longest: int,
    ) -> None:
        robot = world[drives.actor]
        controller: Any = robot.part(drives.controllers[place])
        names = [b.actuator for b in controller.bindings]
        self._index = names.index(drives.actuators[place])
        binding = controller.bindings[self._index]
        self._range = binding.joint_range if controller.clamp_targets else None
        self._tick = int(drives.ticks[place])
        self._timestep = world.timestep
        gains = controller.gains()
        self._integral_max = float(gains["integral_max"][self._index]) if "ki" in gains else None
        self.is_raw = bool(controller.clamps)
        column = int(drives.columns[place])
        self._stretches = [
            stretch
            for track in tracks
            if track.has_velocity
            for stretch in _stretches(
                track,
                track.commands[drives.actor][:, :, column],
                track.qpos[:, binding.qpos_address],
                track.qvel[:, binding.dof_address],
                (track.raw_efforts if self.is_raw else track.efforts)[:, column],
            )
        ]
        self._late = longest * self._tick
        self._own = {"kp": drives.values["kp"][place], "kv": drives.values["kv"][place]}

    @property
    def has_integral(self) -> bool:
        """Whether the law has an integral, which is estimated too."""
        return self._integral_max is not None

    @property
    def most(self) -> float:
        """The largest effort that was recorded."""
        return max(float(np.nanmax(np.abs(s.effort), initial=0.0)) for s in self._stretches)

    def samples(self, lag: int, names: Sequence[str], gap: int) -> LawSamples:
        """Efforts as a linear function of some gains, others as the scene has them.

        Args:
            lag: delay of the commands [ticks].
            names: of kp and kv; columns of an integral follow.
            gap: distance of the neighbouring samples used as instruments.
        """
        parts = [self._part(s, lag, gap) for s in self._stretches]
        terms, near = _joined([p.terms for p in parts]), _joined([p.near for p in parts])
        effort = np.concatenate([p.effort for p in parts])
        known = np.concatenate([p.feedforward for p in parts])
        for name, value in self._own.items():
            if name not in names:
                known = known + value * terms[name]
        columns, instruments = [terms[n] for n in names], [near[n] for n in names]
        if self.has_integral:
            counts = [len(p.effort) for p in parts]
            # The integral a stretch begins with is not known.
            begun = np.repeat(np.eye(len(parts)), counts, axis=0)
            columns += [terms["ki"], *begun.T]
            instruments += [near["ki"], *begun.T]
        shape = (len(columns), len(effort))
        x, z = (np.reshape(c, shape).T for c in (columns, instruments))
        return LawSamples(effort - known, known, x, z)

    def _part(self, stretch: _Stretch, lag: int, gap: int) -> "_Part":
        rows = np.clip(stretch.step - lag * self._tick, stretch.first, len(stretch.table) - 1)
        target = stretch.table[rows]
        position = target[:, POSITION]
        if self._range is not None:
            position = np.clip(position, *self._range)
        q, v = neighbours(stretch.q, gap), neighbours(stretch.v, gap)
        after = stretch.step - stretch.first
        ticks = after % self._tick == 0
        keep = ticks & (after >= self._late) & np.isfinite(stretch.effort) & np.isfinite(q)
        error = position - stretch.q
        terms = {"kp": error, "kv": target[:, VELOCITY] - stretch.v}
        near = {"kp": position - q, "kv": target[:, VELOCITY] - v}
        if self._integral_max is not None:
            terms["ki"] = near["ki"] = self._integral(stretch, np.where(ticks, error, 0.0))
        return _Part(
            stretch.effort[keep],
            target[keep, FEEDFORWARD],
            {name: values[keep] for name, values in terms.items()},
            {name: values[keep] for name, values in near.items()},
        )

    def _integral(self, stretch: _Stretch, error: FloatArray) -> FloatArray:
        """∫(q* − q) dt from 0 on, with the scene's bound [rad·s]."""
        most = self._integral_max
        assert most is not None
        steps = np.diff(stretch.step, prepend=stretch.step[0] - self._tick)
        # Between ticks nothing is added; a tick adds all of its time.
        added = error * np.maximum(steps, self._tick) * self._timestep
        if np.isinf(most):
            return np.asarray(np.cumsum(added), dtype=np.float64)
        found, total = np.zeros(len(added)), 0.0
        for k, value in enumerate(added.tolist()):
            total = min(max(total + value, -most), most)
            found[k] = total
        return found


@dataclass(frozen=True)
class _Part:
    """The usable samples of a stretch: what gains multiply, also with neighbouring states."""

    effort: FloatArray
    feedforward: FloatArray
    terms: dict[str, FloatArray]
    near: dict[str, FloatArray]


def _joined(parts: Sequence[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def _stretches(
    track: RecordedTrack, table: FloatArray, q: FloatArray, v: FloatArray, effort: FloatArray
) -> list[_Stretch]:
    ends = [*track.segments[1:], track.steps + 1]
    found = []
    for first, end in zip(track.segments, ends, strict=True):
        rows = (track.step >= first) & (track.step < end)
        if np.isfinite(effort[rows]).any():
            whole = _Stretch(first, track.step, q, v, effort, table)
            fields = {n: getattr(whole, n)[rows] for n in ("step", "q", "v", "effort")}
            found.append(replace(whole, **fields))
    return found
