"""`mjrig replay`: command and options. Imports nothing heavy before it runs."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mjrig.cli.command_options import (
    Flag,
    FloatOption,
    InputFile,
    IntOption,
    OneOf,
    OptionalFloatOption,
    OptionalIntOption,
    OutputFile,
    Parsed,
    TextOption,
    command,
)
from mjrig.cli.options import (
    ExecutionOptions,
    HintOptions,
    OverrideOptions,
    load_scene,
    naming_variables,
    override,
    print_report,
    split,
)
from mjrig.cli.terminal import command_line
from mjrig.core.errors import MjrigError, RecordingError

if TYPE_CHECKING:
    from mjrig.lab.replay.result import Replay
    from mjrig.lab.report.content import ReportTable


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"must be numbers like 0.5,0,0, got {text}") from None


def _schedule(text: str) -> list[tuple[float, tuple[float, ...]]]:
    found = []
    for entry in text.split(";"):
        time, colon, values = entry.partition(":")
        if not colon:
            raise ValueError(f"must be like 0:0,0,0;1:0.5,0,0, got {text}")
        found.append((_numbers(time)[0], _numbers(values)))
    return found


class ReplayOptions(ExecutionOptions, OverrideOptions, HintOptions):
    """Options of `mjrig replay`."""

    source = InputFile(
        "a recording, a policy file (YAML), or a folder of recordings",
        "RECORDING|POLICY|FOLDER",
        positional=True,
    )
    scene = InputFile("scene or model", "SCENE", otherwise="the recording's own")
    mode = OneOf(
        ("targets", "kinematic", "policy"),
        "",
        "recorded setpoints through the scene's controllers, recorded poses, or the network "
        "in the loop",
        otherwise="policy for a policy, else targets",
    )
    report = OutputFile("write report.json and .html", "DIR", folder=True)
    json = Flag("print report.json instead of text")
    fail_above = OptionalFloatOption(
        None,
        "exit with 1 if a position error exceeds this [rad or m], or a robot fell",
        "X",
        min=0.0,
    )
    tolerance = FloatOption(
        1e-3,
        "largest position error that still counts as a match",
        "X",
        unit="rad or m",
        min=0.0,
    )
    robot = TextOption("", "robot of the scene", "NAME", otherwise="by name and joints")
    no_diagnosis = Flag("do not search for causes of the difference")
    fix = Flag("make the edit that repairs the first certain finding, in the scene or policy file")
    resample = Flag("allow another timestep than the recording's")
    policy = InputFile("policy file for a recording", "F.yaml")
    duration = OptionalFloatOption(
        None,
        "seconds to replay, from the start",
        "S",
        min=0.0,
        above=True,
        otherwise="all of a recording, 10 of a policy",
    )
    constant_command = Parsed(
        _numbers,
        "constant command of a policy",
        "VX,VY,WZ",
        flag="--command",
        otherwise="the recorded ones, if there are",
    )
    schedule = Parsed(_schedule, "commands by start time: 0:0,0,0;1:0.5,0,0", "T:VX,VY,WZ;…")
    trials = OptionalIntOption(
        None, "perturbed runs of a policy besides the nominal one", "N", otherwise="7"
    )
    seed = OptionalIntOption(
        None, "random seed for the perturbations", otherwise="the recording's, or 0"
    )
    workers = IntOption(0, "worker processes", "N", otherwise="one per core")

    def settings(self) -> dict[str, Any]:
        """The arguments of `replay`."""
        return {
            **self.values("mode", "robot", "tolerance", "resample", "policy", "schedule"),
            **self.values("duration", "trials", "seed"),
            "diagnose": not self.no_diagnosis,
            "command": self.constant_command,
            "hints": self.hints(),
        }


def run(options: ReplayOptions) -> int:
    """Replay one file, or all of a folder."""
    from mjrig.core.processes.process_pool import cores
    from mjrig.data.robot_logs.log_reader import is_log_folder
    from mjrig.lab.replay.result import described, write_report
    from mjrig.lab.report.output import prepare_folder

    workers = options.workers if options.workers > 0 else cores()
    if options.source.is_dir() and not is_log_folder(options.source):
        if options.fix:
            raise MjrigError("--fix repairs after one replay: give a file, not a folder")
        return _run_folder(options, workers)
    if options.report is not None:
        prepare_folder(options.report)
    result = replay_file(options, options.source, workers)
    if options.report is not None:
        result.command = command_line()
        write_report(result, options.report)
    print_report(described(result), as_json=options.json)
    if options.report is not None and not options.json:
        print(f"{options.report / 'report.html'} and report.json written", file=sys.stderr)
    if options.fix:
        _fix(options, result)
    return code(result, options.fail_above)


def replay_file(options: ReplayOptions, source: Path, workers: int = 1) -> "Replay":
    """Replay one file in a new world; without a scene in the options, in the recording's own."""
    from mjrig.core.sim.world import World
    from mjrig.data.recording.metadata import scene_of
    from mjrig.data.robot_logs.log_recording import FORMAT as LOG
    from mjrig.lab.replay.runner import replay
    from mjrig.lab.replay.source import as_recording, is_policy, recorded_seed

    recording = None if is_policy(source) else as_recording(source, options.hints())
    if options.scene is not None:
        scene = load_scene(options)
    elif recording is None:
        raise RecordingError(_without_scene(source))
    else:
        variables = dict(map(split, options.var))
        with naming_variables(options.var):
            scene = scene_of(recording, variables, **options.values("sandbox", "trust"))
        override(scene, options.set)
    world = World(scene, options.execution, seed=recorded_seed(recording))
    if recording is not None and recording.format == LOG and source.exists():
        recording = as_recording(source, options.hints(), world.timestep)
    what = source if recording is None else recording
    return replay(what, world, **options.settings(), workers=workers)


def _without_scene(source: Path) -> str:
    """What to do about a YAML file that is to be replayed without a scene."""
    from mjrig.core.scene.editing.scene import Scene

    with suppress(MjrigError):
        Scene.load(source)
        return (
            f"{source}: is a scene, and a recording or a policy is replayed: "
            f"mjrig replay RECORDING --scene {source}; mjrig run {source} runs the scene"
        )
    return f"{source}: needs a scene to be replayed in: --scene SCENE"


def _fix(options: ReplayOptions, result: "Replay") -> None:
    """Repair the first certain finding, and say how."""
    from mjrig.core.scene.editing.scene import Scene
    from mjrig.lab.replay.repairs import about, fix, policy_file, repairable

    finding = repairable(result)
    if finding is None:
        print(about(result), file=sys.stderr)
        return
    scene, policy = None, options.policy
    if options.scene is not None:
        variables = dict(map(split, options.var))
        scene = Scene.load(
            options.scene, vars=variables, sandbox=options.sandbox, trust=options.trust
        )
        policy = policy or policy_file(scene, options.robot)
    for line in fix(finding, scene, policy):
        print(f"fixed: {line}", file=sys.stderr)


# Folders ------------------------------------------------------------------------------------------


def _run_folder(options: ReplayOptions, workers: int) -> int:
    from mjrig.lab.report.output import to_json
    from mjrig.lab.report.text import section_lines

    results = replay_folder(options, workers)
    if options.json:
        data = {n: r if isinstance(r, str) else r.to_data() for n, r in results.items()}
        print(to_json(data))
    else:
        print("\n".join(section_lines(_table(results))))
    codes = [1 if isinstance(r, str) else code(r, options.fail_above) for r in results.values()]
    return max(codes, default=0)


def replay_folder(options: ReplayOptions, workers: int) -> "dict[str, Replay | str]":
    """Every recording of a folder by file name: its result, or why it could not be replayed.

    Raises:
        RecordingError: there is nothing to replay.
    """
    from mjrig.core.processes.process_pool import ProcessPool
    from mjrig.lab.replay.source import SUFFIXES

    folder = options.source
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
    if not files:
        raise RecordingError(f"{folder}: has no recordings ({', '.join(SUFFIXES)})")
    count = min(workers, len(files))
    if count <= 1:
        found = [FolderReplayer(options).run(p) for p in files]
    else:
        with ProcessPool(count, FolderReplayer, options) as pool:
            found = list(pool.map(FolderReplayer.run, files))
    return {p.name: r for p, r in zip(files, found, strict=True)}


class FolderReplayer:
    """Replays files one by one, and writes their reports below a folder if there is one."""

    def __init__(self, options: ReplayOptions) -> None:
        self._options = options

    def run(self, source: Path) -> "Replay | str":
        """The result of one file, or why it could not be replayed."""
        from mjrig.lab.replay.result import write_report

        try:
            result = replay_file(self._options, source)
            if self._options.report is not None:
                write_report(result, self._options.report / source.name)
        except MjrigError as error:
            return " ".join(str(error).split())
        # The curves are in the report already; they are long.
        result.comparison, result.series = None, {}
        return result


def _table(results: "Mapping[str, Replay | str]") -> "ReportTable":
    """One row per file."""
    from mjrig.lab.report.content import ReportColumn, ReportTable, words

    rows: list[tuple[object, ...]] = []
    for name, result in results.items():
        if isinstance(result, str):
            rows.append((name, "error", "", "", "", result))
            continue
        first, finding = result.first_divergence, next(iter(result.diagnosis), None)
        rows.append(
            (
                name,
                result.verdict,
                result.max_abs_position_error,
                None if first is None else f"{first['time']:.3f} s {first['joint']}",
                "fell" if result.fell else "",
                " ".join((finding.kind, *finding.names)) if finding is not None else "",
            )
        )
    columns = (
        *words("recording", "verdict"),
        ReportColumn("largest error"),
        *words("first divergence", "", "first finding"),
    )
    return ReportTable(columns, rows)


def code(result: "Replay", fail_above: float | None) -> int:
    """Exit code: 1 only if `--fail-above` asks for it."""
    if fail_above is None:
        return 0
    error = result.max_abs_position_error
    fell = result.mode == "policy" and result.fell
    return int(fell or (error is not None and not error <= fail_above))


add = command(
    "replay",
    ReplayOptions,
    run,
    "replay a recording or a policy in a scene, compare and diagnose",
    examples=(
        "mjrig replay run.h5 --report report",
        "mjrig replay assets/walk/policy.yaml --scene config/scenes/quadruped_walk.yaml "
        "--command 0.5,0,0",
    ),
)
