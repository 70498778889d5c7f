"""Errors of a replay against its recording: tracks, per joint, over time, first divergence."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import JointColumns, Recording
from mjrig.lab.replay.matching import JointHere, Match, base_joint
from mjrig.lab.rollouts.tracks import Track

# Track --------------------------------------------------------------------------------------------
# Track: states and efforts of a run, step by step, and falls.


#: Largest position error that still counts as a match [rad or m].
TOLERANCE = 1e-3
#: A robot has fallen when the cosine of its base's tilt is below this, …
UPRIGHT = 0.5
#: … or when its base is below this share of the height it started from.
LOW = 0.5
#: An effort within this share of its limit counts as saturated.
AT_LIMIT = 1e-6


def saturation(efforts: FloatArray, limit: float) -> float:
    """Share of the steps at the limit, 0 to 1."""
    if not len(efforts) or not 0.0 < limit < np.inf:
        return 0.0
    return float(np.mean(np.abs(efforts) >= limit * (1.0 - AT_LIMIT)))


# Base and falls ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class BasePath:
    """The path of a floating base: position (steps, 3) and uprightness, the cosine of its tilt.

    Uprightness is measured against the start, so that a base that is mounted askew is upright.
    """

    position: FloatArray
    upright: FloatArray
    quaternion: FloatArray

    @property
    def start(self) -> list[float]:
        """Where it began [m]."""
        return [float(x) for x in self.position[0]]

    @property
    def end(self) -> list[float]:
        """Where it ended [m]."""
        return [float(x) for x in self.position[-1]]

    def fell_at(self) -> int | None:
        """The step at which it has fallen: tilted by more than 60°, or below half its height.

        Height is measured from z = 0; a base that starts there can only fall by tilting.
        """
        height = self.position[:, 2]
        low = height < LOW * height[0] if height[0] > 0.05 else np.zeros(len(height), dtype=bool)
        fallen = np.flatnonzero((self.upright < UPRIGHT) | low)
        return int(fallen[0]) if len(fallen) else None


def base_of(world: World, robot: Articulation, qpos: FloatArray) -> BasePath | None:
    """The path of a robot's floating base; None for a robot that is fixed: it cannot fall."""
    base = base_joint(world, robot)
    if base is None:
        return None
    at = base.qpos
    quaternion = qpos[:, at.start + 3 : at.stop]
    up = up_in_base(quaternion)
    return BasePath(qpos[:, at.start : at.start + 3], up @ up[0], quaternion)


def up_in_base(quaternions: FloatArray) -> FloatArray:
    """The vertical in the frame of a base, (n, 3)."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)


def yaw(quaternions: FloatArray) -> FloatArray:
    """Heading about the vertical, unwrapped [rad]."""
    w, x, y, z = quaternions.T
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


# Comparison ---------------------------------------------------------------------------------------
# Errors of a replay against its recording: per joint, over time, first divergence.


@dataclass(frozen=True)
class JointError:
    """One joint: root mean squares of the differences, and how often its effort was at the limit.

    None: not recorded. For a free joint the position error is in metres, over x, y and z.
    """

    rmse_position: float
    rmse_velocity: float | None
    rmse_effort: float | None
    saturation: float
    saturation_recorded: float | None
    max_position: float


@dataclass(frozen=True)
class Curve:
    """Curves of a joint for plots: recorded and replayed positions over time.

    `target` are the setpoints here at the same times. Efforts have times of their own: (time,
    effort) pairs, None where there are none.
    """

    time: FloatArray
    recorded: FloatArray
    here: FloatArray
    target: FloatArray | None = None
    effort: tuple[FloatArray, FloatArray] | None = None
    effort_recorded: tuple[FloatArray, FloatArray] | None = None


@dataclass(frozen=True)
class BaseCurves:
    """A floating base: times, and poses (rows of x, y, z, w, x, y, z) recorded and here."""

    time: FloatArray
    recorded: FloatArray
    here: FloatArray


@dataclass(frozen=True)
class Comparison:
    """All joints of all robots; `error` is the largest difference of any position per sample."""

    bit_exact: bool
    max_abs_position_error: float
    first_divergence: dict[str, object] | None
    joints: dict[str, JointError]
    time: FloatArray
    error: FloatArray
    base_drift: float | None
    curves: dict[str, Curve] = field(default_factory=dict)
    base: BaseCurves | None = None

    def rms_until(self, time: float) -> float:
        """Root mean square of `error` up to a time."""
        error = self.error[self.time <= time + 1e-12]
        return float(np.sqrt(np.mean(error**2))) if len(error) else 0.0


def compare(
    recording: Recording,
    matches: Sequence[Match],
    track: Track,
    *,
    tolerance: float,
    ratio: float = 1.0,
    several: bool | None = None,
) -> Comparison:
    """Compare a run with a recording, at the recorded samples.

    Args:
        recording: the reference.
        matches: recorded robots paired with robots of the world.
        track: the run here, from the same start.
        tolerance: position error above which it counts as diverged [rad or m].
        ratio: steps here per recorded step.
        several: name joints `robot/joint`; None: where there are several robots.
    """
    many = len(matches) > 1 if several is None else several
    exact, joints, curves = True, {}, {}
    first: tuple[float, float, str] | None = None
    drift: float | None = None
    base: BaseCurves | None = None
    errors: dict[float, float] = {}
    for match in matches:
        compared = _Compared(recording, match, track, ratio)
        prefix = f"{match.robot.name}/" if many else ""
        exact &= compared.is_exact
        for t, e in zip(compared.time, compared.worst, strict=True):
            errors[float(t)] = max(errors.get(float(t), 0.0), float(e))
        found = compared.first_beyond(tolerance)
        if found is not None and (first is None or found[0] < first[0]):
            first = (found[0], found[1], prefix + found[2])
        joints.update({prefix + n: e for n, e in compared.joints().items()})
        curves.update({prefix + n: c for n, c in compared.curves().items()})
        drift = _largest(drift, compared.base_drift())
        base = base or compared.base_curves()
    time = np.array(sorted(errors))
    error = np.array([errors[t] for t in time])
    return Comparison(
        bit_exact=exact,
        max_abs_position_error=float(error.max(initial=0.0)),
        first_divergence=None
        if first is None
        else {"time": first[0], "joint": first[2], "error": first[1]},
        joints=joints,
        time=time,
        error=error,
        base_drift=drift,
        curves=curves,
        base=base,
    )


def _largest(a: float | None, b: float | None) -> float | None:
    return max((x for x in (a, b) if x is not None), default=None)


class _Compared:
    """One robot: recorded and replayed rows side by side."""

    def __init__(self, recording: Recording, match: Match, track: Track, ratio: float) -> None:
        recorded = match.recorded
        self.match, self.track, self.ratio = match, track, ratio
        step = recorded.step - recorded.step[0]
        # The first row of a new segment is already the state it was reset to.
        later = [s for s in recording.segments if s > 0]
        before = step < min(later, default=recording.steps + 1)
        self.used = np.flatnonzero(before & (step * ratio <= track.taken + 1e-9))
        at = step[self.used] * ratio
        self.time = step[self.used] * recording.timestep
        self.recorded_q = recorded.qpos[self.used]
        self.recorded_v = None if recorded.qvel is None else recorded.qvel[self.used]
        self.here_q, self.here_v = _rows(track.qpos, at), _rows(track.qvel, at)
        self.differences = {
            here.name or there.name: np.abs(
                _same_side(self.recorded_q[:, there.qpos], self.here_q[:, here.qpos], here.kind)
            )
            for there, here in match.joints
        }
        worst = [d.max(axis=1) for d in self.differences.values()]
        self.worst: FloatArray = np.max(worst, axis=0) if worst else np.zeros(len(self.used))
        # In the last step of a recording that was reset there, the run here may diverge as well.
        is_cut = track.diverged and len(self.used) < np.count_nonzero(before)
        self.is_exact = ratio == 1.0 and not is_cut and self._exact()

    def _exact(self) -> bool:
        if len(self.match.joints) < len(self.match.recorded.joints):
            return False
        for there, here in self.match.joints:
            if not np.array_equal(self.recorded_q[:, there.qpos], self.here_q[:, here.qpos]):
                return False
            if self.recorded_v is not None and not np.array_equal(
                self.recorded_v[:, there.dof], self.here_v[:, here.dof]
            ):
                return False
        return True

    def first_beyond(self, tolerance: float) -> tuple[float, float, str] | None:
        """Time, size and joint of the first position error above the tolerance."""
        rows = np.flatnonzero(~(self.worst <= tolerance))
        if not len(rows):
            return None
        row = int(rows[0])
        name = max(self.differences, key=lambda n: float(self.differences[n][row].max()))
        return float(self.time[row]), float(self.worst[row]), name

    def joints(self) -> dict[str, JointError]:
        """Every matched joint by name."""
        efforts, columns = self._efforts(), self._columns()
        found = {}
        for there, here in self.match.joints:
            # Norm of the difference: position only for a free joint, all components for others.
            position = self.differences[here.name or there.name]
            position = position[:, :3] if here.kind == "free" else position
            velocity = None
            if self.recorded_v is not None:
                velocity = _rms(self.here_v[:, here.dof] - self.recorded_v[:, there.dof])
            column = columns.get(here.name)
            limit = self.track.limits.get(self.match.robot.name, {}).get(here.name, np.inf)
            mine = self.track.effort[self.match.robot.name]
            effort, recorded = efforts.get(here.name, (None, None))
            found[here.name or there.name] = JointError(
                rmse_position=_rms(position),
                rmse_velocity=velocity,
                rmse_effort=effort,
                saturation=0.0 if column is None else saturation(mine[:, column], limit),
                saturation_recorded=recorded,
                max_position=float(position.max(initial=0.0)),
            )
        return found

    def _columns(self) -> dict[str, int]:
        """Setpoint column of the joints that exactly one actuator drives."""
        drives = {b.actuator: b.joint for b in self.match.robot.actuators}
        names = [drives[a] for a in self.match.robot.actuator_names]
        return {n: i for i, n in enumerate(names) if n and names.count(n) == 1}

    def _efforts(self) -> dict[str, tuple[float, float]]:
        """RMSE of the effort and recorded saturation by joint here."""
        recorded = self.match.recorded
        if recorded.efforts is None:
            return {}
        rows = np.round((recorded.efforts.step - recorded.step[0]) * self.ratio).astype(np.int64)
        used = np.flatnonzero((rows >= 0) & (rows < self.track.taken))
        here = self.track.effort[self.match.robot.name]
        limits = recorded.plant.joints.get("torque_limit", {})
        names = {i: n for n, i in self._columns().items()}
        found = {}
        for there, column in enumerate(self.match.columns.tolist()):
            if column in names and there < recorded.efforts.effort.shape[1]:
                effort = recorded.efforts.effort[used, there]
                driven = recorded.driven[there] if there < len(recorded.driven) else ""
                found[names[column]] = (
                    _rms(here[rows[used], column] - effort),
                    saturation(effort, limits.get(driven, np.inf)),
                )
        return found

    def base_drift(self) -> float | None:
        """Distance of the final base position from the recorded one [m]."""
        base = self.match.base
        if base is None:
            return None
        there, here = base
        at, to = there.qpos.start, here.qpos.start
        end = self.here_q[-1, to : to + 3] - self.recorded_q[-1, at : at + 3]
        return float(np.linalg.norm(end))

    def curves(self) -> dict[str, Curve]:
        """Positions of the hinges and slides."""
        return {here.name: self._curve(there, here) for there, here in self.match.single}

    def _curve(self, there: JointColumns, here: JointHere) -> Curve:
        track, name = self.track, self.match.robot.name
        q = self.recorded_q[:, there.qpos.start], self.here_q[:, here.qpos.start]
        column = self._columns().get(here.name)
        if column is None or not track.taken:
            return Curve(self.time, *q)
        steps = np.minimum((self.time / track.timestep + 0.5).astype(np.int64), track.taken - 1)
        target = track.target[name][steps, 0, column]
        times: FloatArray = np.arange(float(track.taken)) * track.timestep
        mine = times, track.effort[name][:, column]
        efforts, places = self.match.recorded.efforts, np.flatnonzero(self.match.columns == column)
        recorded = None
        if efforts is not None and len(places) == 1:
            since = efforts.step - self.match.recorded.step[0]
            time: FloatArray = since.astype(float) * (track.timestep * self.ratio)
            recorded = time, efforts.effort[:, places[0]]
        return Curve(self.time, *q, target, mine, recorded)

    def base_curves(self) -> BaseCurves | None:
        """The floating base; None: it is fixed."""
        base = self.match.base
        if base is None:
            return None
        there, here = base
        return BaseCurves(self.time, self.recorded_q[:, there.qpos], self.here_q[:, here.qpos])


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _same_side(recorded: FloatArray, here: FloatArray, kind: str) -> FloatArray:
    """Here minus recorded; a quaternion and its negative are the same rotation."""
    difference: FloatArray = here - recorded
    if kind in ("free", "ball"):
        a, b = recorded[:, -4:], here[:, -4:]
        other = np.sum(a * b, axis=1) < 0.0
        difference[other, -4:] = b[other] + a[other]
    return difference


def _rows(values: FloatArray, at: FloatArray) -> FloatArray:
    """Rows at steps; between two steps, linear."""
    low = np.minimum(np.floor(at + 1e-9).astype(np.int64), len(values) - 1)
    share = np.clip(at - low, 0.0, 1.0)[:, None]
    if not (share > 1e-9).any():
        return values[low]
    high = np.minimum(low + 1, len(values) - 1)
    mixed: FloatArray = (1.0 - share) * values[low] + share * values[high]
    return mixed
