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
#: A longer gap while nothing runs is a jump, such as a drag of the timeline, not slow motion.
_JUMP_S = 1.0


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
        self._was_running = False
        self.frames = 0

    def add(self, picture: Picture, time: float, *, is_running: bool = True) -> None:
        """Show this picture until its simulated time.

        A run counts in full, however rarely the window draws. The clock of the video starts again
        where time goes back, or jumps by more than a second while nothing runs.
        """
        jumped = time > self._due + _JUMP_S and not (is_running or self._was_running)
        if time < self._last or jumped or not self.frames:
            self._due = time
        self._last, self._was_running = time, is_running
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
