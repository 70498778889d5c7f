"""Options shared by every command that loads a scene: variables, sandbox, property overrides.

Scenes and YAML are imported where they are used: `mjrig --help` must start quickly.
"""

import argparse
from pathlib import Path
from typing import Any

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
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a finite number >= 0, got {text}")
    return value


def split(text: str) -> tuple[str, object]:
    """`path=value`; the value is read as YAML, None without one."""
    from mjrig.yaml_text.yaml_document import parse_value

    path, equals, value = text.partition("=")
    return path.strip(), parse_value(value) if equals else None


def load_scene(options: argparse.Namespace) -> Any:
    """The scene named by the options, with their overrides applied."""
    from mjrig.scene_edit.scene import Scene

    variables = dict(split(text) for text in options.var)
    scene = Scene.load(options.scene, vars=variables, sandbox=options.sandbox, trust=options.trust)
    for text in options.set:
        scene.set(*split(text))
    return scene
