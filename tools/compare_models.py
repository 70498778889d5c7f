"""Compare MuJoCo and mjrig on every model of a folder: which loads it, and do both move alike?

    python tools/compare_models.py FOLDER [--steps 20]

Each model is loaded and stepped by MuJoCo, and by mjrig as the only actor and as one of two. The
exit code is 1 if mjrig rejects a model that MuJoCo loads, or moves it otherwise.
"""

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np

from mjrig import MjrigError, Scene, World

#: A model that takes longer counts as one that does not load: the largest take some seconds.
_SECONDS_PER_MODEL = 120.0
_STEPS = 20
_SUFFIXES = (".xml", ".mjcf", ".urdf")
_ARRAYS = ("time", "qpos", "qvel", "act", "sensordata", "xpos")
#: MuJoCo raises FatalError when it runs out of memory.
_ERRORS = (MjrigError, RuntimeError, ValueError, mujoco.FatalError)


@dataclass(frozen=True)
class Row:
    """The results of one model; empty texts: it was loaded."""

    file: str
    #: Why MuJoCo, and mjrig with one and with two actors, did not load it.
    mujoco: str = ""
    mjrig: str = ""
    two_actors: str = ""
    is_equal: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether MuJoCo loads it, and mjrig does not or moves it otherwise."""
        return not self.mujoco and not self.is_equal

    @property
    def verdict(self) -> str:
        """The result in words."""
        if self.mujoco:
            return f"MuJoCo rejects it: {self.mujoco}"
        if self.mjrig:
            return f"mjrig rejects it: {self.mjrig}"
        motion = "bit-identical" if self.is_equal else "moves otherwise"
        return f"{motion}; two actors: {self.two_actors}" if self.two_actors else motion


def compare(file: Path, steps: int = _STEPS) -> Row:
    """Load and step one model."""
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        return Row(str(file), _last_words(error))
    print(json.dumps({"loads": str(file)}), flush=True)
    try:
        world = World(Scene.load(file))
        world.step(steps)
    except _ERRORS as error:
        return Row(str(file), mjrig=_last_words(error))
    data = mujoco.MjData(model)
    # Servos of sites and tendons hold their first length in mjrig, in MuJoCo they go to 0.
    is_alike = model.nu == world.model.nu
    if is_alike:
        data.ctrl[:] = world.data.ctrl
    for _ in range(steps):
        mujoco.mj_step(model, data)
    for name in _ARRAYS:
        expected, actual = (np.asarray(getattr(d, name)) for d in (data, world.data))
        is_alike &= expected.tobytes() == actual.tobytes()
    return Row(str(file), two_actors=_load_twice(file), is_equal=is_alike)


def _load_twice(file: Path) -> str:
    """Why two actors of a model are not loaded; empty: they are."""
    actors = [{"name": name, "model": file.name} for name in ("first", "second")]
    text = json.dumps({"mjrig": 1, "actors": actors})
    try:
        World(Scene.parse(text, file.parent)).step()
    except _ERRORS as error:
        return _last_words(error)
    return ""


def _last_words(error: Exception) -> str:
    return " ".join(str(error).split())[-160:]


# Processes ----------------------------------------------------------------------------------------


def rows(files: Sequence[Path], steps: int = _STEPS) -> Iterator[Row]:
    """The rows of all models; a process that a model ends is replaced by another one."""
    pending = list(files)
    while pending:
        command = [sys.executable, __file__, "--steps", str(steps), "--child", *map(str, pending)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            loads = False
            timer = _started_timer(process)
            for line in process.stdout:
                if not line.startswith("{"):
                    continue
                fields = json.loads(line)
                loads = "loads" in fields
                if not loads:
                    yield Row(**fields)
                    del pending[0]
                    timer.cancel()
                    timer = _started_timer(process)
            timer.cancel()
        if pending:
            reason = f"the process ended with code {process.returncode}"
            file = str(pending.pop(0))
            yield Row(file, mjrig=reason) if loads else Row(file, reason)


def _started_timer(process: subprocess.Popen[str]) -> threading.Timer:
    timer = threading.Timer(_SECONDS_PER_MODEL, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="folders of models, or models")
    parser.add_argument("--steps", type=int, default=_STEPS, help="physics steps to compare")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        for path in options.paths:
            print(json.dumps(asdict(compare(path, options.steps))), flush=True)
        return 0
    table = list(rows(models_in(options.paths), options.steps))
    print_table(table)
    return int(any(row.is_wrong for row in table))


def models_in(paths: Sequence[Path]) -> list[Path]:
    """The models in folders, at any depth, and single files."""
    files = [f for p in paths for f in (sorted(p.rglob("*")) if p.is_dir() else [p])]
    return [file for file in files if file.suffix.lower() in _SUFFIXES]


def print_table(table: Sequence[Row]) -> None:
    """Print a line for each model, and the counts."""
    for row in table:
        print(f"{row.file}: {row.verdict}")
    loaded = [row for row in table if not row.mujoco]
    accepted = [row for row in loaded if not row.mjrig]
    print(
        f"{len(table)} files; MuJoCo loads {len(loaded)}, mjrig loads {len(accepted)} of these, "
        f"{sum(row.is_equal for row in accepted)} bit-identical, "
        f"{sum(not row.two_actors for row in accepted)} also as two actors"
    )


if __name__ == "__main__":
    sys.exit(main())
