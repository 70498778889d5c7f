"""`mjrig.show`: a world in a notebook; where no live view is possible, a picture or a loop."""

import base64
import math
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.sim import rendering
from mjrig.core.sim.world import World

#: Entry points with one function each: `show(world, height)`, which returns what a notebook shows.
GROUP = "mjrig.displays"
#: Pictures a second of a loop, and its longest time [s].
LOOP_RATE, LONGEST_LOOP = 20.0, 30.0


class Still:
    """A picture of a world; notebooks show it, `save` writes it to a file."""

    def __init__(self, png: bytes) -> None:
        self.png = png

    def save(self, path: Path | str) -> None:
        """Write it as a PNG."""
        Path(path).write_bytes(self.png)

    def _repr_png_(self) -> bytes:
        return self.png


class MovingPicture:
    """A moving picture that repeats; notebooks show it, `save` writes it to a file."""

    def __init__(self, webp: bytes) -> None:
        self.webp = webp

    def save(self, path: Path | str) -> None:
        """Write it as an animated WebP."""
        Path(path).write_bytes(self.webp)

    def _repr_html_(self) -> str:
        return f'<img src="data:image/webp;base64,{base64.b64encode(self.webp).decode()}">'


def show(world: World, *, height: int = 600, live: bool | None = None, seconds: float = 0.0) -> Any:
    """Show a world: in a notebook the editor itself, live, else a picture or a loop.

    The live view is served on this computer's own address, as by `mjrig edit --web`; your cells
    keep stepping the world, and `sync()` of what is returned shows its new state. Edits made there
    act on this world.

    Args:
        world: the world.
        height: of the live view [pixels].
        live: whether the view is live; None: in a notebook with the editor installed.
        seconds: where it is not live, show a loop of what comes next, this long; the world is
            rewound afterwards. 0: a picture [s].

    Raises:
        MjrigError: the view is to be live but the editor is not installed, or nothing can draw a
            picture here.
        PropertyError: the loop is longer than 30 s, or of no length.
    """
    if not 0.0 <= seconds <= LONGEST_LOOP:
        raise PropertyError(f"seconds is {seconds:g}; a loop lasts 0 to {LONGEST_LOOP:g} s")
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
    return loop(world, seconds) if seconds else still(world)


def still(world: World) -> Still:
    """A picture of a world.

    Raises:
        MjrigError: nothing can draw here.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "world.png")
        problem = rendering.draw(world.model, world.data, path)
        if problem:
            raise MjrigError(f"no picture of the world: {problem}")
        return Still(path.read_bytes())


def loop(world: World, seconds: float) -> MovingPicture:
    """What a world does next, as a moving picture; it is rewound afterwards.

    Raises:
        MjrigError: nothing can draw here.
    """
    count = max(1, round(seconds * LOOP_RATE))
    steps = max(1, math.ceil(seconds / count / world.model.opt.timestep))
    before, states = world.snapshot(), []
    try:
        for _ in range(count):
            states.append(rendering.state_of(world.data))
            world.step(steps)
    finally:
        world.restore(before)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "world.webp")
        problem = rendering.draw_loop(world.model, states, path, seconds)
        if problem:
            raise MjrigError(f"no loop of the world: {problem}")
        return MovingPicture(path.read_bytes())


def _is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    try:
        from IPython import get_ipython  # type: ignore[import-not-found]
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
