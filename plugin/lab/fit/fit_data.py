"""Recordings prepared for a fit: commands at every step, states to compare with, held-out parts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.core.errors import FitError, hint, option
from mjrig.core.names import listed, suggestion
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import ActorRecording, JointColumns, Recording
from mjrig.data.robot_logs.log_recording import FORMAT, LATE
from mjrig.lab.replay.matching import Match, check_units, joints_of, match_robot

# Tangent ------------------------------------------------------------------------------------------
# Differences of positions as vectors of the size of qvel, over whole arrays at once.


KINDS = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}


@dataclass(frozen=True)
class Tangent:
    """Where the joints of an actor are in qpos and qvel.

    Attributes:
        qpos, dof: addresses of what is a number in both: hinges, slides and places of free bodies.
        turns: (qpos address, dof address) of each quaternion.
        dofs: all degrees of freedom, in the order of differences.
        trees: (dofs,) which of them move together; those of different trees never meet.
    """

    qpos: npt.NDArray[np.intp]
    dof: npt.NDArray[np.intp]
    turns: tuple[tuple[int, int], ...]
    dofs: npt.NDArray[np.intp]
    trees: npt.NDArray[np.intp]

    @classmethod
    def of(cls, model: Any, joints: npt.NDArray[np.intp]) -> "Tangent":
        """The joints of a model with these ids."""
        qpos: list[int] = []
        dof: list[int] = []
        turns: list[tuple[int, int]] = []
        for joint in joints:
            q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            kind = KINDS[int(model.jnt_type[joint])]
            plain = {"free": 3, "ball": 0}.get(kind, 1)
            qpos += range(q, q + plain)
            dof += range(v, v + plain)
            if kind in ("free", "ball"):
                turns.append((q + plain, v + plain))
        every = sorted([*dof, *(v + k for _, v in turns for k in range(3))])
        index = np.intp
        dofs = np.array(every, index)
        trees = np.asarray(model.dof_treeid, index)[dofs] if _are_apart(model) else 0 * dofs
        return cls(np.array(qpos, index), np.array(dof, index), tuple(turns), dofs, trees)

    def __len__(self) -> int:
        return len(self.dofs)

    def difference(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """a − b of arrays (…, nq), as (…, dofs); rotations are in the body frame of b [rad]."""
        found = np.zeros((*np.broadcast_shapes(a.shape, b.shape)[:-1], len(self.dofs)))
        found[..., np.searchsorted(self.dofs, self.dof)] = a[..., self.qpos] - b[..., self.qpos]
        for q, v in self.turns:
            at = int(np.searchsorted(self.dofs, v))
            found[..., at : at + 3] = turned(b[..., q : q + 4], a[..., q : q + 4])
        return found

    def plain(self, qpos: FloatArray) -> FloatArray:
        """Positions (…, nq) as (…, dofs); 0 where a rotation has no such number."""
        found = np.zeros((*qpos.shape[:-1], len(self.dofs)))
        found[..., np.searchsorted(self.dofs, self.dof)] = qpos[..., self.qpos]
        return found

    def moved(self, qpos: FloatArray, by: FloatArray) -> FloatArray:
        """qpos (…, nq) moved by vectors (…, dofs)."""
        found = np.array(np.broadcast_to(qpos, (*by.shape[:-1], qpos.shape[-1])))
        found[..., self.qpos] += by[..., np.searchsorted(self.dofs, self.dof)]
        for q, v in self.turns:
            at = int(np.searchsorted(self.dofs, v))
            found[..., q : q + 4] = turn(found[..., q : q + 4], by[..., at : at + 3])
        return found


def _are_apart(model: Any) -> bool:
    """Whether nothing couples the kinematic trees of a model: the legs of a robot that is held."""
    can_touch = bool((model.geom_contype | model.geom_conaffinity).any()) or model.npair > 0
    if can_touch and not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return False
    on_joints = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)).all()
    return bool(on_joints) and not (model.neq or model.ntendon or model.nflex or model.nplugin)


def turned(a: FloatArray, b: FloatArray) -> FloatArray:
    """The rotation vector that leads from quaternion a to b, in the frame of a."""
    w = np.sum(a * b, axis=-1)
    vector = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(a[..., 1:], b[..., 1:])
    vector = np.where(w[..., None] < 0.0, -vector, vector)
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, np.abs(w)[..., None])
    scaled: FloatArray = vector * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)
    return scaled


def turn(a: FloatArray, by: FloatArray) -> FloatArray:
    """Quaternion a turned by a rotation vector in its own frame, of length 1."""
    angle = np.linalg.norm(by, axis=-1, keepdims=True)
    sine = 0.5 * np.sinc(angle / (2.0 * np.pi)) * by
    w, vector = np.cos(0.5 * angle), a[..., 1:]
    made = np.concatenate(
        [
            a[..., :1] * w - np.sum(vector * sine, axis=-1, keepdims=True),
            a[..., :1] * sine + w * vector + np.cross(vector, sine),
        ],
        axis=-1,
    )
    unit: FloatArray = made / np.linalg.norm(made, axis=-1, keepdims=True)
    return unit


# Fit data -----------------------------------------------------------------------------------------
# Recordings prepared for a fit: commands at every step, and states to compare with.


Places = npt.NDArray[np.intp]
#: A base that moves by no more is held [m, or of its quaternion].
STILL = 1e-3
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
        has_base: whether the pose of a free base was recorded, or there is none.
        notes: what was matched by another name.
        is_real: whether it is the log of a robot, whose drives know no physics steps.
        late: its commands may have been sent by up to this much earlier [s].
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
    has_base: bool = True
    notes: tuple[str, ...] = ()
    is_real: bool = False
    late: float = 0.0

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

    Names are matched as a replay matches them.

    Raises:
        FitError: a recording is of another timestep or robot, lacks commands or states, holds
            numbers that are not finite, or its gains change during it.
        RecordingError: a slide was read in an angle's unit, or a hinge in a length's.
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
    matches = _matched(name, world, actor, recording)
    for pair in matches.values():
        check_units(recording, pair)
    main, whose = matches[actor].recorded, matches[actor]
    has_base = _check_base(name, world, whose)
    keep = _samples(name, main, recording.steps, recording.timestep)
    qpos = np.tile(np.asarray(world.data.qpos), (len(keep), 1))
    qvel = np.tile(np.asarray(world.data.qvel), (len(keep), 1))
    commands = {}
    for robot, match in matches.items():
        commands[robot] = _commands(name, match, recording.steps)
        # Other robots are simulated too; between their samples they keep their last state.
        rows = np.searchsorted(match.recorded.step, main.step[keep], side="right") - 1
        _put_states(name, world, match, np.maximum(rows, 0), recording, qpos, qvel)
    step = main.step[keep]
    tables = (None, None) if main.efforts is None else (main.efforts.effort, main.efforts.raw)
    efforts, raw = (_efforts(name, whose, step, table) for table in tables)
    return RecordedTrack(
        name,
        commands,
        step,
        qpos,
        qvel,
        main.qvel is not None,
        recording.segments,
        efforts,
        raw,
        has_base,
        tuple(f"{name}: {note}" for note in whose.notes),
        recording.format == FORMAT,
        float(recording.attributes.get("log", {}).get(LATE, 0.0)),
    )


def _matched(name: str, world: World, actor: str, recording: Recording) -> dict[str, Match]:
    """Recorded robots by those of the world: of the same name, and the fitted one by its joints."""
    own = {n: share for n, share in recording.actors.items() if n in world.articulations}
    found = {n: match_robot(world, share, world[n]) for n, share in own.items()}
    if actor not in found:
        others = [share for n, share in recording.actors.items() if n not in own]
        tried = [match_robot(world, share, world[actor]) for share in others]
        best = max(tried, key=lambda match: len(match.single), default=None)
        if best is None or not best.single:
            there = listed(j.name for share in recording.actors.values() for j in share.joints)
            here = listed(world[actor].joint_names)
            raise FitError(
                f"{name}: is of another robot than {actor!r}: its joints are {there}; here: {here}"
            )
        note = f"{best.recorded.name!r} is matched to {actor!r} here"
        found[actor] = replace(best, notes=(note, *best.notes))
    return found


def _check_base(name: str, world: World, match: Match) -> bool:
    """Whether the pose of a free base is known; a base that moved cannot be fixed here."""
    bases = [joint for joint in match.recorded.joints if joint.kind == "free"]
    here = {joint.name for joint, _ in match.joints}
    for base in bases:
        if base.name in here:
            continue
        poses = match.recorded.qpos[:, base.qpos]
        moved = float(np.abs(poses - poses[0]).max()) if len(poses) else 0.0
        if not moved <= STILL:
            raise FitError(
                f"{name}: the base of {match.recorded.name!r} moves there, by up to {moved:.2g} m "
                f"or in its quaternion, and is not free in the scene: set {match.robot.name}.base: "
                "free"
            )
    known = {joint.name for _, joint in match.joints}
    return all(j.name in known for j in joints_of(world, match.robot) if j.kind == "free")


def _efforts(
    name: str,
    match: Match,
    step: npt.NDArray[np.int64],
    values: FloatArray | None,
) -> FloatArray:
    """(samples, actuators) in the robot's order, not a number where nothing was recorded."""
    share = match.recorded
    found = np.full((len(step), len(match.robot.actuator_names)), np.nan)
    if values is None or share.efforts is None:
        return found
    _, rows, own = np.intersect1d(share.efforts.step, step, return_indices=True)
    for column, place in enumerate(_places(name, match)):
        found[own, place] = values[rows, column]
    found[~np.isfinite(found)] = np.nan
    return found


def _samples(name: str, share: ActorRecording, steps: int, timestep: float) -> Places:
    """Rows of the state samples that can be simulated to."""
    keep = np.flatnonzero((share.step >= 0) & (share.step <= steps))
    if len(keep) < LEAST_SAMPLES:
        raise FitError(
            f"{name}: {len(keep)} samples of {share.name!r}; a fit needs {LEAST_SAMPLES} or more"
        )
    if share.gain_changes:
        at = share.gain_changes[0].step
        when = at * timestep
        raise FitError(
            f"{name}: the gains of {share.name!r} change at step {at} ({when:.3g} s); a fit needs "
            "the same gains throughout: a part of a log is selected with "
            + hint("span", "[FROM,TO]")
        )
    return keep


def _commands(name: str, match: Match, steps: int) -> FloatArray:
    """(steps, 3, actuators) in the robot's order; what was not recorded keeps its setpoint."""
    share, robot = match.recorded, match.robot
    given = share.commands
    if given is None or not len(given.step):
        raise FitError(f"{name}: it holds no setpoints of {share.name!r}")
    table = np.tile(robot.setpoints.values, (steps, 1, 1))
    rows = np.maximum(np.searchsorted(given.step, np.arange(steps), side="right") - 1, 0)
    places = _places(name, match)
    for column, (actuator, place) in enumerate(zip(share.actuators, places, strict=True)):
        for row, values in (
            (POSITION, given.position),
            (VELOCITY, given.velocity),
            (FEEDFORWARD, given.feedforward),
        ):
            _refuse_odd(name, f"the setpoint of {actuator!r}", values[:, column], given.step)
            table[:, row, place] = values[rows, column]
    return table


def _places(name: str, match: Match) -> list[int]:
    """The robot's actuator of each recorded one."""
    robot = match.robot
    for actuator, column in zip(match.recorded.actuators, match.columns, strict=True):
        if column < 0:
            hint = suggestion(actuator, robot.actuator_names)
            raise FitError(f"{name}: {robot.name!r} has no actuator {actuator!r}; {hint}")
    return [int(column) for column in match.columns]


def _put_states(
    name: str,
    world: World,
    match: Match,
    rows: Places,
    recording: Recording,
    qpos: FloatArray,
    qvel: FloatArray,
) -> None:
    robot, share = match.robot, match.recorded
    columns = {here.name: there for there, here in match.joints}
    model = world.model
    for local, joint in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        kind = KINDS[int(model.jnt_type[joint])]
        if local not in columns and kind == "free":
            continue  # only motion needs it, and says so
        own = _joint(name, robot, share, columns, local)
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
    name: str,
    robot: Articulation,
    share: ActorRecording,
    columns: dict[str, JointColumns],
    local: str,
) -> JointColumns:
    if local not in columns:
        hint = suggestion(local, [j.name for j in share.joints], label="it has")
        raise FitError(f"{name}: it has no joint {local!r} of {robot.name!r}; {hint}")
    return columns[local]


def check_bases(tracks: Sequence[RecordedTrack], actor: str) -> None:
    """Motion of a free robot can only be simulated from the pose of its base.

    Raises:
        FitError: a recording does not have it.
    """
    lacking = next((track.name for track in tracks if not track.has_base), "")
    if lacking:
        raise FitError(
            f"{lacking}: it has no base pose of {actor!r}, which a fit of its motion needs. If the "
            f"robot stood or walked, fit its efforts: "
            + option("evidence", "efforts")
            + f". Only if it was clamped, fix it here too: {actor}.base: fixed"
        )


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


# Held out -----------------------------------------------------------------------------------------
# What of recordings a fit does not see, to be judged by it afterwards.


#: Recordings shorter than this are used whole, unless a share is asked for [s].
SHORTEST = 2.0
#: Where the part that is held out lies: this share of what is left of the recording is before it.
BEFORE = 2.0 / 3.0


def held_out(
    tracks: Sequence[RecordedTrack], windows: Sequence[FitWindow], share: float, multiple: int
) -> tuple[list[FitWindow], list[FitWindow]]:
    """Windows to fit to, and windows to judge by.

    One stretch of each recording is held out, from its inside: the end of a chirp has frequencies
    that are nowhere else.

    Args:
        tracks: the recordings.
        windows: of all of them.
        share: of each recording that is held out.
        multiple: windows begin at steps that are multiples of it after their segment's first.
    """
    fitted: list[FitWindow] = []
    judged: list[FitWindow] = []
    for i in range(len(tracks)):
        own = [w for w in windows if w.track == i]
        step = np.concatenate([tracks[i].step[w.samples] for w in own])
        first = int(np.quantile(step, (1.0 - share) * BEFORE))
        last = int(np.quantile(step, (1.0 - share) * BEFORE + share))
        for window in own:
            parts = split(tracks[i], window, (first, last), multiple)
            for k, part in enumerate(parts):
                if part is not None:
                    (judged if k == 1 else fitted).append(part)
    return fitted, judged


def split(
    track: RecordedTrack, window: FitWindow, inside: tuple[int, int], multiple: int
) -> list[FitWindow | None]:
    """Before, inside and after; None: too little of the window is there."""
    step = track.step[window.samples]
    masks = (step < inside[0], (step >= inside[0]) & (step < inside[1]), step >= inside[1])
    return [_part(track, window, window.samples[mask], multiple) for mask in masks]


def _part(
    track: RecordedTrack, window: FitWindow, samples: object, multiple: int
) -> FitWindow | None:
    rows = np.asarray(samples, dtype=np.intp)
    starts = np.flatnonzero((track.step[rows] - window.segment) % multiple == 0)
    if not len(starts):
        return None
    rows = rows[starts[0] :]
    if len(rows) < min(LEAST_SAMPLES, len(window.samples)):
        return None
    start = int(track.step[rows[0]])
    after = (track.step[rows] - start).astype(np.intp)
    return replace(window, start=start, length=max(int(after[-1]), 1), samples=rows, after=after)
