"""Damage has a name and a place, and a file takes what its size allows."""

import io
import os
import random
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components import PDController
from mjrig.data.recording import file_limits
from mjrig.data.recording.csv_file import write_csv
from mjrig.data.recording.h5_writer import Column, H5File, fletcher32
from mjrig.data.recording.npz_file import write_npz
from mjrig.data.recording.recording import Recording
from mjrig.data.recording.verification import verify
from tests.components.importers.recordings.test_recordings import isaac
from tests.plugin.data.recording.worlds import record, wiggle
from tests.wording import regex
from tests.worlds import ROVER, make_world, refused

h5py: Any = pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recorded") / "run.h5"
    world = make_world(ROVER, [PDController(kp=5, kv=1)])
    return record(world, path, 30, wiggle)[0]


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Small files may hold little; their factor stays."""
    monkeypatch.setattr(file_limits, "LEAST", 1 << 18)
    return file_limits.LEAST


def spoiled(recording: Recording, folder: Path, name: str) -> Path:
    """A copy of the file with one bit of a number of a column flipped."""
    path = folder / "bad.h5"
    content = bytearray(recording.path.read_bytes())
    with h5py.File(recording.path, "r") as file:
        chunk = file[name].id.get_chunk_info(0)
        place = chunk.byte_offset + random.Random(name).randrange(8 * 20)
    content[place] ^= 16
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("shape", [(2048, 19), (64, 3), (100, 1), (1, 1), (129, 127)])
def test_the_checksum_is_the_one_hdf5_computes(tmp_path: Path, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=shape), np.zeros(shape), np.full(shape, -1).view(np.float64)]
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        for i, block in enumerate(blocks):
            column = file.create_dataset(f"{i}", shape, "f8", chunks=shape, fletcher32=True)
            column.id.write_direct_chunk((0, 0), block.tobytes() + fletcher32(block))
            assert column[:].tobytes() == block.tobytes()


def test_chunks_that_differ_in_one_bit_are_written_as_they_are(tmp_path: Path) -> None:
    """A chunk like the one before keeps its checksum: it must be like it in every bit."""
    first = np.zeros((64, 3))
    changed = [first, first.copy(), first.copy(), first.copy(), np.full((64, 3), np.nan)]
    changed[1][31, 1] = -0.0
    changed[2][5, 2] = np.nan
    changed.append(changed[-1].copy())
    file = H5File(tmp_path / "a.h5", [Column("x", 3, rows=64)], {})
    for number, block in enumerate(changed):
        file.put_block("x", number, block, len(block))
    file.close()
    with h5py.File(tmp_path / "a.h5", "r") as found:  # HDF5 compares every checksum
        assert found["x"][:].tobytes() == np.concatenate(changed).tobytes()


@pytest.mark.parametrize("name", ["qpos", "time", "actors/robot/effort", "states/state"])
def test_a_flipped_bit_is_named_with_its_column_and_rows(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = spoiled(recording, tmp_path, name)
    with h5py.File(recording.path, "r") as file:
        rows = f"rows 0 to {len(file[name]) - 1}"
    with pytest.raises(mjrig.RecordingError) as caught:
        mjrig.read_recording(path)
    assert str(caught.value).startswith(f"{path}: {name}: is damaged in {rows}: ")
    assert main(["info", str(path), "--verify"]) == 1
    assert capsys.readouterr().out == f"{path}: is damaged\n  {name}: {rows}\n"


def test_only_the_damaged_chunks_are_named(tmp_path: Path) -> None:
    world = make_world(ROVER, [PDController(kp=5, kv=1)])
    with mjrig.Recorder(world, tmp_path / "run.h5"):
        world.step(9000)
    with h5py.File(tmp_path / "run.h5", "r") as file:
        rows = file["qvel"].chunks[0]
        places = [file["qvel"].id.get_chunk_info(i).byte_offset for i in (1, 2)]
        assert file["qvel"].id.get_num_chunks() > 3
    content = bytearray((tmp_path / "run.h5").read_bytes())
    for place in places:
        content[place + 9] ^= 1
    (tmp_path / "run.h5").write_bytes(content)
    assert verify(tmp_path / "run.h5").damage == (f"qvel: rows {rows} to {3 * rows - 1}",)


def test_text_that_changed_is_noticed(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "bad.h5"
    content = recording.path.read_bytes()
    word = b"PDController"
    at = content.index(word)  # in the scene's text
    path.write_bytes(content[:at] + b"PIDontroller" + content[at + len(word) :])
    with refused(mjrig.RecordingError, f"{path}: is damaged: the attributes …"):
        mjrig.read_recording(path)
    assert verify(path).damage == ("attributes of the file",)


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".csv"])
def test_whole_files_are_called_whole(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    path = tmp_path / f"run{suffix}"
    if suffix == ".h5":
        path = recording.path
    else:
        (write_npz if suffix == ".npz" else write_csv)(recording, path)
    assert main(["info", str(path), "--verify"]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: whole: ")


def test_files_without_checksums_are_still_read(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As older versions wrote them: no filter, no checksum of attributes, no rows in the CSV."""
    old = tmp_path / "old.h5"
    with h5py.File(recording.path, "r") as good, h5py.File(old, "w", libver="latest") as file:

        def copy(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                file.create_dataset(name, data=item[:])
            made = file[name] if name in file else file.create_group(name)
            made.attrs.update({k: v for k, v in item.attrs.items() if k != "crc32"})

        good.visititems(copy)
        file.attrs.update({k: v for k, v in good.attrs.items() if k != "crc32"})
    table = tmp_path / "old.csv"
    write_csv(recording, table)
    first, _, rest = table.read_text().partition("\n")
    table.write_text(first[: first.index(', "rows"')] + "}\n" + rest)
    for path in (old, table):
        assert mjrig.read_recording(path).steps == recording.steps
        assert main(["info", str(path), "--verify"]) == 0
        assert capsys.readouterr().out == (
            f"{path}: can be read; it has no checksums, so changed numbers go unnoticed\n"
        )


def test_a_table_that_is_cut_or_changed_is_refused(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    write_csv(recording, path)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    message = f"{path}: is damaged: has {len(lines) - 5} rows, … {len(lines) - 2}"
    with refused(mjrig.RecordingError, message):
        mjrig.read_recording(path)
    step, comma, rest = lines[5].partition(",")
    lines[5] = f"{step}{comma}{rest.replace(rest[-4:-1], '111')}"
    path.write_text("".join(lines))
    with pytest.raises(mjrig.RecordingError, match=regex("its content is not …")):
        mjrig.read_recording(path)
    assert verify(path).damage == ("the table: its content is not what was written",)


def test_an_array_of_an_npz_that_changed_is_named(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    write_npz(recording, path)
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("robot/qvel.npy")
    content = bytearray(path.read_bytes())
    content[entry.header_offset + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(mjrig.RecordingError, match=r"run\.npz: is damaged: robot/qvel: "):
        mjrig.read_recording(path)
    assert [line.partition(":")[0] for line in verify(path).damage] == ["robot/qvel"]


def test_an_npz_that_lacks_an_array_is_refused(recording: Recording, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    write_npz(recording, good)
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(bad, "w") as less:
        for entry in archive.infolist():
            if entry.filename != "robot/qvel.npy":
                less.writestr(entry, archive.read(entry))
    message = f"{bad}: is damaged: it does … robot/qvel"
    with refused(mjrig.RecordingError, message):
        mjrig.read_recording(bad)


# What is not read --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.h5", "run.npz", "run.csv", "run.json", "log.msgpack"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with refused(mjrig.RecordingError, f"{path}: is not a regular …"):
        mjrig.read_recording(path)
    with refused(mjrig.RecordingError, f"{path}: is not a regular …"):
        verify(path)


@pytest.mark.parametrize("key", ["mjrig_recording", "meta", "q_hip"])
def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path: Path, key: str, small_limit: int
) -> None:
    path = tmp_path / "bomb.npz"
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        content, {"descr": "|i1", "fortran_order": False, "shape": (2 * small_limit,)}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(f"{key}.npy", b"")
        archive.writestr("policy_step.npy", b"")
        archive.writestr("policy_target.npy", b"")
        archive.writestr(f"d{key}.npy", content.getvalue() + bytes(2 * small_limit))
    with pytest.raises(mjrig.RecordingError, match=r"bomb\.npz: says that it holds \d+ bytes of"):
        mjrig.read_recording(path, {"fps": 50})


def test_what_mjrig_packs_it_reads_however_well_it_packs(
    recording: Recording, tmp_path: Path, small_limit: int
) -> None:
    """A robot that stands still for hours compresses better than the limit allows."""
    actor = recording.actors["robot"]
    rows = small_limit // 8
    still = replace(
        actor,
        step=np.arange(rows),
        time=np.zeros(rows),
        qpos=np.zeros((rows, actor.qpos.shape[1])),
        qvel=None, commands=None, efforts=None, act=None, ctrl=None, policy=None,
    )  # fmt: skip
    long = replace(recording, steps=rows, actors={"robot": still}, states=None)
    write_npz(long, tmp_path / "run.npz")
    assert len(mjrig.read_recording(tmp_path / "run.npz").actors["robot"].qpos) == rows


@pytest.mark.parametrize("kind", ["external", "virtual", "soft link", "external link", "huge"])
@pytest.mark.parametrize("foreign", [False, True])
def test_what_lies_elsewhere_or_is_not_there_is_refused(
    recording: Recording, tmp_path: Path, kind: str, foreign: bool
) -> None:
    path = tmp_path / "bad.h5"
    place = "data/demo_0/actions" if foreign else "qpos"
    if foreign:
        isaac(path)
    else:
        path.write_bytes(recording.path.read_bytes())
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(8 * 1000))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["a"] = np.zeros((30, 8))
    with h5py.File(path, "r+") as file:
        del file[place]
        if kind == "external":
            file.create_dataset(place, (30, 8), "f8", external=[(str(secret), 0, 8000)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape=(30, 8), dtype="f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "a", shape=(30, 8))
            file.create_virtual_dataset(place, layout)
        elif kind == "soft link":
            file[place] = h5py.SoftLink("/elsewhere")
        elif kind == "external link":
            file[place] = h5py.ExternalLink(str(tmp_path / "other.h5"), "a")
        else:
            file.create_dataset(place, (2**32, 8), "f8", chunks=(1024, 8))
    message = {
        "external": "is stored in another file; only what is in the file itself is read",
        "virtual": "is stored in another file; only what is in the file itself is read",
        "soft link": "is a link; only what is in the file itself is read",
        "external link": "is a link; only what is in the file itself is read",
        "huge": "bytes of numbers; at most ",
    }[kind]
    for read in (mjrig.read_recording, verify):
        with pytest.raises(mjrig.RecordingError) as caught:
            read(path)
        assert message in str(caught.value)
