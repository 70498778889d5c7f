"""Chunk: room for some hundred rows of a recording, filled by one thread and emptied by another."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.property_kinds import FloatArray
from mjrig.recording.efforts import Columns, EffortLog, Rows

_S = mujoco.mjtState
#: One call copies all of these into a row, in this order.
PARTS = {
    "time": _S.mjSTATE_TIME,
    "qpos": _S.mjSTATE_QPOS,
    "qvel": _S.mjSTATE_QVEL,
    "act": _S.mjSTATE_ACT,
    "ctrl": _S.mjSTATE_CTRL,
}
STATE = int(sum(int(part) for part in PARTS.values()))
#: A chunk is about so large [bytes]; the writer's work per chunk does not depend on that.
CHUNK_BYTES = 1 << 21
LEAST_ROWS, MOST_ROWS = 64, 1024


@dataclass(frozen=True)
class ActorPlan:
    """Where the efforts of one robot's actuators come from.

    `by_ctrl` actuators have effort = factor · ctrl at `addresses`, unless a log says otherwise;
    `direct` ones are what MuJoCo applied, noted after the step.
    """

    by_ctrl: Columns
    addresses: Columns
    factor: FloatArray
    direct: Columns
    logs: Sequence[tuple[EffortLog, slice]] = ()

    def efforts(self, rows: Rows, noted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort (rows, n) of some steps; `noted` (rows, 2, n) is of them."""
        effort = np.zeros((len(noted), noted.shape[2]))
        effort[:, self.by_ctrl] = self.factor * rows.ctrl[rows.first :, self.addresses]
        if len(self.direct):
            effort[:, self.direct] = noted[:, 1, noted.shape[2] - len(self.direct) :]
        raw = effort.copy()
        for log, where in self.logs:
            columns = log.columns
            told = log.efforts(rows, noted[:, :, where], effort[:, columns])
            raw[:, columns], effort[:, columns] = told
        return raw, effort


@dataclass(frozen=True)
class Piece:
    """From a row of the chunk on, this is where efforts come from, robot by robot."""

    row: int
    plans: Sequence[ActorPlan]


@dataclass
class Tick:
    """What a policy saw and gave before one step."""

    actor: int
    step: int
    observation: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    command: FloatArray


class Layout:
    """The widths of everything in a row."""

    def __init__(self, model: Any, actuators: Sequence[int]) -> None:
        sizes = [mujoco.mj_stateSize(model, int(part)) for part in PARTS.values()]
        ends = np.cumsum(sizes)
        #: Column → where it is in a state row.
        self.parts = {
            name: slice(int(end - size), int(end))
            for name, size, end in zip(PARTS, sizes, ends, strict=True)
        }
        self.state = int(ends[-1])
        self.actuators = tuple(actuators)
        self.act = int(model.na)
        row = self.state + self.act + 5 * sum(actuators)
        self.rows = min(max(CHUNK_BYTES // (8 * row), LEAST_ROWS), MOST_ROWS)


@dataclass
class Chunk:
    """Rows of consecutive steps. `count` rows are complete, `written` of them are in the file."""

    layout: Layout
    #: Chunks are written in this order.
    number: int = 0
    count: int = 0
    written: int = 0
    pieces: list[Piece] = field(default_factory=list)
    #: (step, full integration state) before some steps, policy ticks, lines for the log.
    states: deque[tuple[int, FloatArray]] = field(default_factory=deque)
    ticks: deque[Tick] = field(default_factory=deque)
    lines: deque[bytes] = field(default_factory=deque)

    def __post_init__(self) -> None:
        layout = self.layout
        self.state = np.zeros((layout.rows, layout.state))
        self.act_after = np.zeros((layout.rows, layout.act))
        self.setpoints = [np.zeros((layout.rows, 3 * n)) for n in layout.actuators]
        self.noted = [np.zeros((layout.rows, 2, n)) for n in layout.actuators]

    def reuse(self) -> None:
        """Forget everything; the arrays stay."""
        self.count = self.written = 0
        self.pieces = []

    def column(self, name: str, start: int, stop: int) -> FloatArray:
        """Rows of time, qpos, qvel, act or ctrl."""
        return self.state[start:stop, self.layout.parts[name]]

    def efforts(self, actor: int, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort (rows, n) of one robot."""
        raws, efforts = [], []
        ends = [piece.row for piece in self.pieces[1:]] + [stop]
        for piece, end in zip(self.pieces, ends, strict=True):
            begin, end = max(piece.row, start), min(end, stop)
            if begin < end:
                qpos, qvel, ctrl = (
                    self.column(name, piece.row, end) for name in ("qpos", "qvel", "ctrl")
                )
                rows = Rows(qpos, qvel, ctrl, self.act_after[piece.row : end], begin - piece.row)
                raw, effort = piece.plans[actor].efforts(rows, self.noted[actor][begin:end])
                raws.append(raw)
                efforts.append(effort)
        return np.concatenate(raws), np.concatenate(efforts)
