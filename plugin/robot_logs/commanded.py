"""Commands of a log as setpoints at physics steps, with the gains that came with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.plant import Plant
from mjrig.recording.recording import GainChange, RecordedCommands
from mjrig.robot_logs.quantities import JointTable, Quantities
from mjrig.robot_logs.resampling import Steps

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
    rows = [_command_steps(t.time - places.start, places.timestep, places.last) for t in tables]
    every = np.unique(np.concatenate([step for step, _ in rows]))
    parts: dict[str, list[FloatArray]] = {"position": [], "velocity": [], "feedforward": []}
    gains: dict[str, list[FloatArray]] = {name: [] for name in _GAINS}
    for table, (step, row) in zip(tables, rows, strict=True):
        held = row[np.maximum(np.searchsorted(step, every, side="right") - 1, 0)]
        stamped = JointTable(table.time - places.offset, table.values, table.joints, table.timed)
        parts["position"].append(table.values[held])
        for name, quantity in _SETPOINTS.items():
            parts[name].append(quantities.command_column(quantity, stamped)[held])
        for name, quantity in _GAINS.items():
            if quantities.has(quantity):
                gains[name].append(quantities.command_column(quantity, stamped)[held])
    made = {name: np.hstack(values) for name, values in parts.items()}
    commands = RecordedCommands(every, made["position"], made["velocity"], made["feedforward"])
    known = {name: np.hstack(values) for name, values in gains.items() if values}
    return {"commands": commands, **_gains(driven, every, known, notes)}


def _gains(
    driven: list[str], steps: Steps, gains: Mapping[str, FloatArray], notes: list[str]
) -> dict[str, Any]:
    if not gains:
        return {}
    names = list(gains)
    table = np.hstack([gains[name] for name in names])
    at = np.flatnonzero((np.diff(table, axis=0) != 0.0).any(axis=1)) + 1
    joints = {n: dict(zip(driven, gains[n][0].tolist(), strict=True)) for n in names}
    found: dict[str, Any] = {"plant": Plant(joints=joints)}
    if len(at) > MOST_CHANGES:
        notes.append(f"gains change {len(at)} times: only the first ones are kept")
    elif len(at):
        changes = [GainChange(int(steps[k]), {n: gains[n][k] for n in names}) for k in at]
        found["gain_changes"] = tuple(changes)
    return found


def _command_steps(
    time: FloatArray, timestep: float, last: int
) -> tuple[Steps, npt.NDArray[np.intp]]:
    """(steps, rows): the first step each command acts in, the last one where several share it."""
    # A stamp that is a step but for rounding belongs to that step.
    steps = np.ceil(time / timestep - ROUNDING).astype(np.int64)
    early = np.flatnonzero(steps <= 0)
    rows = np.arange(len(steps))
    if len(early):
        rows = rows[early[-1] :]
        steps = np.maximum(steps[early[-1] :], 0)
    inside = steps <= last
    rows, steps = rows[inside], steps[inside]
    keep = np.concatenate([np.diff(steps) > 0, [True]]) if len(steps) else np.zeros(0, bool)
    return steps[keep], rows[keep]
