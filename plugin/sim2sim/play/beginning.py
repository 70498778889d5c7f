"""The first seconds of a recording, as a recording of its own."""

from dataclasses import replace

from mjrig.arrays import BoolArray, FloatArray
from mjrig.errors import RecordingError
from mjrig.recording.recording import (
    ActorRecording,
    Efforts,
    IntegrationStates,
    PolicyTicks,
    RecordedCommands,
    Recording,
)


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
