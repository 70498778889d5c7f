"""Reading recordings: ours in three formats, and what is none."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components import PDController
from mjrig.data.recording.csv_file import write_csv
from mjrig.data.recording.npz_file import META, write_npz
from mjrig.data.recording.recording import Recording
from tests.plugin.data.recording.ticking import Ticking
from tests.plugin.data.recording.worlds import record, wiggle
from tests.wording import matches, regex
from tests.worlds import ROVER, make_world, pd_of, refused

h5py = pytest.importorskip("h5py")


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal through and through, not-a-number included."""
    if is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)
        )
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f") and a.dtype == b.dtype
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("recorded") / "run.h5"
    world = make_world(ROVER, [PDController(kp=5, kv=1, torque_limit=np.inf), Ticking()])

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        if step == 9:
            pd_of(world["robot"]).kp = 7
        if step == 20:
            world.reset()

    record(world, found, 30, steer)
    return found


@pytest.fixture
def recording(path: Path) -> Recording:
    return mjrig.read_recording(path)


def damaged(path: Path, tmp_path: Path) -> Path:
    """A copy to be spoiled."""
    copy = tmp_path / "bad.h5"
    copy.write_bytes(path.read_bytes())
    return copy


def test_a_policy_is_recorded_tick_by_tick(recording: Recording) -> None:
    policy = recording.actors["robot"].policy
    assert policy is not None
    assert policy.step.tolist() == [0, 4, 8, 12, 16, 20, 24, 28]
    assert policy.joints == ("turn",)
    assert policy.observation.dtype == policy.action.dtype == np.float32
    np.testing.assert_array_equal(policy.action[:, 0], [1, 2, 3, 4, 5, 1, 2, 3])
    np.testing.assert_array_equal(policy.command[0], [0.5, 0.0, 0.0])


def test_npz_keeps_every_bit(recording: Recording, tmp_path: Path) -> None:
    write_npz(recording, tmp_path / "run.npz")
    again = mjrig.read_recording(tmp_path / "run.npz")
    for field in fields(Recording):
        if field.name not in ("path", "format"):
            assert same(getattr(again, field.name), getattr(recording, field.name)), field.name
    assert again.format == "npz"


def test_csv_keeps_every_column_but_the_full_states(recording: Recording, tmp_path: Path) -> None:
    write_csv(recording, tmp_path / "run.csv")
    again = mjrig.read_recording(tmp_path / "run.csv")
    for name in ("timestep", "steps", "segments", "attributes"):
        assert same(getattr(again, name), getattr(recording, name)), name
    mine, its = recording.actors["robot"], again.actors["robot"]
    for name in (f.name for f in fields(mine)):
        if name not in ("act", "ctrl"):
            assert same(getattr(its, name), getattr(mine, name)), name
    header = (tmp_path / "run.csv").read_text().splitlines()[1].split(",")
    assert header[:4] == ["step", "time", "robot/qpos/root.0", "robot/qpos/root.1"]
    assert header[9] == "robot/qpos/turn"


def test_a_csv_by_hand_needs_nothing_but_its_header(tmp_path: Path) -> None:
    text = "step,time,dog/qpos/hip,dog/position/hip\n0,0,0.1,0.5\n4,0.02,0.2,\n8,0.04,0.3,0.7\n"
    (tmp_path / "hand.csv").write_text(text)
    recording = mjrig.read_recording(tmp_path / "hand.csv")
    dog = recording.actors["dog"]
    assert recording.timestep == pytest.approx(0.005)
    assert dog.step.tolist() == [0, 4, 8]
    assert dog.qvel is None
    assert dog.commands is not None
    assert dog.commands.step.tolist() == [0, 8]
    assert dog.commands.position.tolist() == [[0.5], [0.7]]
    assert dog.driven == ("hip",)


def test_info_says_it_on_one_screen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run.h5: mjrig recording, 0.03 s, 30 steps at 1000 Hz, ")
    for text in (
        "  reset at step 20 (after 0.02 s)",
        "robot: 2 joints, 1 actuator",
        "  kp: 5",
        "  torque_limit: inf",
        "  gains changed at step 9: kp",
        "  policy: 8 ticks at 250 Hz, 2 observations, 1 actions",
        "  edit at step 9: robot.PDController.kp = 7",
    ):
        assert text in lines


def test_convert_writes_what_the_name_says(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    npz, table = tmp_path / "a.npz", tmp_path / "a.csv"
    assert main(["convert", str(path), str(npz)]) == 0
    assert main(["convert", str(npz), str(table)]) == 0
    assert capsys.readouterr().out == f"{npz} written\n{table} written\n"
    assert main(["convert", str(npz), str(table)]) == 1
    assert main(["convert", str(npz), str(tmp_path / "a.txt")]) == 1
    assert capsys.readouterr().err == (
        f"mjrig: {table}: exists already; --overwrite replaces it\n"
        f"mjrig: {tmp_path / 'a.txt'}: must end in .npz or .csv or .mcap or .h5 or .yaml or .yml"
        ", or be a folder\n"
    )


def test_run_records_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rover.xml").write_text(ROVER)
    (tmp_path / "scene.yaml").write_text("mjrig: 1\nactors:\n- {name: rover, model: rover.xml}\n")
    run = ["run", str(tmp_path / "scene.yaml"), "--duration", "0.05", "--record"]
    file = tmp_path / "out" / "run.h5"
    assert main([*run, str(file)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert matches(last, f"recording: {file}, 50 steps; while recording, every …")
    assert mjrig.read_recording(file).steps == 50
    assert main([*run, str(file)]) == 1
    assert main([*run, str(file), "--overwrite"]) == 0
    assert main([*run, str(tmp_path / "run.npz")]) == 1
    assert capsys.readouterr().err == (
        f"mjrig: {file}: exists already; --overwrite replaces it\n"
        f"mjrig: {tmp_path / 'run.npz'}: must end in .h5 or .hdf5\n"
    )


# What is broken ---------------------------------------------------------------------------------


def test_a_cut_off_file_is_named(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    bad.write_bytes(bad.read_bytes()[:3000])
    with pytest.raises(mjrig.RecordingError, match=r"bad\.h5: is damaged: "):
        mjrig.read_recording(bad)


def test_garbage_inside_is_named(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    content = bytearray(bad.read_bytes())
    content[64:2048] = b"\xff" * (2048 - 64)
    bad.write_bytes(content)
    with pytest.raises(mjrig.RecordingError, match=r"bad\.h5: is damaged: "):
        mjrig.read_recording(bad)


def test_no_number_is_named_with_its_row(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        file["qpos"][12, 3] = np.nan
    with refused(mjrig.RecordingError, f"{bad}: qpos: row 12, column 3 is nan"):
        mjrig.read_recording(bad)


def test_a_missing_column_is_named(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        del file["actors/robot/effort"]
    with pytest.raises(mjrig.RecordingError) as info:
        mjrig.read_recording(bad)
    assert str(info.value).startswith(f"{bad}: actors/robot/effort: is missing; has: actors/robot/")


def test_a_column_of_another_width_is_named(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        del file["actors/robot/effort"]
        file["actors/robot/effort"] = np.zeros((30, 2))
    message = f"{bad}: actors/robot/effort: must have shape (rows, 1), got (30, 2)"
    with refused(mjrig.RecordingError, message):
        mjrig.read_recording(bad)


def test_a_newer_version_is_refused(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        file.attrs["version"] = 9
    with refused(mjrig.RecordingError, f"{bad}: has version 9; this mjrig … 1"):
        mjrig.read_recording(bad)


@pytest.mark.parametrize(
    ("at", "name", "value", "message"),
    [
        ("actors/robot", "joints", "[{", "is damaged: the attribute … JSON: "),
        ("/", "timestep", -0.1, "timestep: must be a number > 0, … "),
        ("/", "seed", "x", "seed: must be a whole … 'x'"),
        ("actors/robot", "plant", "3", "is damaged: actors/robot.plant: must be … 3"),
    ],
)
def test_an_attribute_that_says_nothing_is_named(
    path: Path, tmp_path: Path, at: str, name: str, value: object, message: str
) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        file[at].attrs[name] = value
        del file[at].attrs["crc32"]  # as in files of older versions
    with pytest.raises(mjrig.RecordingError) as info:
        mjrig.read_recording(bad)
    assert matches(str(info.value), f"{bad}: {message}…")


def test_rows_that_are_gone_are_told(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    with h5py.File(bad, "r+") as file:
        file["actors/robot/effort"].resize(7, axis=0)
    told = "is damaged: it ended after 30 steps, but a column has only 7 rows"
    with refused(mjrig.RecordingError, f"{bad}: {told}"):
        mjrig.read_recording(bad)


def test_a_writer_that_was_killed_before_the_first_row_is_told(path: Path, tmp_path: Path) -> None:
    bad = damaged(path, tmp_path)
    content = bytearray(bad.read_bytes())
    content[11] = 1  # somebody writes, nobody may read yet
    bad.write_bytes(content)
    told = "is damaged: its writer ended before the first row"
    with refused(mjrig.RecordingError, f"{bad}: {told}"):
        mjrig.read_recording(bad)


def test_a_finished_file_is_as_long_as_its_content(path: Path) -> None:
    # Less than what is asked for ahead of the rows.
    assert path.stat().st_size < 2_000_000
    assert mjrig.read_recording(path).steps == 30


@pytest.mark.parametrize("name", ["none.npz", "none.csv"])
def test_a_recording_of_no_step_is_kept(tmp_path: Path, name: str) -> None:
    with mjrig.Recorder(make_world(ROVER), tmp_path / "none.h5"):
        pass
    assert main(["convert", str(tmp_path / "none.h5"), str(tmp_path / name)]) == 0
    assert mjrig.read_recording(tmp_path / name).steps == 0


@pytest.mark.parametrize("name", ["run.h5", "run.npz", "run.csv", "run.json"])
def test_an_empty_file_is_called_empty(tmp_path: Path, name: str) -> None:
    empty = tmp_path / name
    empty.touch()
    with refused(mjrig.RecordingError, f"{empty}: is empty"):
        mjrig.read_recording(empty)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"robot/qpos": None},
            "robot/qpos: is missing; has: states/step, states/state, robot/step, robot/time, "
            "robot/qvel, robot/act, robot/ctrl, robot/setpoint/step, robot/setpoint/position, "
            "robot/setpoint/velocity, robot/setpoint/feedforward, robot/effort/step, …",
        ),
        (
            {"robot/qpos": np.zeros((31, 3))},
            "robot/qpos: must have shape (rows, 8), got (31, 3)",
        ),
        ({"robot/qpos": np.zeros((9, 8))}, "robot/qpos: has 9 rows, but robot/step 31"),
        ({"robot/time": np.full(31, np.inf)}, "robot/time: row 0 is inf"),
        ({"robot/step": np.zeros(31)}, "robot/step: must increase, but row 1 … 0 … 0"),
        ({"robot/time": np.array(["x"] * 31)}, "robot/time: must hold numbers, got <U1"),
        ({"robot/step": np.arange(31) - 1}, "robot/step: must be whole numbers >= 0, … 0 … -1"),
        (
            {"robot/setpoint/step": np.append(np.arange(29), 99)},
            "robot/setpoint/step: must be steps from 0 … 30, … 99",
        ),
        ({"states/step": np.arange(5)}, "states/state: has 2 rows, but states/step 5"),
        ({"states/step": np.array(["a", "b"])}, "states/step: must hold numbers, got <U1"),
        (
            {"robot/policy/action": np.array([["x"]] * 8)},
            "robot/policy/action: must hold numbers, got <U1",
        ),
        (
            {"robot/policy/command": np.full((8, 3), np.nan)},
            "robot/policy/command: row 0, column 0 is nan",
        ),
        ({"robot/act": np.zeros((9, 2))}, "robot/act: has 9 rows, but robot/step 31"),
    ],
)
def test_a_broken_npz_is_named(
    recording: Recording, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    write_npz(recording, good)
    with np.load(good, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files} | change
    np.savez(bad, **{n: a for n, a in arrays.items() if a is not None})
    with refused(mjrig.RecordingError, f"{bad}: {message}"):
        mjrig.read_recording(bad)


def test_an_array_of_objects_is_never_unpickled_and_others_are_read(
    recording: Recording, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    write_npz(recording, good)
    with np.load(good, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(str(arrays[META]))
    del meta["arrays"]
    arrays[META] = np.array(json.dumps(meta))
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(bad, allow_pickle=True, **arrays, extra=objects)
    read = mjrig.read_recording(bad)
    assert same(replace(read, path=recording.path, notes=()), everything(good, recording.path))
    assert any(note.startswith("extra is skipped: it holds Python objects") for note in read.notes)
    np.savez(bad, allow_pickle=True, **arrays | {"robot/qpos": objects})
    with pytest.raises(mjrig.RecordingError, match=r"bad\.npz: robot/qpos: holds Python objects"):
        mjrig.read_recording(bad)


def everything(path: Path, named: Path) -> Recording:
    """A recording as if it were read from another file."""
    return replace(mjrig.read_recording(path), path=named, notes=())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,time,a/qpos/j\n0,0,1\n1,0.1\n", "line 3 has 2 cells, the header 3"),
        ("step,time,a/qpos/j\n0,0,x\n", "line 2: a/qpos/j: must be a … 'x'"),
        ("step,time,a/qpos/j\n", "has no rows"),
        ("step,time,a/qpos/j\n0,0,1\n", "the timestep is unknown; …"),
        ("# mjrig recording {\n", "line 1 is not JSON: "),
        ("# mjrig recording {}\nstep,tim\n", "the header must begin … step,time, … "),
        (
            "# mjrig recording {}\nstep,time,a/qqos/j\n",
            "'a/qqos/j' is not a valid … <robot>/<group>/<name>, … qpos, qvel, ",
        ),
        ("step,time,a/qpos/j,a/qpos/j\n0,0,1,2\n", "the column 'a/qpos/j' is there …"),
    ],
)
def test_a_broken_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(text)
    with pytest.raises(mjrig.RecordingError) as info:
        mjrig.read_recording(bad)
    assert matches(str(info.value), f"{bad}: {message}…")


def test_what_nobody_knows_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    with pytest.raises(mjrig.RecordingError, match=regex("is not in a …")):
        mjrig.read_recording(file)
    missing = tmp_path / "gone.h5"
    with refused(mjrig.RecordingError, f"{missing}: there is no such …"):
        mjrig.read_recording(missing)
    with refused(mjrig.RecordingError, "unknown hint 'fsp'; did you … 'fps'?"):
        mjrig.read_recording(file, {"fsp": 50})


def test_the_log_holds_one_entry_a_line(path: Path) -> None:
    with h5py.File(path, "r") as file:
        entries = [json.loads(row) for row in bytes(file["log"][:]).decode().splitlines()]
    assert [e["step"] for e in entries] == [9, 9, 20, 30]
    assert entries[-1] == {"step": 30, "end": True}
