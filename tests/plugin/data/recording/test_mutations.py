"""Damaged recordings: an error of ours or the same numbers, never a traceback or other numbers."""

import json
import random
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.cli.recording_summary import summary
from mjrig.components import PDController
from mjrig.data.recording.csv_file import MARK, write_csv
from mjrig.data.recording.npz_file import META, write_npz
from mjrig.data.recording.recording import Recording
from mjrig.data.recording.verification import verify
from tests.campaign import CAMPAIGN, Tally
from tests.components.importers.recordings.test_recordings import (
    CONFIG,
    frame,
    isaac,
    log,
    motion,
    urlab_csv,
)
from tests.patience import PATIENCE
from tests.plugin.data.recording import mutations
from tests.plugin.data.recording.test_reading import same
from tests.plugin.data.recording.ticking import Ticking
from tests.plugin.data.recording.worlds import record, wiggle
from tests.plugin.lab.replay.recorded import write_ticks
from tests.worlds import ROVER, make_world, pd_of

pytest.importorskip("h5py")
pytest.importorskip("msgpack")

#: What a small file may take, whatever is in it: processor time [s] and memory [kB].
SECONDS, KILOBYTES = 1.0, 500_000
Change = Callable[[random.Random, Path], None]


@dataclass(frozen=True)
class Base:
    """A good file: `change` alters what it holds in its own format."""

    path: Path
    hints: dict[str, object] = field(default_factory=dict)
    #: Whether changed bytes have to be noticed.
    has_checksums: bool = True
    change: Change | None = None


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Base]:
    folder = tmp_path_factory.mktemp("good")
    world = make_world(ROVER, [PDController(kp=5, kv=1, torque_limit=np.inf), Ticking()])

    def steer(world: mjrig.World, step: int) -> None:
        wiggle(world, step)
        if step == 9:
            pd_of(world["robot"]).kp = 7
        if step == 20:
            world.reset()

    recording, _ = record(world, folder / "run.h5", 30, steer)
    write_npz(recording, folder / "run.npz")
    write_csv(recording, folder / "run.csv")
    killed(make_world(ROVER, [PDController(kp=5, kv=1)]), folder / "killed.h5")
    write_ticks(folder / "ticks.npz")
    names: dict[str, object] = {"joints": "a,b", "fps": 50}
    rows = [f"{t},{q},0,0,1,1,0,0,0,9" for t, q in ((0.0, 0.1), (0.002, 0.2), (0.004, 0.2))]
    (folder / "urlab.json").write_text(json.dumps({"Frames": [frame(0.0), frame(0.005)]}))
    clip = "\n".join(",".join(["0", "0", "1", "0", "0", "0", "1", "0.1", str(i)]) for i in range(4))
    (folder / "clip.csv").write_text(clip)
    return [
        Base(folder / "run.h5", change=mutations.change_h5),
        Base(folder / "run.h5"),
        Base(folder / "killed.h5"),
        Base(folder / "run.npz", change=lambda r, p: mutations.change_npz(r, p, META)),
        Base(folder / "run.csv", change=mutations.change_csv),
        Base(folder / "ticks.npz", change=lambda r, p: mutations.change_npz(r, p, "meta")),
        Base(
            motion(folder / "motion.npz"), names, change=lambda r, p: mutations.change_npz(r, p, "")
        ),
        Base(isaac(folder / "isaac.hdf5"), names, False, mutations.change_h5),
        Base(log(folder, config=CONFIG), {}, False),
        Base(urlab_csv(folder / "urlab.csv", *rows), {}, False),
        Base(folder / "urlab.json", {}, False, mutations.change_json),
        Base(folder / "clip.csv", names, False),
    ]


def killed(world: mjrig.World, path: Path) -> None:
    """The file of a process that died while it recorded."""
    living = path.with_name("living.h5")
    with mjrig.Recorder(world, living):
        world.step(100)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shutil.copy(living, path)
            try:
                if mjrig.read_recording(path).steps == 100:
                    return
            except mjrig.MjrigError:
                pass
            time.sleep(0.05)
    raise AssertionError("nothing was written")


def used(recording: Recording, folder: Path) -> None:
    """What `info` and `convert` do with a recording."""
    summary(recording)
    write_csv(recording, folder / "again.csv")
    if not CAMPAIGN:
        return
    write_npz(recording, folder / "again.npz")
    mjrig.read_recording(folder / "again.npz")


def peak_memory() -> int:
    """The most memory since it was last forgotten [kB]."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


def forget_peak() -> int:
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return peak_memory()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def everything(recording: Recording) -> Recording:
    return replace(recording, path=Path(), notes=())


@pytest.mark.campaign
def test_damage_is_an_error_or_harmless(bases: list[Base], tmp_path: Path, tally: Tally) -> None:
    good = {b.path.name: everything(mjrig.read_recording(b.path, b.hints)) for b in bases}
    for rng in tally.cases("mutated recordings", 60, 12_000, minutes=15):
        base = bases[tally.tried % len(bases)]
        path = tmp_path / f"bad{base.path.suffix}"
        shutil.copy(base.path, path)
        if base.path.suffix == ".msgpack":
            config = tmp_path / "config.json"
            shutil.copy(base.path.with_name("config.json"), config)
            if rng.random() < 0.5:
                mutations.change_json(rng, config)
        of_bytes = base.change is None or rng.random() < 0.5
        if of_bytes:
            path.write_bytes(rng.choice(mutations.BYTES)(rng, base.path.read_bytes()))
        else:
            assert base.change is not None
            base.change(rng, path)
        keep = path.with_name(f"case_{tally.tried}{path.suffix}")
        before, started = forget_peak(), time.process_time()
        problem = one(base, path, good[base.path.name] if of_bytes else None)
        if CAMPAIGN and time.process_time() - started > SECONDS:
            problem = problem or f"took {time.process_time() - started:.1f} s"
        if CAMPAIGN and peak_memory() - before > KILOBYTES:
            problem = problem or f"took {(peak_memory() - before) // 1000} MB"
        if problem:
            shutil.copy(path, keep)
            tally.found(f"{base.path.name}, {keep}: {problem}")


def one(base: Base, path: Path, good: Recording | None) -> str:
    """What is wrong with how one damaged file is read; empty: nothing."""
    try:
        recording = mjrig.read_recording(path, base.hints)
        used(recording, path.parent)
    except mjrig.MjrigError as error:
        return check_verified(base, path, refused=True) or ("\n" in str(error)) * "several lines"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if good is None or not base.has_checksums:
        return ""
    if path.suffix == ".csv" and not path.read_bytes().startswith(MARK.encode()):
        return ""  # a table without its first line is one that was written by hand
    if not same(everything(recording), good):
        return "reads as good, with other content"
    return check_verified(base, path, refused=False)


def check_verified(base: Base, path: Path, *, refused: bool) -> str:
    """`info --verify` agrees with the reader."""
    if not CAMPAIGN:
        return ""
    try:
        found = verify(path, base.hints)
    except mjrig.MjrigError:
        return "" if refused else "verify fails on what can be read"
    except Exception as error:
        return f"verify: {type(error).__name__}: {error}"
    if bool(found.damage) != refused:
        return f"verify says {found.text()!r}"
    return ""
