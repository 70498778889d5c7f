"""Options shared by every command that loads a scene: variables, sandbox, property overrides.

Scenes and YAML are imported where they are used: `mjrig --help` must start quickly.
"""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.errors import MjrigError, PropertyError, SceneError

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
    from mjrig.yaml_text.yaml_document import parse_value

    path, equals, value = text.partition("=")
    return path.strip(), parse_value(value) if equals else None


def load_scene(options: argparse.Namespace) -> Any:
    """The scene named by the options, with their overrides applied."""
    from mjrig.scene_edit.scene import Scene

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
    from mjrig.files.paths import shortened

    return SceneError(f"{flag} {shortened(text)}: {problem}")
