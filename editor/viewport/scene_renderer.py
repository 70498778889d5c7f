"""SceneRenderer, the interface of a view; NullView, for windows without OpenGL; render quality.

A GPU draws everything; without one the render scale follows the frame rate.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mjrig.editor.text import tr

# Views --------------------------------------------------------------------------------------------


Picture = np.ndarray[Any, np.dtype[np.uint8]]
Photographed = Callable[[Picture], object]


class SceneRenderer(Protocol):
    """Turns a prepared MjvScene into a texture."""

    def render(self, scene: Any, width: int, height: int) -> int:
        """Draw a scene and return the texture that shows it."""
        ...

    def photograph(self, then: Photographed) -> None:
        """Call with a (height, width, 3) picture of what was drawn last, now or a little later."""

    def free(self) -> None:
        """Free all resources."""


class NullView:
    """Draws nothing."""

    def __init__(self, model: Any = None) -> None:
        self.renders = 0
        self._size = (1, 1)

    def render(self, scene: Any, width: int, height: int) -> int:
        """Count the call, and return a dummy texture."""
        self.renders += 1
        self._size = (width, height)
        return 1

    def photograph(self, then: Photographed) -> None:
        """A black picture."""
        then(np.zeros((self._size[1], self._size[0], 3), np.uint8))

    def free(self) -> None:
        """Nothing to free."""


# Quality ------------------------------------------------------------------------------------------


SCALES = (0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
#: Frames shorter than this leave room for a finer picture, longer ones ask for a coarser [s].
FAST, SLOW = 1 / 50, 1 / 27
_WINDOW = 20


class Quality:
    """How finely the viewport is drawn: fully by a GPU, else as the frame time allows.

    The user may fix the scale. `software` (no GPU) also means: no shadows and no reflections.
    """

    def __init__(self, *, software: bool) -> None:
        self.fixed: float | None = None
        self._times: deque[float] = deque(maxlen=_WINDOW)
        self.use(software=software)

    def use(self, *, software: bool) -> None:
        """What draws is known now: the CPU, or a GPU."""
        self.software = software
        self._index = 1 if software else len(SCALES) - 1
        self._times.clear()

    @property
    def scale(self) -> float:
        """Pixels drawn per pixel shown."""
        return self.fixed if self.fixed is not None else SCALES[self._index]

    @property
    def still(self) -> float:
        """The same for a picture that stands still, which is drawn only once."""
        return self.fixed if self.fixed is not None else SCALES[-1]

    def note(self, seconds: float) -> None:
        """Note how long a frame took that drew the picture."""
        self._times.append(seconds)
        if self.fixed is not None or not self.software or len(self._times) < _WINDOW:
            return
        median = sorted(self._times)[_WINDOW // 2]
        step = -1 if median > SLOW else 1 if median < FAST else 0
        index = min(max(self._index + step, 0), len(SCALES) - 1)
        if index != self._index:
            self._index = index
            self._times.clear()

    @property
    def text(self) -> str:
        """For the status bar."""
        how = "fixed" if self.fixed is not None else "auto"
        return tr("view {scale:.0%} {how}", scale=self.scale, how=how) + (
            tr(", software GL") if self.software else ""
        )
