"""`mjrig edit`: opens the window, which is imported only then."""

from importlib.util import find_spec

from mjrig.cli.command_options import Flag, InputFile, IntOption, TextOption, Texts, command
from mjrig.cli.options import StreamOptions, TrustOptions
from mjrig.core.errors import MissingExtraError

LAST_PORT = 65_535


class EditOptions(StreamOptions, TrustOptions):
    """Options of `mjrig edit`."""

    file = InputFile(
        "file to open",
        "SCENE|MODEL|RECORDING",
        positional=True,
        many="?",
        otherwise="none: an empty scene",
    )
    web = Flag("show the editor in a browser instead of a window; no display is needed")
    port = IntOption(
        0, "port for --web", "N", min=0, max=LAST_PORT, otherwise="default: any free one"
    )
    host = TextOption(
        "127.0.0.1",
        "address to listen on with --web",
        "ADDRESS",
        otherwise="default: 127.0.0.1, this computer only",
    )
    allow_host = Texts(
        "a further name under which browsers reach the server; can be repeated", "NAME"
    )
    view_link = Flag("with --web, print a second address that may only watch")


def run(options: EditOptions) -> int:
    """Open the editor and stay until it is closed."""
    for package in ("imgui_bundle", "websockets" if options.web else "glfw"):
        if find_spec(package) is None:
            raise MissingExtraError("the editor", "editor", f"{package} is not installed")
    if options.web:
        return _in_browser(options)
    from mjrig.editor.main import edit

    return edit(options.file, trust=options.trust, stream=options.stream)


def _in_browser(options: EditOptions) -> int:
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


add = command(
    "edit",
    EditOptions,
    run,
    "open the editor",
    description="Open a scene, a model, or a recording with its scene, in the editor.",
    examples=(
        "mjrig edit config/scenes/quadruped.yaml",
        "mjrig edit config/scenes/quadruped.yaml --web --port 8642",
    ),
)
