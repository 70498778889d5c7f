"""`mjrig tune`: step responses, gain tests, gain assignment, parameter fitting.

Imports nothing heavy before a command runs.
"""

import argparse
from collections.abc import Callable
from typing import Any

from mjrig.cli import excite_command, fit_command, gain_command
from mjrig.cli.options import (
    PLOT,
    PLOTS,
    SCENES,
    add_debug,
    add_execution,
    add_output,
    add_scene,
    add_scene_options,
    check_rewritable,
    load_scene,
)
from mjrig.cli.terminal import examples

#: Kind-specific defaults of the test signals: frequency, end frequency [Hz], duration [s].
DEFAULTS = {
    "step": (1.0, 5.0, 1.0),
    "square": (1.0, 5.0, 2.0),
    "sine": (1.0, 5.0, 3.0),
    "chirp": (0.2, 20.0, 5.0),
}


def add(commands: Any) -> None:
    """Add the sub-command with its own sub-commands."""
    parser = commands.add_parser(
        "tune",
        help="test joint responses and gains, assign gains, fit parameters to recordings",
        description="Test joint responses and gains, assign gains, fit parameters to recordings.",
    )
    examples(
        parser,
        "mjrig tune respond config/scenes/arm.yaml --signal step --amplitude 0.2",
        "mjrig tune assign config/scenes/arm.yaml --frequency 5 --damping 1",
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True)
    _add_respond(_job(jobs, "respond", _respond, "test how joints track a signal"))
    suite = _job(
        jobs, "test", gain_command.run, "run the gain tests, exit with 1 if one fails", many=True
    )
    _add_running(suite)
    gain_command.add(suite)
    _add_assign(
        _job(jobs, "assign", _assign, "compute gains from natural frequency and damping ratio")
    )
    fit_command.add(_job(jobs, "fit", fit_command.run, "fit parameters to recordings"))
    excite_command.add(
        _job(jobs, "excite", excite_command.run, "design a safe motion that shows parameters")
    )


def _job(
    jobs: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    *,
    many: bool = False,
) -> argparse.ArgumentParser:
    """A sub-command with what all share; `many`: it takes several patterns of joints."""
    parser: argparse.ArgumentParser = jobs.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    add_scene(parser)
    parser.add_argument("--actor", metavar="NAME", help="actor (all)")
    if many:
        parser.add_argument(
            "--joints",
            nargs="+",
            metavar="PATTERN",
            default=[".*"],
            help="joints or actuators, regular expressions (.*)",
        )
    else:
        parser.add_argument(
            "--joint",
            metavar="PATTERN",
            default=".*",
            help="joints or actuators, a regular expression (.*)",
        )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_debug(parser)
    add_scene_options(parser)
    parser.set_defaults(run=run)
    return parser


def _add_respond(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--signal", choices=tuple(DEFAULTS), default="step", help="shape of the setpoint (step)"
    )
    parser.add_argument(
        "--amplitude", type=float, default=0.1, metavar="A", help="amplitude [rad or m] (0.1)"
    )
    parser.add_argument(
        "--frequency",
        type=float,
        metavar="HZ",
        help="frequency of sine and square (1), start of a chirp (0.2)",
    )
    parser.add_argument("--end-frequency", type=float, metavar="HZ", help="end of a chirp (20)")
    parser.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="duration [s] (step 1, square 2, sine 3, chirp 5)",
    )
    _add_running(parser)
    add_output(
        parser,
        "--plot",
        metavar="F.png",
        help="plot of the responses over time and frequency",
        suffixes=PLOTS,
        needs=PLOT,
    )
    add_output(
        parser, "--csv", metavar="F.csv", help="write the sampled signals", suffixes=(".csv",)
    )
    examples(
        parser,
        'mjrig tune respond config/scenes/quadruped.yaml --joint ".*_calf" --amplitude 0.2',
        "mjrig tune respond config/scenes/pendulum.yaml --signal chirp --csv chirp.csv",
    )


def _add_running(parser: argparse.ArgumentParser) -> None:
    """How responses are computed."""
    add_execution(parser)
    parser.add_argument(
        "--workers", type=_count, metavar="N", help="worker processes (one per core)"
    )


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text}")
    return int(text)


def _respond(options: argparse.Namespace) -> int:
    from mjrig.lab.report.output import to_json
    from mjrig.lab.report.text import to_text
    from mjrig.lab.responses.joint_response import respond
    from mjrig.lab.responses.response_report import described, plot, write_csv
    from mjrig.lab.rollouts.signals import Kind, Signal

    given = (options.frequency, options.end_frequency, options.duration)
    numbers = [d if g is None else g for g, d in zip(given, DEFAULTS[options.signal], strict=True)]
    signal = Signal(Kind(options.signal), options.amplitude, *numbers)
    found = respond(
        load_scene(options),
        actor=options.actor,
        joint=options.joint,
        signal=signal,
        execution=options.execution,
        workers=options.workers,
    )
    if options.plot is not None:
        plot(found, options.plot)
    if options.csv is not None:
        write_csv(found, options.csv)
    report = described(found, signal)
    print(to_json(report.data) if options.json else to_text(report))
    return 0


def _add_assign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--frequency", type=float, required=True, metavar="HZ", help="natural frequency [Hz]"
    )
    parser.add_argument(
        "--damping", type=float, default=1.0, metavar="Z", help="damping ratio (1: critical)"
    )
    parser.add_argument(
        "--step",
        type=float,
        metavar="S",
        help="lower the gains of joints that a step of S rad or m saturates",
    )
    parser.add_argument(
        "--inertia",
        choices=("pose", "largest"),
        default="pose",
        help="inertia at the initial pose, or the largest over the sampled poses (pose)",
    )
    parser.add_argument(
        "--poses", type=int, default=32, metavar="N", help="number of poses searches begin at (32)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of the random poses that check the result (0)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--write", action="store_true", help="write the gains into the scene")
    add_output(
        where, "--preset", metavar="F.yaml", help="write the gains to a preset", suffixes=SCENES
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="write nothing; with --write show the changed lines"
    )
    examples(
        parser,
        "mjrig tune assign config/scenes/quadruped.yaml --frequency 5 --damping 0.8",
        "mjrig tune assign config/scenes/pendulum.yaml --frequency 4 --write --dry-run",
    )


def _assign(options: argparse.Namespace) -> int:
    from mjrig.core.errors import PropertyError
    from mjrig.lab.gains.assignment import Inertia, Wish, assign, described
    from mjrig.lab.report.output import to_json
    from mjrig.lab.report.text import to_text

    if options.write and options.set:
        raise PropertyError(
            "--write would also write the values of --set; use --preset, or drop --set"
        )
    scene = load_scene(options)
    if options.write and not options.dry_run:
        check_rewritable(scene)
    wish = Wish(options.frequency, options.damping, options.step, Inertia(options.inertia))
    plan = assign(
        scene,
        wish,
        actor=options.actor,
        joint=options.joint,
        poses=options.poses,
        seed=options.seed,
    )
    report = described(plan)
    print(to_json(report.data) if options.json else to_text(report))
    message = _keep(options, scene, plan)
    if message and not options.json:
        print(message)
    return 0


def _keep(options: argparse.Namespace, scene: Any, plan: Any) -> str:
    """Write the result as the options request; returns a message."""
    if options.preset is not None and not options.dry_run:
        plan.save(options.preset)
        return f"wrote {options.preset}"
    if not options.write:
        return "nothing was written; --write puts the gains into the scene, --preset into a file"
    before = scene.to_text()
    plan.put(scene)
    if options.dry_run:
        return _difference(before, scene.to_text(), str(options.scene))
    scene.save()
    return f"wrote {options.scene}; {options.scene}~ is the backup"


def _difference(before: str, after: str, name: str) -> str:
    from difflib import unified_diff

    lines = unified_diff(
        before.splitlines(), after.splitlines(), name, name, "now", "then", n=1, lineterm=""
    )
    return "\n".join(lines)
