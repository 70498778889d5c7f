"""Options of every command that reads a scene: variables, sandbox, properties set on top.

Scenes and YAML are imported where they are used: `mjrig --help` must start quickly.
"""

import argparse
from typing import Any


def add_scene_options(parser: argparse.ArgumentParser) -> None:
    """How a scene is read, and what is changed in it before it is used."""
    parser.add_argument(
        "--var",
        action="append",
        type=_variable,
        default=[],
        metavar="NAME=VALUE",
        help="give a variable of the scene another value: kp=40",
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="refuse every file outside of the scene's folder",
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
    """Whether code beside a scene may be run."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run the code of types in the scene's folder (type: my_module:MyController)",
    )


def assignment(text: str) -> str:
    """Check that an option is written PATH=VALUE."""
    if "=" not in text:
        raise argparse.ArgumentTypeError("write PATH=VALUE, as in dog.PDController.kp=40")
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
    """The scene the options name, with what they change in it."""
    from mjrig.scene_edit.scene import Scene

    variables = dict(split(text) for text in options.var)
    scene = Scene.load(options.scene, vars=variables, sandbox=options.sandbox, trust=options.trust)
    for text in options.set:
        scene.set(*split(text))
    return scene
