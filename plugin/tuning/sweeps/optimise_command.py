"""`mjrig optimise`: search for the best values with Optuna."""

import argparse
from typing import Any

from mjrig.terminal.scene_options import load_scene
from mjrig.tuning.sweeps.sweep_options import add_options, finish, scenario_of


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "optimise",
        help="search for the best values of properties",
        description="Search for the values of properties that make a metric small.",
    )
    space = parser.add_argument_group("the space")
    space.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="PATH=low:high[:log][:int]",
        help="numbers: dog.PDController.kp=20:200:log, dog.PDController.kp[.*_calf]=20:80",
    )
    space.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="PATH=a,b,c",
        help="categories: dog.PDController.precision=float32,float64",
    )
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--trials", type=int, default=100, metavar="N", help="of the study in the end (100)"
    )
    search.add_argument(
        "--sampler", default="tpe", choices=("tpe", "cmaes", "gp", "random"), help="(tpe)"
    )
    search.add_argument("--seed", type=int, default=0, metavar="S", help="of the sampler (0)")
    search.add_argument(
        "--storage",
        default="",
        metavar="URL|FILE",
        help="where the study is kept: sqlite:///study.db, a journal (FOLDER/study.journal)",
    )
    search.add_argument("--study", default="mjrig", metavar="NAME", help="its name there (mjrig)")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search, and say what came out."""
    from mjrig.names import how_many
    from mjrig.tuning.objectives.variation import Randomisation
    from mjrig.tuning.sweeps.optimise import optimise
    from mjrig.tuning.sweeps.space import Choices, Range

    parameters: list[Choices | Range] = [Choices.read(text) for text in options.grid]
    parameters += [Range.read(text) for text in options.range]
    scene = load_scene(options)
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
