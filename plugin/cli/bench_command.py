"""`mjrig bench`: compare policies on the same seeded tasks."""

from importlib.util import find_spec
from typing import Any

from mjrig.cli.command_options import (
    InputFile,
    IntOption,
    OptionalIntOption,
    OutputFile,
    TextOption,
    Texts,
    command,
)
from mjrig.cli.options import ExecutionOptions, TrustOptions, WorkerOptions
from mjrig.cli.terminal import command_line


class BenchOptions(ExecutionOptions, TrustOptions, WorkerOptions):
    """Options of `mjrig bench`."""

    exclusive = (("seeds", "seed"),)

    policies = InputFile(
        "scene file with an actor that has a Policy, or a folder with its scene.yaml",
        "POLICY",
        positional=True,
        many="+",
    )
    suite = TextOption("quick", "suite file, or quick or full", "F.yaml")
    task = Texts("run this task only", "NAME", otherwise="all")
    seeds = OptionalIntOption(None, "number of seeds per task", "N", otherwise="as in the suite")
    seed = OptionalIntOption(None, "run this seed only", "S")
    fail_below = Texts(
        "exit with 1 if a policy stays up in less than this share of the episodes of a task",
        "[TASK=]SHARE",
    )
    output = OutputFile(
        "folder for bench.html, results.csv and bench.json; a second run with it resumes",
        "FOLDER",
        short="-o",
        folder=True,
        resumes=True,
    )
    record = OutputFile(
        "record the episode of one policy, --task and --seed",
        "F.h5",
        suffixes=(".h5",),
        needs=("a recording", "h5py", "record"),
    )
    videos = IntOption(
        0,
        "film N episodes of every task and policy for bench.html: the worst, the median, …",
        "N",
        otherwise="none",
    )


def run(options: BenchOptions) -> int:
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
        seeds=(options.seed,) if options.seed is not None else options.seeds,
        only=options.task,
        report=tell,
        **options.values("output", "execution", "executor", "workers", "scheduler", "trust"),
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


def _record(options: BenchOptions, suite: Any, names: list[str]) -> int:
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


_WALK = "config/scenes/quadruped_walk.yaml"
add = command(
    "bench",
    BenchOptions,
    run,
    "compare policies on the same seeded tasks",
    description="Run policies on the tasks of a suite, all with the same seeds, and compare "
    "them with intervals.",
    examples=(
        f"mjrig bench {_WALK} --suite quick --seeds 4 -o out/bench",
        f"mjrig bench {_WALK} --suite full --task kick_1 --seeds 4 --fail-below 0.5",
    ),
)
