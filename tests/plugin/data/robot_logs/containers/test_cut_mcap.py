"""MCAP files of recorders that were killed: everything before the cut is read, or it is said."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter

import mjrig
from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.containers.mcap_file import CHUNK, McapCut, McapFile, McapRecords
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions, regex

COMPRESSIONS = ["NONE", "LZ4", "ZSTD"]
SMALL = 20_000


def _text(row: Any) -> bytes:
    return json.dumps({"a": row.tolist()}).encode()


def _written(path: Path, compression: str, chunk: int, rows: Any) -> Path:
    with path.open("wb") as stream:
        writer = McapWriter(
            stream, compression=CompressionType[compression], chunk_size=chunk, use_statistics=True
        )
        writer.start()
        schema = writer.register_schema("Row", "jsonschema", b"{}")
        channel = writer.register_channel("/rows", "json", schema)
        for k, row in enumerate(rows):
            writer.add_message(channel, k, _text(row), k)
        writer.finish()  # type: ignore[no-untyped-call]
    return path


def _read(path: Path) -> Any:
    """Rows of the numbers that are read, in the order of the file."""
    batches = McapFile(path).read(["/rows"], lambda _topic, _path: True)
    return np.concatenate([np.stack([*b.columns.values()], axis=1) for b in batches])


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("chunk", [SMALL, 1 << 30])
def test_what_is_left_of_a_cut_file_is_the_beginning_of_it(
    compression: str, chunk: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(chunk % 97)
    rows = rng.standard_normal((4000, 8))
    whole = _written(tmp_path / "whole.mcap", compression, chunk, rows).read_bytes()
    first = min(McapRecords(tmp_path / "whole.mcap").contents.chunks)
    ends = _ends(whole, rows) if compression == "NONE" else []
    read, inside = 0, 0
    for cut in np.sort(rng.integers(9, len(whole), 25)).tolist():
        path = tmp_path / "cut.mcap"
        path.write_bytes(whole[:cut])
        try:
            left = _read(path)
        except RecordingError as error:
            assert not read  # the longer the file the more is read
            assert "inside its first chunk" in str(error) or "before its first" in str(error)
            continue
        assert len(left) >= read
        np.testing.assert_array_equal(left, rows[: len(left)])
        read = len(left)
        inside += cut_of(path).place == first
        assert not ends or read == np.searchsorted(ends, cut, side="right")
    assert read > 3000 and (inside > 5 or chunk == SMALL)


def cut_of(path: Path) -> McapCut:
    """The record that a file ends in."""
    records = McapRecords(path)
    list(records.messages())
    assert records.cut is not None
    return records.cut


def _ends(whole: bytes, rows: Any) -> list[int]:
    """Where each message ends in a file without compression."""
    found, place = [], 0
    for row in rows:
        text = _text(row)
        place = whole.index(text, place) + len(text)
        found.append(place)
    return found


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_file_cut_where_its_first_chunk_begins_says_so(compression: str, tmp_path: Path) -> None:
    rows = np.zeros((10, 2))
    path = _written(tmp_path / "cut.mcap", compression, 1 << 20, rows)
    whole = path.read_bytes()
    path.write_bytes(whole[:60])
    cut = cut_of(path)
    assert cut.kind == CHUNK
    said = (
        f"first chunk, of which {cut.present} of {cut.size} bytes are there: nothing of it can be"
    )
    with pytest.raises(RecordingError, match=said):
        mjrig.read_recording(path)
    path.write_bytes(whole[: cut.place])
    with pytest.raises(RecordingError, match=regex("is cut off before …")):
        mjrig.read_recording(path)
    for size in (9, 12, 20):  # inside the header
        path.write_bytes(whole[:size])
        with pytest.raises(RecordingError, match=regex("is cut off before …")):
            mjrig.read_recording(path)


def test_a_recording_of_one_chunk_that_is_cut_is_read_up_to_the_cut(tmp_path: Path) -> None:
    run = sim.simulated(4.0)
    path = sim.write_json_mcap(tmp_path / "run.mcap", run)
    whole = mjrig.read_recording(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    assert cut_of(path).kind == CHUNK
    read = mjrig.read_recording(path)
    assert any(mentions(note, "it is read up …") for note in read.notes)
    (a,), (b,) = whole.actors.values(), read.actors.values()
    assert len(b.qpos) > 0.4 * len(a.qpos)


def test_a_finished_file_without_statistics_is_not_said_to_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "bare.mcap"
    with path.open("wb") as stream:
        writer = McapWriter(stream, use_statistics=False, use_summary_offsets=False)
        writer.start()
        channel = writer.register_channel("/rows", "json", 0)
        for k in range(5):
            writer.add_message(channel, k, b'{"a": 1.0}', k)
        writer.finish()  # type: ignore[no-untyped-call]
    log = McapFile(path)
    assert not log.notes and log.topics[0].count == 5
