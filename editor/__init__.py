"""The window: viewport, inspector, panels, undo.

`mjrig edit` opens it; `view(world)` attaches one to your own simulation loop; `Panel` is the base
class of custom panels.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mjrig.editor.script import Viewer as Viewer
    from mjrig.editor.script import view as view
    from mjrig.editor.ui.panel import Panel as Panel
else:  # lazily: the command line lists `edit` where no window can be opened
    _HOME = {"Panel": "ui.panel", "Viewer": "script", "view": "script"}

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module 'mjrig.editor' has no attribute {name!r}")
        import_module("imgui_bundle")  # before glfw and mujoco: all of them share its GLFW
        return getattr(import_module(f"mjrig.editor.{_HOME[name]}"), name)
