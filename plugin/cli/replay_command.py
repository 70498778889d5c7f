"""`mjrig replay`: command and options. Imports nothing heavy before it runs."""

import argparse
import sys
from pathlib import Path
from typing import Any

from mjrig.cli.options import (
    add_debug,
    add_execution,
    add_output,
    add_scene_options,
    number_above_zero,
    number_from_zero,
    split,
)
from mjrig.cli.recording_options import add_hints, hints_of
from mjrig.cli.terminal import command_line, examples
from mjrig.core.errors import MjrigError
from mjrig.lab.replay.settings import TOLERANCE, TRIALS


def add(commands: Any) -> None:
    """Add the sub-command."""
    summary = "replay a recording or a policy in a scene, compare and diagnose"
    parser = commands.add_parser(
        "replay", help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    parser.add_argument(
        "source",
        metavar="RECORDING|POLICY|FOLDER",
        type=Path,
        help="a recording, a policy file (YAML), or a folder of recordings",
    )
    parser.add_argument(
        "--scene", type=Path, metavar="SCENE", help="scene or model (the recording's own)"
    )
    parser.add_argument(
        "--mode",
        choices=("targets", "kinematic", "policy"),
        default="",
        help="recorded setpoints through the scene's controllers, recorded poses, or the network "
        "in the loop (policy for a policy, else targets)",
    )
    add_output(parser, "--report", metavar="DIR", help="write report.json and .html", folder=True)
    parser.add_argument("--json", action="store_true", help="print report.json instead of text")
    parser.add_argument(
        "--fail-above",
        type=number_from_zero,
        metavar="X",
        help="exit with 1 if a position error exceeds this [rad or m], or a robot fell",
    )
    parser.add_argument(
        "--tolerance",
        type=number_from_zero,
        default=TOLERANCE,
        metavar="X",
        help="largest position error that still counts as a match [rad or m] (0.001)",
    )
    parser.add_argument(
        "--robot", default="", metavar="NAME", help="robot of the scene (by name and joints)"
    )
    parser.add_argument(
        "--no-diagnosis", action="store_true", help="do not search for causes of the difference"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="make the edit that repairs the first certain finding, in the scene or policy file",
    )
    parser.add_argument(
        "--resample", action="store_true", help="allow another timestep than the recording's"
    )
    _add_policy(parser)
    _add_reading(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    examples(
        parser,
        "mjrig replay run.h5 --report report",
        "mjrig replay assets/walk/policy.yaml --scene config/scenes/quadruped_walk.yaml "
        "--command 0.5,0,0",
    )


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--policy", type=Path, metavar="F.yaml", help="policy file for a recording")
    parser.add_argument(
        "--duration",
        type=number_above_zero,
        metavar="S",
        help="seconds to replay, from the start (all of a recording, 10 of a policy)",
    )
    parser.add_argument(
        "--command",
        type=_numbers,
        dest="constant_command",
        metavar="VX,VY,WZ",
        help="constant command of a policy (the recorded ones, if there are)",
    )
    parser.add_argument(
        "--schedule",
        type=_schedule,
        metavar="T:VX,VY,WZ;…",
        help="commands by start time: 0:0,0,0;1:0.5,0,0",
    )
    parser.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help=f"perturbed runs of a policy besides the nominal one ({TRIALS})",
    )
    parser.add_argument(
        "--seed", type=int, help="random seed for the perturbations (the recording's, or 0)"
    )
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="worker processes (one per core)"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_execution(parser)
    add_scene_options(parser)
    add_hints(parser)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers like 0.5,0,0, got {text}") from None


def _schedule(text: str) -> list[tuple[float, list[float]]]:
    found = []
    for entry in text.split(";"):
        time, colon, values = entry.partition(":")
        if not colon:
            raise argparse.ArgumentTypeError(f"must be like 0:0,0,0;1:0.5,0,0, got {text}")
        found.append((_numbers(time)[0], _numbers(values)))
    return found


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `replay`."""
    return {
        "mode": options.mode,
        "robot": options.robot,
        "tolerance": options.tolerance,
        "diagnose": not options.no_diagnosis,
        "resample": options.resample,
        "policy": options.policy,
        "command": options.constant_command,
        "schedule": options.schedule,
        "duration": options.duration,
        "trials": options.trials,
        "seed": options.seed,
        "hints": hints_of(options),
    }


def run(options: argparse.Namespace) -> int:
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


def _fix(options: argparse.Namespace, result: Any) -> None:
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


def _say(options: argparse.Namespace, result: Any) -> None:
    if options.json:
        from mjrig.lab.report.output import to_json

        print(to_json(result.to_data()))
        return
    print(result)
    if options.report is not None:
        print(f"{options.report / 'report.html'} and report.json written", file=sys.stderr)


def _run_folder(options: argparse.Namespace, job: Any, replay_folder: Any) -> int:
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
