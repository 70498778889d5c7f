"""`mjrig sweep`: test many property values and rank them; options shared with `mjrig optimise`."""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mjrig.cli.options import (
    SCENES,
    add_debug,
    add_output,
    add_scene,
    add_scene_options,
    load_scene,
)
from mjrig.cli.terminal import examples

if TYPE_CHECKING:
    from mjrig.core.scene.editing.scene import Scene
    from mjrig.lab.rollouts.experiment import Scenario
    from mjrig.lab.rollouts.plan import ExperimentPlan
    from mjrig.lab.rollouts.results import Ranked
    from mjrig.lab.sweep.search_space import Choices, Range


# Sweep options ------------------------------------------------------------------------------------
# The options that `mjrig sweep` and `mjrig optimise` share.


#: Points that are shown in the terminal.
SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> Any:
    """Scene, test, randomisation, workers and output files; returns the group of the workers."""
    add_scene(parser)
    add_debug(parser)
    _add_test(parser.add_argument_group("the test (one of --run, --signal, --replay)"))
    _add_random(parser.add_argument_group("randomisation"))
    work = parser.add_argument_group("parallel execution")
    add_work(work)
    _add_results(parser.add_argument_group("results"))
    add_scene_options(parser)
    return work


def _add_test(group: Any) -> None:
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument(
        "--run",
        dest="free",
        metavar="S",
        type=float,
        default=None,
        help="simulate for S seconds (5)",
    )
    kinds.add_argument(
        "--signal",
        metavar="KIND[:AMPLITUDE[:DURATION[:HZ[:END_HZ]]]]",
        help="suspend the robot and drive its joints by step, sine, chirp or square: step:0.2:1",
    )
    kinds.add_argument("--replay", metavar="RECORDING", type=Path, help="compare with a recording")
    group.add_argument(
        "--joint",
        action="append",
        default=[],
        metavar="PATTERN",
        help="joints driven by the signal (all, one after the other)",
    )
    group.add_argument("--together", action="store_true", help="drive all joints at once")
    group.add_argument(
        "--actor",
        default="",
        metavar="NAME",
        help="actor under test (the one the parameters belong to)",
    )
    group.add_argument(
        "--metric",
        default="rmse",
        metavar="SUM",
        help="objective to minimise: rmse, 'rmse + 0.01*effort', '-travel' (rmse)",
    )
    group.add_argument(
        "--execution",
        default="auto",
        choices=("auto", "python", "native", "compiled"),
        help="execution mode of the controllers (auto)",
    )


def _add_random(group: Any) -> None:
    group.add_argument(
        "--randomise",
        default="",
        metavar="WHAT",
        help="quantities drawn per seed, separated by commas: mass=0.9:1.1, friction=0.5:1.2, "
        "armature=…, damping=…, strength=…, payload=0:0.2, noise=0.002, bias=0.01, "
        "latency=0:0.02, kick=0.5, push=0.5, start=0.05",
    )
    group.add_argument(
        "--seeds", type=int, default=1, metavar="K", help="random seeds per point (1)"
    )


def add_work(group: Any) -> None:
    """Executor, workers and scheduler."""
    group.add_argument(
        "--executor",
        default="processes",
        choices=("processes", "threads", "inline", "dask"),
        help="parallel backend (processes)",
    )
    group.add_argument("--workers", type=int, metavar="N", help="number of workers (one per core)")
    group.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="address of the Dask scheduler: tcp://host:8786",
    )


def _add_results(group: Any) -> None:
    add_output(
        group,
        "-o",
        "--output",
        required=True,
        metavar="FOLDER",
        help="folder for the results; a second run with the same folder resumes",
        folder=True,
        resumes=True,
    )
    group.add_argument(
        "--mix",
        action="store_true",
        help="use the folder even if it holds results of another scene or test",
    )
    yaml = {"metavar": "F.yaml", "suffixes": SCENES}
    add_output(group, "--best", help="write the best gains as preset", **yaml)
    add_output(
        group,
        "--best-scene",
        help="write the scene with the best values",
        may_be_input=True,
        **yaml,
    )
    group.add_argument(
        "--plot",
        action="store_true",
        help="write parallel.png, and heatmap.png if two parameters vary",
    )
    group.add_argument("--parquet", action="store_true", help="write results.parquet too")


def scenario_of(options: argparse.Namespace) -> "Scenario":
    """The test the options describe.

    Raises:
        MjrigError: a word or number is wrong.
    """
    from mjrig.core.errors import MjrigError, PropertyError
    from mjrig.lab.replay.replay_test import ReplayTest
    from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
    from mjrig.lab.rollouts.signals import Kind, Signal

    if options.signal is None and (options.joint or options.together):
        raise PropertyError("--joint and --together are for --signal")
    if options.replay is not None:
        if not options.replay.exists():
            raise MjrigError(f"{options.replay}: there is no such file")
        return ReplayTest(options.replay.absolute())
    if options.signal is None:
        return FreeRun(5.0 if options.free is None else options.free)
    kind, *words = options.signal.split(":")
    names = ("amplitude", "duration", "frequency", "end_frequency")
    try:
        given = {name: float(word) for name, word in zip(names, words, strict=False)}
    except ValueError:
        given = {}
    if len(given) != len(words):
        raise PropertyError(
            f"--signal {options.signal}: write kind:amplitude:duration:Hz:end Hz, as in step:0.2:1"
        )
    signal = Signal(kind if kind not in list(Kind) else Kind(kind), **given)
    return SignalTest(signal, tuple(options.joint), options.together)


def check_results(
    options: argparse.Namespace, scene: "Scene", parameters: "Sequence[Choices | Range]"
) -> None:
    """Refuse, before any work, files that could not be written after it.

    Raises:
        MjrigError: the best values do not fit into the file they should go to, or a package that
            writes one is missing.
    """
    from mjrig.core.errors import MissingExtraError
    from mjrig.lab.sweep.best_point import check_preset, check_scene
    from mjrig.lab.sweep.runner import examine

    if options.parquet and find_spec("pyarrow") is None:
        raise MissingExtraError("a Parquet table", "parquet")
    if options.plot and find_spec("matplotlib") is None:
        raise MissingExtraError("a plot", "plot")
    if options.best_scene is not None:
        check_scene(options.best_scene, scene)
    if options.best is not None:
        plan = examine(scene, parameters, scenario_of(options), actor=options.actor)
        check_preset(scene, plan.experiment, [p.name for p in parameters])


def finish(
    options: argparse.Namespace,
    scene: "Scene",
    plan: "ExperimentPlan",
    ranking: "list[Ranked]",
    names: tuple[str, ...],
    objective: str,
) -> list[str]:
    """Write the requested files; returns the lines to print."""
    from mjrig.core.errors import MjrigError
    from mjrig.lab.sweep.best_point import write_preset, write_scene
    from mjrig.lab.sweep.results_plot import heat_map, parallel_coordinates, varying

    lines = table_of(ranking, names, plan.experiment.scenario.metrics)
    best = next(iter(ranking), None)
    if best is None or best.score == float("inf"):
        errors = [row.error or row.status for r in ranking for row in r.rows]
        raise MjrigError(
            f"no point succeeded; first error: {next(iter(errors), 'nothing')}; "
            f"all are in {options.output / 'results.csv'}"
        )
    if options.best is not None:
        note = write_preset(options.best, scene, plan.experiment, best.values)
        lines.append(f"best gains: {options.best}{note}")
    if options.plot:
        parallel, heat = (options.output / f"{name}.png" for name in ("parallel", "heatmap"))
        parallel_coordinates(parallel, ranking, names, objective)
        lines.append(f"plot: {parallel}")
        if len(varying(ranking, names)) > 1:
            heat_map(heat, ranking, names, objective)
            lines.append(f"plot: {heat}")
        else:
            lines.append("no heat map: it needs two parameters that vary")
    if options.best_scene is not None:
        write_scene(options.best_scene, scene, plan.experiment, best.values)
        lines.append(f"best values: {options.best_scene}")
    return lines


#: Units of metrics in tables, and what they are multiplied with to be in them.
UNITS = {
    "rise_time": ("s", 1.0),
    "settling_time": ("s", 1.0),
    "overshoot": ("%", 100.0),
    "saturation": ("%", 100.0),
}


def table_of(
    ranking: "list[Ranked]", names: tuple[str, ...], metrics: tuple[str, ...]
) -> list[str]:
    """Lines of a table with the best points, metrics in the units that responses have."""
    from mjrig.lab.report.output import format_table

    units = {name: UNITS.get(name, ("", 1.0)) for name in metrics}

    rows = [
        (
            *(f"{r.values[n]:.6g}" if isinstance(r.values[n], float) else str(r.values[n])
              for n in names),
            f"{r.score:.6g}",
            *(_falls(r) if m == "fell" else f"{factor * r.mean(m):.4g}"
              for m, (_, factor) in units.items()),
        )
        for r in ranking[:SHOWN]
    ]  # fmt: skip
    shown = (f"{name} {unit}".rstrip() for name, (unit, _) in units.items())
    return format_table((*names, "objective", *shown), rows)


def _falls(ranked: "Ranked") -> str:
    """The share of falls; of several seeds with its 95 % interval: 0.05 [0.01, 0.24]."""
    from mjrig.lab.sweep.seed_statistics import wilson

    fell = [row.metrics["fell"] for row in ranked.rows if "fell" in row.metrics]
    if len(fell) < 2:
        return f"{ranked.mean('fell'):.4g}"
    return str(wilson(round(sum(fell)), len(fell)))


# Sweep command ------------------------------------------------------------------------------------
# `mjrig sweep`: test many gain sets, or other property values, and rank them.


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "sweep",
        help="test many property values and rank them",
        description="Test every point of a property space, on all cores or a cluster.",
    )
    space = parser.add_argument_group("search space")
    space.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="PATH=a,b,c|low:high:n[:log]",
        help="values to test: dog.PDController.kp=20,40, dog.PDController.kp[.*_calf]=20:80:4",
    )
    space.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="PATH=low:high[:log][:int]",
        help="range to sample from; needs --sample",
    )
    space.add_argument(
        "--sample", type=int, default=0, metavar="N", help="number of samples drawn from the ranges"
    )
    space.add_argument(
        "--method",
        default="lhs",
        choices=("lhs", "random"),
        help="sampling method (lhs: Latin hypercube)",
    )
    space.add_argument(
        "--seed", type=int, default=0, metavar="S", help="random seed for the samples (0)"
    )
    add_options(parser).add_argument(
        "--engine",
        default="mujoco",
        choices=("mujoco", "warp"),
        help="physics engine (mujoco); warp: MuJoCo Warp, all points at once on a GPU, in float32",
    )
    parser.set_defaults(run=run, executor=None)
    scene, kp = "config/scenes/pendulum.yaml", "pendulum.PDController.kp"
    examples(
        parser,
        f"mjrig sweep {scene} --grid {kp}=50,100,200 --signal step:0.3:1 -o grid",
        f"mjrig sweep {scene} --range {kp}=20:200:log --sample 12 --randomise start=0.1 -o sampled",
    )


def run(options: argparse.Namespace) -> int:
    """Sweep and print the result."""
    from mjrig.core.errors import PropertyError
    from mjrig.lab.rollouts.randomisation import Randomisation
    from mjrig.lab.sweep.runner import sweep
    from mjrig.lab.sweep.search_space import Choices, Range, Space

    if not options.grid and not options.range and not (options.randomise or options.seeds > 1):
        raise PropertyError(
            "nothing to sweep; give --grid, --range with --sample, or --randomise with --seeds"
        )
    space = Space(
        tuple(Choices.read(text) for text in options.grid),
        tuple(Range.read(text) for text in options.range),
        options.sample,
        options.method,
        options.seed,
    )
    scene = load_scene(options)
    check_results(options, scene, (*space.choices, *space.ranges))
    swept = sweep(
        scene,
        space,
        scenario_of(options),
        objective=options.metric,
        output=options.output,
        actor=options.actor,
        randomise=Randomisation.read(options.randomise),
        seeds=options.seeds,
        execution=options.execution,
        engine=options.engine,
        executor=options.executor,
        workers=options.workers,
        scheduler=options.scheduler,
        mix=options.mix,
    )
    print(_headline(options, swept))
    if options.parquet:
        swept.results.write_parquet(options.output / "results.parquet")
    ranking, objective = swept.ranking, swept.objective.text
    print("\n".join(finish(options, scene, swept.plan, ranking, space.names, objective)))
    return 0


def _headline(options: argparse.Namespace, swept: Any) -> str:
    from mjrig.core.names import how_many

    results, points = swept.results, len(swept.ranking)
    bad = sum(row.status != "ok" for row in results)
    text = f"{options.output / 'results.csv'}: {how_many(points, 'point')}"
    if len(results) != points:
        text += f" with {how_many(options.seeds, 'seed')}"
    if swept.kept:
        text += f", {swept.kept} of {how_many(len(results), 'task')} done before"
    if bad:
        text += f", {bad} failed"
    if options.engine == "warp":
        text += f"\n{_warp()}"
    why = swept.plan.why_not_batched
    return text + (f"\none world at a time: {why}" if why else "")


def _warp() -> str:
    from mjrig.core.sim.warp_device import description

    found = description()
    return f"on MuJoCo Warp, float32, {found['device']} ({found['versions']})"
