"""`mjrig edit --web`: serve the editor to browsers until it is quit."""

import os
import signal
import socket
import sys
import webbrowser
from pathlib import Path

from mjrig.editor.main import opened
from mjrig.editor.session.recording import streaming
from mjrig.editor.text import tr
from mjrig.editor.web.live_window import LiveWindow
from mjrig.editor.web.server import Server, ServerSettings

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def edit_in_browser(
    path: Path | None,
    settings: ServerSettings,
    *,
    trust: bool = False,
    has_view_link: bool = False,
    stream: str | None = None,
) -> int:
    """Edit a scene, a model or the scene of a recording in a browser; returns the exit code.

    Raises:
        SceneError: the file cannot be opened, or the port not be had.
        MjrigError: the stream cannot be opened.
    """
    screen = LiveWindow(settings)
    try:
        editor = opened(path, trust=trust, screen=screen)
        with streaming(editor.simulation, stream):
            _tell(screen.server, has_view_link=has_view_link)
            code = editor.run(lambda: screen.run(editor.window))
        return 0 if editor.state.ended_by == signal.SIGINT else code  # Ctrl+C is the usual end
    finally:
        screen.server.stop()


def _tell(server: Server, *, has_view_link: bool) -> None:
    """Print the address, and open it where somebody sits at a screen."""
    address = server.address(server.tokens.command)
    print(tr("the editor is at {address}", address=address))
    print(tr("whoever has this address can run code as you; Ctrl+C ends the editor"))
    if has_view_link:
        watching = server.address(server.tokens.watch)
        print(tr("to watch, file names in the console included: {address}", address=watching))
    if server.is_everywhere:
        elsewhere = server.address(server.tokens.command, socket.gethostname())
        print(tr("from another computer: {address}", address=elsewhere))
    if server.settings.host not in _LOOPBACK:
        print(
            tr(
                "warning: the line is not encrypted; ssh -L {port}:127.0.0.1:{port} HOST is safer",
                port=server.port,
            )
        )
    elif os.environ.get("SSH_CONNECTION"):
        print(tr("from your computer: ssh -L {port}:127.0.0.1:{port} HOST", port=server.port))
    sys.stdout.flush()
    if _has_screen():
        webbrowser.open(address)


def _has_screen() -> bool:
    if os.environ.get("SSH_CONNECTION") or os.environ.get("CI"):
        return False
    return sys.platform != "linux" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
