"""`mjrig edit` is one hop from the program, and imports nothing of the window before it runs."""

import subprocess
import sys
from importlib.metadata import entry_points

from mjrig.editor.command import add

LISTED = """
import sys
from mjrig.cli.main import main

try:
    main(["edit", "--help"])
except SystemExit:
    pass
print(sorted(m for m in sys.modules if m.startswith("mjrig.editor")))
print([m for m in ("glfw", "imgui_bundle") if m in sys.modules])
"""
PANEL = """
from mjrig.editor import Panel
import glfw

print("imgui_bundle" in glfw._glfw._name, Panel.__module__)
"""


def _output(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.splitlines()


def test_the_program_loads_the_command_itself() -> None:
    (point,) = entry_points(group="mjrig.commands", name="edit")
    assert point.load() is add


def test_listing_the_command_imports_nothing_of_the_window() -> None:
    assert _output(LISTED)[-2:] == ["['mjrig.editor', 'mjrig.editor.command']", "[]"]


def test_the_base_of_a_panel_comes_with_the_windows_own_glfw() -> None:
    assert _output(PANEL) == ["True mjrig.editor.ui.panel"]
