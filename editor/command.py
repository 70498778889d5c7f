"""`mjrig edit`: opens the window, which is imported only then."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.errors import MissingExtraError, SceneError
from mjrig.terminal.help import examples
from mjrig.terminal.scene_options import add_trust


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "edit",
        help="open the editor",
        description="Open a scene, a model, or a recording with its scene, in the editor.",
    )
    parser.add_argument(
        "file",
        metavar="SCENE|MODEL|RECORDING",
        type=Path,
        nargs="?",
        help="file to open (none: an empty scene)",
    )
    add_trust(parser)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run)
    examples(
        parser,
        "mjrig edit config/scenes/quadruped.yaml",
        "mjrig edit assets/arm/arm.xml",
    )


def run(options: argparse.Namespace) -> int:
    """Open the editor and stay until it is closed."""
    for package in ("imgui_bundle", "glfw"):
        if find_spec(package) is None:
            raise MissingExtraError("the editor", "editor", f"{package} is not installed")
    if sys.platform == "linux" and not (os.environ.get("DISPLAY")):
        raise SceneError(
            "there is no display to open a window on; `mjrig run` needs none, and "
            "`xvfb-run -a mjrig edit …` opens an invisible one"
        )
    from mjrig.editor.main import edit

    return edit(options.file, trust=options.trust)
