"""Chunk: buffer for some hundred rows of a recording, between the stepping and writing threads."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray, as_slice
from mjrig.readings.effort_log import Columns, EffortLog, StepRows
from mjrig.readings.sampler import BindingReader

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
