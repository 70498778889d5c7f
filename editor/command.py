"""`mjrig edit`: opens the window, which is imported only then."""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.cli.options import add_debug, add_stream, add_trust, port
from mjrig.cli.terminal import examples
from mjrig.core.errors import MissingExtraError


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
    parser.add_argument(
        "--web",
        action="store_true",
        help="show the editor in a browser instead of a window; no display is needed",
    )
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="port for --web (default: any free one)"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on with --web (default: %(default)s, this computer only)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name under which browsers reach the server; can be repeated",
    )
    parser.add_argument(
        "--view-link",
        action="store_true",
        help="with --web, print a second address that may only watch",
    )
    add_stream(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    examples(
        parser,
        "mjrig edit config/scenes/quadruped.yaml",
        "mjrig edit config/scenes/quadruped.yaml --web --port 8642",
    )


def run(options: argparse.Namespace) -> int:
    """Open the editor and stay until it is closed."""
    for package in ("imgui_bundle", "websockets" if options.web else "glfw"):
        if find_spec(package) is None:
            raise MissingExtraError("the editor", "editor", f"{package} is not installed")
    if options.web:
        return _in_browser(options)
    from mjrig.editor.main import edit

    return edit(options.file, trust=options.trust, stream=options.stream)


def _in_browser(options: argparse.Namespace) -> int:
    from mjrig.editor.web.server import ServerSettings
    from mjrig.editor.web_main import edit_in_browser

    settings = ServerSettings(options.host, options.port, tuple(options.allow_host))
    return edit_in_browser(
        options.file,
        settings,
        trust=options.trust,
        has_view_link=options.view_link,
        stream=options.stream,
    )
