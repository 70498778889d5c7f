"""WebView: the worlds of a model, drawn by the pages that are connected."""

import itertools
from collections.abc import Callable
from typing import Any

from mjrig.editor.viewport.views import Photographed
from mjrig.editor.web.scene_words import SceneWords
from mjrig.editor.web.textures import WORLD

_generations = itertools.count(1)


class WebView:
    """A `SceneRenderer` that keeps the numbers of a scene; pages draw them.

    Args:
        model: the model.
        photograph: asks a page for a picture.
    """

    def __init__(self, model: Any, photograph: Callable[[Photographed], None]) -> None:
        self.model = model
        self.generation = next(_generations)
        self.words: SceneWords | None = None
        self.has_changed = False
        self.size = (1, 1)
        self._photograph = photograph

    def render(self, scene: Any, width: int, height: int) -> int:
        """Read a scene and return the texture that pages draw it into."""
        if self.words is None or self.words.scene is not scene:
            self.words = SceneWords(scene)
        self.words.take(width, height)
        self.size = (width, height)
        self.has_changed = True
        return WORLD

    def photograph(self, then: Photographed) -> None:
        """Call with a picture of what was drawn last, once a page has sent it."""
        self._photograph(then)

    def free(self) -> None:
        """Nothing to free."""
