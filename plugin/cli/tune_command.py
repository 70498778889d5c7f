"""`mjrig tune`: step responses, gain tests, gain assignment, parameter fitting.

Imports nothing heavy before a command runs.
"""

from typing import Any

from mjrig.cli import excite_command, fit_command, gain_command
from mjrig.cli.command_options import (
    Flag,
    FloatOption,
    IntOption,
    OneOf,
    OptionalFloatOption,
    OutputFile,
    command,
)
from mjrig.cli.options import (
    PLOT,
    PLOTS,
    SCENES,
    JointOptions,
    ResponseOptions,
    check_rewritable,
    load_scene,
    print_report,
)
from mjrig.cli.terminal import examples

#: Kind-specific defaults of the test signals: frequency, end frequency [Hz], duration [s].
DEFAULTS = {
    "step": (1.0, 5.0, 1.0),
    "square": (1.0, 5.0, 2.0),
    "sine": (1.0, 5.0, 3.0),
    "chirp": (0.2, 20.0, 5.0),
}


class RespondOptions(ResponseOptions, JointOptions):
    """Options of `mjrig tune respond`."""

    signal = OneOf(tuple(DEFAULTS), "step", "shape of the setpoint")
    amplitude = FloatOption(0.1, "amplitude", "A", unit="rad or m")
    frequency = OptionalFloatOption(
        None, "frequency of sine and square (1), start of a chirp", "HZ", otherwise="0.2"
    )
    end_frequency = OptionalFloatOption(None, "end of a chirp", "HZ", otherwise="20")
    duration = OptionalFloatOption(
        None, "duration", "S", unit="s", otherwise="step 1, square 2, sine 3, chirp 5"
    )
    plot = OutputFile(
        "plot of the responses over time and frequency", "F.png", suffixes=PLOTS, needs=PLOT
    )
    csv = OutputFile("write the sampled signals", "F.csv", suffixes=(".csv",))


class AssignOptions(JointOptions):
    """Options of `mjrig tune assign`."""

    exclusive = (("write", "preset"),)

    frequency = FloatOption(5.0, "natural frequency", "HZ", unit="Hz", soft_min=0.01, required=True)
    damping = FloatOption(
        1.0, "damping ratio", "Z", label="damping ratio", soft_min=0.0, otherwise="1: critical"
    )
    step = OptionalFloatOption(
        None,
        "lower the gains of joints that a step of S rad or m saturates",
        "S",
        label="no saturation for steps up to",
        soft_min=1e-4,
        initial=0.2,
    )
    inertia = OneOf(
        ("pose", "largest"),
        "pose",
        "inertia at the initial pose, or the largest over the sampled poses",
    )
    poses = IntOption(
        32,
        "number of poses searches begin at",
        "N",
        label="random poses",
        soft_min=0,
        soft_max=1000,
    )
    seed = IntOption(0, "seed of the random poses that check the result", "S")
    write = Flag("write the gains into the scene")
    preset = OutputFile("write the gains to a preset", "F.yaml", suffixes=SCENES)
    dry_run = Flag("write nothing; with --write show the changed lines")


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
    for add_job in (
        _respond_command,
        gain_command.add,
        _assign_command,
        fit_command.add,
        excite_command.add,
    ):
        add_job(jobs)


def _respond(options: RespondOptions) -> int:
    from mjrig.lab.responses.joint_response import respond
    from mjrig.lab.responses.response_report import described, plot, write_csv
    from mjrig.lab.rollouts.signals import Kind, Signal

    given = (options.frequency, options.end_frequency, options.duration)
    numbers = [d if g is None else g for g, d in zip(given, DEFAULTS[options.signal], strict=True)]
    signal = Signal(Kind(options.signal), options.amplitude, *numbers)
    found = respond(
        load_scene(options),
        signal=signal,
        **options.values("actor", "joint", "execution", "workers"),
    )
    if options.plot is not None:
        plot(found, options.plot)
    if options.csv is not None:
        write_csv(found, options.csv)
    print_report(described(found, signal), as_json=options.json)
    return 0


_respond_command = command(
    "respond",
    RespondOptions,
    _respond,
    "test how joints track a signal",
    examples=(
        'mjrig tune respond config/scenes/quadruped.yaml --joint ".*_calf" --amplitude 0.2',
        "mjrig tune respond config/scenes/pendulum.yaml --signal chirp --csv chirp.csv",
    ),
)


def _assign(options: AssignOptions) -> int:
    from mjrig.core.errors import PropertyError
    from mjrig.lab.gains.assignment import Inertia, Wish, assign, described

    if options.write and options.set:
        raise PropertyError(
            "--write would also write the values of --set; use --preset, or drop --set"
        )
    scene = load_scene(options)
    if options.write and not options.dry_run:
        check_rewritable(scene)
    wish = Wish(options.frequency, options.damping, options.step, Inertia(options.inertia))
    plan = assign(scene, wish, **options.values("actor", "joint", "poses", "seed"))
    print_report(described(plan), as_json=options.json)
    message = _keep(options, scene, plan)
    if message and not options.json:
        print(message)
    return 0


_assign_command = command(
    "assign",
    AssignOptions,
    _assign,
    "compute gains from natural frequency and damping ratio",
    examples=(
        "mjrig tune assign config/scenes/quadruped.yaml --frequency 5 --damping 0.8",
        "mjrig tune assign config/scenes/pendulum.yaml --frequency 4 --write --dry-run",
    ),
)


def _keep(options: AssignOptions, scene: Any, plan: Any) -> str:
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
