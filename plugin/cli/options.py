"""Options that commands share: scenes, overrides, execution, recordings; inputs and outputs.

`prepared` rejects files that are missing or cannot be written before the work begins, and makes
missing folders. Scenes and YAML are imported where they are used: `mjrig --help` must start
quickly.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.cli.command_options import (
    Flag,
    InputFile,
    OneOf,
    OptionalFloatOption,
    OptionalIntOption,
    Options,
    OutputFile,
    Parsed,
    TextOption,
    Texts,
)
from mjrig.cli.terminal import command_line
from mjrig.core.errors import (
    MissingExtraError,
    MjrigError,
    PropertyError,
    RecordingError,
    SceneError,
)

# Outputs ------------------------------------------------------------------------------------------
# Files that a command reads and writes, checked before its work begins.


#: What plots are written as, by matplotlib.
PLOTS = (".png", ".pdf", ".svg")
SCENES = (".yaml", ".yml")
#: `needs` of an output: its name in messages, the package and the extra that has it.
PICTURE, PLOT = ("a picture", "PIL", "plot"), ("a plot", "matplotlib", "plot")
RECORDING = ("recording", "h5py", "record")
#: Of a file or folder: inode, time of the last change [ns], size [bytes].
Version = tuple[int, int, int]


def check_output(output: OutputFile, path: Path, options: Any) -> None:
    """Reject a file or folder that cannot be written.

    Raises:
        MjrigError: the name, the place or an existing file does not fit.
    """
    is_folder = output.folder or (output.or_folder and not path.suffix)
    if output.suffixes and path.suffix.lower() not in output.suffixes and not is_folder:
        ends = " or ".join(output.suffixes)
        raise MjrigError(f"{path}: must end in {ends}{', or be a folder' * output.or_folder}")
    if output.needs is not None and find_spec(output.needs[1]) is None:
        raise MissingExtraError(output.needs[0], output.needs[2])
    if is_folder:
        _check_folder(path)
    elif path.is_dir() or (path.parent.is_dir() and not os.access(path.parent, os.W_OK)):
        raise MjrigError(f"{path}: cannot be written")
    if output.keeps and path.exists() and not options.overwrite:
        raise MjrigError(f"{path}: exists already; --overwrite replaces it")
    if not output.may_be_input and not output.folder:
        for read in _inputs(options):
            if os.path.realpath(read) == os.path.realpath(path):
                raise MjrigError(f"{path}: is what the command reads; write another file")


def declared(options: Any) -> list[tuple[OutputFile, Path]]:
    """The outputs a command was asked for, and those that it has a name of its own for."""
    paths = []
    for output in _outputs(options):
        if getattr(options, output.name) is None and output.default_name is not None:
            setattr(options, output.name, output.default_name(options))
        if (path := getattr(options, output.name)) is not None:
            paths.append((output, path))
    return paths


def _outputs(options: Any) -> list[OutputFile]:
    """Commands of other packages may have no declared options."""
    return options.outputs() if isinstance(options, Options) else []


@contextmanager
def prepared(options: Any) -> Iterator[Callable[[int], int]]:
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
        check_output(output, path, options)
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
    options: Any,
    outputs: Iterable[tuple[OutputFile, Path]],
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


def _kept(found: Iterable[tuple[OutputFile, Path]], said: str) -> Iterator[str]:
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


def _inputs(options: Any) -> Iterator[Path]:
    """Every file the command reads, as far as its options name them."""
    outputs = {output.name for output in _outputs(options)}
    for name, value in vars(options).items():
        values = value if isinstance(value, list | tuple) else [value]
        if name not in outputs:
            yield from (v for v in values if isinstance(v, Path))


# Shared options -----------------------------------------------------------------------------------


def _assignment(text: str) -> str:
    """Check that an option is written PATH=VALUE."""
    path, equals, value = text.partition("=")
    if not equals:
        raise ValueError("write PATH=VALUE, as in dog.PDController.kp=40")
    if not value.strip():
        raise ValueError(f"{path}= has no value; {path}=null is the default")
    return text


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _variable(text: str) -> str:
    if not text.partition("=")[0].strip() or "=" not in text:
        raise ValueError("write NAME=VALUE, as in kp=40")
    return text


class PageOptions(Options):
    """A page of the result."""

    report = OutputFile(
        "write a page, and its data beside it as OUT.json", "OUT.html", suffixes=(".html",)
    )


class ExecutionOptions(Options):
    """How controllers are executed."""

    execution = OneOf(
        ("auto", "python", "native", "compiled"), "auto", "execution mode of the controllers"
    )


class RecordOptions(Options):
    """A recording of the run."""

    record = OutputFile(
        "record every physics step", "F.h5", suffixes=(".h5", ".hdf5"), keeps=True, needs=RECORDING
    )
    overwrite = Flag("replace F.h5 if it exists")


class StreamOptions(Options):
    """A live stream of signals."""

    stream = TextOption(
        None,
        "send setpoints, states and efforts live: foxglove[:PORT], rerun[:PORT], rerun:F.rrd",
        "TO",
    )


class TrustOptions(Options):
    """Code in the folder of a scene."""

    trust = Flag("run the code of types in the scene's folder (type: my_module:MyController)")


class OverrideOptions(TrustOptions):
    """How a scene is loaded, and properties that replace its own."""

    var = Parsed(
        _variable,
        "override a variable of the scene: kp=40",
        "NAME=VALUE",
        default=(),
        many="append",
    )
    sandbox = Flag("refuse files outside the scene's folder")
    set = Parsed(
        _assignment,
        "set a property before the run: dog.PDController.kp=40",
        "PATH=VALUE",
        default=(),
        many="append",
    )


class SceneOptions(OverrideOptions):
    """A scene, and properties that replace its own."""

    scene = InputFile("scene file (YAML), or a model (MJCF, URDF, MJB)", "SCENE", positional=True)


class ActorOptions(SceneOptions):
    """An actor of a scene, and how the result is printed."""

    actor = TextOption(None, "actor", "NAME", otherwise="all")
    json = Flag("print the result as JSON")


class JointOptions(ActorOptions):
    """Joints of a scene."""

    joint = TextOption(".*", "joints or actuators, a regular expression", "PATTERN")


class ResponseOptions(ExecutionOptions):
    """How responses are computed."""

    workers = OptionalIntOption(None, "worker processes", "N", min=1, otherwise="one per core")


class HintOptions(Options):
    """What the formats of recordings do not state."""

    hint = Texts(
        "what the file does not state: fps=50, joints=[a, b], quaternion=xyzw, timestep, "
        "robot; of a robot's log: map=log.yaml, span=[0, 10]",
        "KEY=VALUE",
    )
    offset = OptionalFloatOption(
        None,
        "seconds added to the stamps of commands in a robot's log, instead of an estimate",
        "S",
    )

    def hints(self) -> dict[str, object]:
        """The hints by name.

        Raises:
            RecordingError: one has no value.
        """
        hints: dict[str, object] = {}
        for text in self.hint:
            if "=" not in text:
                raise RecordingError(f"--hint {text}: write KEY=VALUE, as in fps=50")
            key, value = split(text)
            hints[key] = value
        if self.offset is not None:
            hints["offset"] = self.offset
        return hints


class WorkerOptions(Options):
    """Where many runs are computed."""

    heading = "parallel execution"

    executor = OneOf(("processes", "threads", "inline", "dask"), "processes", "parallel backend")
    workers = OptionalIntOption(None, "number of workers", "N", otherwise="one per core")
    scheduler = TextOption("", "address of the Dask scheduler: tcp://host:8786", "ADDRESS")


def print_report(report: Any, *, as_json: bool, page: Path | None = None) -> None:
    """Print a report as text, or its data; write a page and the data next to it if asked."""
    from mjrig.lab.report.html_page import write_report
    from mjrig.lab.report.output import to_json
    from mjrig.lab.report.text import to_text

    if page is not None:
        report = replace(report, command=command_line())
        write_report(report, page, page.with_suffix(".json"))
    print(to_json(report.data) if as_json else to_text(report))


# Loading scenes -----------------------------------------------------------------------------------


def split(text: str) -> tuple[str, object]:
    """`path=value`; the value is read as YAML, None without one."""
    from mjrig.core.yaml_text.yaml_document import parse_value

    path, equals, value = text.partition("=")
    return path.strip(), parse_value(value) if equals else None


def load_scene(options: Any) -> Any:
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
