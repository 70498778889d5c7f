"""Replays of a file or a folder as options ask, on several processes, with one table."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mjrig.cli.options import naming_variables, override, split
from mjrig.core.errors import MjrigError, RecordingError
from mjrig.core.processes.process_pool import ProcessPool, cores
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.data.recording.metadata import scene_of
from mjrig.data.recording.recording import Recording
from mjrig.data.robot_logs.log_recording import FORMAT as LOG
from mjrig.lab.replay.result import Replay, write_report
from mjrig.lab.replay.runner import replay
from mjrig.lab.replay.source import as_recording, is_policy, recorded_seed
from mjrig.lab.report.output import format_table

#: Files that may hold a recording.
SUFFIXES = (".h5", ".hdf5", ".npz", ".csv", ".json", ".msgpack")


@dataclass(frozen=True)
class ReplayJob:
    """Settings of a replay: the scene, its overrides, and the options of `replay`.

    No scene: the recording's own.
    """

    scene: Path | None
    execution: str = "auto"
    sets: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    sandbox: bool = False
    trust: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def replay(self, source: Path) -> Replay:
        """Replay one file in a fresh world."""
        variables = dict(map(split, self.variables))
        what: Recording | Path = source
        recording: Recording | None = None
        if not is_policy(source):
            what = recording = as_recording(source, self.settings.get("hints"))
        how: dict[str, bool] = {"sandbox": self.sandbox, "trust": self.trust}
        with naming_variables(self.variables):
            if self.scene is not None:
                scene = Scene.load(self.scene, vars=variables, **how)
            elif recording is None:
                raise RecordingError(_without_scene(source))
            else:
                scene = scene_of(recording, variables, **how)
        override(scene, self.sets)
        world = World(scene, self.execution, seed=recorded_seed(recording))
        if recording is not None and recording.format == LOG and source.exists():
            what = as_recording(source, self.settings.get("hints"), world.timestep)
        return replay(what, world, **self.settings)


def _without_scene(source: Path) -> str:
    """What to do about a YAML file that is to be replayed without a scene."""
    with suppress(MjrigError):
        Scene.load(source)
        return (
            f"{source}: is a scene, and a recording or a policy is replayed: "
            f"mjrig replay RECORDING --scene {source}; mjrig run {source} runs the scene"
        )
    return f"{source}: needs a scene to be replayed in: --scene SCENE"


def workers_of(asked: int) -> int:
    """Number of processes: as requested, or one per core."""
    return asked if asked > 0 else cores()


def replay_folder(
    folder: Path, job: ReplayJob, workers: int = 0, report: Path | None = None
) -> dict[str, Replay | str]:
    """Every recording of a folder by file name: its result, or why it could not be replayed.

    Reports go to `report/<file name>/`.

    Raises:
        RecordingError: there is nothing to replay.
    """
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
    if not files:
        raise RecordingError(f"{folder}: has no recordings ({', '.join(SUFFIXES)})")
    count = min(workers_of(workers), len(files))
    one = replace(job, settings={**job.settings, "workers": 1})
    if count <= 1:
        found = [FolderReplayer(one, report).run(p) for p in files]
    else:
        with ProcessPool(count, FolderReplayer, one, report) as pool:
            found = list(pool.map(FolderReplayer.run, files))
    return {p.name: r for p, r in zip(files, found, strict=True)}


@dataclass(frozen=True)
class FolderReplayer:
    """Replays files one by one, and writes their reports below a folder if there is one."""

    job: ReplayJob
    report: Path | None

    def run(self, source: Path) -> Replay | str:
        """The result of one file, or why it could not be replayed."""
        try:
            result = self.job.replay(source)
            if self.report is not None:
                write_report(result, self.report / source.name)
        except MjrigError as error:
            return " ".join(str(error).split())
        # The curves are in the report already; they are long.
        result.comparison, result.series = None, {}
        return result


def table(results: Mapping[str, Replay | str]) -> list[str]:
    """One line per file."""
    rows = []
    for name, result in results.items():
        if isinstance(result, str):
            rows.append((name, "error", "", "", "", result))
            continue
        error, first = result.max_abs_position_error, result.first_divergence
        finding = result.diagnosis[0] if result.diagnosis else None
        rows.append(
            (
                name,
                result.verdict,
                "-" if error is None else f"{error:.3g}",
                "-" if first is None else f"{first['time']:.3f} s {first['joint']}",
                "fell" if result.fell else "",
                " ".join((finding.kind, *finding.names)) if finding is not None else "",
            )
        )
    head = ("recording", "verdict", "largest error", "first divergence", "", "first finding")
    return format_table(head, rows)
