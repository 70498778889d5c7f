"""Observations recomputed from recorded states by the policy here; nothing is simulated."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.policy import PolicyComponent
from mjrig.recording.recording import PolicyTicks, Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Indices, Match
from mjrig.sim2sim.play.start import start

#: Ticks that are compared at most: more add nothing.
MOST = 400
#: With at least this many, sensors are judged only where the step before was recorded too.
ENOUGH = 15


@dataclass(frozen=True)
class Recomputed:
    """Ticks of a recording and what the policy here observes and does at the same states.

    `ticks` are the rows of the recording's policy ticks that are ticks here too, of the `asked`
    ones; the rows of the other arrays are those. `sharp` are the rows at which sensors hold what
    they held in the recording.
    """

    asked: int
    ticks: Indices
    recorded: FloatArray
    here: FloatArray
    action_recorded: FloatArray
    action_here: FloatArray
    sharp: Indices


def real_ticks(ticks: PolicyTicks) -> list[int]:
    """Rows that hold an observation: some files begin with a row of zeros."""
    rows = range(len(ticks.step))
    return [p for p in rows if ticks.observation[p].any() or ticks.action[p].any()]


def schedule_of(
    ticks: PolicyTicks, timestep: float, began: float
) -> list[tuple[float, list[float]]]:
    """The recorded commands as a schedule; times count from when the policy began [s]."""
    found: list[tuple[float, list[float]]] = []
    for p in real_ticks(ticks):
        values = ticks.command[p].tolist()
        if not found or values != found[-1][1]:
            found.append((float(ticks.step[p]) * timestep - began, values))
    return found


def recompute(
    recording: Recording,
    world: World,
    matches: Sequence[Match],
    policy: PolicyComponent,
    *,
    sensors: bool,
    shift: int = 0,
) -> Recomputed | None:
    """Let a policy look at every recorded state; None: states at its ticks were not recorded.

    Args:
        recording: with policy ticks.
        world: with the policy on the robot of the first match.
        matches: recorded robots and robots here.
        policy: the only one that commands that robot.
        sensors: its terms read sensors, which hold what the step before measured.
        shift: how many steps later it began in the recording than it begins here.
    """
    actor = matches[0].recorded
    ticks = actor.policy
    assert ticks is not None
    at = {int(s): i for i, s in enumerate(actor.step)}
    rows = [p for p in real_ticks(ticks) if int(ticks.step[p]) in at][:MOST]
    stale = sensors and not policy.needs_position_stage
    if not rows or ticks.observation.shape[1] != policy.observation.size:
        return None
    start(world, recording, matches)
    found: list[int] = []
    seen, done = [], []
    for p in rows:
        step = int(ticks.step[p])
        _show(world, matches, at.get(step - 1, at[step]) if stale else at[step])
        if stale:
            _place(world, matches, at[step])
        world.data.time = (step - shift) * world.timestep
        before = policy.ticks
        policy.before_controls(world.data.time)
        if policy.ticks > before:
            found.append(p)
            seen.append(policy.observation.astype(np.float64))
            done.append(policy.action.astype(np.float64))
    keep = np.array(found, dtype=np.intp)
    empty = np.zeros((0, policy.observation.size))
    known = [i for i, p in enumerate(found) if not stale or int(ticks.step[p]) - 1 in at]
    sharp = known if len(known) >= ENOUGH else range(len(found))
    return Recomputed(
        asked=len(rows),
        ticks=keep,
        recorded=ticks.observation[keep].astype(np.float64),
        here=np.array(seen) if seen else empty,
        action_recorded=ticks.action[keep].astype(np.float64),
        action_here=np.array(done) if done else np.zeros((0, policy.action.size)),
        sharp=np.array(sharp, dtype=np.intp),
    )


def _place(world: World, matches: Sequence[Match], row: int) -> None:
    for pair in matches:
        pair.qpos(pair.recorded.qpos[row], world.data.qpos)
        if pair.recorded.qvel is not None:
            pair.qvel(pair.recorded.qvel[row], world.data.qvel)


def _show(world: World, matches: Sequence[Match], row: int) -> None:
    _place(world, matches, row)
    mujoco.mj_forward(world.model, world.data)
