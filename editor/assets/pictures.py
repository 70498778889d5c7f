"""Pictures: thumbnails of models and scenes as textures, uploaded once each."""

from collections.abc import Callable
from pathlib import Path

from mjrig.editor.assets.thumbnails import Picture, Thumbnails

Upload = Callable[[Picture], int]


class Pictures:
    """The textures of one window.

    Args:
        thumbnails: draws the pictures.
        upload: makes a texture of a picture and returns its id; None: there are no pictures.
    """

    def __init__(self, thumbnails: Thumbnails, upload: Upload | None) -> None:
        self.thumbnails = thumbnails
        self._upload = upload
        self._textures: dict[Path, int] = {}

    def texture(self, path: Path) -> int | None:
        """The texture of a file's thumbnail; None until it is drawn."""
        if self._upload is None:
            return None
        if path not in self._textures:
            picture = self.thumbnails.get(path)
            if picture is None:
                return None
            self._textures[path] = self._upload(picture)
        return self._textures[path]
