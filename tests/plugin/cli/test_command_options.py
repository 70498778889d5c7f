"""Options: values and errors of a command line, and the same names as the functions' parameters."""

import argparse
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mjrig.cli import bench_command, excite_command, fit_command, gain_command, tune_command
from mjrig.cli.command_options import (
    Flag,
    FloatOption,
    InputFile,
    IntOption,
    OneOf,
    OptionalFloatOption,
    OptionalIntOption,
    Options,
    OutputFile,
    Parsed,
    TextOption,
    Texts,
    command,
    read_options,
)
from mjrig.cli.optimise_command import OptimiseOptions
from mjrig.cli.options import SceneOptions, WorkerOptions
from mjrig.cli.replay_command import ReplayOptions
from mjrig.cli.sweep_command import SweepOptions
from mjrig.core.errors import PropertyError
from mjrig.lab.bench.runner import bench
from mjrig.lab.fit.excitation import excite
from mjrig.lab.fit.identification import fit
from mjrig.lab.gains.assignment import Inertia, assign
from mjrig.lab.replay.comparison import TOLERANCE
from mjrig.lab.replay.runner import TRIALS
from mjrig.lab.responses.gain_suite import check_gains
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts import backends
from mjrig.lab.rollouts.signals import Kind
from mjrig.lab.sweep.optimisation import optimise
from mjrig.lab.sweep.runner import sweep
from tests.wording import mentions

CAPTURED = pytest.CaptureFixture[str]


class SharedOptions(Options):
    heading = "shared things"

    rate = FloatOption(2.0, "speed of it", "X", unit="Hz", min=0.0, above=True)


class WeldOptions(SharedOptions):
    exclusive = (("hot", "temperature"),)

    parts = InputFile("what is welded", "PART", positional=True, many="+")
    hot = Flag("as hot as possible")
    temperature = OptionalFloatOption(None, "heat of it", "K", unit="K", otherwise="room")
    level = IntOption(3, "level", "N", min=1, max=9)
    seed = OptionalIntOption(None, "seed", "S")
    gas = OneOf(("argon", "none"), "argon", "gas around it")
    name = TextOption("", "name of it", "NAME")
    tag = Texts("a word about it", "WORD")
    at = Parsed(lambda text: tuple(map(float, text.split(","))), "place of it", "X,Y")
    output = OutputFile("file to write", "F.yaml", short="-o", suffixes=(".yaml",))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="x")
    add = command("weld", WeldOptions, lambda options: 0, "weld two parts", examples=("x weld a",))
    add(made.add_subparsers())
    return made


def parsed(*words: str) -> WeldOptions:
    options = read_options(parser().parse_args(["weld", *words]))
    assert isinstance(options, WeldOptions)
    return options


def test_a_command_line_becomes_values() -> None:
    options = parsed(
        "a.xml", "b.xml", "--rate", "5", "--temperature", "1e3", "--level", "4", "--tag", "t",
        "--tag", "u", "--at", "1,2", "-o", "o.yaml", "--seed", "12345678901234567891",
    )  # fmt: skip
    assert options.values("parts", "rate", "temperature", "level", "tag", "at", "output") == {
        "parts": (Path("a.xml"), Path("b.xml")),
        "rate": 5.0,
        "temperature": 1000.0,
        "level": 4,
        "tag": ("t", "u"),
        "at": (1.0, 2.0),
        "output": Path("o.yaml"),
    }
    assert options.seed == 12345678901234567891
    assert not options.hot and options.gas == "argon"


def test_options_that_are_not_given_have_their_defaults_and_are_not_authored() -> None:
    options = parsed("a.xml")
    assert options.values("rate", "temperature", "level", "seed", "name", "tag", "at") == {
        "rate": 2.0, "temperature": None, "level": 3, "seed": None, "name": "", "tag": (),
        "at": None,
    }  # fmt: skip
    assert list(options.authored_values) == ["parts"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--rate", "0"], "argument --rate: must be a … > 0 Hz, … 0"),
        (["--rate", "inf"], "argument --rate: must be a … > 0 Hz, … inf"),
        (["--rate", "fast"], "argument --rate: must be a … > 0 Hz, …"),
        (["--level", "10"], "argument --level: must be a … 1 … 9, … 10"),
        (["--level", "1.5"], "argument --level: must be a … 1.5"),
        (["--seed", "inf"], "argument --seed: must be a … inf"),
        (["--gas", "air"], "argument --gas: invalid choice: 'air'"),
        (["--hot", "--temperature", "1"], "not allowed with argument --hot"),
    ],
)
def test_a_value_that_does_not_fit_is_wrong_usage(
    words: list[str], problem: str, capsys: CAPTURED
) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed("a.xml", *words)
    assert caught.value.code == 2
    assert mentions(capsys.readouterr().err, problem)


def test_values_from_python_are_checked_as_well() -> None:
    with pytest.raises(PropertyError) as caught:
        WeldOptions(level=10)
    assert caught.value.keys == ("level",)
    assert WeldOptions(parts=["a.xml"], rate=3).values("parts", "rate") == {
        "parts": (Path("a.xml"),),
        "rate": 3.0,
    }


def test_the_help_has_unit_and_default_and_groups() -> None:
    shown = " ".join(_page().split())
    for text in (
        "--temperature K heat of it [K] (room)",
        "--level N level (3)",
        "--gas {argon,none} gas around it (argon)",
        "shared things: --rate X speed of it [Hz] (2)",
        "-o F.yaml, --output F.yaml file to write",
    ):
        assert text in shown
    assert shown.index("--level N level") < shown.index("--debug show the traceback")


def _page() -> str:
    (subparsers,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return str(subparsers.choices["weld"].format_help())


#: Options of commands and the functions that they are arguments of, under the same names.
SAME: list[tuple[type[Options], Callable[..., Any], tuple[str, ...]]] = [
    (tune_command.RespondOptions, respond, ("actor", "joint", "execution", "workers")),
    (tune_command.AssignOptions, assign, ("actor", "joint", "poses", "seed")),
    (
        gain_command.GainTestOptions,
        check_gains,
        ("actor", "joints", "tests", "execution", "workers"),
    ),
    (
        fit_command.FitCommandOptions,
        fit,
        ("actor", "bodies", "payload", "evidence", "window", "prior"),
    ),
    (excite_command.ExciteOptions, excite, ("actor", "duration", "candidates", "seed")),
    (SweepOptions, sweep, ("engine", *SweepOptions.shared)),
    (
        OptimiseOptions,
        optimise,
        ("trials", "sampler", "storage", "study", "seed", *OptimiseOptions.shared),
    ),
    (
        bench_command.BenchOptions,
        bench,
        ("output", "seeds", "execution", "executor", "workers", "scheduler", "trust"),
    ),
]


@pytest.mark.parametrize(("options", "function", "names"), SAME)
def test_options_and_parameters_have_the_same_names_and_defaults(
    options: type[Options], function: Callable[..., Any], names: tuple[str, ...]
) -> None:
    parameters = inspect.signature(function).parameters
    defaults = {name: options.property_named(name).default for name in names}
    assert defaults == {name: parameters[name].default for name in names}


def test_the_words_of_options_are_those_of_the_enumerations() -> None:
    assert tune_command.AssignOptions.inertia.choices == tuple(Inertia)
    assert set(tune_command.RespondOptions.signal.choices) == set(Kind)


def test_the_defaults_of_replay_options_are_those_of_the_function() -> None:
    assert ReplayOptions.tolerance.default == TOLERANCE
    assert ReplayOptions.trials.otherwise == str(TRIALS)


def test_the_executors_of_options_are_those_of_rollouts() -> None:
    assert WorkerOptions.executor.choices == backends.NAMES


def test_a_command_of_another_package_may_use_argparse_itself() -> None:
    namespace = argparse.Namespace(run=print, file=Path("a"))
    assert read_options(namespace) is namespace


def test_the_help_loads_neither_numpy_nor_mujoco() -> None:
    code = (
        "import sys; from mjrig.cli.main import program; program().format_help(); "
        "print([m for m in ('numpy', 'mujoco', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "[]\n"


def test_positional_arguments_of_base_classes_come_first() -> None:
    names = [
        o.name for o in fit_command.FitCommandOptions.properties() if getattr(o, "positional", 0)
    ]
    assert names == ["scene", "recordings"]
    assert issubclass(fit_command.FitCommandOptions, SceneOptions)
