"""Commands of a log as setpoints at physics steps, with their gains and the time they acted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, blocks, columns_of, large_empty, large_rows
from mjrig.core.control.plant import Plant
from mjrig.data.recording.recording import GainChange, RecordedCommands
from mjrig.data.robot_logs.delay_estimation import ENOUGH, Effect, LawData, effect_of_commands
from mjrig.data.robot_logs.quantities import VELOCITY, JointTable, Quantities
from mjrig.data.robot_logs.resampling import Steps, at_steps
from mjrig.data.robot_logs.velocity_setpoints import (
    rates,
    rates_within,
    said_of,
    surely,
    unrecorded,
)

# Acted on -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ActedOn:
    """Tables of the same joints, or some of them."""

    state: JointTable
    velocity: JointTable
    effort: JointTable
    command: JointTable


def told_by_efforts(quantities: Quantities, tables: ActedOn, notes: list[str]) -> Effect | str:
    """When commands act by a law of them, or why it is not known.

    Velocity setpoints that acted and were not recorded are taken from then on, and it is noted.
    """
    motion = _law_data(quantities, tables)
    if motion is None:
        return "no joint has efforts and positions in one topic, and commands"
    if quantities.has(VELOCITY):
        return effect_of_commands(motion)
    spans = unrecorded(motion)
    if not spans:
        moving = replace(motion, command_velocity=rates(motion.command_time, motion.command))
        return surely(effect_of_commands(motion), moving)
    notes.append(said_of(spans, float(motion.time[0])))
    quantities.take_rates(spans)
    speeds = rates_within(motion.command_time, motion.command, spans)
    return effect_of_commands(replace(motion, command_velocity=speeds))


def _law_data(quantities: Quantities, tables: ActedOn) -> LawData | None:
    state, effort, command = tables.state, tables.effort, tables.command.held()
    names = [n for n in state.joints if n in effort.joints and n in command.joints]
    if not names or effort.timed.name != state.timed.name:
        return None
    every = (state, tables.velocity, effort, command)
    where = [[table.joints.index(n) for n in names] for table in every]
    speeds = quantities.command_column(VELOCITY, command)
    first = int(np.searchsorted(state.time, command.time[0]))
    some = slice(first, first + 2 * ENOUGH)
    last = state.time[some][-1] if first < len(state.time) else command.time[0]
    sent = slice(0, int(np.searchsorted(command.time, last)) + 2)
    in_rows = command.timed.name == state.timed.name
    return LawData(
        state.time[some],
        state.values[some, where[0]].astype(np.float64),
        tables.velocity.values[some, where[1]].astype(np.float64),
        at_steps(effort.time, effort.values[:, where[2]], state.time[some]),
        command.time[sent],
        command.values[sent, where[3]],
        speeds[sent, where[3]],
        command.timed.usual if in_rows and command.shown is None else 0.0,
        is_complete=command.shown is not None or tables.command.moves,
        earlier=command.earlier,
    )


# Commanded ----------------------------------------------------------------------------------------


#: Gains that change more often are not kept.
MOST_CHANGES = 200
#: Stamps are as exact as this share of a step.
ROUNDING = 1e-3
#: Setpoint → quantity of the log; properties of controllers likewise.
_SETPOINTS = {"velocity": "command_velocity", "feedforward": "feedforward"}
_GAINS = {"kp": "kp", "kv": "kd"}


@dataclass(frozen=True)
class StepTimes:
    """Where steps are: time of the first and timestep [s], the last step, and the offset [s] that
    was added to the stamps of commands."""

    start: float
    timestep: float
    last: int
    offset: float


def commanded(
    quantities: Quantities,
    driven: list[str],
    tables: Sequence[JointTable],
    places: StepTimes,
    notes: list[str],
) -> dict[str, Any]:
    """Fields of an ActorRecording: commands, gains at the start and their changes."""
    steady = [table.held() for table in tables]
    held = [_held_steps(t.time, places) for t in steady]
    every = np.arange(places.last + 1) if any(t.moves for t in tables) else held[0].steps
    if len(held) > 1:
        every = np.unique(np.concatenate([every, *(h.steps for h in held)]))
    parts: dict[str, list[FloatArray]] = {"position": [], "velocity": [], "feedforward": []}
    gains: dict[str, list[FloatArray]] = {name: [] for name in _GAINS}
    for table, still, own in zip(tables, steady, held, strict=True):
        stamped = replace(still, time=still.time - places.offset)
        if table.moves:
            parts["position"].append(_followed(table, places, every))
        else:
            parts["position"].append(own.means(table.values, every))
        for name, quantity in _SETPOINTS.items():
            parts[name].append(own.means(quantities.command_column(quantity, stamped), every))
        for name, quantity in _GAINS.items():
            if quantities.has(quantity):
                column = quantities.command_column(quantity, stamped)
                gains[name].append(large_rows(column, own.last(every)))
    made = {name: _side_by_side(values) for name, values in parts.items()}
    commands = RecordedCommands(every, made["position"], made["velocity"], made["feedforward"])
    known = {name: _side_by_side(values) for name, values in gains.items() if values}
    return {"commands": commands, **_gains(driven, every, known, notes)}


def _gains(
    driven: list[str], steps: Steps, gains: Mapping[str, FloatArray], notes: list[str]
) -> dict[str, Any]:
    if not gains:
        return {}
    names = list(gains)
    differs = np.zeros(max(len(steps) - 1, 0), dtype=np.bool_)
    for column in (c for name in names for c in columns_of(gains[name])):
        differs |= np.diff(column) != 0.0
    at = np.flatnonzero(differs) + 1
    joints = {n: dict(zip(driven, gains[n][0].tolist(), strict=True)) for n in names}
    found: dict[str, Any] = {"plant": Plant(joints=joints)}
    if len(at) > MOST_CHANGES:
        notes.append(f"gains change {len(at)} times: only the first ones are kept")
    elif len(at):
        changes = [GainChange(int(steps[k]), {n: gains[n][k] for n in names}) for k in at]
        found["gain_changes"] = tuple(changes)
    return found


def _side_by_side(tables: Sequence[FloatArray]) -> FloatArray:
    if len(tables) == 1:
        return tables[0]
    found = large_empty((len(tables[0]), sum(t.shape[1] for t in tables)))
    for k, column in enumerate(c for table in tables for c in columns_of(table)):
        found[:, k] = column
    return found


@dataclass(frozen=True)
class _Held:
    """Commands that are held from stamp to stamp, over steps.

    Attributes:
        time: (m,) when each begins to act, in steps; the first at 0 or before.
        steps: those in which the mean of the command may be another than in the step before.
    """

    time: FloatArray
    steps: Steps

    def last(self, steps: Steps) -> npt.NDArray[np.intp]:
        """The last command that acts in each step."""
        found = np.searchsorted(self.time, steps + 1.0, side="left") - 1
        return np.maximum(found, 0).astype(np.intp)

    def means(self, values: FloatArray, steps: Steps) -> FloatArray:
        """(steps, columns): the mean over each step, of what acts in the course of it."""
        if not any(values.strides):  # all of it is one number
            return np.broadcast_to(values[:1, :1], (len(steps), values.shape[1]))
        found = large_empty((len(steps), values.shape[1]))
        for rows in blocks(len(steps)):
            found[rows] = self._means(values, steps[rows])
        return found

    def _means(self, values: FloatArray, steps: Steps) -> FloatArray:
        last = self.last(steps)
        found = np.array(values[last], dtype=np.float64)
        first = np.maximum(np.searchsorted(self.time, steps, side="right") - 1, 0)
        (two,) = np.nonzero(last == first + 1)
        share = np.clip(self.time[last[two]] - steps[two], 0.0, 1.0)[:, None]
        found[two] = share * values[first[two]] + (1.0 - share) * values[last[two]]
        for k in np.flatnonzero(last > first + 1):
            own = np.arange(first[k], last[k] + 1)
            edges = np.clip([*self.time[own], steps[k] + 1.0], steps[k], steps[k] + 1.0)
            found[k] = np.diff(edges) @ values[own]
        return found


def _followed(table: JointTable, places: StepTimes, steps: Steps) -> FloatArray:
    """Setpoints that move from row to row, at steps; where they jump, as those that are held."""
    time, values = table.time, table.values
    again = np.flatnonzero(np.diff(time) == 0.0) + 1
    jumps = np.zeros_like(values)
    jumps[again] = values[again] - values[again - 1]
    jumps = np.cumsum(jumps, axis=0)
    at = places.start + places.timestep * steps
    found = large_empty((len(steps), values.shape[1]))
    for k, column in enumerate(columns_of(found)):
        column[:] = np.interp(at, time, values[:, k] - jumps[:, k])
    if len(again):
        rows = np.concatenate([[0], again])
        found += _held_steps(time[rows], places).means(jumps[rows], steps)
    return found


def _held_steps(time: FloatArray, places: StepTimes) -> _Held:
    """Commands as means over the steps around each instant at which a law is evaluated.

    A stamp between two instants acts in a share of them: taken to the next one, each would be
    late by another fraction of a step.
    """
    at = (time - places.start) / places.timestep
    whole = np.round(at)
    # A stamp that is a step but for rounding belongs to that step, whole.
    at = np.where(np.abs(at - whole) < ROUNDING, whole, at + 0.5)
    del whole
    return _Held(at, _with_next(np.floor(at).astype(np.int64), places.last))


def _with_next(begin: Steps, last: int) -> Steps:
    """Each of some ascending steps, the one after it, and 0: those up to the last.

    As `np.unique` of them all, which needs many times their memory.
    """
    inside = begin[(begin >= 0) & (begin <= last)]
    fresh = inside[np.diff(inside, prepend=-1) > 0]
    lonely = fresh[np.diff(fresh, append=last + 1) > 1] + 1
    if not len(fresh) or fresh[0] > 0:
        lonely = np.concatenate([[0], lonely])
    if not len(lonely):
        return fresh
    found = np.concatenate([fresh, lonely])
    found.sort()
    return found
