"""Writer thread of a recording, so that stepping does not wait for the disk."""

import threading
import time
from collections import deque
from queue import Empty, Queue
from typing import Any, TypeVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.recording.chunk import Chunk, ChunkLayout, Tick
from mjrig.recording.h5_file import H5File
from mjrig.recording.memory.stored_memory import LINES, VALUES

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
