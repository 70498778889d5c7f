"""`mjrig bench`: compare policies on the same seeded tasks."""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.cli.options import add_debug, add_execution, add_output, add_trust
from mjrig.cli.sweep_command import add_work
from mjrig.cli.terminal import command_line, examples


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "bench",
        help="compare policies on the same seeded tasks",
        description="Run policies on the tasks of a suite, all with the same seeds, and compare "
        "them with intervals.",
    )
    parser.add_argument(
        "policies",
        nargs="+",
        type=Path,
        metavar="POLICY",
        help="scene file with an actor that has a Policy, or a folder with its scene.yaml",
    )
    parser.add_argument(
        "--suite", default="quick", metavar="F.yaml", help="suite file, or quick or full (quick)"
    )
    parser.add_argument(
        "--task", action="append", default=[], metavar="NAME", help="run this task only (all)"
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument(
        "--seeds", type=int, metavar="N", help="number of seeds per task (as in the suite)"
    )
    seeds.add_argument("--seed", type=int, metavar="S", help="run this seed only")
    parser.add_argument(
        "--fail-below",
        action="append",
        default=[],
        metavar="[TASK=]SHARE",
        help="exit with 1 if a policy stays up in less than this share of the episodes of a task",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FOLDER",
        help="folder for bench.html, results.csv and bench.json; a second run with it resumes",
        folder=True,
        resumes=True,
    )
    add_output(
        parser,
        "--record",
        metavar="F.h5",
        help="record the episode of one policy, --task and --seed",
        suffixes=(".h5",),
        needs=("a recording", "h5py", "record"),
    )
    parser.add_argument(
        "--videos",
        type=int,
        default=0,
        metavar="N",
        help="film N episodes of every task and policy for bench.html: the worst, the median, … "
        "(none)",
    )
    add_execution(parser)
    add_work(parser.add_argument_group("parallel execution"))
    add_trust(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    walk = "config/scenes/quadruped_walk.yaml"
    examples(
        parser,
        f"mjrig bench {walk} --suite quick --seeds 4 -o out/bench",
        f"mjrig bench {walk} --suite full --task kick_1 --seeds 4 --fail-below 0.5",
    )


def run(options: argparse.Namespace) -> int:
    """Run the bench and print its report."""
    import sys

    from mjrig.core.errors import MissingExtraError, MjrigError, PropertyError
    from mjrig.lab.bench.episode_replay import add_films
    from mjrig.lab.bench.report import check_folder, described, headline, write_files
    from mjrig.lab.bench.runner import bench
    from mjrig.lab.bench.suite import BenchSuite
    from mjrig.lab.bench.verdicts import add_suspicions, read_thresholds, too_low
    from mjrig.lab.report.text import to_text

    suite = BenchSuite.load(options.suite)
    names = [level.name for level in suite.levels(tuple(options.task))]
    limits = read_thresholds(options.fail_below, names)
    if options.record is not None:
        return _record(options, suite, names)
    if options.videos < 0:
        raise PropertyError(f"--videos must be at least 0, got {options.videos}")
    if options.videos and options.output is None:
        raise PropertyError("--videos needs -o, the folder they are written to")
    if options.videos and find_spec("PIL") is None:
        raise MissingExtraError("a video", "plot")
    if options.output is not None:
        check_folder(options.output, suite.title)
    tell = lambda text: print(text, file=sys.stderr) if sys.stderr.isatty() else None  # noqa: E731
    found = bench(
        options.policies,
        suite,
        output=options.output,
        seeds=(options.seed,) if options.seed is not None else options.seeds,
        only=options.task,
        execution=options.execution,
        executor=options.executor,
        workers=options.workers,
        scheduler=options.scheduler,
        trust=bool(options.trust),
        report=tell,
    )
    add_suspicions(found)
    print(to_text(described(found, options.suite)))
    if options.output is not None:
        add_films(found, options.output, options.videos, options.execution, tell)
        write_files(found, options.suite, options.output, command_line())
        print(headline(found, options.output))
    failed = too_low(found, limits)
    print("\n".join(failed), end="\n" if failed else "")
    if found.no_films:
        raise MjrigError(f"no videos: {found.no_films}; everything else was written")
    return 1 if failed else 0


def _record(options: argparse.Namespace, suite: Any, names: list[str]) -> int:
    """Run one episode here and keep its recording."""
    from mjrig.core.errors import PropertyError
    from mjrig.lab.bench.episode_replay import record_one

    if len(options.policies) != 1 or len(names) != 1 or options.seed is None:
        raise PropertyError("--record needs one policy, one --task and one --seed")
    (level,) = suite.levels(tuple(names))
    metrics = record_one(
        options.policies[0], level, options.seed, options.record, options.execution,
        trust=options.trust,
    )  # fmt: skip
    fell = bool(metrics["fell"])
    print(f"{level.name}, seed {options.seed}: " + ("fell" if fell else "stayed up"))
    print("\n".join(f"{name}: {value:.4g}" for name, value in metrics.items()))
    print(f"recording: {options.record}")
    return 0
