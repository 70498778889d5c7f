"""`mjrig.show`: a world in a notebook; where there is none, a picture of it."""

import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mjrig.cli import picture
from mjrig.errors import MjrigError
from mjrig.sim.world import World

#: Entry points with one function each: `show(world, height)`, which returns what a notebook shows.
GROUP = "mjrig.displays"


class Still:
    """A picture of a world; notebooks show it, `save` writes it to a file."""

    def __init__(self, png: bytes) -> None:
        self.png = png

    def save(self, path: Path | str) -> None:
        """Write it as a PNG."""
        Path(path).write_bytes(self.png)

    def _repr_png_(self) -> bytes:
        return self.png


def show(world: World, *, height: int = 600, live: bool | None = None) -> Any:
    """Show a world: in a notebook the editor itself, live, else a picture.

    The live view is served on this computer's own address, as by `mjrig edit --web`; your cells
    keep stepping the world, and `sync()` of what is returned shows its new state. Edits made there
    act on this world.

    Args:
        world: the world.
        height: of the live view [pixels].
        live: whether the view is live; None: in a notebook with the editor installed.

    Raises:
        MjrigError: the view is to be live but the editor is not installed, or nothing can draw a
            picture here.
    """
    displays = list(entry_points(group=GROUP)) if live is not False else []
    if live or (live is None and _is_notebook()):
        for point in displays:
            try:
                display = point.load()
            except ImportError:
                continue
            return display(world, height)
        if live:
            raise MjrigError("a live view needs the editor: pip install 'mjrig[editor]'")
    return still(world)


def still(world: World) -> Still:
    """A picture of a world.

    Raises:
        MjrigError: nothing can draw here.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "world.png")
        problem = picture.draw(world.model, world.data, path)
        if problem:
            raise MjrigError(f"no picture of the world: {problem}")
        return Still(path.read_bytes())


def _is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    try:
        from IPython import get_ipython  # type: ignore[import-not-found]
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
