"""Options shared by commands: scenes, overrides, execution, recordings, inputs and outputs.

`add_output` declares what is written; any other option of type Path is read. `prepared` rejects
files that are missing or cannot be written before the work begins, and makes missing folders.
Scenes and YAML are imported where they are used: `mjrig --help` must start quickly.
"""

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.core.errors import MissingExtraError, MjrigError, PropertyError, SceneError

# Outputs ------------------------------------------------------------------------------------------
# Options that name what a command reads and writes, checked before its work begins.
#
# `add_output` declares what is written; any other option of type Path is read. `prepared` refuses
# what is not there or cannot be written, and makes missing folders.


#: What plots are written as, by matplotlib.
PLOTS = (".png", ".pdf", ".svg")
SCENES = (".yaml", ".yml")
#: `needs` of an output: its name in messages, the package and the extra that has it.
PICTURE, PLOT = ("a picture", "PIL", "plot"), ("a plot", "matplotlib", "plot")
_DECLARED = "outputs"
#: Of a file or folder: inode, time of the last change [ns], size [bytes].
Version = tuple[int, int, int]


@dataclass(frozen=True)
class Output:
    """One option that names a file or folder to write."""

    dest: str
    suffixes: tuple[str, ...] = ()
    folder: bool = False
    #: A name without a suffix is a folder, beside the files that end in `suffixes`.
    or_folder: bool = False
    #: An existing file is refused unless `--overwrite` is given.
    keeps: bool = False
    #: It may be the file that is read.
    may_be_input: bool = False
    #: A second run of the same command goes on with what the first left there.
    resumes: bool = False
    #: The name to write where none is given; None: then nothing is written.
    default_name: Callable[[argparse.Namespace], Path] | None = None
    #: What it is, the package it needs and the extra that has it.
    needs: tuple[str, str, str] | None = None

    def check(self, path: Path, options: argparse.Namespace) -> None:
        """Refuse what cannot be written.

        Raises:
            MjrigError: the name, the place or an existing file does not fit.
        """
        is_folder = self.folder or (self.or_folder and not path.suffix)
        if self.suffixes and path.suffix.lower() not in self.suffixes and not is_folder:
            ends = " or ".join(self.suffixes)
            raise MjrigError(f"{path}: must end in {ends}{', or be a folder' * self.or_folder}")
        if self.needs is not None and find_spec(self.needs[1]) is None:
            raise MissingExtraError(self.needs[0], self.needs[2])
        if is_folder:
            _check_folder(path)
        elif path.is_dir() or (path.parent.is_dir() and not os.access(path.parent, os.W_OK)):
            raise MjrigError(f"{path}: cannot be written")
        if self.keeps and path.exists() and not options.overwrite:
            raise MjrigError(f"{path}: exists already; --overwrite replaces it")
        if not self.may_be_input and not self.folder:
            for read in _inputs(options):
                if os.path.realpath(read) == os.path.realpath(path):
                    raise MjrigError(f"{path}: is what the command reads; write another file")


def add_output(parser: Any, *flags: str, **about: Any) -> None:
    """Add an option that names a file or folder to write.

    Args:
        parser: a parser, or a group of one.
        flags: its names.
        about: fields of `Output`; the rest as for `add_argument`.
    """
    names = Output.__dataclass_fields__.keys() - {"dest"}
    own = {name: about.pop(name) for name in names & about.keys()}
    action = parser.add_argument(*flags, type=Path, **about)
    declared = parser.get_default(_DECLARED) or ()
    parser.set_defaults(**{_DECLARED: (*declared, Output(action.dest, **own))})


def declared(options: argparse.Namespace) -> list[tuple[Output, Path]]:
    """The outputs a command was asked for, and those that it has a name of its own for."""
    found = []
    for output in getattr(options, _DECLARED, ()):
        if getattr(options, output.dest) is None and output.default_name is not None:
            setattr(options, output.dest, output.default_name(options))
        if (path := getattr(options, output.dest)) is not None:
            found.append((output, path))
    return found


@contextmanager
def prepared(options: argparse.Namespace) -> Iterator[Callable[[int], int]]:
    """Check every file, make the folders of outputs; those left empty by an error are removed.

    Yields a function that takes the exit code of the command and returns it. It raises if the
    command succeeded and an output that was asked for is not written.

    Raises:
        MjrigError: something to read is not there, or something cannot be written.
        KeyboardInterrupt: the user ended it; the message names the outputs that are there now.
    """
    found = declared(options)
    for path in _inputs(options):
        _check_input(path)
    for output, path in found:
        output.check(path, options)
    made: list[Path] = []
    before = {path: _version(path) for _, path in found}
    try:
        for output, path in found:
            if not output.folder:
                made += _make_folder(path)
        yield lambda code: _check_written(code, options, found, before)
    except (MjrigError, KeyboardInterrupt) as error:
        own = [path for output, path in found if output.folder and before[path] is None]
        for folder in (*own, *reversed(made)):
            with suppress(OSError):  # it holds something
                folder.rmdir()
        if isinstance(error, KeyboardInterrupt):
            new = [(o, path) for o, path in found if _version(path) != before[path]]
            error.args = ("; ".join((*map(str, error.args), *_kept(new, str(error)))),)
        raise
    finally:
        kept = [folder for folder in made if folder.is_dir()]
        for folder in kept:
            if folder not in (k.parent for k in kept):  # the innermost says it all
                print(f"mjrig: made the folder {folder}", file=sys.stderr)


def _check_written(
    code: int,
    options: argparse.Namespace,
    outputs: Iterable[tuple[Output, Path]],
    before: Mapping[Path, Version | None],
) -> int:
    if code != 0 or getattr(options, "dry_run", False):
        return code
    for output, path in outputs:
        version = _version(path)
        # A scene or preset is not written again if its content is the same.
        may_stay = output.resumes or path.suffix.lower() in SCENES
        is_old = version == before[path] and not may_stay
        if version is None or is_old or (path.is_dir() and not any(path.iterdir())):
            raise MjrigError(f"{path}: was not written")
    return code


def _version(path: Path) -> Version | None:
    """What tells a file from a later one; of a folder, from one with other files in it."""
    try:
        about = path.stat()
        inside = [f.lstat() for f in path.iterdir()] if path.is_dir() else []
    except OSError:  # it is not there, or may not be looked at
        return None
    stats = (about, *inside)
    return about.st_ino, max(s.st_mtime_ns for s in stats), sum(s.st_size for s in stats)


def _kept(found: Iterable[tuple[Output, Path]], said: str) -> Iterator[str]:
    """A few words about each output that an interrupted command has written, unless it has."""
    for output, path in found:
        if not path.exists() or str(path) in said:
            continue
        going_on = ", the same command goes on with it" if output.resumes else ""
        yield f"{path} holds what was done until now{going_on}"


def check_rewritable(scene: Any) -> None:
    """Refuse a scene that `--write` cannot write into.

    Raises:
        MjrigError: it is a model, or its file is read-only.
    """
    if scene.model_file is not None:
        raise MjrigError(
            f"{scene.model_file}: is a model, and --write puts gains into a scene; --preset F.yaml "
            "writes them to a file of their own"
        )
    if scene.path is not None and not os.access(scene.path, os.W_OK):
        raise MjrigError(f"{scene.path}: cannot be written: Permission denied")


def _check_input(path: Path) -> None:
    """Refuse what is not there, and pipes and devices, which would be waited for."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        from mjrig.core.files.paths import nearest_files

        near = nearest_files(path, (path.suffix.lower(),))
        raise MjrigError(f"{path}: there is no such file{near}") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise MjrigError(f"{path}: is not a regular file")


def _check_folder(path: Path) -> None:
    nearest = next((p for p in (path, *path.absolute().parents) if os.path.lexists(p)), path)
    if not nearest.is_dir():
        raise MjrigError(f"{path}: cannot be written: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK):
        raise MjrigError(f"{path}: cannot be written: Permission denied")


def _make_folder(path: Path) -> list[Path]:
    """Make the folder of a file; returns those that were made, outermost first."""
    missing = [p for p in (path.parent, *path.parent.parents) if not p.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MjrigError(f"{path}: cannot be written: {error.strerror}") from error
    return missing[::-1]


def _inputs(options: argparse.Namespace) -> Iterator[Path]:
    """Every file the command reads, as far as its options name them."""
    outputs = {output.dest for output in getattr(options, _DECLARED, ())}
    for name, value in vars(options).items():
        values = value if isinstance(value, list) else [value]
        if name not in outputs:
            yield from (v for v in values if isinstance(v, Path))


# Run options --------------------------------------------------------------------------------------
# Options shared by the commands that step a scene: its execution, and a recording of the run.


def add_execution(parser: argparse.ArgumentParser) -> None:
    """Add `--execution`."""
    parser.add_argument(
        "--execution",
        default="auto",
        choices=("auto", "python", "native", "compiled"),
        help="execution mode of the controllers (auto)",
    )


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add `--record` and `--overwrite`."""
    add_output(
        parser,
        "--record",
        metavar="F.h5",
        help="record every physics step",
        suffixes=(".h5", ".hdf5"),
        keeps=True,
        needs=("recording", "h5py", "record"),
    )
    parser.add_argument("--overwrite", action="store_true", help="replace F.h5 if it exists")


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add `--stream`."""
    parser.add_argument(
        "--stream",
        metavar="TO",
        help="send setpoints, states and efforts live: foxglove[:PORT], rerun[:PORT], rerun:F.rrd",
    )


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Add `--debug`, which every command has."""
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


# Scene options ------------------------------------------------------------------------------------
# Options shared by every command that loads a scene: variables, sandbox, property overrides.


LAST_PORT = 65_535


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument SCENE."""
    parser.add_argument(
        "scene", metavar="SCENE", type=Path, help="scene file (YAML), or a model (MJCF, URDF, MJB)"
    )


def add_scene_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for loading a scene and overriding its properties."""
    parser.add_argument(
        "--var",
        action="append",
        type=_variable,
        default=[],
        metavar="NAME=VALUE",
        help="override a variable of the scene: kp=40",
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="refuse files outside the scene's folder",
    )
    add_trust(parser)
    parser.add_argument(
        "--set",
        action="append",
        type=assignment,
        default=[],
        metavar="PATH=VALUE",
        help="set a property before the run: dog.PDController.kp=40",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add `--trust`, which allows code in the scene's folder to run."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run the code of types in the scene's folder (type: my_module:MyController)",
    )


def port(text: str) -> int:
    """A port number; 0: any that is free."""
    if not text.isascii() or not text.isdigit() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be from 0 to {LAST_PORT}, got {text}")
    return int(text)


def assignment(text: str) -> str:
    """Check that an option is written PATH=VALUE."""
    path, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("write PATH=VALUE, as in dog.PDController.kp=40")
    if not value.strip():
        raise argparse.ArgumentTypeError(f"{path}= has no value; {path}=null is the default")
    return text


def _variable(text: str) -> str:
    if not text.partition("=")[0].strip() or "=" not in text:
        raise argparse.ArgumentTypeError("write NAME=VALUE, as in kp=40")
    return text


def number_from_zero(text: str) -> float:
    """A finite number that is not negative."""
    value = _number(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a finite number >= 0, got {text}")
    return value


def number_above_zero(text: str) -> float:
    """A finite number that is positive."""
    value = _number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a finite number > 0, got {text}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def split(text: str) -> tuple[str, object]:
    """`path=value`; the value is read as YAML, None without one."""
    from mjrig.core.yaml_text.yaml_document import parse_value

    path, equals, value = text.partition("=")
    return path.strip(), parse_value(value) if equals else None


def load_scene(options: argparse.Namespace) -> Any:
    """The scene named by the options, with their overrides applied."""
    from mjrig.core.scene.editing.scene import Scene

    with naming_variables(options.var):
        scene = Scene.load(
            options.scene,
            vars=dict(split(text) for text in options.var),
            sandbox=options.sandbox,
            trust=options.trust,
        )
    override(scene, options.set)
    return scene


def override(scene: Any, settings: Iterable[str]) -> None:
    """Set properties of a scene as `--set` asks; errors about them name the flag, also later ones.

    Raises:
        SceneError: a path does not exist or a value does not fit.
    """
    for text in settings:
        setting = Setting(text)
        try:
            path, value = split(text)
            with scene.changes():
                keys = scene.put(path, value)
        except MjrigError as error:
            raise setting(error) from error
        scene.remember_set(keys, setting)


@contextmanager
def naming_variables(variables: Iterable[str]) -> Iterator[None]:
    """An error about a variable that `--var` gives and the scene has not names the flag."""
    try:
        yield
    except SceneError as error:
        cause = error.__cause__
        for text in variables:
            if isinstance(cause, PropertyError) and cause.at == (text.partition("=")[0].strip(),):
                raise _about("--var", text, str(cause)) from error
        raise


@dataclass(frozen=True)
class Setting:
    """One `--set`, which errors about what it set belong to."""

    text: str

    def __call__(self, error: MjrigError) -> SceneError:
        """The error, with the flag in front."""
        path = self.text.partition("=")[0].strip()
        return _about("--set", self.text, str(error).removeprefix(f"{path}: "))


def _about(flag: str, text: str, problem: str) -> SceneError:
    from mjrig.core.files.paths import shortened

    return SceneError(f"{flag} {shortened(text)}: {problem}")
