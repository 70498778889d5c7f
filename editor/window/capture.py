"""Screenshots and videos of the viewport."""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.editor.texts.texts import tr
from mjrig.errors import MissingExtraError

Picture = np.ndarray[Any, np.dtype[np.uint8]]
FPS = 30


def save_picture(picture: Picture, path: Path) -> None:
    """Write a (height, width, 3) picture as PNG.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    if find_spec("PIL") is None:
        raise MissingExtraError(tr("a picture"), "editor")
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)


class Video:
    """An .mp4 that is being written, one frame per 1/30 s of simulated time."""

    def __init__(self, path: Path, size: tuple[int, int]) -> None:
        if find_spec("imageio_ffmpeg") is None:
            raise MissingExtraError(tr("a video"), "video")
        import imageio_ffmpeg

        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._size = size[0] // 2 * 2, size[1] // 2 * 2  # H.264 wants even numbers
        self._writer = imageio_ffmpeg.write_frames(
            str(path), self._size, fps=FPS, macro_block_size=2, ffmpeg_log_level="error"
        )
        self._writer.send(None)
        self._due = self._last = -math.inf
        self.frames = 0

    def add(self, picture: Picture, time: float) -> None:
        """Show this picture until its simulated time; a time that went back or jumped restarts."""
        if time < self._last or time > self._due + 1.0:
            self._due = time
        self._last = time
        while self._due <= time + 1e-9:
            self._write(picture)
            self._due += 1.0 / FPS

    def _write(self, picture: Picture) -> None:
        width, height = self._size
        fitted = np.zeros((height, width, 3), np.uint8)
        part = picture[:height, :width]
        fitted[: part.shape[0], : part.shape[1]] = part
        self._writer.send(np.ascontiguousarray(fitted))
        self.frames += 1

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
