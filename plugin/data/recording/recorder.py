"""Recorder: records every physics step, component memory and live edits to an HDF5 file."""

import atexit
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.efforts import AppliedEffort, EffortLog
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.control.sampler import BindingReader
from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import reason
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import how_many
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.sim.world import Snapshot, World
from mjrig.data.recording.component_memory import (
    LINES,
    VALUES,
    Arrays,
    StoredMemory,
    UnstorableError,
    encode,
)
from mjrig.data.recording.h5_writer import Column, H5File, line
from mjrig.data.recording.json_values import plain, to_json
from mjrig.data.recording.metadata import (
    about_actor,
    about_world,
    authored_gains_of,
    gains_of,
    policy_of,
)
from mjrig.data.recording.writer_thread import (
    ActorPlan,
    Chunk,
    ChunkLayout,
    Copy,
    Piece,
    Tick,
    Writer,
    copy_into,
)

# Plan ---------------------------------------------------------------------------------------------
# What is copied for one robot in every step, and how efforts are computed from it later.


_logger = logging.getLogger("mjrig")
#: Called with the row, before or after every step.
Note = Callable[[int], None]


@dataclass
class ActorWork:
    """The work of every step for one robot."""

    plan: ActorPlan
    copies: list[Copy] = field(default_factory=list)
    before: list[Note] = field(default_factory=list)
    after: list[Note] = field(default_factory=list)


class ActorNotes:
    """One robot that is recorded, and what was seen of its policy."""

    def __init__(self, index: int, robot: Articulation, policy: PolicyComponent | None) -> None:
        self.index, self.robot, self.policy = index, robot, policy
        self._ticks = -1
        self._sizes = self._policy_sizes()

    def _policy_sizes(self) -> tuple[int, ...]:
        policy = self.policy
        if policy is None:
            return ()
        return policy.observation.size, policy.action.size, policy.command_now.size

    def columns(self, rows: int) -> list[Column]:
        """The datasets of this robot."""
        at, size = f"actors/{self.robot.name}", len(self.robot.actuator_names)
        names = ("setpoint/position", "setpoint/velocity", "setpoint/feedforward")
        columns = [Column(f"{at}/{n}", size, rows=rows) for n in (*names, "effort", "raw_effort")]
        if self.policy is not None:
            columns += [
                Column(f"{at}/policy/step", None, np.int64),
                Column(f"{at}/policy/observation", self._sizes[0], np.float32),
                Column(f"{at}/policy/action", self._sizes[1], np.float32),
                Column(f"{at}/policy/command", self._sizes[2]),
            ]
        return columns

    def note_tick(self, chunk: Chunk, step: int) -> None:
        """Record observation and action of the policy, if it ticked before this step."""
        policy = self.policy
        if policy is None or policy.ticks == self._ticks:
            return
        self._ticks = policy.ticks
        if self._sizes != self._policy_sizes():  # the datasets have the sizes of the first file
            if self._sizes:
                _logger.warning(
                    "%s has another file since t=%g s, with other sizes: its ticks are not "
                    "recorded from there on", policy.label, self.robot.data.time,
                )  # fmt: skip
            self._sizes = ()
        elif self._ticks:
            chunk.ticks.append(
                Tick(
                    self.index,
                    step,
                    policy.observation.astype(np.float32).ravel(),
                    policy.action.astype(np.float32).ravel(),
                    np.array(policy.command_now, dtype=np.float64).ravel(),
                )
            )


def looks_after(robot: Articulation) -> bool:
    """Whether some efforts of a robot are only known after a step."""
    logs = (c.effort_log() for c in robot.controllers if c.enabled and c.is_bound)
    return bool(_direct(robot)) or any(log is not None and log.looks for log in logs)


def _direct(robot: Articulation) -> list[ActuatorBinding]:
    """Actuators of one output that no law can be bound to."""
    bound = {b.actuator_id for b in robot.bindings}
    return [b for b in robot.actuators if b.output_count == 1 and b.actuator_id not in bound]


def work_for(notes: ActorNotes, chunk: Chunk) -> ActorWork:
    """The present effort sources of a robot, and the work they need in every step."""
    robot, i = notes.robot, notes.index
    noted, size = chunk.noted[i], len(robot.actuator_names)
    column = {name: k for k, name in enumerate(robot.actuator_names)}
    table = [b for b in robot.bindings if b.output_count == 1]
    direct = _direct(robot)
    logs: list[tuple[EffortLog, slice]] = []
    work = ActorWork(
        ActorPlan(
            by_ctrl=np.array([column[b.actuator] for b in table], dtype=np.intp),
            reader=BindingReader(table),
            direct=np.array([column[b.actuator] for b in direct], dtype=np.intp),
            logs=logs,
        )
    )
    if size:
        work.copies.append(copy_into(chunk.setpoints[i], robot.setpoints.flat))
    used = 0
    for controller in robot.controllers:
        log = controller.effort_log() if controller.enabled and controller.is_bound else None
        if log is not None:
            where = slice(used, used + len(log.columns))
            used = where.stop
            logs.append((log, where))
            _add_log(work, log, chunk, i, where)
    if direct:
        work.after.append(_applied(robot, direct, noted[:, 1, size - len(direct) :]))
    return work


def _add_log(work: ActorWork, log: EffortLog, chunk: Chunk, actor: int, where: slice) -> None:
    noted, live = chunk.noted[actor][:, :, where], log.live
    if live is not None and live.dtype == noted.dtype:
        work.copies.append(copy_into(chunk.noted[actor], live, where.start))
    elif live is not None:
        work.before.append(lambda k: noted[k, 0].__setitem__(slice(None), live))
    if log.looks:
        work.after.append(lambda k: log.look(noted[k]))


def _applied(robot: Articulation, direct: Sequence[ActuatorBinding], place: FloatArray) -> Note:
    """What MuJoCo applied through actuators no law can be bound to."""
    applied, data = AppliedEffort(direct, robot.actuators), robot.data

    def look(k: int) -> None:
        place[k] = applied(data)

    return look


# Journal ------------------------------------------------------------------------------------------
# Journal of live edits during a recording, and the gains they led to.


class Journal:
    """Watches the components of some robots.

    Args:
        robots: whose components.
        on_edit: called when a property changed.
    """

    def __init__(self, robots: Sequence[Articulation], on_edit: Callable[[], None]) -> None:
        self._robots, self._on_edit = robots, on_edit
        self._edits: list[tuple[HasProperties, str]] = []
        self._components: list[HasProperties] = []
        self._unwatch: list[Callable[[], None]] = []
        # What is in force at the first step and is not the robot's own is the first change.
        self._gains = {r.name: authored_gains_of(r) for r in robots}
        self._watch()

    def close(self) -> None:
        """Stop watching."""
        for stop_watching in self._unwatch:
            stop_watching()
        self._unwatch = []

    def news(self) -> list[dict[str, object]]:
        """Changes since the last call: components, properties as authored, gains in force."""
        entries: list[dict[str, object]] = []
        if [c for robot in self._robots for c in robot.components] != self._components:
            self._watch()
            labels = {r.name: [c.label for c in r.components] for r in self._robots}
            entries.append({"components": labels})
        edits, self._edits = self._edits, []
        written = {f"{obj.label}.{name}": obj.to_data().get(name) for obj, name in edits}
        entries += [{"path": path, "value": plain(value)} for path, value in written.items()]
        gains = self._all_gains()
        for name, now in gains.items():
            if now != self._gains[name]:
                entries.append({"actor": name, "gains": now})
        self._gains = gains
        return entries

    def _watch(self) -> None:
        self.close()
        self._components = [c for robot in self._robots for c in robot.components]
        self._unwatch = [component.watch(self._note) for component in self._components]

    def _note(self, obj: HasProperties, names: tuple[str, ...]) -> None:
        self._edits += [(obj, name) for name in names]
        self._on_edit()

    def _all_gains(self) -> dict[str, dict[str, list[Any]]]:
        return {r.name: {n: to_json(v) for n, v in gains_of(r).items()} for r in self._robots}


# World memory -------------------------------------------------------------------------------------


#: The part of the world itself, besides its actors.
WORLD = ""
#: Fields of a snapshot that are in this part.
ENGINE = ("forces", "sensordata", "sleep")


def stored_memory(world: World, step: int) -> StoredMemory:
    """The memory of every component, as it is now."""
    unknown: dict[str, str] = {}
    snapshot, arrays = world.snapshot(unknown), Arrays()
    parts: dict[str, Any] = {}
    for name, value in _parts_of(world, snapshot):
        if name in unknown:
            continue
        try:
            parts[name] = encode(value, name, arrays)
        except UnstorableError as error:
            unknown[name] = str(error)
    return StoredMemory(step, parts, arrays, unknown)


def _parts_of(world: World, snapshot: Snapshot) -> Iterable[tuple[str, Any]]:
    yield WORLD, {name: getattr(snapshot, name) for name in ENGINE}
    for name, robot in world.articulations.items():
        memory = dict(snapshot.actors[name])
        components = zip(
            robot.components,
            memory.pop("owned"),
            memory.pop("signatures"),
            memory.pop("components"),
            strict=True,
        )
        yield name, memory
        for component, owned, signature, its_memory in components:
            yield f"{name}.{component._role}", (owned, signature, its_memory)


# Recorder -----------------------------------------------------------------------------------------


_INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)


class _Cursor:
    """The row that is written next; apart, as assigning an attribute of the recorder is a call."""

    __slots__ = ("row",)

    def __init__(self) -> None:
        self.row = 0


class Recorder(CheckedAttributes):
    """Records a world from `start` to `stop`, or for the length of a `with` block.

    Row k is the state before the k-th step since the start, with the setpoints, ctrl and efforts of
    that step; steps are taken one by one meanwhile. A `reset` or `restore` begins a new segment:
    time jumps, the count of rows goes on. Call all methods from the
    thread that steps the world.

    Args:
        world: what is recorded.
        path: an `.h5` file.
        overwrite: replace a file that exists.

    Raises:
        RecordingError: the file exists or cannot be written.
        MissingExtraError: h5py is not installed.
    """

    #: Whether `after_step` is to be called after every step.
    looks_after: bool = False
    #: Whether the memory of the components is to be recorded before the next step.
    _awaits_memory: bool = False

    def __init__(self, world: World, path: str | Path, *, overwrite: bool = False) -> None:
        self._world, self._path = world, Path(path)
        self._overwrite = overwrite
        self._writer: Writer | None = None
        self._recording = False
        self._first, self._cursor = 0, _Cursor()
        self._error: RecordingError | None = None
        self._after: tuple[Note, ...] = ()

    # What it is ---------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def steps(self) -> int:
        """Physics steps recorded so far."""
        return self._first + self._cursor.row

    @property
    def extent(self) -> str:
        """How much was recorded so far, as text."""
        seconds = self.steps * self._world.timestep
        return f"{seconds:.4g} s ({how_many(self.steps, 'step')})"

    @property
    def is_recording(self) -> bool:
        """Whether it is recording now."""
        return self._recording

    @property
    def error(self) -> RecordingError | None:
        """The write error that ended the recording, if any. `stop` raises it."""
        return self._error

    # Start and stop -----------------------------------------------------------------------------

    def start(self) -> Self:
        """Begin with the next step.

        Raises:
            RecordingError: the world is recorded already, or the file cannot be written.
        """
        world = self._world
        if world.notes is not None:
            other = getattr(world.notes, "path", "another recorder")
            raise RecordingError(f"{self._path}: the world is recorded already, to {other}")
        if self._writer is not None:
            raise RecordingError(f"{self._path}: was recorded already; make a new Recorder")
        self._model, self._data = world.model, world.data
        robots = [r for r in world.articulations.values() if r.joint_names or r.actuators]
        layout = ChunkLayout(world.data, [len(r.actuator_names) for r in robots])
        self._actors = [ActorNotes(i, r, policy_of(r)) for i, r in enumerate(robots)]
        columns, attributes = self._columns(layout.rows), self._attributes(robots)
        file = H5File(self._path, columns, attributes, overwrite=self._overwrite)
        self._writer = Writer(file, layout, [r.name for r in robots])
        self._chunk: Chunk = self._writer.current
        self._rows = layout.rows
        self._state_size = mujoco.mj_stateSize(self._model, _INTEGRATION)
        self._state_every = max(1, round(1.0 / world.timestep))
        self._next_state = self._state_row = 0
        self._segment_began: str | None = None
        self._journal = Journal(robots, self._look_again)
        self._recording = self._stale = self._awaits_memory = True
        world.take_notes(self)
        atexit.register(self._stop_quietly)
        return self

    def _columns(self, rows: int) -> list[Column]:
        model = self._model
        columns = [
            Column("time", None, rows=rows),
            Column("qpos", int(model.nq), rows=rows),
            Column("qvel", int(model.nv), rows=rows),
            Column("act", int(model.na), rows=rows),
            Column("ctrl", int(model.nu), rows=rows),
            Column("states/step", None, np.int64),
            Column("states/state", mujoco.mj_stateSize(model, _INTEGRATION)),
            Column(LINES, None, np.uint8),
            Column(VALUES, None, np.uint8),
            Column("log", None, np.uint8),
        ]
        return columns + [column for notes in self._actors for column in notes.columns(rows)]

    def _attributes(self, robots: list[Articulation]) -> dict[str, dict[str, object]]:
        actors = {f"actors/{r.name}": about_actor(self._world, r) for r in robots}
        return {"": about_world(self._world, self._path), "actors": {}, **actors}

    def stop(self) -> None:
        """End the recording with the state as it is now, and close the file.

        Raises:
            RecordingError: not everything could be written.
        """
        if self._recording and self._writer is not None:
            self._detach()
            names = ("time", "qpos", "qvel", "act")
            last = {name: np.array([getattr(self._data, name)]) for name in names}
            self._writer.finish(last, [line({"step": self.steps, "end": True})])
            self._note_failure()
        if self._error is not None:
            raise self._error

    def _stop_quietly(self) -> None:
        try:
            self.stop()
        except RecordingError as error:
            _logger.error("%s", error)

    def _detach(self) -> None:
        self._recording = False
        atexit.unregister(self._stop_quietly)
        self._journal.close()
        if self._world.notes is self:
            self._world.take_notes(None)

    def _note_failure(self) -> None:
        writer = self._writer
        if writer is not None and writer.error is not None and self._error is None:
            self._error = RecordingError(
                f"{self._path}: cannot be written any more: {reason(writer.error)}; "
                f"it ends after {how_many(writer.rows, 'step')}"
            )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.stop()
        if isinstance(error, KeyboardInterrupt):  # who ended it wants to know what there is
            error.args = (*error.args, f"{self._path} holds {self.extent}")

    # Every step ---------------------------------------------------------------------------------

    def before_controls(self) -> None:
        """Record what the components remember, before they run in the first step of a segment."""
        if self._awaits_memory:
            if self._recording:
                self._chunk.memories.append(stored_memory(self._world, self.steps).encoded())
            self._awaits_memory = False

    def before_step(self) -> None:
        """Record the state before a step, and the commands in it."""
        if self._stale and not self._begin_piece():
            return
        cursor = self._cursor
        k = cursor.row
        self._times[k] = self._data.time
        for source, target, stride, width in self._copies:
            start = k * stride
            target[start : start + width] = source
        for note in self._before:
            note(k)
        if k == self._state_row:
            self._note_state()
        cursor.row = k = k + 1
        if not self._after:  # as `_close_row`, without the call
            self._chunk.count = k
            if k == self._rows:
                self._next_chunk()

    def after_step(self) -> None:
        """Record what is only known after a step; called if `looks_after`."""
        if self._chunk.count < self._cursor.row:
            for look in self._after:
                look(self._cursor.row - 1)
            self._close_row()

    def _close_row(self) -> None:
        self._chunk.count = self._cursor.row
        if self._cursor.row == self._rows:
            self._next_chunk()

    def _next_chunk(self) -> None:
        writer = self._writer
        assert writer is not None
        if writer.error is not None:
            self._give_up(writer)
            return
        self._chunk = writer.hand_over()
        self._first += self._cursor.row
        self._cursor.row = 0
        self._stale = True

    def _give_up(self, writer: Writer) -> None:
        """Stop recording; the simulation continues."""
        self._note_failure()
        _logger.error("%s", self._error)
        self._detach()
        self._stale, self._after = True, ()
        writer.finish({}, [])

    def _note_state(self) -> None:
        state: FloatArray = np.empty(self._state_size)
        mujoco.mj_getState(self._model, self._data, state, _INTEGRATION)
        self._chunk.states.append((self.steps, state))
        self._next_state = self.steps + self._state_every
        self._state_row = self._next_state - self._first

    # Between steps ------------------------------------------------------------------------------

    def plan_changed(self) -> None:
        """Components were added, removed or run differently."""
        self._stale = True
        self.looks_after = self._model.na > 0 or any(looks_after(n.robot) for n in self._actors)

    def state_replaced(self, why: str) -> None:
        """A new segment begins; after a divergence, in the middle of a step."""
        if self._chunk.count < self._cursor.row:
            self._close_row()
        self._segment_began = why
        self._stale = self._awaits_memory = True

    def _look_again(self) -> None:
        self._stale = True

    def _begin_piece(self) -> bool:
        """Something changed since the last row: find all sources again.

        False: the recording has ended.
        """
        if not self._recording:
            return False
        self._stale = False
        chunk, k = self._chunk, self._cursor.row
        if self._segment_began is not None:
            if self.steps:
                self._say({"segment": self._segment_began})
            self._segment_began = None
            self._next_state = self.steps
        for entry in self._journal.news():
            self._say(entry)
        work = [work_for(notes, chunk) for notes in self._actors]
        widths = chunk.layout.state.items()
        state = [copy_into(chunk.state[n], getattr(self._data, n)) for n, width in widths if width]
        self._times = memoryview(chunk.time)  # type: ignore[arg-type]
        self._copies = (*state, *(copy for w in work for copy in w.copies))
        self._before = tuple(note for w in work for note in w.before)
        self._before += tuple(self._tick_noter(n) for n in self._actors if n.policy is not None)
        self._after = tuple(note for w in work for note in w.after)
        if self._model.na:
            self._after += (self._look_at_activations,)
        if chunk.pieces and chunk.pieces[-1].row == k:
            chunk.pieces.pop()
        chunk.pieces.append(Piece(k, [w.plan for w in work]))
        self._state_row = self._next_state - self._first
        return True

    def _tick_noter(self, notes: ActorNotes) -> Note:
        return lambda k: notes.note_tick(self._chunk, self._first + k)

    def _look_at_activations(self, k: int) -> None:
        self._chunk.act_after[k] = self._data.act

    def _say(self, entry: dict[str, object]) -> None:
        self._chunk.lines.append(line({"step": self.steps, **entry}))
