"""SceneRenderer, the interface of a view, and NullView, for windows without OpenGL."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

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
