"""A log as a recording: states at physics steps, commands held, with notes on every correction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray, columns_of, large_empty
from mjrig.core.control.plant import at_joint
from mjrig.core.errors import RecordingError
from mjrig.core.names import how_many, listed
from mjrig.data.recording.recording import ActorRecording, Efforts, JointColumns, Recording
from mjrig.data.robot_logs.clocks import Timed, origins, timed, within
from mjrig.data.robot_logs.command_setpoints import ActedOn, StepTimes, commanded, told_by_efforts
from mjrig.data.robot_logs.command_times import said_of, sent_commands
from mjrig.data.robot_logs.containers.container import LogFile
from mjrig.data.robot_logs.delay_estimation import ENOUGH, Effect, thickened
from mjrig.data.robot_logs.log_columns import load
from mjrig.data.robot_logs.log_map import LogMap
from mjrig.data.robot_logs.quantities import JointTable, Quantities
from mjrig.data.robot_logs.resampling import (
    Steps,
    at_steps,
    curved_at,
    derived,
    sampled_steps,
    turned_at,
)

# Moving -------------------------------------------------------------------------------------------
# Whether anything moves in a log.


#: Joints that all stay within this did not move [rad or m].
STILL = 2e-4


def check_moves(path: Path, positions: Sequence[JointTable], kinds: Mapping[str, str]) -> None:
    """Refuse a log whose joints all stand still; `kinds` are those of the joints.

    Raises:
        RecordingError: they do.
    """
    moved: dict[str, float] = {"rad": 0.0, "m": 0.0}
    for table in positions:
        for name, column in zip(table.joints, columns_of(table.values), strict=True):
            unit = at_joint("rad", slides=kinds[name] == "slide")
            moved[unit] = max(moved[unit], float(np.nanmax(column) - np.nanmin(column)))
    if max(moved.values()) > STILL:
        return
    units = {at_joint("rad", slides=kinds[n] == "slide") for t in positions for n in t.joints}
    within = " and ".join(f"{moved[unit]:.2g} {unit}" for unit in moved if unit in units)
    raise RecordingError(f"{path}: no joint moves: the positions stay within {within}")


# Time notes ---------------------------------------------------------------------------------------
# What is said about the times of a log: lost samples, clocks, commands that end early.


#: Commands end before the states if that is by more than this [s], and so many of their periods.
EARLY, PERIODS = 0.2, 20


def samples_said(state: Timed, every: Iterable[Timed], segments: int) -> Iterator[str]:
    """Samples of the states that are missing, and what was put right in any topic."""
    if state.lost:
        lost, places = how_many(state.lost, "sample"), how_many(state.holes, "place")
        yield f"{state.name}: {lost} lost in {places}"
    if segments > 1:
        yield (
            f"{how_many(segments - 1, 'gap')} of more than a few samples: "
            f"{how_many(segments, 'segment')}"
        )
    for topic in every:
        if topic.doubled:
            said = how_many(topic.doubled, "sample")
            yield f"{topic.name}: {said} with the stamp of the one before left out"
        if topic.overtaken:
            said = how_many(topic.overtaken, "sample")
            yield f"{topic.name}: {said} had been overtaken, put in order"


def clocks_said(every: Iterable[Timed]) -> Iterator[str]:
    """The clock of each sender against the recorder's."""
    for when in every:
        clock = when.clock
        if clock.offset is not None:
            where, taken = ("ahead of", "less") if clock.offset >= 0.0 else ("behind", "including")
            yield (
                f"{when.name}: its clock is {abs(clock.offset) * 1e3:.2f} ± "
                f"{clock.error * 1e3:.2f} ms {where} the recorder's, {taken} what the fastest "
                "message took"
            )


def ends_said(commands: Iterable[JointTable], positions: Sequence[JointTable]) -> Iterator[str]:
    """Commands that end clearly before the states, in seconds after the first state."""
    zero = float(positions[0].time[0])
    last = min(float(table.time[-1]) for table in positions)
    for table in commands:
        end = float(table.time[-1])
        if last - end > max(EARLY, PERIODS * table.timed.usual):
            yield (
                f"commands of {table.timed.name} end at {end - zero:.2f} s, states at "
                f"{last - zero:.2f} s: the last one is held"
            )


def effect_said(effect: Effect, timestep: float) -> tuple[float, str]:
    """By how much commands are moved so that they act at whole steps [s], and why."""
    said = (
        f"commands act {effect.delay * 1e3:.2f} ± {effect.error * 1e3:.2f} ms after their "
        f"stamp, by the efforts of {how_many(effect.joints, 'joint')} (clock offset and delay "
        "together)"
    )
    each = f"of {timestep * 1e3:g} ms"
    if effect.rows:
        return 0.0, f"{said}: rows tell to ± {effect.rows * 1e3:g} ms when they came"
    if effect.error > 0.5 * timestep:
        return 0.0, f"{said}: too uncertain to move them within steps {each}"
    steps = round(effect.delay / timestep)
    offset = effect.delay - steps * timestep
    if abs(offset) < 0.1 * effect.error:
        return 0.0, f"{said}: {how_many(steps, 'step')} {each}"
    return offset, (
        f"{said}: {how_many(steps, 'step')} {each} and {offset * 1e3:.2f} ms, by which they are "
        "moved"
    )


# Log recording ------------------------------------------------------------------------------------
# A log as a recording: states at physics steps, commands held, what was done to them said.


#: The format of recordings that are made of logs.
FORMAT = "robot log"
#: What a log is said to have: commands may be by up to this late, as rows show them [s].
LATE = "commands_late"
#: The floating base, which logs have no name for.
BASE = "base"


@dataclass(frozen=True)
class LogOptions:
    """What a user says beside the mapping.

    Attributes:
        timestep: physics timestep [s]; None: the usual time between states.
        offset: added to the stamps of commands [s]; None: the mapping's, or none.
        span: first and last second that are read; None: all.
    """

    timestep: float | None = None
    offset: float | None = None
    span: tuple[float, float] | None = None


def log_recording(log: LogFile, mapping: LogMap, options: LogOptions) -> Recording:
    """Read a log by its mapping.

    Raises:
        RecordingError: the mapping does not fit, stamps run backwards, nothing moves, …
    """
    return _Making(log, mapping, options).made()


class _Making:
    def __init__(self, log: LogFile, mapping: LogMap, options: LogOptions) -> None:
        self._log, self._map, self._options = log, mapping, options
        self._notes: list[str] = list(log.notes)
        data = load(log, mapping)
        zero = origins(data, mapping.time)
        self._timed = {
            name: timed(topic, mapping.time.get(name), zero[name], mapping.rate)
            for name, topic in data.items()
        }
        self._data = data
        if options.span is not None:
            self._timed = {n: within(t, options.span) for n, t in self._timed.items()}
        self._offset = self._late = 0.0
        self._quantities = Quantities(mapping, data, self._timed, self._notes)

    def made(self) -> Recording:
        positions = self._quantities.tables("position")
        if not positions:
            raise RecordingError(f"{self._log.path}: has no positions of the mapped joints")
        state = positions[0]
        for table in positions:
            self._notes += table.spiked(float(state.time[0])).positions()
        check_moves(self._log.path, positions, {n: j.kind for n, j in self._map.joints.items()})
        recorded = self._quantities.commands()
        ends = [*ends_said(recorded, positions)]
        commands = self._sent(recorded, state)
        velocities = self._quantities.velocities(positions)
        efforts = self._quantities.tables("effort")
        for table in efforts:
            self._notes += table.spiked(float(state.time[0])).efforts()
        effect = self._effect(state, velocities, efforts, commands)
        usual = round(state.timed.usual, 6)
        timestep = self._options.timestep or usual
        if not timestep > 0.0:
            raise RecordingError(f"{self._log.path}: has a single sample of the joints' positions")
        commands = self._shifted(commands, effect, timestep)
        self._notes += ends
        start = self._start(positions, commands)
        steps, segments = self._steps(state, positions, start, timestep)
        at = np.asarray(steps * timestep + start, dtype=np.float64)
        actor = self._actor(steps, at, positions, velocities)
        del positions, velocities, state  # large logs would not fit twice
        driven = self._driven(steps, at, start, timestep, commands, efforts)
        self._notes += clocks_said(self._timed.values())
        actor = replace(actor, **driven)
        return Recording(
            path=self._log.path,
            format=FORMAT,
            timestep=timestep,
            steps=int(steps[-1]),
            actors={actor.name: actor},
            attributes={"source": self._log.kind, "log": self._about(effect)},
            notes=tuple(dict.fromkeys(self._notes)),
            segments=segments,
        )

    # Time ---------------------------------------------------------------------------------------

    def _effect(
        self,
        state: JointTable,
        velocities: Sequence[JointTable],
        efforts: Sequence[JointTable],
        commands: Sequence[JointTable],
    ) -> Effect | None:
        """When commands act; None: it cannot be told, or the user says it."""
        if not efforts or not commands or self._given_offset() is not None:
            return None
        # A part of the log tells it, from the first command on; all of it may be too large to copy.
        begin = int(np.searchsorted(state.time, commands[0].time[0]))
        some = state.time[begin : begin + 2 * ENOUGH + 1]
        effort = efforts[0].around(some) if len(some) else efforts[0]
        tables = ActedOn(state, velocities[0], effort, commands[0])
        found = told_by_efforts(self._quantities, tables, self._notes)
        if isinstance(found, str):
            self._notes.append(f"when commands act is not known: {found}")
            return None
        return found

    def _given_offset(self) -> float | None:
        return self._map.offset if self._options.offset is None else self._options.offset

    def _shifted(
        self, commands: Sequence[JointTable], effect: Effect | None, timestep: float
    ) -> list[JointTable]:
        """Commands where the user says, or so that they act a whole number of steps later."""
        offset = self._given_offset()
        if offset is not None:
            self._notes.append(f"{offset * 1e3:g} ms are added to the stamps of commands, as given")
        elif effect is not None:
            offset, said = effect_said(effect, timestep)
            self._notes.append(said)
        else:
            offset = 0.0
        thick = effect.thinned if effect is not None else 1
        if thick > 1:
            self._notes.append(
                f"of the commands only every {_nth(thick)} was recorded, by the efforts: those "
                "between are interpolated"
            )
        self._offset = offset
        found = []
        for table in commands:
            time, values = thickened(table.time, table.values, thick)
            shown = table.shown
            if shown is not None:
                shown = thickened(table.time, shown[:, None], thick)[1][:, 0]
            found.append(replace(table, time=time + offset, values=values, shown=shown))
        return found

    def _sent(self, commands: Sequence[JointTable], state: JointTable) -> list[JointTable]:
        """Commands of rows that have the states' times, at the times they were sent instead."""
        found = []
        for table in commands:
            is_shown = table.timed.name == state.timed.name and len(table.time) == len(state.time)
            sent = sent_commands(table.time, table.values) if is_shown else None
            if is_shown:
                self._late = max(self._late, state.timed.usual if sent is None else sent.earlier)
            if sent is None:
                found.append(table)
                continue
            self._notes.append(said_of(sent, table.timed.name))
            at = {"time": sent.time, "shown": sent.shown, "earlier": sent.earlier}
            found.append(replace(table, values=sent.values, **at))
        return found

    def _start(self, positions: Sequence[JointTable], commands: Sequence[JointTable]) -> float:
        first = max(float(t.time[0]) for t in positions)
        begins = [float(t.time[0]) for t in commands]
        last = min(float(t.time[-1]) for t in positions)
        if begins and max(begins) >= last:
            raise RecordingError(f"{self._log.path}: the first command comes after the last state")
        if begins and max(begins) > first:
            late = max(begins) - first
            state = positions[0]
            kept = state.time[state.time >= max(begins)]
            if late > 5 * state.timed.usual:
                self._notes.append(f"the first {late:.3g} s have no commands and are left out")
            return float(kept[0])
        return float(positions[0].time[positions[0].time >= first][0])

    def _steps(
        self, state: JointTable, positions: Sequence[JointTable], start: float, timestep: float
    ) -> tuple[Steps, tuple[int, ...]]:
        end = min(float(t.time[-1]) for t in positions)
        inside = np.flatnonzero((state.time >= start - 1e-12) & (state.time <= end + 1e-12))
        first = int(inside[0]) if len(inside) else 0
        gaps = [
            g - first for g in state.timed.gaps if first < g <= (inside[-1] if len(inside) else 0)
        ]
        steps, segments = sampled_steps(state.time[inside] - start, gaps, timestep)
        if len(steps) < 2:
            raise RecordingError(
                f"{self._log.path}: fewer than two samples of the joints are left to read"
            )
        self._notes += samples_said(state.timed, self._timed.values(), len(segments))
        return steps, segments

    # The recording ------------------------------------------------------------------------------

    def _actor(
        self,
        steps: Steps,
        at: FloatArray,
        positions: Sequence[JointTable],
        speeds: Sequence[JointTable],
    ) -> ActorRecording:
        base = self._base(at)
        joints: list[JointColumns] = []
        q, v = (0, 0) if base is None else (7, 6)
        single = sum(len(table.joints) for table in positions)
        qpos, qvel = large_empty((len(at), q + single)), large_empty((len(at), v + single))
        if base is not None:
            joints.append(JointColumns(BASE, "free", slice(0, 7), slice(0, 6)))
            qpos[:, :7], qvel[:, :6] = base
        for table, speed in zip(positions, speeds, strict=True):
            width = len(table.joints)
            curved_at(table.time, table.values, speed.values, at, qpos[:, q : q + width])
            at_steps(speed.time, speed.values, at, qvel[:, v : v + width])
            for name in table.joints:
                kind, unit = self._quantities.kind(name)
                joints.append(JointColumns(name, kind, slice(q, q + 1), slice(v, v + 1), unit))
                q, v = q + 1, v + 1
        return ActorRecording(
            name=self._map.robot,
            joints=tuple(joints),
            step=steps,
            time=at - at[0],
            qpos=qpos,
            qvel=qvel,
        )

    def _base(self, at: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        parts = {what: self._base_part(what) for what in self._map.base}
        if "position" not in parts or "orientation" not in parts:
            return None
        (when, place), (turned, quaternions) = parts["position"], parts["orientation"]
        if self._map.base["orientation"].order == "xyzw":
            quaternions = np.roll(quaternions, 1, axis=1)
        pose = np.hstack([at_steps(when, place, at), turned_at(turned, quaternions, at)])
        if "linear_velocity" in parts:
            linear = at_steps(*parts["linear_velocity"], at)
        else:
            linear = at_steps(when, derived(when, place, ()), at)
            self._notes.append("the base's velocity is derived from its position")
        if "angular_velocity" in parts:
            angular = at_steps(*parts["angular_velocity"], at)
        else:
            angular = np.zeros((len(at), 3))
            self._notes.append("the base's angular velocity is not known; taken as 0")
        return pose, np.hstack([linear, angular])

    def _base_part(self, what: str) -> tuple[FloatArray, FloatArray]:
        source = self._map.base[what]
        data, when = self._data[source.topic], self._timed[source.topic]
        lacking = [f for f in source.fields if f not in data.columns]
        if lacking:
            raise RecordingError(f"{self._log.path}: {source.topic} has no {lacking[0]!r}")
        table = np.stack([data.columns[f][when.rows] for f in source.fields], axis=1)
        return when.time, np.asarray(table, dtype=np.float64)

    def _driven(
        self,
        steps: Steps,
        at: FloatArray,
        start: float,
        timestep: float,
        commands: Sequence[JointTable],
        efforts: Sequence[JointTable],
    ) -> dict[str, Any]:
        """Commands, gains and efforts, over the commanded joints, or those with efforts."""
        driven = [n for t in (commands or efforts) for n in t.joints]
        if not driven:
            return {}
        found: dict[str, Any] = {"actuators": tuple(driven), "driven": tuple(driven)}
        if commands:
            places = StepTimes(start, timestep, int(steps[-1]), self._offset)
            found |= commanded(self._quantities, driven, commands, places, self._notes)
        columns = {n: (t, k) for t in efforts for k, n in enumerate(t.joints)}
        if columns and all(n in columns for n in driven):
            effort = large_empty((len(steps) - 1, len(driven)))
            for k, name in enumerate(driven):
                table, place = columns[name]
                own = table.values[:, place : place + 1]
                at_steps(table.time, own, at[:-1], effort[:, k : k + 1])
            found["efforts"] = Efforts(steps[:-1], effort)
        elif columns:
            without = [n for n in driven if n not in columns]
            self._notes.append(f"efforts are left out: there are none of {listed(without)}")
        return found

    def _about(self, effect: Effect | None) -> dict[str, Any]:
        clocks = {
            name: {
                "stamp": t.clock.stamp,
                "offset": t.clock.offset,
                "error": t.clock.error,
                "drift": t.clock.drift,
                "jitter": t.clock.jitter,
                "lost": t.lost,
                "gaps": len(t.gaps),
            }
            for name, t in self._timed.items()
        }
        found: dict[str, Any] = {"clocks": clocks, LATE: self._late}
        if effect is not None:
            found["effect"] = {"delay": effect.delay, "error": effect.error}
        return found


def _nth(count: int) -> str:
    return {2: "second", 3: "third"}.get(count, f"{count}th")
