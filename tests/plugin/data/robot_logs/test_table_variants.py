"""The same motion in tables and messages as programs and people write them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.data.robot_logs.containers import parquet_table
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions

Rows = list[list[str]]
HEAD = ["t", "q_shoulder", "q_wrist", "cmd_shoulder", "cmd_wrist"]


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(1.0)


def _rows(run: sim.Run, scale: float = 1.0) -> Rows:
    table = np.hstack([run.time[:, None], scale * run.q, scale * sim.held(run)])
    return [[repr(float(x)) for x in row] for row in table]


def _text(head: Sequence[str], rows: Rows, separator: str = ",", before: str = "") -> str:
    lines = [separator.join(head), *(separator.join(row) for row in rows)]
    return before + "\n".join(lines) + "\n"


def _commas(rows: Rows, quote: str = "") -> Rows:
    return [[f"{quote}{cell.replace('.', ',')}{quote}" for cell in row] for row in rows]


def _dated(rows: Rows, form: str) -> Rows:
    begin = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    times = [begin + timedelta(microseconds=round(1e6 * float(row[0]))) for row in rows]
    return [[t.strftime(form), *row[1:]] for t, row in zip(times, rows, strict=True)]


def _stamped(rows: Rows, begin: int, unit: float) -> Rows:
    return [[str(begin + round(unit * float(row[0]))), *row[1:]] for row in rows]


DEG = 180.0 / np.pi
VARIANTS: dict[str, Callable[[sim.Run], str]] = {
    "semicolons": lambda r: _text(HEAD, _rows(r), ";"),
    "decimal commas": lambda r: _text(HEAD, _commas(_rows(r)), ";"),
    "decimal commas and tabs": lambda r: _text(HEAD, _commas(_rows(r)), "\t"),
    "quoted decimal commas": lambda r: _text(HEAD, _commas(_rows(r), '"')),
    "mark of the byte order": lambda r: "\ufeff" + _text(HEAD, _rows(r)),
    "comments": lambda r: _text(HEAD, _rows(r), before="# by x, 2\n% rad, s\n// more\n\n"),
    "comment between": lambda r: _text(HEAD, [*_rows(r)[:50], ["# pause"], *_rows(r)[50:]]),
    "header as a comment": lambda r: "#" + _text(HEAD, _rows(r)),
    "quoted header": lambda r: _text([f'"{n}"' for n in HEAD], _rows(r)),
    "spaces": lambda r: _text(HEAD, _rows(r), "  "),
    "row of units": lambda r: _text(HEAD, [["s", *["deg"] * 4], *_rows(r, DEG)]),
    "row of units in brackets": lambda r: _text(HEAD, [["[s]", *["[deg]"] * 4], *_rows(r, DEG)]),
    "dates": lambda r: _text(HEAD, _dated(_rows(r), "%Y-%m-%dT%H:%M:%S.%f+00:00")),
    "dates without a zone": lambda r: _text(HEAD, _dated(_rows(r), "%Y-%m-%d %H:%M:%S.%f")),
    "microseconds": lambda r: _text(HEAD, _stamped(_rows(r), 1_760_000_000_000_000, 1e6)),
    "nanoseconds": lambda r: _text(HEAD, _stamped(_rows(r), sim.EPOCH, 1e9)),
    "text in a column": lambda r: _text([*HEAD, "mode"], [[*row, "RUN"] for row in _rows(r)]),
    "separator at the end": lambda r: _text(HEAD, [[*row, ""] for row in _rows(r)]),
    "numbered rows": lambda r: _text(["", *HEAD], [[str(k), *v] for k, v in enumerate(_rows(r))]),
    "cut off": lambda r: _text(HEAD, [*_rows(r), ["1.0", "0.2"]]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_read_however_it_is_written(tmp_path: Path, run: sim.Run, variant: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(VARIANTS[variant](run), encoding="utf-8")
    recording = mjrig.read_recording(path, {"offset": 0})
    actor: Any = next(iter(recording.actors.values()))
    assert recording.timestep == 0.002
    order = [[j.name for j in actor.joints].index(name) for name in sim.NAMES]
    np.testing.assert_allclose(actor.qpos[:, order], run.q, atol=1e-6)
    np.testing.assert_allclose(actor.commands.position[0], sim.held(run)[0], atol=1e-9)
    assert (mentions(recording.notes, "the last row is …")) == (variant == "cut off")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "mark and utf-16-be"]
)
def test_a_table_is_read_in_any_unicode(
    tmp_path: Path, run: sim.Run, encoding: str, separator: str
) -> None:
    """Spreadsheets write "Unicode text" as UTF-16 with tabs."""
    path = tmp_path / "log.txt"
    text = _text([*HEAD, "Größe"], [[*row, "0"] for row in _rows(run)], separator)
    marked = encoding.startswith("mark")
    path.write_text("\ufeff" * marked + text, encoding=encoding.removeprefix("mark and "))
    recording = mjrig.read_recording(path, {"offset": 0})
    (actor,) = recording.actors.values()
    order = [[j.name for j in actor.joints].index(name) for name in sim.NAMES]
    np.testing.assert_allclose(actor.qpos[:, order], run.q, atol=1e-6)


def _widely(run: sim.Run, path: Path, rows: int, extra: int) -> None:
    """A Parquet file with groups of so many rows, and columns that nobody asks for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = np.hstack([run.time[:, None], run.q, sim.held(run)])
    columns: dict[str, Any] = {n: table[:, k] for k, n in enumerate(HEAD)}
    more: dict[str, Any] = {f"text_{k}": ["x" * 9] * len(table) for k in range(extra)}
    more["matrix"] = list(np.zeros((len(table), 3)))
    pq.write_table(pa.table(more | columns), path, row_group_size=rows)


@pytest.mark.parametrize("rows", [1, 37, 10_000])
@pytest.mark.parametrize("extra", [0, 3])
def test_parquet_has_groups_of_any_size(
    tmp_path: Path, run: sim.Run, monkeypatch: Any, rows: int, extra: int
) -> None:
    monkeypatch.setattr(parquet_table, "BATCH", 20)
    _widely(run, tmp_path / "log.parquet", rows, extra)
    recording = mjrig.read_recording(tmp_path / "log.parquet", {"offset": 0})
    (actor,) = recording.actors.values()
    order = [[j.name for j in actor.joints].index(name) for name in sim.NAMES]
    np.testing.assert_allclose(actor.qpos[:, order], run.q, atol=1e-12)


def test_joints_of_two_publishers_on_one_topic(tmp_path: Path, run: sim.Run) -> None:
    """Each message holds one joint, at times of its own and without velocities."""
    store = sim.ros2()
    late = 0.001
    messages = []
    for k, name in enumerate(sim.NAMES):
        own = replace(run, q=run.q[:, [k]], dq=run.dq[:, :0], tau=run.tau[:, :0])
        for sent in sim.joint_messages(replace(own, time=run.time + k * late), store):
            if sent.topic == "/joint_states":
                sent.content.name = [name]
                messages.append(sent)
    messages.sort(key=lambda sent: sent.log)
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    recording = mjrig.read_recording(path)
    actor: Any = next(iter(recording.actors.values()))
    assert recording.timestep == 0.002 and np.isfinite(actor.qvel).all()
    places = {joint.name: joint.qpos.start for joint in actor.joints}
    begin = 0.002 if places["shoulder"] == 0 else late
    inside = slice(5, -5)
    for k, name in enumerate(sim.NAMES):
        truth = np.interp(actor.time + begin - k * late, run.time, run.q[:, k])
        assert np.abs(actor.qpos[:, places[name]] - truth)[inside].max() < 1e-4
        truth = np.interp(actor.time + begin - k * late, run.time, run.dq[:, k])
        assert np.std((actor.qvel[:, places[name]] - truth)[inside]) < 0.1
