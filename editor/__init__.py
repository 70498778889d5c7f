"""The window: viewport, inspector, panels, undo.

`mjrig edit` opens it; `view(world)` attaches one to a loop of your own.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mjrig.editor.script import Viewer as Viewer
    from mjrig.editor.script import view as view
else:  # lazily: the command line lists `edit` where no window can be opened

    def __getattr__(name):
        if name in ("view", "Viewer"):
            from mjrig.editor import script

            return getattr(script, name)
        raise AttributeError(f"module 'mjrig.editor' has no attribute {name!r}")
