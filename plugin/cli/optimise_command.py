"""`mjrig optimise`: search for the best values with Optuna."""

import argparse
from typing import Any

from mjrig.cli.options import load_scene
from mjrig.cli.sweep_command import add_options, check_results, finish, scenario_of
from mjrig.cli.terminal import examples


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "optimise",
        help="search for the best property values with Optuna",
        description="Search for the property values that minimise an objective.",
    )
    space = parser.add_argument_group("search space")
    space.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="PATH=low:high[:log][:int]",
        help="numeric range: dog.PDController.kp=20:200:log, dog.PDController.kp[.*_calf]=20:80",
    )
    space.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="PATH=a,b,c",
        help="categories: dog.PDController.precision=float32,float64",
    )
    search = parser.add_argument_group("search")
    search.add_argument(
        "--trials",
        type=int,
        default=100,
        metavar="N",
        help="total number of trials in the study (100)",
    )
    search.add_argument(
        "--sampler",
        default="tpe",
        choices=("tpe", "cmaes", "gp", "random"),
        help="Optuna sampler (tpe)",
    )
    search.add_argument(
        "--seed", type=int, default=0, metavar="S", help="random seed of the sampler (0)"
    )
    search.add_argument(
        "--storage",
        default="",
        metavar="URL|FILE",
        help="storage of the study: sqlite:///study.db or a journal file (FOLDER/study.journal)",
    )
    search.add_argument(
        "--study", default="mjrig", metavar="NAME", help="name of the study (mjrig)"
    )
    add_options(parser)
    parser.set_defaults(run=run)
    tested = "--range pendulum.PDController.kp=20:300:log --signal step:0.3:1"
    examples(
        parser,
        f"mjrig optimise config/scenes/pendulum.yaml {tested} --trials 40 -o search",
        f"mjrig optimise config/scenes/pendulum.yaml {tested} --sampler random -o random",
    )


def run(options: argparse.Namespace) -> int:
    """Search and print the result."""
    from mjrig.core.names import how_many
    from mjrig.lab.rollouts.randomisation import Randomisation
    from mjrig.lab.sweep.optimisation import optimise
    from mjrig.lab.sweep.search_space import Choices, Range

    parameters: list[Choices | Range] = [Choices.read(text) for text in options.grid]
    parameters += [Range.read(text) for text in options.range]
    scene = load_scene(options)
    check_results(options, scene, parameters)
    found = optimise(
        scene,
        parameters,
        scenario_of(options),
        trials=options.trials,
        objective=options.metric,
        output=options.output,
        sampler=options.sampler,
        storage=options.storage,
        study=options.study,
        seed=options.seed,
        actor=options.actor,
        randomise=Randomisation.read(options.randomise),
        seeds=options.seeds,
        execution=options.execution,
        executor=options.executor,
        workers=options.workers,
        scheduler=options.scheduler,
        mix=options.mix,
    )
    print(f"{options.output / 'results.csv'}: {how_many(len(found.study.trials), 'trial')}")
    if options.parquet:
        found.results.write_parquet(options.output / "results.parquet")
    names = tuple(p.name for p in parameters)
    lines = finish(options, scene, found.plan, found.ranking, names, found.objective.text)
    print("\n".join(lines))
    return 0
