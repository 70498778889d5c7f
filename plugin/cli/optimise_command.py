"""`mjrig optimise`: search for the best values with Optuna."""

from mjrig.cli.command_options import IntOption, OneOf, TextOption, Texts, command
from mjrig.cli.options import load_scene
from mjrig.cli.sweep_command import SearchOptions, check_results, finish, scenario_of

_SPACE = "search space"


class OptimiseOptions(SearchOptions):
    """Options of `mjrig optimise`."""

    summary = "Search"
    heading = "search"

    range = Texts(
        "numeric range: dog.PDController.kp=20:200:log, dog.PDController.kp[.*_calf]=20:80",
        "PATH=low:high[:log][:int]",
        category=_SPACE,
    )
    grid = Texts(
        "categories: dog.PDController.precision=float32,float64", "PATH=a,b,c", category=_SPACE
    )
    trials = IntOption(100, "total number of trials in the study", "N")
    sampler = OneOf(("tpe", "cmaes", "gp", "random"), "tpe", "Optuna sampler")
    seed = IntOption(0, "random seed of the sampler", "S")
    storage = TextOption(
        "",
        "storage of the study: sqlite:///study.db or a journal file",
        "URL|FILE",
        otherwise="FOLDER/study.journal",
    )
    study = TextOption("mjrig", "name of the study", "NAME")


def run(options: OptimiseOptions) -> int:
    """Search and print the result."""
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
        objective=options.metric,
        randomise=Randomisation.read(options.randomise),
        **options.values("trials", "sampler", "storage", "study", "seed", *options.shared),
    )
    facts = [("trials", str(len(found.study.trials)))]
    return finish(options, scene, found, tuple(p.name for p in parameters), facts)


_TESTED = "--range pendulum.PDController.kp=20:300:log --signal step:0.3:1"
add = command(
    "optimise",
    OptimiseOptions,
    run,
    "search for the best property values with Optuna",
    description="Search for the property values that minimise an objective.",
    examples=(
        f"mjrig optimise config/scenes/pendulum.yaml {_TESTED} --trials 40 -o search",
        f"mjrig optimise config/scenes/pendulum.yaml {_TESTED} --sampler random -o random",
    ),
)
