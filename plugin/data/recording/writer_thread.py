"""Writer thread of a recording and its buffers, so that stepping does not wait for the disk."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, as_slice
from mjrig.core.control.efforts import Columns, EffortLog, StepRows
from mjrig.core.control.sampler import BindingReader
from mjrig.data.recording.component_memory import LINES, VALUES
from mjrig.data.recording.h5_writer import H5File

# Chunk --------------------------------------------------------------------------------------------


#: Fields of MjData recorded for the whole world, besides the time.
STATE = ("qpos", "qvel", "act", "ctrl")
#: (source, target, stride, width): row k of the target begins at k · stride. Slices of memoryviews
#: are the fastest way to copy a few numbers.
Copy = tuple[Any, Any, int, int]


def copy_into(target: FloatArray, source: FloatArray, first: int = 0) -> Copy:
    """How to copy an array into rows (rows, …) of another, from column `first` on."""
    flat = memoryview(target.reshape(-1))  # type: ignore[arg-type]
    stride = flat.nbytes // flat.itemsize // len(target)
    return memoryview(source), flat[first:], stride, len(source)  # type: ignore[arg-type]


#: A chunk is about so large [bytes]; the writer's work per chunk does not depend on that.
CHUNK_BYTES = 1 << 22
LEAST_ROWS, MOST_ROWS = 64, 2048


@dataclass(frozen=True)
class ActorPlan:
    """Where the efforts of one robot's actuators come from.

    `by_ctrl` actuators have the effort that ctrl asks for, unless a log overrides it; `reader`
    has their addresses. `direct` ones have what MuJoCo applied, read after the step.
    """

    by_ctrl: Columns
    reader: BindingReader
    direct: Columns
    logs: Sequence[tuple[EffortLog, slice]] = ()

    def efforts(self, rows: StepRows, noted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort (rows, n) of some steps; `noted` (rows, 2, n) is of them."""
        effort = np.zeros((len(noted), noted.shape[2]))
        effort[:, as_slice(self.by_ctrl)] = self.reader.commanded_effort(rows.ctrl[rows.first :])
        if len(self.direct):
            effort[:, self.direct] = noted[:, 1, noted.shape[2] - len(self.direct) :]
        raw = effort.copy()
        for log, where in self.logs:
            columns = as_slice(log.columns)
            efforts = log.efforts(rows, noted[:, :, where], effort[:, columns])
            raw[:, columns], effort[:, columns] = efforts
        return raw, effort


@dataclass(frozen=True)
class Piece:
    """Effort sources of each robot, valid from a row of the chunk on."""

    row: int
    plans: Sequence[ActorPlan]


@dataclass
class Tick:
    """Observation and action of a policy before one step."""

    actor: int
    step: int
    observation: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    command: FloatArray


class ChunkLayout:
    """The widths of everything in a row."""

    def __init__(self, data: Any, actuators: Sequence[int]) -> None:
        #: Numbers of each part of the state.
        self.state = {name: len(getattr(data, name)) for name in STATE}
        self.actuators = tuple(actuators)
        row = 1 + sum(self.state.values()) + 7 * sum(actuators)
        self.rows = min(max(CHUNK_BYTES // (8 * row), LEAST_ROWS), MOST_ROWS)
        #: Upper bound on a chunk's size in the file, full states and policy ticks included.
        self.file_bytes = 10 * row * self.rows


@dataclass
class Chunk:
    """Rows of consecutive steps. `count` rows are complete, `written` of them are in the file."""

    layout: ChunkLayout
    #: Chunks are written in this order.
    number: int = 0
    count: int = 0
    written: int = 0
    pieces: list[Piece] = field(default_factory=list)
    #: (step, full integration state) before some steps, policy ticks, lines for the log.
    states: deque[tuple[int, FloatArray]] = field(default_factory=deque)
    ticks: deque[Tick] = field(default_factory=deque)
    lines: deque[bytes] = field(default_factory=deque)
    #: What the components remembered before some steps: a line, and the bytes of its arrays.
    memories: deque[tuple[bytes, bytes]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        layout = self.layout
        self.time = np.zeros(layout.rows)
        self.state = {name: np.zeros((layout.rows, n)) for name, n in layout.state.items()}
        self.act_after = np.zeros((layout.rows, layout.state["act"]))
        self.setpoints = [np.zeros((layout.rows, 3 * n)) for n in layout.actuators]
        self.noted = [np.zeros((layout.rows, 2, n)) for n in layout.actuators]
        #: (raw, effort) of the rows that are written, of each robot.
        self._efforts = [np.zeros((2, layout.rows, n)) for n in layout.actuators]

    def reuse(self) -> None:
        """Clear the contents; the arrays are kept."""
        self.count = self.written = 0
        self.pieces = []

    def work_out(self, actor: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort (all rows, n) of one robot; those before `stop` are right."""
        start, found = self.written, self._efforts[actor]
        pieces = list(self.pieces)  # another thread may be appending
        ends = [piece.row for piece in pieces[1:]] + [stop]
        for piece, next_row in zip(pieces, ends, strict=True):
            begin, end = max(piece.row, start), min(next_row, stop)
            if begin < end:
                known = slice(piece.row, end)
                qpos, qvel, ctrl = (self.state[name][known] for name in ("qpos", "qvel", "ctrl"))
                rows = StepRows(qpos, qvel, ctrl, self.act_after[known], begin - piece.row)
                raw, effort = piece.plans[actor].efforts(rows, self.noted[actor][begin:end])
                found[0, begin:end], found[1, begin:end] = raw, effort
        return found[0], found[1]


# Writer -------------------------------------------------------------------------------------------


T = TypeVar("T")

#: Chunks in flight; when all are full the simulation waits.
CHUNKS = 4
#: Recorded rows reach the file within this time [s of wall time].
EVERY = 0.4


class Writer:
    """Writes chunks in order, and the unfinished one at regular intervals.

    Args:
        file: an open file; the writer closes it.
        layout: of the chunks.
        actors: their names, in the order of the layout.
    """

    def __init__(self, file: H5File, layout: ChunkLayout, actors: list[str]) -> None:
        self._file, self._actors = file, actors
        self._full: Queue[Chunk | None] = Queue()
        self._free: Queue[Chunk] = Queue()
        for _ in range(CHUNKS - 1):
            self._free.put(Chunk(layout))
        #: The chunk that is being filled.
        self.current = Chunk(layout)
        #: Why nothing can be written any more.
        self.error: BaseException | None = None
        #: Steps in the file.
        self.rows = 0
        self._wanted = 0
        #: Bytes of memories in the file, which no layout knows beforehand.
        self._memory_bytes = 0
        self._flushed = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="mjrig recording", daemon=True)
        self._thread.start()

    def hand_over(self) -> Chunk:
        """Hand over the current chunk; returns the next one, after a wait if the disk is slow."""
        full = self.current
        fresh = self._free.get()
        fresh.reuse()
        fresh.number = full.number + 1
        self.current = fresh
        self._full.put(full)
        return fresh

    def finish(self, last: dict[str, Any], lines: list[bytes]) -> None:
        """Write what is left, one more row of some columns and the end of the log; close the file.

        A failure is in `error`.
        """
        self._full.put(self.current)
        self._full.put(None)
        self._thread.join()
        try:
            if self.error is None:
                for name, row in last.items():
                    self._file.append(name, row)
                self._file.append_lines(lines)
            self._file.close()
        except Exception as error:
            self.error = self.error or error

    def _run(self) -> None:
        while True:
            try:
                chunk = self._full.get(timeout=EVERY)
            except Empty:
                self._attempt(self.current, flush=True)
                continue
            if chunk is None:
                return
            self._attempt(chunk, flush=time.monotonic() - self._flushed > EVERY)
            self._wanted = chunk.number + 1
            self._free.put(chunk)

    def _attempt(self, chunk: Chunk, flush: bool) -> None:
        if self.error is not None or chunk.number != self._wanted:
            return
        try:
            memories = _drained(chunk.memories)
            self._memory_bytes += sum(len(line) + len(values) for line, values in memories)
            rows = (chunk.number + 1) * chunk.layout.file_bytes
            self._file.reserve(rows + self._memory_bytes)
            # Values first: a line that is in the file has its values there.
            for column, texts in (
                (VALUES, [v for _, v in memories]),
                (LINES, [m for m, _ in memories]),
            ):
                self._file.append(column, np.frombuffer(b"".join(texts), np.uint8))
            self._write(chunk)
            if flush:
                self._file.flush()
                self._flushed = time.monotonic()
        except Exception as error:  # any error must reach the stepping thread
            self.error = error

    def _write(self, chunk: Chunk) -> None:
        start, stop = chunk.written, chunk.count
        # What a reader needs in order to interpret the rows goes first.
        self._file.append_lines(_drained(chunk.lines))
        if start == stop:
            return
        self._put(chunk, "time", chunk.time, stop)
        for name, block in chunk.state.items():
            self._put(chunk, name, block, stop)
        for i, actor in enumerate(self._actors):
            if chunk.layout.actuators[i]:
                self._write_actor(chunk, i, f"actors/{actor}", stop)
        chunk.written = stop
        self.rows = chunk.number * chunk.layout.rows + stop
        append = self._file.append
        if states := _drained(chunk.states):
            append("states/step", np.array([step for step, _ in states]))
            append("states/state", np.array([state for _, state in states]))
        ticks = _drained(chunk.ticks)
        for i, actor in enumerate(self._actors):
            self._write_ticks(actor, [tick for tick in ticks if tick.actor == i])

    def _put(self, chunk: Chunk, name: str, block: FloatArray, stop: int) -> None:
        self._file.put_block(name, chunk.number, block, stop)

    def _write_actor(self, chunk: Chunk, i: int, at: str, stop: int) -> None:
        setpoints = chunk.setpoints[i].reshape(chunk.layout.rows, 3, -1)
        for k, name in enumerate(("position", "velocity", "feedforward")):
            self._put(chunk, f"{at}/setpoint/{name}", setpoints[:, k], stop)
        raw, effort = chunk.work_out(i, stop)
        self._put(chunk, f"{at}/effort", effort, stop)
        self._put(chunk, f"{at}/raw_effort", raw, stop)

    def _write_ticks(self, actor: str, ticks: list[Tick]) -> None:
        if ticks:
            append = self._file.append
            append(f"actors/{actor}/policy/step", np.array([t.step for t in ticks]))
            append(f"actors/{actor}/policy/observation", np.array([t.observation for t in ticks]))
            append(f"actors/{actor}/policy/action", np.array([t.action for t in ticks]))
            append(f"actors/{actor}/policy/command", np.array([t.command for t in ticks]))


def _drained(items: deque[T]) -> list[T]:
    """Empty the list while another thread may be appending."""
    return [items.popleft() for _ in range(len(items))]
