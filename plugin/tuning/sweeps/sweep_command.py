"""`mjrig sweep`: test many gain sets, or other property values, and rank them."""

import argparse
from typing import Any

from mjrig.terminal.help import examples
from mjrig.terminal.scene_options import load_scene
from mjrig.tuning.sweeps.sweep_options import add_options, check_results, finish, scenario_of


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
    from mjrig.errors import PropertyError
    from mjrig.tuning.objectives.variation import Randomisation
    from mjrig.tuning.sweeps.space import Choices, Range, Space
    from mjrig.tuning.sweeps.sweep import sweep

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
    from mjrig.names import how_many

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
    from mjrig.warp.device import description

    found = description()
    return f"on MuJoCo Warp, float32, {found['device']} ({found['versions']})"
