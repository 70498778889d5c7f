"""When the commands of a log acted, by its efforts."""

from dataclasses import dataclass, replace

import numpy as np

from mjrig.robot_logs.alignment import ENOUGH, Effect, LawData, effect_of_commands
from mjrig.robot_logs.quantities import VELOCITY, JointTable, Quantities
from mjrig.robot_logs.resampling import at_steps
from mjrig.robot_logs.velocity_setpoints import rates, rates_within, said_of, surely, unrecorded


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
