"""Every output option of every command: an output that cannot be written is an error."""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mjrig.cli.command_options import Options, OutputFile, read_options
from mjrig.cli.main import main, program
from mjrig.cli.options import SCENES, declared, prepared
from mjrig.core.errors import MissingExtraError, MjrigError
from tests.campaign import Tally
from tests.command_lines import outputs
from tests.plugin.lab.sweep.swept import KP, hinge_scene

#: Packages that write outputs; an option that needs one declares it, or the command checks it.
WRITERS = ("matplotlib", "PIL", "h5py")


def commands(parser: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that has outputs, with its parser."""
    if outputs(parser):
        yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from commands(command, (*words, name))


def required(parser: Any, file: Path, without: str) -> list[str]:
    """The arguments that a command cannot do without, except one option."""
    words: list[str] = []
    for action in parser._actions:
        if action.required and action.dest != without:
            value = str(file) if action.type is Path else "1"
            for output in outputs(parser):
                if output.name == action.dest:
                    suffix = output.suffixes[0] if output.suffixes else ""
                    value = str(file.parent / f"another output{suffix}")
            words += [*action.option_strings[:1], value]
    return words


def flag_of(parser: Any, dest: str) -> list[str]:
    (action,) = (a for a in parser._actions if a.dest == dest)
    return list(action.option_strings[:1])


OUTPUTS = [
    (words, parser, output) for words, parser in commands(program()) for output in outputs(parser)
]


def options_for(
    words: tuple[str, ...], parser: Any, output: OutputFile, path: Path, file: Path
) -> Options:
    """The parsed command line that asks for one output."""
    others = required(parser, file, output.name)
    positional = not flag_of(parser, output.name)
    asked = [str(path)] if positional else [*flag_of(parser, output.name), str(path)]
    options: Options = read_options(program().parse_args([*words, *others, *asked]))
    if "overwrite" in {option.name for option in options.declared()}:
        options.assign({"overwrite": True})
    return options


def attempt(options: Options, output: OutputFile) -> str:
    """The message of a command that succeeds and writes everything but one output."""
    try:
        with prepared(options) as check_written:
            for other, path in declared(options):
                if other.name != output.name:
                    if path.suffix:
                        path.write_text(str(time.time_ns()))
                        continue
                    path.mkdir(exist_ok=True)
                    (path / "result").write_text(str(time.time_ns()))
            check_written(0)
    except MjrigError as error:
        return str(error)
    return ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Something to read."""
    path = tmp_path / "input.xml"
    path.write_text("<mujoco/>")
    return path


def right_name(output: OutputFile, folder: Path) -> Path:
    return folder / f"out{next(iter(output.suffixes), '')}"


def test_an_output_that_was_not_written_is_an_error_in_every_command(
    tmp_path: Path, file: Path, tally: Tally
) -> None:
    assert len(OUTPUTS) > 20
    for words, parser, output in OUTPUTS:
        folder = tmp_path / "-".join((*words, output.name))
        new, old = (right_name(output, folder / name) for name in ("new", "old"))
        old.parent.mkdir(parents=True)
        if output.folder:
            old.mkdir()
        else:
            old.write_text("of an earlier run")
        # A scene or preset with the same content is not written again.
        for path in (new,) if old.suffix in SCENES else (new, old):
            options = options_for(words, parser, output, path, file)
            if attempt(options, output) != f"{path}: was not written":
                tally.found(
                    f"{' '.join(words)} {output.name}: {attempt(options, output) or 'no error'}"
                )


def test_a_name_or_folder_that_does_not_fit_is_an_error_in_every_command(
    tmp_path: Path, file: Path, tally: Tally
) -> None:
    for words, parser, output in OUTPUTS:
        inside_a_file = right_name(output, file)
        places = {"inside a file": inside_a_file}
        if not output.or_folder:
            places["a folder"] = tmp_path
        if output.suffixes:
            places["another suffix"] = tmp_path / "out.wrong"
            places["a device"] = Path("/dev/full")
        if output.folder:
            places = {"a file": file, "inside a file": inside_a_file}
        for name, path in places.items():
            options = options_for(words, parser, output, path, file)
            message = attempt(options, output)
            if not message.startswith(f"{path}: ") or "was not written" in message:
                tally.found(f"{' '.join(words)} {output.name}, {name}: {message or 'no error'}")


def test_an_output_whose_package_is_missing_is_an_error_before_the_work(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    for package in WRITERS:
        monkeypatch.setitem(sys.modules, package, None)
    count = 0
    for words, parser, output in OUTPUTS:
        if output.needs is not None:
            count += 1
            options = options_for(words, parser, output, right_name(output, tmp_path), file)
            expected = str(MissingExtraError(output.needs[0], output.needs[2]))
            if attempt(options, output) != expected:
                tally.found(
                    f"{' '.join(words)} {output.name}: {attempt(options, output) or 'no error'}"
                )
    assert count > 6


@pytest.mark.parametrize(
    ("option", "package", "extra"),
    [("--plot", "matplotlib", "plot"), ("--parquet", "pyarrow", "parquet")],
)
def test_a_sweep_whose_files_cannot_be_written_does_not_begin(
    option: str,
    package: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    scene, out = hinge_scene(tmp_path), tmp_path / "out"
    words = ["sweep", str(scene), "--grid", f"{KP}=20,40", "--run", "0.1", "-o", str(out), option]
    assert main([*words, "--executor", "inline"]) == 1
    assert f"needs the extra '{extra}'" in capsys.readouterr().err
    assert not (out / "results.csv").exists()
