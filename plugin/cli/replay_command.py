"""`mjrig replay`: command and options. Imports nothing heavy before it runs."""

import sys
from typing import Any

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
from mjrig.cli.options import ExecutionOptions, HintOptions, OverrideOptions, split
from mjrig.cli.terminal import command_line
from mjrig.core.errors import MjrigError
from mjrig.lab.replay.settings import TOLERANCE, TRIALS


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
        TOLERANCE,
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
        None, "perturbed runs of a policy besides the nominal one", "N", otherwise=str(TRIALS)
    )
    seed = OptionalIntOption(
        None, "random seed for the perturbations", otherwise="the recording's, or 0"
    )
    workers = IntOption(0, "worker processes", "N", otherwise="one per core")


def settings(options: ReplayOptions) -> dict[str, Any]:
    """The options of `replay`."""
    return {
        **options.values("mode", "robot", "tolerance", "resample", "policy", "schedule"),
        **options.values("duration", "trials", "seed"),
        "diagnose": not options.no_diagnosis,
        "command": options.constant_command,
        "hints": options.hints(),
    }


def run(options: ReplayOptions) -> int:
    """Replay one file, or all of a folder."""
    from mjrig.cli.replay_folder import ReplayJob, replay_folder, workers_of
    from mjrig.data.robot_logs.log_reader import is_log_folder

    job = ReplayJob(
        scene=options.scene,
        execution=options.execution,
        sets=tuple(options.set),
        variables=tuple(options.var),
        sandbox=options.sandbox,
        trust=options.trust,
        settings={**settings(options), "workers": workers_of(options.workers)},
    )
    if options.source.is_dir() and not is_log_folder(options.source):
        if options.fix:
            raise MjrigError("--fix repairs after one replay: give a file, not a folder")
        return _run_folder(options, job, replay_folder)
    if options.report is not None:
        from mjrig.lab.replay.result import write_report
        from mjrig.lab.report.output import prepare_folder

        prepare_folder(options.report)
        result = job.replay(options.source)
        result.command = command_line()
        write_report(result, options.report)
    else:
        result = job.replay(options.source)
    _say(options, result)
    if options.fix:
        _fix(options, result)
    return code(result, options.fail_above)


def _fix(options: ReplayOptions, result: Any) -> None:
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


def _say(options: ReplayOptions, result: Any) -> None:
    if options.json:
        from mjrig.lab.report.output import to_json

        print(to_json(result.to_data()))
        return
    print(result)
    if options.report is not None:
        print(f"{options.report / 'report.html'} and report.json written", file=sys.stderr)


def _run_folder(options: ReplayOptions, job: Any, replay_folder: Any) -> int:
    results = replay_folder(options.source, job, options.workers, options.report)
    if options.json:
        from mjrig.lab.report.output import to_json

        data = {n: r if isinstance(r, str) else r.to_data() for n, r in results.items()}
        print(to_json(data))
    else:
        from mjrig.cli.replay_folder import table

        print("\n".join(table(results)))
    codes = [1 if isinstance(r, str) else code(r, options.fail_above) for r in results.values()]
    return max(codes, default=0)


def code(result: Any, fail_above: float | None) -> int:
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
