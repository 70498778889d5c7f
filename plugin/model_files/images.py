"""How many pixels the images of a model unpack to, by their headers."""

import os
import struct
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.files.file_content import head_of

#: Pixels of all images, beyond what their files are large enough for: MuJoCo takes 7 bytes each.
MAX_PIXELS = 48_000_000
#: Pixels that a byte of a file stands for: noise and photographs have fewer.
_PER_BYTE = 2
HEAD = 24
_PNG = b"\x89PNG\r\n\x1a\n"


class Pixels:
    """Adds up the images of a model.

    Args:
        model: its name in messages.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._sum = 0

    def add_file(self, path: Path) -> None:
        """Count an image; other files have no pixels.

        Raises:
            PropertyError: there are too many.
        """
        self.add(path.name, head_of(path)[:HEAD], os.path.getsize(path))

    def add(self, name: str, head: bytes, size: int) -> None:
        """The same by the first bytes of a file and its size."""
        if not head.startswith(_PNG) or len(head) < HEAD:
            return
        width, height = struct.unpack_from(">2I", head, 16)
        self._sum += max(0, width * height - _PER_BYTE * size)
        if self._sum > MAX_PIXELS:
            raise PropertyError(
                f"the image {name!r} of {self._model} unpacks to {width} x {height} pixels; all of "
                f"them have more than {MAX_PIXELS} beyond {_PER_BYTE} for a byte of their files"
            )
