"""Recordings as `.csv`: one row per step, one column per number, a header that names them.

`step, time`, then for each robot `<robot>/qpos/<joint>`, `qvel`, `position`, `velocity`,
`feedforward` (setpoints per actuator), `effort`, `raw_effort`, `observation/<k>`, `action/<k>` and
`command/<k>`; the numbers of a free or ball joint are `<joint>.0`, `<joint>.1`, … An empty cell: no
value in this step. A first line `# mjrig recording {…}` holds the rest as JSON and may be missing;
its `rows` and `crc32` say whether the table is whole.
"""

import csv
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.core.files.atomic_writes import replacing
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.checks import check_increasing
from mjrig.data.recording.json_values import check_shape
from mjrig.data.recording.named_arrays import META_SHAPE, meta_of, recording_of
from mjrig.data.recording.recording import ActorRecording, Recording

MARK = "# mjrig recording "
#: Group in the header → (arrays' group of rows, array).
_GROUPS = {
    "qpos": ("", "qpos"),
    "qvel": ("", "qvel"),
    "position": ("setpoint/", "setpoint/position"),
    "velocity": ("setpoint/", "setpoint/velocity"),
    "feedforward": ("setpoint/", "setpoint/feedforward"),
    "effort": ("effort/", "effort"),
    "raw_effort": ("effort/", "raw_effort"),
    "observation": ("policy/", "policy/observation"),
    "action": ("policy/", "policy/action"),
    "command": ("policy/", "policy/command"),
}
#: Place of the checksum at the end of the first line; of the whole file, with zeros there.
_CHECKSUM = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\r?\n$')
_ZEROS = b"00000000"
_KIND_BY_SIZE = {7: "free", 4: "ball", 1: "hinge"}


def write_csv(recording: Recording, path: Path) -> None:
    """Write a recording, without its full states, activations, ctrl and vector inputs.

    Raises:
        RecordingError: it cannot be written there.
    """
    columns = [column for actor in recording.actors.values() for column in _columns(actor)]
    steps = np.unique(np.concatenate([np.zeros(0, np.int64), *(c[1] for c in columns)]))
    times = _times(recording, steps)
    meta = {**meta_of(recording), "rows": len(steps), "crc32": _ZEROS.decode()}
    first = f"{MARK}{json.dumps(meta, ensure_ascii=False)}\n".encode()
    rows = [{int(s): v for s, v in zip(c[1], c[2].tolist(), strict=True)} for c in columns]

    def lines() -> Iterator[bytes]:
        yield first
        yield _line(["step", "time", *(name for name, _, _ in columns)])
        for step, time in zip(steps.tolist(), times, strict=True):
            yield _line([step, repr(time), *(_cell(row.get(step)) for row in rows)])

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            checksum = 0
            for text in lines():
                checksum = zlib.crc32(text, checksum)
                stream.write(text)
            stream.seek(len(first) - len(_ZEROS) - len('"}\n'))
            stream.write(b"%08x" % checksum)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror or error}") from error


def _line(cells: Sequence[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


def _times(recording: Recording, steps: Any) -> list[float]:
    known: dict[int, float] = {}
    for actor in recording.actors.values():
        known |= dict(zip(actor.step.tolist(), actor.time.tolist(), strict=True))
    return [known[k] if k in known else k * recording.timestep for k in map(int, steps)]


def _columns(actor: ActorRecording) -> Iterator[tuple[str, Any, Any]]:
    """(header, steps, values) of every column of numbers."""

    def group(name: str, labels: Sequence[str], step: Any, values: Any) -> Any:
        if values is not None:
            for k, label in enumerate(labels):
                yield f"{actor.name}/{name}/{label}", step, values[:, k]

    def parts(which: str) -> list[str]:
        found = []
        for joint in actor.joints:
            place = getattr(joint, which)
            size = place.stop - place.start
            found += [joint.name] if size == 1 else [f"{joint.name}.{k}" for k in range(size)]
        return found

    yield from group("qpos", parts("qpos"), actor.step, actor.qpos)
    yield from group("qvel", parts("dof"), actor.step, actor.qvel)
    if (c := actor.commands) is not None:
        for name in ("position", "velocity", "feedforward"):
            yield from group(name, actor.actuators, c.step, getattr(c, name))
    if (e := actor.efforts) is not None:
        yield from group("effort", actor.actuators, e.step, e.effort)
        yield from group("raw_effort", actor.actuators, e.step, e.raw)
    if (p := actor.policy) is not None:
        for name in ("observation", "action", "command"):
            values = getattr(p, name).astype(np.float64)
            yield from group(name, [str(k) for k in range(values.shape[1])], p.step, values)


def read_csv(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A table as described above; None: another format.

    Raises:
        RecordingError: it is broken; names the line and the column.
    """
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        first = stream.readline()
        marked = first.startswith(MARK)
        if not marked and not _is_header(first.rstrip("\r\n")):
            return None
        with decoding(path, problem="line 1 is not JSON"):
            meta = json.loads(first.removeprefix(MARK)) if marked else {}
        if not isinstance(meta, dict):
            raise RecordingError(f"{path}: line 1 is not a JSON object")
        with decoding(path):
            header = next(csv.reader([stream.readline() if marked else first]), [])
            _check_header(path, header)
            table = _table(path, header, stream, 3 if marked else 2)
    rows = meta.pop("rows", None)
    if rows is not None and rows != len(table):
        raise RecordingError(f"{path}: is damaged: has {len(table)} rows, was written with {rows}")
    if has_checksum(path, rows) and not checksum_fits(path):
        raise RecordingError(
            f"{path}: is damaged: its content is not what was written; if you changed it yourself, "
            "remove rows and crc32 from the first line"
        )
    meta.pop("crc32", None)
    return _recording(path, meta, header, table, hints)


def has_checksum(path: Path, rows: object = None) -> bool:
    """Whether damage would be noticed; a table that states its rows has a checksum, too."""
    with path.open("rb") as stream:
        return rows is not None or _CHECKSUM.search(stream.readline()) is not None


def checksum_fits(path: Path) -> bool:
    """Whether the content is what was written."""
    with path.open("rb") as stream:
        first = stream.readline()
        said = _CHECKSUM.search(first)
        if said is None:
            return False
        checksum = zlib.crc32(first[: said.start(1)] + _ZEROS + first[said.end(1) :])
        while block := stream.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return int(said.group(1), 16) == checksum


def _is_header(text: str) -> bool:
    names = text.split(",")
    return names[:2] == ["step", "time"] and not any(_unknown(name) for name in names[2:])


def _unknown(name: str) -> bool:
    """Whether it is not of the form `<robot>/<group>/<joint or actuator>`."""
    parts = name.split("/", 2)
    return len(parts) != 3 or parts[1] not in _GROUPS


def _check_header(path: Path, header: Sequence[str]) -> None:
    if list(header[:2]) != ["step", "time"]:
        raise RecordingError(f"{path}: the header must begin with step,time, got {header[:2]}")
    seen: set[str] = set()
    for name in header[2:]:
        if _unknown(name):
            raise RecordingError(
                f"{path}: {name!r} is not a valid column: <robot>/<group>/<name>, groups: "
                f"{listed(_GROUPS)}"
            )
        if name in seen:
            raise RecordingError(f"{path}: the column {name!r} is there twice")
        seen.add(name)


def _table(path: Path, header: Sequence[str], stream: Any, line: int) -> Any:
    """All cells (rows, columns); not a number where one is empty."""
    rows = []
    for number, row in enumerate(csv.reader(stream), line):
        if len(row) != len(header):
            raise RecordingError(
                f"{path}: line {number} has {len(row)} cells, the header {len(header)}"
            )
        try:
            rows.append([float(cell) if cell else np.nan for cell in row])
        except ValueError:
            bad = next(i for i, cell in enumerate(row) if not _is_number(cell))
            raise RecordingError(
                f"{path}: line {number}: {header[bad]}: must be a number, got {row[bad]!r}"
            ) from None
    if not rows:
        raise RecordingError(f"{path}: has no rows")
    return np.array(rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True


def _recording(
    path: Path, meta: dict[str, Any], header: Sequence[str], table: Any, hints: Mapping[str, object]
) -> Recording:
    bad = np.flatnonzero(~(np.abs(table[:, 0]) < 2**53))
    if len(bad):
        raise RecordingError(
            f"{path}: step: must be a whole number, got {table[bad[0], 0]} in row {bad[0]}"
        )
    step, time = table[:, 0].astype(np.int64), table[:, 1]
    check_increasing(path, "step", step)
    groups: dict[tuple[str, str], list[int]] = {}
    for k, name in enumerate(header[2:], 2):
        actor, group, _ = name.split("/", 2)
        groups.setdefault((actor, group), []).append(k)
    if not meta:
        meta = _guessed(path, header, groups, step, time, hints)
    check_shape(path, "line 1", meta, META_SHAPE)
    arrays: dict[str, Any] = {}
    for (actor, group), columns in groups.items():
        values = table[:, columns]
        there = ~np.isnan(values).all(axis=1)
        rows, name = _GROUPS[group]
        arrays[f"{actor}/{name}"] = values[there]
        if group not in ("raw_effort", "qvel"):
            arrays[f"{actor}/{rows}step"] = step[there]
        if group == "qpos":
            arrays[f"{actor}/time"] = time[there]
    for actor, facts in meta["actors"].items():
        _complete(arrays, actor, len(facts["actuators"]), step, time)
    return recording_of(path, "csv", meta, arrays)


def _complete(arrays: dict[str, Any], actor: str, size: int, step: Any, time: Any) -> None:
    """Fill in what a table may omit: a robot without joints, setpoints that are zero."""
    if f"{actor}/qpos" not in arrays:
        arrays |= {f"{actor}/step": step, f"{actor}/time": time}
        arrays[f"{actor}/qpos"] = np.zeros((len(step), 0))
    rows = arrays.get(f"{actor}/setpoint/step")
    if rows is not None:
        for name in ("position", "velocity", "feedforward"):
            arrays.setdefault(f"{actor}/setpoint/{name}", np.zeros((len(rows), size)))
    ticks = arrays.get(f"{actor}/policy/step")
    if ticks is not None:
        for name in ("observation", "action", "command"):
            arrays.setdefault(f"{actor}/policy/{name}", np.zeros((len(ticks), 0)))


def _guessed(
    path: Path,
    header: Sequence[str],
    groups: Mapping[tuple[str, str], list[int]],
    step: Any,
    time: Any,
    hints: Mapping[str, object],
) -> dict[str, Any]:
    """The metadata of a table without its first line."""
    timestep = hints.get("timestep")
    if timestep is None:
        if len(step) < 2 or not time[-1] > time[0]:
            raise RecordingError(f"{path}: the timestep is unknown; give the hint timestep")
        timestep = float(np.median(np.diff(time) / np.diff(step)))
    actors = {}
    for actor in dict.fromkeys(name for name, _ in groups):
        joints: dict[str, int] = {}
        for k in groups.get((actor, "qpos"), []):
            label = header[k].split("/", 2)[2]
            stem, dot, number = label.rpartition(".")
            joint = stem if dot and number.isdigit() else label
            joints[joint] = joints.get(joint, 0) + 1
        odd = [name for name, size in joints.items() if size not in _KIND_BY_SIZE]
        if odd:
            raise RecordingError(
                f"{path}: {actor}/qpos/{odd[0]}: no joint has {joints[odd[0]]} numbers"
            )
        commanded = groups.get((actor, "position")) or groups.get((actor, "effort")) or []
        names = [header[k].split("/", 2)[2] for k in commanded]
        actors[actor] = {
            "joints": [[name, _KIND_BY_SIZE[size]] for name, size in joints.items()],
            "actuators": names,
            "driven": [name if name in joints else "" for name in names],
        }
    return {
        "timestep": timestep,
        "steps": int(step[-1]),
        "actors": actors,
        "notes": ["it has no scene, gains or joint types: hinges were assumed"],
    }
