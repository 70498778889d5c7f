"""Recordings prepared for a fit: commands at every step, and states to compare with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.errors import FitError
from mjrig.names import suggestion
from mjrig.recording.recording import ActorRecording, JointColumns, Recording
from mjrig.sim.world import World
from mjrig.tuning.fitting.tangent import KINDS, Tangent

Places = npt.NDArray[np.intp]
#: Least number of samples for a fit.
LEAST_SAMPLES = 20


@dataclass(frozen=True)
class RecordedTrack:
    """One recording, in the columns of the world.

    Attributes:
        name: file name.
        commands: actor → (steps, 3, actuators): what was commanded in each physics step.
        step: physics steps before which the state was sampled, ascending.
        qpos: (samples, nq) of the whole model: recorded where it was, else the initial state.
        qvel: (samples, nv), likewise; estimated where velocities were not recorded.
        has_velocity: whether those of the fitted actor were recorded.
        segments: first step of each stretch between which the state was reset or restored.
        efforts: (samples, actuators) of the fitted actor, in the step that begins with a sample;
            not a number where none was recorded.
        raw_efforts: likewise, before any clamp.
    """

    name: str
    commands: dict[str, FloatArray]
    step: npt.NDArray[np.int64]
    qpos: FloatArray
    qvel: FloatArray
    has_velocity: bool
    segments: tuple[int, ...] = (0,)
    efforts: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    raw_efforts: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def steps(self) -> int:
        """Physics steps there are commands for."""
        return len(next(iter(self.commands.values())))

    def signal(self, tangent: Tangent, rows: Places | slice, origin: int) -> FloatArray:
        """Positions relative to a sample as tangent vectors, and velocities: (rows, 2 dofs)."""
        positions = tangent.difference(self.qpos[rows], self.qpos[origin])
        return np.concatenate([positions, self.qvel[rows][:, tangent.dofs]], axis=1)


def read_tracks(world: World, actor: str, recordings: Iterable[Recording]) -> list[RecordedTrack]:
    """Check recordings against a world that was just reset, and bring them into its columns.

    Raises:
        FitError: a recording is of another timestep or robot, lacks commands or states, holds
            numbers that are not finite, or its gains change during it.
    """
    found = [_track(world, actor, recording) for recording in recordings]
    if not found:
        raise FitError("there is no recording to fit to")
    return found


def _track(world: World, actor: str, recording: Recording) -> RecordedTrack:
    name = recording.path.name
    if abs(recording.timestep - world.timestep) > 1e-9:
        raise FitError(
            f"{name}: its timestep is {recording.timestep:g} s, the scene's {world.timestep:g} s; "
            f"set sim.timestep to {recording.timestep:g}"
        )
    if actor not in recording.actors:
        hint = suggestion(actor, recording.actors)
        raise FitError(f"{name}: it has no actor {actor!r}; {hint}")
    main = recording.actors[actor]
    keep = _samples(name, main, recording.steps)
    qpos = np.tile(np.asarray(world.data.qpos), (len(keep), 1))
    qvel = np.tile(np.asarray(world.data.qvel), (len(keep), 1))
    commands = {}
    for robot in world.articulations.values():
        share = recording.actors.get(robot.name)
        if share is None:
            continue
        commands[robot.name] = _commands(name, robot, share, recording.steps)
        # Other robots are simulated too; between their samples they keep their last state.
        rows = np.searchsorted(share.step, main.step[keep], side="right") - 1
        _put_states(name, world, robot, share, np.maximum(rows, 0), recording, qpos, qvel)
    step = main.step[keep]
    tables = (None, None) if main.efforts is None else (main.efforts.effort, main.efforts.raw)
    efforts, raw = (_efforts(name, world[actor], main, step, table) for table in tables)
    has_velocity = main.qvel is not None
    return RecordedTrack(
        name, commands, step, qpos, qvel, has_velocity, recording.segments, efforts, raw
    )


def _efforts(
    name: str,
    robot: Articulation,
    share: ActorRecording,
    step: npt.NDArray[np.int64],
    values: FloatArray | None,
) -> FloatArray:
    """(samples, actuators) in the robot's order, not a number where nothing was recorded."""
    found = np.full((len(step), len(robot.actuator_names)), np.nan)
    if values is None or share.efforts is None:
        return found
    _, rows, own = np.intersect1d(share.efforts.step, step, return_indices=True)
    for column, place in enumerate(_places(name, robot, share)):
        found[own, place] = values[rows, column]
    found[~np.isfinite(found)] = np.nan
    return found


def _samples(name: str, share: ActorRecording, steps: int) -> Places:
    """Rows of the state samples that can be simulated to."""
    keep = np.flatnonzero((share.step >= 0) & (share.step <= steps))
    if len(keep) < LEAST_SAMPLES:
        raise FitError(
            f"{name}: {len(keep)} samples of {share.name!r}; a fit needs {LEAST_SAMPLES} or more"
        )
    if share.gain_changes:
        at = share.gain_changes[0].step
        raise FitError(
            f"{name}: the gains of {share.name!r} change at step {at}; "
            "a fit needs recordings with the same gains throughout"
        )
    return keep


def _commands(name: str, robot: Articulation, share: ActorRecording, steps: int) -> FloatArray:
    """(steps, 3, actuators) in the robot's order; what was not recorded keeps its setpoint."""
    given = share.commands
    if given is None or not len(given.step):
        raise FitError(f"{name}: it holds no setpoints of {share.name!r}")
    table = np.tile(robot.setpoints.values, (steps, 1, 1))
    rows = np.maximum(np.searchsorted(given.step, np.arange(steps), side="right") - 1, 0)
    places = _places(name, robot, share)
    for column, (actuator, place) in enumerate(zip(share.actuators, places, strict=True)):
        for row, values in (
            (POSITION, given.position),
            (VELOCITY, given.velocity),
            (FEEDFORWARD, given.feedforward),
        ):
            _refuse_odd(name, f"the setpoint of {actuator!r}", values[:, column], given.step)
            table[:, row, place] = values[rows, column]
    return table


def _places(name: str, robot: Articulation, share: ActorRecording) -> list[int]:
    """The robot's actuator of each recorded one: of the same name, or on the same joint."""
    by_joint = {b.joint: b.actuator for b in robot.actuators if b.joint}
    joints = share.driven or ("",) * len(share.actuators)
    found = []
    for actuator, joint in zip(share.actuators, joints, strict=True):
        own = actuator if actuator in robot.actuator_names else by_joint.get(joint, "")
        if own not in robot.actuator_names:
            hint = suggestion(actuator, robot.actuator_names)
            raise FitError(f"{name}: {robot.name!r} has no actuator {actuator!r}; {hint}")
        found.append(robot.actuator_names.index(own))
    return found


def _put_states(
    name: str,
    world: World,
    robot: Articulation,
    share: ActorRecording,
    rows: Places,
    recording: Recording,
    qpos: FloatArray,
    qvel: FloatArray,
) -> None:
    columns = {j.name: j for j in share.joints}
    model = world.model
    for local, joint in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        kind = KINDS[int(model.jnt_type[joint])]
        own = _joint(name, robot, columns, local, kind)
        q0, v0 = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        positions = share.qpos[:, own.qpos]
        _refuse_odd(name, f"the position of {local!r}", positions, share.step)
        qpos[:, q0 : q0 + positions.shape[1]] = positions[rows]
        if share.qvel is not None:
            speeds = share.qvel[:, own.dof]
            _refuse_odd(name, f"the velocity of {local!r}", speeds, share.step)
            qvel[:, v0 : v0 + speeds.shape[1]] = speeds[rows]
        elif kind in ("hinge", "slide"):
            time = share.step * recording.timestep
            qvel[:, v0] = np.gradient(positions[:, 0], time)[rows]
        else:
            raise FitError(f"{name}: it holds no velocities, and {local!r} is a {kind} joint")


def _joint(
    name: str, robot: Articulation, columns: dict[str, JointColumns], local: str, kind: str
) -> JointColumns:
    if local not in columns and kind == "free":
        raise FitError(
            f"{name}: it has no base pose of {robot.name!r}; fit with the base "
            f"fixed, as it was recorded: {robot.name}.base: fixed"
        )
    if local not in columns:
        hint = suggestion(local, columns, label="it has")
        raise FitError(f"{name}: it has no joint {local!r} of {robot.name!r}; {hint}")
    if columns[local].kind != kind:
        raise FitError(
            f"{name}: {local!r} is a {columns[local].kind} joint there, a {kind} joint in the scene"
        )
    return columns[local]


def _refuse_odd(
    name: str, what: str, values: FloatArray, step: Sequence[int] | npt.NDArray[np.int64]
) -> None:
    odd = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(odd):
        raise FitError(f"{name}: {what} is not a number at step {step[odd[0]]}")


# Windows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FitWindow:
    """A stretch of a track that is simulated from its own initial state.

    Attributes:
        track: index of the track.
        segment: first step of the stretch it lies in; there are no commands from before.
        start: its first physics step.
        length: how many are simulated.
        samples: rows of the track that are compared.
        after: how many steps after `start` each of them is.
    """

    track: int
    segment: int
    start: int
    length: int
    samples: Places
    after: Places


def cut(
    tracks: Sequence[RecordedTrack], length: int | None, multiple: int = 1, skip: int = 0
) -> list[FitWindow]:
    """Windows of about so many steps that cover the tracks; None: one per track.

    They begin at sampled steps that are multiples of `multiple`, `skip` steps after the beginning:
    commands before the start of a recording are unknown, and delays would need them.

    Raises:
        FitError: a track has no such step.
    """
    windows: list[FitWindow] = []
    for i, track in enumerate(tracks):
        for first, end in zip(track.segments, [*track.segments[1:], track.steps + 1], strict=True):
            windows += _cut_segment(i, track, (first, end), length, multiple, skip)
    return windows


def _cut_segment(
    index: int,
    track: RecordedTrack,
    segment: tuple[int, int],
    length: int | None,
    multiple: int,
    skip: int,
) -> list[FitWindow]:
    first, end = segment
    inside = (track.step >= first + skip) & (track.step < min(end, track.steps))
    starts = track.step[inside & ((track.step - first) % multiple == 0)]
    if not len(starts):
        raise FitError(
            f"{track.name}: no sample is at a step in which the controllers run: "
            f"every {multiple} steps from {first} on"
        )
    chosen = [int(starts[0])]
    for start in starts:
        is_due = length is not None and start - chosen[-1] >= length
        if is_due and length is not None and end - start >= length // 2:
            chosen.append(int(start))
    windows = []
    for start, stop in zip(chosen, [*chosen[1:], end], strict=True):
        rows = np.flatnonzero((track.step >= start) & (track.step < stop))
        after = (track.step[rows] - start).astype(np.intp)
        windows.append(FitWindow(index, first, start, max(int(after[-1]), 1), rows, after))
    return windows
