"""Photographs: pictures of the world that a page takes of its own canvas."""

import io
from collections import deque
from importlib.util import find_spec

import numpy as np

from mjrig.editor.texts.texts import tr
from mjrig.editor.viewport.views import Photographed
from mjrig.editor.web.audience import Audience
from mjrig.errors import MissingExtraError, MjrigError

#: Largest picture that is unpacked [pixels].
_LARGEST = 8192 * 8192
#: Pictures asked for at once.
_MOST = 8


class Photographs:
    """Asks the page that commands for pictures, and gives them to who wanted them."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._waiting: deque[Photographed] = deque()

    def ask(self, then: Photographed) -> None:
        """Ask for a picture.

        Raises:
            MjrigError: no page could take one.
        """
        if find_spec("PIL") is None:
            raise MissingExtraError(tr("a picture"), "editor")
        if self._audience.commander is None:
            raise MjrigError(tr("no picture: no browser is connected that could take it"))
        if len(self._waiting) >= _MOST:
            raise MjrigError(tr("no picture: the browser has not sent the ones before"))
        self._waiting.append(then)
        self._audience.tell({"photograph": True})

    def came(self, content: bytes) -> None:
        """A page sent one; what cannot be decoded is ignored."""
        if not self._waiting:
            return
        then = self._waiting.popleft()
        from PIL import Image

        try:
            image = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
            if image.width * image.height > _LARGEST:
                return
            picture = np.asarray(image.convert("RGB"), np.uint8)
        except Exception:  # decoders have many kinds: SyntaxError, struct.error, zlib.error, …
            return
        then(picture)

    def leave(self) -> None:
        """A page is gone, and with it what it was asked for."""
        self._waiting.clear()
