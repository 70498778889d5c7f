"""Recorded efforts as linear functions of gains, delays and limits, per joint."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.sim.world import World
from mjrig.tuning.effort_fits.fit_law import LawSamples, neighbours
from mjrig.tuning.simulated.fit_data import LEAST_SAMPLES, RecordedTrack
from mjrig.tuning.simulated.plant import Drives

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
