"""Reader of the HDF5 files of `Recorder`, finished or not.

HDF5 opens unfinished files in its single-writer-multiple-reader mode only, and there it reads
damaged sections over and over again, for hours. The flushed data are consistent, so it is enough
to state in the first block of the file, the superblock, that it has no writer, and where the file
ends.
"""

import io
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import Plant
from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.checks import (
    check_increasing,
    number_column,
    positive,
    required,
    step_column,
)
from mjrig.data.recording.component_memory import LINES, VALUES, StoredMemory, decode_memories
from mjrig.data.recording.h5_columns import H5Columns, open_h5
from mjrig.data.recording.h5_writer import FORMAT, VERSION
from mjrig.data.recording.json_values import NUMBER, PLANT, Shape, check_shape, from_json
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    GainChange,
    IntegrationStates,
    JointColumns,
    PolicyTicks,
    RecordedCommands,
    Recording,
)

# Unfinished ---------------------------------------------------------------------------------------
# HDF5 files whose writer was killed or is still writing, seen as finished ones.
#
# HDF5 itself opens them in its single-writer-multiple-reader mode only, and there it reads damaged
# parts over and over again, for hours. What the writer flushed is consistent, so it is enough to
# say in the first block of the file, the superblock, that nobody writes, and that the file ends
# where it ends.


SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: Places in a superblock: version (3), size of an address, flags, end of the file, checksum.
_VERSION, _ADDRESS, _FLAGS, _END, _CHECKSUM, _SIZE = 8, 9, 11, 28, 44, 48
#: Flags: a writer is open, and allows concurrent readers.
_WRITING, _READABLE = 1, 4
_MASK = 0xFFFFFFFF


def head_of(path: Path) -> bytes:
    """The superblock, or what there is of it."""
    with path.open("rb") as stream:
        return stream.read(_SIZE)


def is_unfinished(head: bytes) -> bool:
    """Whether a writer did not close the file."""
    return len(head) == _SIZE and head[_VERSION] >= 3 and bool(head[_FLAGS] & _WRITING)


def is_readable(head: bytes) -> bool:
    """Whether the writer of an unfinished file came so far that there is something to read."""
    return bool(head[_FLAGS] & _READABLE) and head[_ADDRESS] == 8


def is_whole(head: bytes) -> bool:
    """Whether the superblock has its checksum."""
    return int.from_bytes(head[_CHECKSUM:], "little") == lookup3(head[:_CHECKSUM])


class FinishedView(io.RawIOBase):
    """A file to read from, whose superblock says that it is finished.

    Args:
        path: an unfinished file with a whole superblock.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        head = bytearray(self._file.read(_SIZE))
        head[_FLAGS] &= ~(_WRITING | _READABLE)
        head[_END : _END + 8] = os.fstat(self._file.fileno()).st_size.to_bytes(8, "little")
        self._head = bytes(head[:_CHECKSUM]) + lookup3(bytes(head[:_CHECKSUM])).to_bytes(
            4, "little"
        )

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: object) -> int:
        place = self._file.tell()
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        count = self._file.readinto(view) or 0
        if place < _SIZE:
            part = self._head[place : place + count]
            view[: len(part)] = part
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def lookup3(data: bytes) -> int:
    """The checksum of HDF5's own records: Bob Jenkins' hash `lookup3`."""
    a = b = c = (0xDEADBEEF + len(data)) & _MASK
    words = [
        int.from_bytes(data[i : i + 4].ljust(4, b"\0"), "little") for i in range(0, len(data), 4)
    ]
    words += [0] * (-len(words) % 3)
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & _MASK, (b + words[i + 1]) & _MASK, (c + words[i + 2]) & _MASK
        if i + 3 < len(words):
            a, b, c = _mixed(a, b, c)
    return _last_mixed(a, b, c) if words else c


def _turned(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for by in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _MASK) ^ _turned(c, by)
        c = (c + b) & _MASK
        a, b, c = b, c, a
    return a, b, c


def _last_mixed(a: int, b: int, c: int) -> int:
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _turned(b, by)) & _MASK
        a, b, c = b, c, a
    return b


# H5 reading ---------------------------------------------------------------------------------------


#: A file that is being written may change while it is read; then it is read again.
_ATTEMPTS, _RECENT = 5, 1.0
SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
Log = list[dict[str, Any]]
#: Attributes of an actor, and a line of the log.
_FACTS: Shape = {
    "joints": [{"name": str, "kind": str, "qpos": int, "dof": int}],
    "actuators": [{"name": str, "joint": str, "outputs": int, "inputs": list | int, "ctrl": int}],
    "gains": {str: [NUMBER]},
    "plant": PLANT,
    "act": [int],
    "ctrl": (int, int),
    "policy": dict | None,
}
_ENTRY: Shape = {"step": int, "gains?": {str: [NUMBER]}}
_TEXTS = ("execution", "requested_execution", "scene", "scene_file", "scene_folder", "model_hash")


def read_h5(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A recording in mjrig's HDF5 format; None: another format.

    Raises:
        RecordingError: it is broken; names the column and the row.
    """
    del hints  # the file is self-contained
    for _ in range(_ATTEMPTS - 1):
        try:
            return _read(path)
        except RecordingError:
            if not is_unfinished(head_of(path)) or time.time() - path.stat().st_mtime > _RECENT:
                raise
        time.sleep(0.05)
    return _read(path)


def _read(path: Path) -> Recording | None:
    with opened(path) as file:
        return None if file is None else _H5Reader(path, file).read()


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The open file of a recording, finished or not; None: another format.

    Raises:
        RecordingError: it cannot be opened, or HDF5 fails on it.
    """
    head = head_of(path)
    if not head.startswith(SIGNATURE):
        yield None
        return
    with ExitStack() as source:
        with decoding(path):
            stream = None
            if is_unfinished(head):
                if not is_readable(head):
                    raise RecordingError(
                        f"{path}: is damaged: its writer ended before the first row"
                    )
                if not is_whole(head):
                    raise RecordingError(f"{path}: is damaged: its first block has changed")
                stream = source.enter_context(FinishedView(path))
            file = source.enter_context(open_h5(path, stream))
            stored = file.attrs.get("format")
        yield file if isinstance(stored, str) and stored == FORMAT else None


class _H5Reader:
    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._columns = path, H5Columns(path, file)

    def read(self) -> Recording:
        path, attrs = self._path, self._group("").attrs
        version = self._whole(attrs, "version")
        if version > VERSION:
            raise RecordingError(f"{path}: has version {version}; this mjrig reads up to {VERSION}")
        for group in self._columns.damaged_groups():
            where = f" of {group}" if group else ""
            raise RecordingError(f"{path}: is damaged: the attributes{where} have changed")
        names = list(self._group("actors"))
        facts = {name: self._facts(name) for name in names}
        steps, states = self._counts(facts)
        log = self._log(steps)
        ended = any("end" in entry for entry in log)
        actors = {n: self._actor(n, facts[n], steps, states, log) for n in names}
        breaks = [e for e in log if "segment" in e]
        breaks += self._divergences(steps, {int(e["step"]) for e in breaks})
        known: dict[str, Any] = {n: self._attribute(attrs, n) for n in _TEXTS}
        known["seed"] = self._whole(attrs, "seed")
        known["versions"] = self._json(attrs, "versions")
        known["gains"] = {n: facts[n]["gains"] for n in names}
        known["finished"] = ended
        known["edits"] = [e for e in log if "path" in e or "components" in e]
        known["segments"] = sorted(breaks, key=lambda e: int(e["step"]))
        return Recording(
            path=path,
            format=FORMAT,
            timestep=positive(path, "timestep", self._attribute(attrs, "timestep")),
            steps=steps,
            actors=actors,
            states=self._states(steps),
            attributes=known,
            notes=() if ended else ("it was not finished: the last second may be missing",),
            segments=tuple(sorted({0, *(int(e["step"]) for e in breaks)})),
            memories=self._memories(steps),
        )

    def _group(self, name: str) -> Any:
        return required(self._path, self._columns.groups, name)

    def _divergences(self, steps: int, known: set[int]) -> Log:
        """Where MuJoCo reset itself in the middle of a run: its clock jumps back."""
        clock = self._column("time", None, steps)
        found = (np.flatnonzero(np.diff(clock) <= 0.0) + 1).tolist()
        return [{"step": step, "segment": "divergence"} for step in found if step not in known]

    def _attribute(self, attrs: Any, name: str) -> Any:
        with decoding(self._path, f"the attribute {name}"):
            value = required(self._path, dict(attrs), name)
            return value.decode() if isinstance(value, bytes) else value

    def _whole(self, attrs: Any, name: str) -> int:
        value = self._attribute(attrs, name)
        if not isinstance(value, int | np.integer):
            raise RecordingError(f"{self._path}: {name}: must be a whole number, got {value!r:.60}")
        return int(value)

    def _json(self, attrs: Any, name: str) -> Any:
        with decoding(self._path, f"the attribute {name} is not JSON"):
            return json.loads(self._attribute(attrs, name))

    def _facts(self, actor: str) -> dict[str, Any]:
        attrs = self._group(f"actors/{actor}").attrs
        names = ("joints", "actuators", "gains", "plant", "act", "ctrl")
        facts = {name: self._json(attrs, name) for name in names}
        facts["policy"] = self._json(attrs, "policy") if "policy" in attrs else None
        check_shape(self._path, f"actors/{actor}", facts, _FACTS)
        facts["columns"] = [a for a in facts["actuators"] if a["outputs"] == 1]
        return facts

    def _counts(self, facts: Mapping[str, Any]) -> tuple[int, int]:
        """Steps, and rows of state: one more if the recording was finished."""
        states = [len(required(self._path, self._columns, n)) for n in ("time", "qpos", "qvel")]
        stepwise = [n for n in self._columns if n == "ctrl" or n.startswith("actors/")]
        rows = [len(self._columns[n]) for n in stepwise if "/policy/" not in n]
        for actor, known in facts.items():
            if known["columns"]:
                for name in ("setpoint/position", "effort"):
                    required(self._path, self._columns, f"actors/{actor}/{name}")
        steps = min([*rows, *states])
        return steps, min(steps + 1, *states)

    def _log(self, steps: int) -> list[dict[str, Any]]:
        text = bytes(required(self._path, self._columns, "log")[:]).decode(errors="replace")
        entries = []
        for number, row in enumerate(text.splitlines(keepends=True), 1):
            if row.endswith("\n"):  # the last line of a killed process may be truncated
                with decoding(self._path, f"log: line {number} is not JSON"):
                    entries.append(json.loads(row))
                check_shape(self._path, f"log: line {number}", entries[-1], _ENTRY)
        ends = [int(e["step"]) for e in entries if "end" in e and int(e["step"]) > steps]
        if ends:
            raise RecordingError(
                f"{self._path}: is damaged: it ended after {ends[0]} steps, but a column has only "
                f"{steps} rows"
            )
        return [e for e in entries if int(e["step"]) <= steps]

    def _column(
        self, name: str, width: int | None, rows: int, *, finite: bool = True
    ) -> FloatArray:
        if width == 0:
            return np.zeros((rows, 0))
        values = required(self._path, self._columns, name)[:rows]
        return number_column(self._path, name, values, width, finite=finite)

    def _actor(
        self,
        name: str,
        facts: Mapping[str, Any],
        steps: int,
        states: int,
        log: Log,
    ) -> ActorRecording:
        joints, qpos, dof = _joint_columns(self._path, name, facts["joints"])
        file = self._columns
        at, size = f"actors/{name}", len(facts["columns"])
        every = np.arange(steps)
        world = {n: self._world_column(n, states) for n in ("qpos", "qvel")}
        for column, addresses in (("qpos", qpos), ("qvel", dof)):
            if len(addresses) and max(addresses) >= world[column].shape[1]:
                raise RecordingError(
                    f"{self._path}: {column}: has {world[column].shape[1]} numbers a row, but "
                    f"{name!r} needs {max(addresses) + 1}"
                )
        act = self._world_column("act", states) if "act" in file else np.zeros((states, 0))
        if any(not 0 <= k < act.shape[1] for k in facts["act"]):
            raise RecordingError(
                f"{self._path}: is damaged: act: has {act.shape[1]} numbers a row, but {name!r} "
                f"uses {listed(map(str, facts['act']))}"
            )
        ctrl = self._world_column("ctrl", steps) if "ctrl" in file else np.zeros((steps, 0))
        position, velocity, feedforward = (
            self._column(f"{at}/setpoint/{n}", size, steps)
            for n in ("position", "velocity", "feedforward")
        )
        inputs = {
            a["name"]: ctrl[:, a["ctrl"] : a["ctrl"] + len(a["inputs"])]
            for a in facts["actuators"]
            if isinstance(a["inputs"], list)
            and (a["outputs"] != 1 or not set(a["inputs"]) <= {"pos", "vel", "ff"})
        }
        effort = self._column(f"{at}/effort", size, steps)
        # A raw effort may be non-finite: the guard holds such values back.
        raw = self._column(f"{at}/raw_effort", size, steps, finite=False)
        return ActorRecording(
            name=name,
            joints=joints,
            step=np.arange(states),
            time=self._column("time", None, states),
            qpos=world["qpos"][:, qpos],
            qvel=world["qvel"][:, dof],
            actuators=tuple(a["name"] for a in facts["columns"]),
            driven=tuple(a["joint"] for a in facts["columns"]),
            commands=RecordedCommands(every, position, velocity, feedforward, inputs),
            efforts=Efforts(every, effort, raw),
            policy=self._policy(name, facts["policy"], steps),
            plant=plant_from(facts["plant"]),
            gain_changes=gain_changes(name, facts["gains"], log),
            act=act[:, facts["act"]],
            ctrl=ctrl[:, slice(*facts["ctrl"])],
        )

    def _world_column(self, name: str, rows: int) -> FloatArray:
        dataset = required(self._path, self._columns, name)
        width = dataset.shape[1] if dataset.ndim == 2 else 1
        return self._column(name, width, rows)

    def _policy(self, name: str, facts: Any, steps: int) -> PolicyTicks | None:
        if facts is None:
            return None
        check_shape(self._path, f"actors/{name}: policy", facts, {"joints": [str]})
        at = f"actors/{name}/policy"
        names = ("step", "observation", "action", "command")
        # A policy without a command has no such column.
        required(self._path, self._columns, f"{at}/step")
        given = [self._columns.get(f"{at}/{n}") for n in names]
        rows = min(len(g) for g in given if g is not None)
        step, observation, action, command = (
            self._ticks(f"{at}/{n}", g, rows) for n, g in zip(names, given, strict=True)
        )
        check_increasing(self._path, f"{at}/step", step)
        used = step < steps
        return PolicyTicks(
            step=step[used].astype(np.int64),
            observation=observation[used].astype(np.float32),
            action=action[used].astype(np.float32),
            command=number_column(self._path, f"{at}/command", command[used], command.shape[1]),
            joints=tuple(facts["joints"]),
        )

    def _ticks(self, name: str, given: Any, rows: int) -> FloatArray:
        """A column of a policy; the output of a network may be non-finite."""
        if given is None:
            return np.zeros((rows, 0))
        width = given.shape[1] if given.ndim == 2 else 1
        is_step = name.endswith("/step")
        return number_column(
            self._path, name, given[:rows], None if is_step else width, finite=is_step
        )

    def _states(self, steps: int) -> IntegrationStates | None:
        if "states/step" not in self._columns or "states/state" not in self._columns:
            return None
        step, state = self._columns["states/step"], self._columns["states/state"]
        rows = min(len(step), len(state))
        numbers = step_column(self._path, "states/step", step[:rows])
        used = numbers <= steps
        width = state.shape[1] if state.ndim == 2 else 1
        values = number_column(self._path, "states/state", state[:rows], width)
        return IntegrationStates(numbers[used], values[used])

    def _memories(self, steps: int) -> tuple[StoredMemory, ...]:
        if LINES not in self._columns or VALUES not in self._columns:
            return ()
        lines, values = (np.asarray(self._columns[name][:]) for name in (LINES, VALUES))
        return decode_memories(self._path, lines, values, steps)


def _joint_columns(
    path: Path, actor: str, joints: list[dict[str, Any]]
) -> tuple[tuple[JointColumns, ...], list[int], list[int]]:
    """Joints in the robot's own columns, and the addresses of these in the world's."""
    found, qpos, dof = [], list[int](), list[int]()
    for joint in joints:
        if joint["kind"] not in SIZES:
            raise RecordingError(f"{path}: actors/{actor}: {joint['name']!r} is not a joint type")
        nq, nv = SIZES[joint["kind"]]
        places = slice(len(qpos), len(qpos) + nq), slice(len(dof), len(dof) + nv)
        found.append(JointColumns(joint["name"], joint["kind"], *places))
        qpos += range(joint["qpos"], joint["qpos"] + nq)
        dof += range(joint["dof"], joint["dof"] + nv)
    return tuple(found), qpos, dof


def plant_from(data: Mapping[str, Any]) -> Plant:
    """A plant from plain data."""
    joints = {
        key: dict(zip(values, from_json(values.values()).tolist(), strict=True))
        for key, values in data.get("joints", {}).items()
    }
    return Plant(
        data.get("overall", {}), joints, tuple(data.get("recovered", ())), data.get("enforced", {})
    )


def gain_changes(
    actor: str, start: Mapping[str, Any], log: list[dict[str, Any]]
) -> tuple[GainChange, ...]:
    """The gains that differ from the initial ones, after each change."""
    changes: dict[int, GainChange] = {}
    for entry in log:
        if entry.get("actor") == actor and "gains" in entry:
            other = {n: from_json(v) for n, v in entry["gains"].items() if v != start.get(n)}
            changes[int(entry["step"])] = GainChange(int(entry["step"]), other or None)
    return tuple(changes.values())
