"""Sources of a replay: a recording or its first seconds, a policy and its recorded commands."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mjrig.core.arrays import BoolArray, FloatArray
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import RecordingError
from mjrig.core.names import how_many
from mjrig.core.sim.world import World
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    IntegrationStates,
    PolicyTicks,
    RecordedCommands,
    Recording,
)

# Source -------------------------------------------------------------------------------------------
# Sources of a replay: a recording or a policy, and the scene.

#: Files that may hold a recording.
SUFFIXES = (".h5", ".hdf5", ".npz", ".csv", ".json", ".msgpack")


def is_policy(source: object) -> bool:
    """Whether something is a policy, or the file of one."""
    if isinstance(source, str | Path):
        return Path(source).suffix.lower() in (".yaml", ".yml")
    return isinstance(source, PolicyComponent)


def as_recording(
    source: object, hints: dict[str, object] | None = None, timestep: float | None = None
) -> Recording:
    """A recording, read from its file if need be; logs of robots are brought to `timestep` [s].

    Raises:
        RecordingError: it cannot be read.
    """
    if isinstance(source, Recording):
        return source
    if not isinstance(source, str | Path):
        raise RecordingError(f"a recording or a file is needed, got {source!r}")
    return read_recording(Path(source), hints, timestep=timestep)


def scene_name(world: World) -> str:
    """The name of the scene in reports: its file."""
    return str(world.scene.source or "scene")


# Beginning ----------------------------------------------------------------------------------------
# The first seconds of a recording, as a recording of its own.


def beginning(recording: Recording, duration: float) -> Recording:
    """A recording without what comes later than `duration` seconds after its start.

    What is longer than the recording gives all of it, with a note.

    Raises:
        RecordingError: not one step would be left.
    """
    steps = round(duration / recording.timestep)
    if steps < 1:
        raise RecordingError(
            f"{recording.path}: {duration:g} s is less than one step of {recording.timestep:g} s"
        )
    if steps >= recording.steps:
        few = steps > recording.steps
        note = f"the recording ends after {recording.duration:g} s; {duration:g} s were asked for"
        return replace(recording, notes=(*recording.notes, note)) if few else recording
    return replace(
        recording,
        steps=steps,
        actors={name: _actor(actor, steps) for name, actor in recording.actors.items()},
        states=_states(recording.states, steps),
        memories=tuple(memory for memory in recording.memories if memory.step <= steps),
        segments=tuple(first for first in recording.segments if first < steps),
    )


def _actor(actor: ActorRecording, steps: int) -> ActorRecording:
    """States up to the one after the last step, the rest of the steps alone."""
    end = int(actor.step[0]) + steps if len(actor.step) else steps
    kept = actor.step <= end
    efforts: Efforts | None = actor.efforts
    used: BoolArray | slice = slice(None)
    if efforts is not None:
        used = efforts.step < end
        efforts = Efforts(efforts.step[used], efforts.effort[used], _rows(efforts.raw, used))
    return replace(
        actor,
        step=actor.step[kept],
        time=actor.time[kept],
        qpos=actor.qpos[kept],
        qvel=_rows(actor.qvel, kept),
        act=_rows(actor.act, kept),
        commands=_commands(actor.commands, end),
        efforts=efforts,
        ctrl=_rows(actor.ctrl, used),
        policy=_ticks(actor.policy, end),
        gain_changes=tuple(change for change in actor.gain_changes if change.step < end),
    )


def _commands(commands: RecordedCommands | None, end: int) -> RecordedCommands | None:
    if commands is None:
        return None
    kept = commands.step < end
    return RecordedCommands(
        commands.step[kept],
        commands.position[kept],
        commands.velocity[kept],
        commands.feedforward[kept],
        {name: values[kept] for name, values in commands.inputs.items()},
    )


def _ticks(ticks: PolicyTicks | None, end: int) -> PolicyTicks | None:
    if ticks is None:
        return None
    kept = ticks.step < end
    return replace(
        ticks,
        step=ticks.step[kept],
        observation=ticks.observation[kept],
        action=ticks.action[kept],
        command=ticks.command[kept],
    )


def _states(states: IntegrationStates | None, steps: int) -> IntegrationStates | None:
    if states is None:
        return None
    kept = states.step <= steps
    return IntegrationStates(states.step[kept], states.state[kept])


def _rows(values: FloatArray | None, kept: BoolArray | slice) -> FloatArray | None:
    return None if values is None else values[kept]


# Recorded command ---------------------------------------------------------------------------------
# The commands a recorded policy was given, as a schedule for one that runs here.


Schedule = Sequence[tuple[float, Sequence[float]]]


def recorded_schedule(
    recorded: ActorRecording, policy: PolicyComponent, timestep: float, began: float = 0.0
) -> tuple[Schedule | None, str]:
    """Times since the policy began and commands, where they change, and a note for the report.

    `began` is the time at which the recording began [s].

    None: there are none, or of another size than the policy takes, which the note says.
    """
    ticks, size = recorded.policy, policy.command_now.size
    if ticks is None or not ticks.command.size or not size:
        return None, ""
    given = ticks.command.shape[1]
    if given != size:
        many = how_many(given, "value")
        return None, f"the recorded commands have {many}, the policy takes {size}: not used"
    before = policy.stand_steps - round(began / timestep)
    after = np.asarray(ticks.step, dtype=np.int64) - before
    rows = np.asarray(ticks.command, dtype=np.float64)
    begun = max(int(np.searchsorted(after, 0, side="right")) - 1, 0)
    after, rows = np.maximum(after[begun:], 0), rows[begun:]
    changes = np.flatnonzero(np.any(np.diff(rows, axis=0) != 0.0, axis=1)) + 1
    schedule = [(float(after[i] * timestep), rows[i].tolist()) for i in (0, *changes)]
    return schedule, "the commands are those of the recording"


def recorded_seed(recording: Recording | None) -> int | None:
    """The random seed a recording was made with; None: it does not say."""
    seed = recording.attributes.get("seed") if recording is not None else None
    return seed if isinstance(seed, int) else None
