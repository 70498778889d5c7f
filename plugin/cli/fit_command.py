"""`mjrig tune fit`: parameters fitted to recordings. Imports nothing heavy before it runs."""

import sys
import time
from pathlib import Path
from typing import Any

from mjrig.cli.command_options import (
    Flag,
    InputFile,
    OneOf,
    OptionalFloatOption,
    OutputFile,
    Parsed,
    TextOption,
    command,
)
from mjrig.cli.options import (
    PLOT,
    PLOTS,
    SCENES,
    HintOptions,
    JointOptions,
    check_rewritable,
    load_scene,
    names,
    print_report,
)
from mjrig.cli.terminal import command_line

#: Stages of a fit, and the share of its time that is usually over when they begin.
STAGES = {
    "efforts": 0.02,
    "delays": 0.05,
    "effort limits": 0.1,
    "everything together": 0.4,
    "neighbouring delays": 0.85,
    "delays between steps": 0.7,
    "lack of fit": 0.9,
    "half the timestep": 0.9,
    "held out": 0.97,
}


def _bounds(text: str) -> tuple[str, tuple[float, float]]:
    name, _, interval = text.partition("=")
    low, _, high = interval.partition(":")
    try:
        return name.strip(), (float(low), float(high))
    except ValueError:
        raise ValueError(f"write NAME=LOW:HIGH, as in kp=20:200; got {text}") from None


def _validate(text: str) -> float | Path | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return Path(text)


class FitCommandOptions(HintOptions, JointOptions):
    """Options of `mjrig tune fit`."""

    exclusive = (("together", "each"), ("write", "preset"))

    recordings = InputFile("recordings to fit to", "RECORDING", positional=True, many="+")
    parameters = Parsed(
        names,
        "comma-separated: kp, kv, delay, armature, damping, frictionloss, torque_limit,"
        " encoder_offset, feedback_delay, torque_gain; of bodies: mass, centre, inertia, payload",
        "A,B,…",
        default=("kp", "kv"),
        otherwise="kp,kv",
    )
    bodies = TextOption(
        ".*", "bodies whose mass, centre or inertia is fitted, a regular expression", "PATTERN"
    )
    payload = TextOption(None, "body that carries an unknown payload, for payload", "BODY")
    prior = OptionalFloatOption(
        None,
        "standard deviation around the scene's values that is assumed beforehand, as a share"
        " of them",
        "S",
        otherwise="bodies 0.5, joints none",
    )
    held_out = Parsed(
        _validate,
        "what the fit does not see and is judged by: a share of each recording, nothing,"
        " or another recording",
        "SHARE|none|RECORDING",
        flag="--validate",
        many="append",
        otherwise="0.25 of recordings of 2 s and more",
    )
    evidence = OneOf(
        ("auto", "motion", "efforts"),
        "auto",
        "compare recorded motion or efforts",
        otherwise="auto: efforts for controllers of free-base robots",
    )
    together = Flag("fit all joints as one problem (default)")
    each = Flag("fit joint by joint: faster", label="joint by joint")
    bounds = Parsed(
        _bounds,
        "bounds of a parameter: kp=20:200, delay=0:10",
        "NAME=LOW:HIGH",
        default=(),
        many="append",
    )
    window = OptionalFloatOption(
        None,
        "simulated time from each recorded state",
        "S",
        otherwise="fixed base: all; free base: 0.04",
    )
    plot = OutputFile("plot of the confidence intervals", "F.png", suffixes=PLOTS, needs=PLOT)
    report = OutputFile("write report.html and report.json there", "DIR", folder=True)
    write = Flag("write the fitted values into the scene")
    preset = OutputFile("write the gains to a preset", "F.yaml", suffixes=SCENES)


def _held_out(given: tuple[Any, ...] | None) -> Any:
    """What the options hold out: a share, recordings, or nothing.

    Raises:
        FitError: several that exclude each other.
    """
    from mjrig.core.errors import FitError
    from mjrig.lab.fit.identification import VALIDATE

    if given is None:
        return VALIDATE
    files = [one for one in given if isinstance(one, Path)]
    if files and len(files) == len(given):
        return files
    if len(given) > 1:
        raise FitError("--validate: give one share, or none, or recordings, not several of these")
    return given[0]


def run(options: FitCommandOptions) -> int:
    """Fit, print, and write the result as the options request."""
    from mjrig.core.errors import PropertyError
    from mjrig.lab.fit.identification import fit
    from mjrig.lab.fit.report import described, plot, write_report

    if options.write and options.set:
        raise PropertyError(
            "--write would also write the values of --set; use --preset, or drop --set"
        )
    scene = load_scene(options)
    if options.write:
        check_rewritable(scene)
    with FitProgress() as progress:
        found = fit(
            scene,
            options.recordings,
            options.parameters,
            joints=options.joint,
            together=not options.each,
            validate=_held_out(options.held_out),
            bounds=dict(options.bounds),
            hints=options.hints(),
            report=progress.tell,
            **options.values("actor", "bodies", "payload", "evidence", "window", "prior"),
        )
    if options.plot is not None:
        plot(found, options.plot)
    if options.report is not None:
        write_report(found, options.report, command_line())
    print_report(described(found), as_json=options.json)
    if found.rejection:
        if options.write or options.preset is not None:
            print(f"mjrig: nothing was written: {found.rejection}", file=sys.stderr)
        return 1
    message = _keep(options, scene, found)
    if not options.json:
        print(message)
    return 0


class FitProgress:
    """Shows the stage of a fit, how long it has taken and about how long it will; on a terminal."""

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._began, self._drawn = time.perf_counter(), False
        self._stage, self._share = "reading", 0.0

    def __enter__(self) -> "FitProgress":
        return self

    def tell(self, text: str) -> None:
        """Show a progress message of `fit`."""
        if text.startswith("cost"):  # a step: ever closer to the next stage
            end = min((s for s in STAGES.values() if s > self._share), default=1.0)
            self._share += 0.15 * (end - self._share)
        else:
            self._stage = text
            # A fit that begins again has all of it before it once more.
            self._share = STAGES.get(text, 0.5 * self._share)
        if self._active:
            self._draw(text)

    def _draw(self, text: str) -> None:
        gone = time.perf_counter() - self._began
        said = f"{self._stage}, {text}" if text.startswith("cost") else self._stage
        line = f"{self._share:4.0%}  {said}, {gone:.0f} s"
        if self._share >= 0.05 and gone >= 1.0:
            line += f", about {gone * (1.0 / self._share - 1.0):.0f} s left"
        self._drawn = True
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _keep(options: FitCommandOptions, scene: Any, found: Any) -> str:
    from mjrig.lab.fit.write_back import put_fit, rounded_delays, save

    if options.preset is not None:
        save(found, scene, options.preset)
        return f"wrote {options.preset}"
    if not options.write:
        return "nothing was written; --write puts it into the scene, --preset gains into a file"
    put_fit(found, scene)
    scene.save()
    wrote = f"wrote {options.scene}; {options.scene}~ is the backup"
    return "\n".join([*rounded_delays(found, scene), wrote])


add = command(
    "fit",
    FitCommandOptions,
    run,
    "fit parameters to recordings",
    examples=(
        "mjrig tune fit config/scenes/quadruped.yaml run.h5 --parameters kp,kv",
        "mjrig tune fit config/scenes/quadruped.yaml run.h5 --bounds kp=20:400 --preset kp.yaml",
    ),
)
