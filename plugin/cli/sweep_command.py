"""`mjrig sweep`: test many property values and rank them; options shared with `mjrig optimise`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from mjrig.cli.command_options import (
    Flag,
    InputFile,
    IntOption,
    OneOf,
    OptionalFloatOption,
    Options,
    OutputFile,
    TextOption,
    Texts,
    command,
)
from mjrig.cli.options import (
    SCENES,
    ExecutionOptions,
    PageOptions,
    SceneOptions,
    WorkerOptions,
    load_scene,
    print_report,
)

if TYPE_CHECKING:
    from mjrig.core.scene.editing.scene import Scene
    from mjrig.lab.rollouts.experiment import Scenario
    from mjrig.lab.rollouts.plan import ExperimentPlan
    from mjrig.lab.rollouts.results import Ranked
    from mjrig.lab.sweep.optimisation import Optimised
    from mjrig.lab.sweep.runner import Swept
    from mjrig.lab.sweep.search_space import Choices, Range


# Sweep options ------------------------------------------------------------------------------------
# The options that `mjrig sweep` and `mjrig optimise` share.


class _TestOptions(Options):
    heading = "the test (one of --run, --signal, --replay)"
    exclusive = (("free", "signal", "replay"),)

    free = OptionalFloatOption(None, "simulate for S seconds", "S", flag="--run", otherwise="5")
    signal = TextOption(
        None,
        "suspend the robot and drive its joints by step, sine, chirp or square: step:0.2:1",
        "KIND[:AMPLITUDE[:DURATION[:HZ[:END_HZ]]]]",
    )
    replay = InputFile("compare with a recording", "RECORDING")
    joint = Texts("joints driven by the signal", "PATTERN", otherwise="all, one after the other")
    together = Flag("drive all joints at once", label="all joints at once")
    actor = TextOption("", "actor under test", "NAME", otherwise="the one the parameters belong to")
    metric = TextOption(
        "rmse", "objective to minimise: rmse, 'rmse + 0.01*effort', '-travel'", "SUM"
    )


class _RandomOptions(Options):
    heading = "randomisation"

    randomise = TextOption(
        "",
        "quantities drawn per seed, separated by commas: mass=0.9:1.1, friction=0.5:1.2, "
        "armature=…, damping=…, strength=…, payload=0:0.2, noise=0.002, bias=0.01, "
        "latency=0:0.02, kick=0.5, push=0.5, start=0.05",
        "WHAT",
        label="random",
    )
    seeds = IntOption(1, "random seeds per point", "K", soft_min=1, soft_max=1000)


class _ResultOptions(Options):
    heading = "results"

    output = OutputFile(
        "folder for the results; a second run with the same folder resumes",
        "FOLDER",
        short="-o",
        required=True,
        folder=True,
        resumes=True,
    )
    mix = Flag("use the folder even if it holds results of another scene or test")
    best = OutputFile("write the best gains as preset", "F.yaml", suffixes=SCENES)
    best_scene = OutputFile(
        "write the scene with the best values", "F.yaml", suffixes=SCENES, may_be_input=True
    )
    plot = Flag("write parallel.png, and heatmap.png if two parameters vary")
    parquet = Flag("write results.parquet too")
    json = Flag("print the ranking as JSON")


class SearchOptions(
    _TestOptions,
    _RandomOptions,
    WorkerOptions,
    _ResultOptions,
    ExecutionOptions,
    PageOptions,
    SceneOptions,
):
    """Options of commands that test many values: scene, test, randomisation, workers, files."""

    #: What the command does, as the title of its report.
    summary: ClassVar[str] = ""
    #: Those that `sweep` and `optimise` accept by the same names.
    shared = ("output", "actor", "seeds", "execution", "executor", "workers", "scheduler", "mix")


class SweepOptions(SearchOptions):
    """Options of `mjrig sweep`."""

    summary = "Sweep"
    heading = "search space"

    grid = Texts(
        "values to test: dog.PDController.kp=20,40, dog.PDController.kp[.*_calf]=20:80:4",
        "PATH=a,b,c|low:high:n[:log]",
    )
    range = Texts("range to sample from; needs --sample", "PATH=low:high[:log][:int]")
    sample = IntOption(
        0,
        "number of samples drawn from the ranges",
        "N",
        label="samples",
        soft_min=1,
        soft_max=100_000,
        otherwise="",
    )
    method = OneOf(("lhs", "random"), "lhs", "sampling method", otherwise="lhs: Latin hypercube")
    seed = IntOption(0, "random seed for the samples", "S")
    executor = OneOf(
        WorkerOptions.executor.choices,
        None,
        "parallel backend",
        category=WorkerOptions.heading,
        otherwise="processes",
    )
    engine = OneOf(
        ("mujoco", "warp"),
        "mujoco",
        "physics engine (mujoco); warp: MuJoCo Warp, all points at once on a GPU, in float32",
        category=WorkerOptions.heading,
        otherwise="",
    )


def scenario_of(options: SearchOptions) -> "Scenario":
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
    options: SearchOptions, scene: "Scene", parameters: "Sequence[Choices | Range]"
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
    options: SearchOptions,
    scene: "Scene",
    found: "Swept | Optimised",
    names: tuple[str, ...],
    facts: "Iterable[tuple[str, str]]",
) -> int:
    """Write the requested files, and print the report.

    Raises:
        MjrigError: no point succeeded, or a file cannot be written.
    """
    from mjrig.core.errors import MjrigError
    from mjrig.lab.sweep.sweep_report import described

    plan, ranking, objective = found.plan, found.ranking, found.objective.text
    if options.parquet:
        found.results.write_parquet(options.output / "results.parquet")
    best = next((r for r in ranking if r.score < float("inf")), None)
    files = [str(options.output / "results.csv")]
    if best is not None:
        files += _write_best(options, scene, plan, best.values)
        files += _plot(options, ranking, names, objective) if options.plot else []
    metrics = plan.experiment.scenario.metrics
    title = f"{options.summary} of {options.scene.name}"
    report = described(title, ranking, names, metrics, objective, facts, files)
    print_report(report, as_json=options.json, page=options.report)
    if best is None:
        errors = [row.error or row.status for r in ranking for row in r.rows]
        raise MjrigError(
            f"no point succeeded; first error: {next(iter(errors), 'nothing')}; "
            f"all are in {options.output / 'results.csv'}"
        )
    return 0


def _write_best(
    options: SearchOptions, scene: "Scene", plan: "ExperimentPlan", values: "Mapping[str, Any]"
) -> list[str]:
    from mjrig.lab.sweep.best_point import write_preset, write_scene

    lines = []
    if options.best is not None:
        note = write_preset(options.best, scene, plan.experiment, values)
        lines.append(f"best gains: {options.best}{note}")
    if options.best_scene is not None:
        write_scene(options.best_scene, scene, plan.experiment, values)
        lines.append(f"best values: {options.best_scene}")
    return lines


def _plot(
    options: SearchOptions, ranking: "list[Ranked]", names: tuple[str, ...], objective: str
) -> list[str]:
    from mjrig.lab.sweep.results_plot import heat_map, parallel_coordinates, varying

    parallel, heat = (options.output / f"{name}.png" for name in ("parallel", "heatmap"))
    parallel_coordinates(parallel, ranking, names, objective)
    if len(varying(ranking, names)) < 2:
        return [f"plot: {parallel}", "no heat map: it needs two parameters that vary"]
    heat_map(heat, ranking, names, objective)
    return [f"plot: {parallel}", f"plot: {heat}"]


# Sweep command ------------------------------------------------------------------------------------
# `mjrig sweep`: test many gain sets, or other property values, and rank them.


def run(options: SweepOptions) -> int:
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
        randomise=Randomisation.read(options.randomise),
        **options.values("engine", *options.shared),
    )
    return finish(options, scene, swept, space.names, _facts(options, swept))


def _facts(options: SweepOptions, swept: "Swept") -> "Iterator[tuple[str, str]]":
    from mjrig.core.names import how_many
    from mjrig.core.sim.warp_device import description

    tasks, points = how_many(len(swept.results), "task"), how_many(len(swept.ranking), "point")
    seeds = f" with {how_many(options.seeds, 'seed')}"
    yield "points", points + seeds * (len(swept.results) != len(swept.ranking))
    if swept.kept:
        yield "resumed", f"{swept.kept} of {tasks} done before"
    if options.engine == "warp":
        device = description()
        yield "engine", f"MuJoCo Warp, float32, {device['device']} ({device['versions']})"
    if swept.plan.why_not_batched:
        yield "one world at a time", swept.plan.why_not_batched


_SCENE, _KP = "config/scenes/pendulum.yaml", "pendulum.PDController.kp"
add = command(
    "sweep",
    SweepOptions,
    run,
    "test many property values and rank them",
    description="Test every point of a property space, on all cores or a cluster.",
    examples=(
        f"mjrig sweep {_SCENE} --grid {_KP}=50,100,200 --signal step:0.3:1 -o grid",
        f"mjrig sweep {_SCENE} --range {_KP}=20:200:log --sample 12 --randomise start=0.1 "
        "-o sampled",
    ),
)
