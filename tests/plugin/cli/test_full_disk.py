"""A full disk: one line that names the file, and everything that was there is there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mjrig
from mjrig.cli.main import main
from tests.campaign import CAMPAIGN
from tests.plugin.lab.sweep.swept import KP, hinge_scene
from tests.wording import mentions

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk, which root can"
)
#: Command → its outputs on the small disk. `{disk}` is the disk, `{scene}` a scene elsewhere.
COMMANDS = {
    "run {scene} --duration 0.05 --plot {disk}/plot.png": "plot.png",
    "convert {scene}/../run.h5 {disk}/run.csv --overwrite": "run.csv",
    "convert {scene}/../run.h5 {disk}/run.npz --overwrite": "run.npz",
    "export {scene} -o {disk}/model.xml": "model.xml",
    "export {scene} -o {disk}/model.mjb": "model.mjb",
    "replay {scene}/../run.h5 --scene {scene} --no-diagnosis --report {disk}/report": "report",
    f"sweep {{scene}} --grid {KP}=20,40 --run 0.1 --executor inline -o {{disk}}/out": "out",
    f"sweep {{scene}} --grid {KP}=20,40 --run 0.1 --executor inline -o {{disk}}/../out "
    "--best {disk}/best.yaml": "best.yaml",
    f"optimise {{scene}} --range {KP}=10:90 --run 0.1 --trials 3 --executor inline "
    "-o {disk}/out": "out",
    "tune respond {scene} --duration 0.1 --workers 1 --csv {disk}/r.csv": "r.csv",
    "tune respond {scene} --duration 0.1 --workers 1 --plot {disk}/r.png": "r.png",
    "tune excite {scene} --duration 2 --csv {disk}/x.csv": "x.csv",
    "tune test {scene} --workers 1 --report {disk}/t.html": "t.json",
    "new {scene}/../arm.xml -o {disk}/new.yaml --overwrite": "new.yaml",
    "tune assign {scene} --frequency 4 --poses 2 --preset {disk}/gains.yaml": "gains.yaml",
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = hinge_scene(tmp_path_factory.mktemp("scene"))
    world = mjrig.World(path)
    with mjrig.Recorder(world, path.parent / "run.h5"):
        world.step(40)
    return path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, leave: int) -> None:
    """Use up a disk except for some bytes."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1024)) == 1024:
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))


def content(disk: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(disk)): p.read_bytes()
        for p in sorted(disk.rglob("*"))
        if p.is_file() and p.name != "filler"
    }


@pytest.mark.parametrize("leave", [0, 4096] if CAMPAIGN else [0])
@pytest.mark.parametrize("command", [c for c in COMMANDS if CAMPAIGN or ".png" not in c])
def test_a_full_disk_is_one_line_and_nothing_is_lost(
    scene: Path, disk: Path, capsys: pytest.CaptureFixture[str], command: str, leave: int
) -> None:
    pytest.importorskip("h5py")
    if "optimise" in command:
        pytest.importorskip("optuna")
    if ".png" in command:
        pytest.importorskip("matplotlib")
    target = disk / COMMANDS[command]
    if target.suffix:
        target.write_text("what was there before")
    before = content(disk)
    fill(disk, leave)
    words = command.replace("{scene}/..", str(scene.parent))
    code = main(words.format(scene=scene, disk=disk).split())
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mjrig: ")]
    if code == 0 and leave:
        return  # it found room
    assert code == 1
    assert len(err) == 1 and str(target) in err[0] and "No space left on device" in err[0]
    now = content(disk)
    assert {name: now.get(name) for name in before} == before
    # A sweep keeps the rows it has; nothing else stays.
    kept = {"out/results.csv", "out/sweep.json", "out/study.journal"}
    assert set(now) - set(before) <= kept
    assert not any(name.rpartition("/")[2].startswith(".") for name in now)


def test_a_sweep_goes_on_when_there_is_room_again(
    scene: Path, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", str(scene), "--grid", f"{KP}=10:90:60", "--run", "0.02",
             "--executor", "inline", "-o", str(disk / "out")]  # fmt: skip
    fill(disk, 8192)
    codes = [main(words)]
    table = disk / "out" / "results.csv"
    rows = table.read_text().splitlines()
    assert codes == [1] and table.read_text().endswith("\n")
    assert mentions(capsys.readouterr().err, "finished tasks are kept, …")
    (disk / "filler").unlink()
    assert main(words) == 0
    after = table.read_text().splitlines()
    assert after[: len(rows)] == rows
    assert len(after) == 61 and len({line.partition(",")[0] for line in after}) == 61


RECORD = """
import sys
import mjrig
try:
    with mjrig.Recorder(mjrig.World(sys.argv[1]), sys.argv[2], overwrite=True):
        pass
except mjrig.RecordingError as error:
    print(error)
"""


def test_a_recording_is_not_replaced_where_there_is_no_room(scene: Path, disk: Path) -> None:
    pytest.importorskip("h5py")
    path = disk / "run.h5"
    path.write_text("what was there before")
    fill(disk, 4096)
    done = subprocess.run(
        [sys.executable, "-c", RECORD, str(scene), str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{path}: cannot be written: No space left on device\n"
    assert content(disk) == {"run.h5": b"what was there before"}


def test_output_that_nobody_can_take_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mjrig", "schema"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "mjrig: output: No space left on device\n")
