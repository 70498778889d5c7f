"""The window: viewport, inspector, panels, undo.

`mjrig edit` opens it; `view(world)` attaches one to your own simulation loop; `Panel` is the base
class of custom panels.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.editor.ui.panel import Panel as Panel
    from mjrig.editor.viewer import Viewer as Viewer
    from mjrig.editor.viewer import view as view

_HOME = {"Panel": "editor.ui.panel", "Viewer": "editor.viewer", "view": "editor.viewer"}

if not TYPE_CHECKING:  # lazily: the command line lists `edit` where no window can be opened
    _get, __dir__ = exports(__name__, _HOME)

    def __getattr__(name):
        if name in _HOME:
            import_module("imgui_bundle")  # before glfw and mujoco: all of them share its GLFW
        return _get(name)
