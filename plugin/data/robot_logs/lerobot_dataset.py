"""Recordings as data sets in LeRobot's layout, version 3: `meta/` and `data/` in Parquet.

States and actions are float32, as that format requires; each span of a recording between two
resets is an episode.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError
from mjrig.core.names import listed
from mjrig.data.recording.recording import ActorRecording, Recording, Steps
from mjrig.data.robot_logs.containers.decompression import package

DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_EPISODES = Path("meta", "episodes", "chunk-000", "file-000.parquet")
#: A task that nobody named.
_TASK = "recorded run"


@dataclass(frozen=True)
class Feature:
    """One table of a data set: its columns' names, and values (frames, columns)."""

    names: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Frames:
    """Which physics steps become frames, and where episodes begin among them."""

    steps: Steps
    episode: Steps
    index: Steps


def write_lerobot(recording: Recording, folder: Path, fps: int | None = None) -> None:
    """Write one robot's positions, velocities, efforts and position setpoints as a data set.

    A frame holds the latest values at its time; at a rate that divides the recording's, that is
    every n-th row.

    Args:
        recording: it has one robot with joints.
        folder: it is made, or a data set there is replaced.
        fps: frames per second; None: the rate of the recording.

    Raises:
        RecordingError: it has several robots, its rate is no whole number, or it cannot be written.
        MissingExtraError: pyarrow is not installed.
    """
    package("pyarrow.parquet", "a data set of LeRobot")
    actor = _robot(recording)
    rate = _rate(recording, actor) if fps is None else fps
    frames = _frames(recording, actor, rate)
    features = dict(_features(recording, actor, frames.steps))
    if folder.exists() and any(folder.iterdir()) and not (folder / "meta" / "info.json").is_file():
        raise RecordingError(f"{folder}: holds other files, and no data set to replace")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=".lerobot-") as made:
            _write(Path(made, "new"), actor.name, rate, frames, features)
            if folder.exists():
                shutil.rmtree(folder)
            Path(made, "new").rename(folder)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _robot(recording: Recording) -> ActorRecording:
    """The one actor that has commands; without any, the one that has joints."""
    commanded = [a for a in recording.actors.values() if a.actuators]
    found = commanded or [a for a in recording.actors.values() if _columns(a)]
    if len(found) != 1:
        has = f"has {listed(a.name for a in found)}" if found else "has no robot"
        raise RecordingError(f"{recording.path}: {has}; a data set of LeRobot is of one robot")
    return found[0]


def _rate(recording: Recording, actor: ActorRecording) -> int:
    gaps = np.diff(actor.step)
    seconds = recording.timestep * float(np.median(gaps)) if len(gaps) else recording.timestep
    rate = round(1.0 / seconds)
    if abs(rate * seconds - 1.0) > 1e-6:
        raise RecordingError(
            f"{recording.path}: has {1.0 / seconds:.6g} rows per second, and LeRobot wants a whole "
            "number: --fps 50"
        )
    return rate


def _frames(recording: Recording, actor: ActorRecording, rate: int) -> Frames:
    starts = [s for s in recording.segments if s <= actor.step[-1]]
    ends = [*(s - 1 for s in starts[1:]), int(actor.step[-1])]
    steps, episodes, index = [], [], []
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        first = max(start, int(actor.step[0]))
        count = int((end - first) * recording.timestep * rate + 1e-6) + 1
        ticks = np.arange(max(count, 0))
        steps.append(first + np.floor(ticks / (rate * recording.timestep) + 1e-6).astype(np.int64))
        episodes.append(np.full(len(ticks), k))
        index.append(ticks)
    return Frames(*(np.concatenate(part).astype(np.int64) for part in (steps, episodes, index)))


def _columns(actor: ActorRecording) -> dict[str, tuple[int, int]]:
    """Where each hinge and slide is in qpos and qvel."""
    return {
        j.name: (j.qpos.start, j.dof.start) for j in actor.joints if j.kind in ("hinge", "slide")
    }


def _features(
    recording: Recording, actor: ActorRecording, steps: Steps
) -> Iterator[tuple[str, Feature]]:
    joints = _columns(actor)
    rows = _latest(actor.step, steps)
    q, v = ([place[k] for place in joints.values()] for k in (0, 1))
    if joints:
        names = tuple(f"{name}.pos" for name in joints)
        yield "observation.state", Feature(names, actor.qpos[rows][:, q])
        if actor.qvel is not None:
            names = tuple(f"{name}.vel" for name in joints)
            yield "observation.velocity", Feature(names, actor.qvel[rows][:, v])
    driven = [joint or name for joint, name in zip(actor.driven, actor.actuators, strict=True)]
    if actor.efforts is not None and driven and len(actor.efforts.step):
        names = tuple(f"{name}.effort" for name in driven)
        at = _latest(actor.efforts.step, steps)
        yield "observation.effort", Feature(names, actor.efforts.effort[at])
    if actor.commands is not None and driven and len(actor.commands.step):
        names = tuple(f"{name}.pos" for name in driven)
        at = _latest(actor.commands.step, steps)
        yield "action", Feature(names, actor.commands.position[at])


def _latest(known: Steps, wanted: Steps) -> Steps:
    """Rows of the latest values at some steps; before the first: the first."""
    return np.maximum(np.searchsorted(known, wanted, side="right") - 1, 0)


# Files ------------------------------------------------------------------------------------------


def _write(
    folder: Path, robot: str, fps: int, frames: Frames, features: Mapping[str, Feature]
) -> None:
    arrow, parquet = package("pyarrow", "a data set"), package("pyarrow.parquet", "a data set")
    count, episodes = len(frames.steps), int(frames.episode.max()) + 1
    columns: dict[str, Any] = {}
    for name, feature in features.items():
        flat = arrow.array(feature.values.astype(np.float32).ravel(), arrow.float32())
        columns[name] = arrow.FixedSizeListArray.from_arrays(flat, len(feature.names))
    columns["timestamp"] = (frames.index / fps).astype(np.float32)
    columns["frame_index"], columns["episode_index"] = frames.index, frames.episode
    columns["index"], columns["task_index"] = np.arange(count), np.zeros(count, np.int64)
    data = folder / DATA.format(chunk_index=0, file_index=0)
    for file in (data, folder / _EPISODES):
        file.parent.mkdir(parents=True)
    parquet.write_table(arrow.table(columns), data)
    parquet.write_table(arrow.table(_episodes(frames, episodes)), folder / _EPISODES)
    parquet.write_table(_tasks(arrow), folder / "meta" / "tasks.parquet")
    info = _info(robot, fps, count, episodes, features)
    _write_json(folder / "meta" / "info.json", info)
    _write_json(folder / "meta" / "stats.json", {n: _stats(f.values) for n, f in features.items()})


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _episodes(frames: Frames, count: int) -> dict[str, Any]:
    lengths = np.bincount(frames.episode, minlength=count)
    ends = np.cumsum(lengths)
    zeros = np.zeros(count, np.int64)
    return {
        "episode_index": np.arange(count),
        "tasks": [[_TASK]] * count,
        "length": lengths,
        "data/chunk_index": zeros,
        "data/file_index": zeros,
        "dataset_from_index": ends - lengths,
        "dataset_to_index": ends,
        "meta/episodes/chunk_index": zeros,
        "meta/episodes/file_index": zeros,
    }


def _tasks(arrow: Any) -> Any:
    """The tasks as pandas writes a table whose index is their texts."""
    index = "__index_level_0__"
    described = [
        {"name": "task_index", "field_name": "task_index", "pandas_type": "int64",
         "numpy_type": "int64", "metadata": None},
        {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object",
         "metadata": None},
    ]  # fmt: skip
    about = {"index_columns": [index], "column_indexes": [], "columns": described}
    table = arrow.table({"task_index": np.zeros(1, np.int64), index: [_TASK]})
    return table.replace_schema_metadata({b"pandas": json.dumps(about).encode()})


def _info(
    robot: str, fps: int, frames: int, episodes: int, features: Mapping[str, Feature]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        name: {"dtype": "float32", "shape": [len(f.names)], "names": list(f.names)}
        for name, f in features.items()
    }
    own = {"timestamp": "float32"} | dict.fromkeys(
        ("frame_index", "episode_index", "index", "task_index"), "int64"
    )
    described |= {name: {"dtype": d, "shape": [1], "names": None} for name, d in own.items()}
    return {
        "codebase_version": "v3.0",
        "robot_type": robot,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "fps": fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA,
        "video_path": None,
        "features": described,
    }


def _stats(values: FloatArray) -> dict[str, Any]:
    of = {"min": values.min(0), "max": values.max(0), "mean": values.mean(0), "std": values.std(0)}
    return {name: array.tolist() for name, array in of.items()} | {"count": [len(values)]}
