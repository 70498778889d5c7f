"""Screenshots and videos of the viewport."""

import math
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import free_file
from mjrig.editor.text import tr
from mjrig.editor.viewport.scene_renderer import Picture, Quality
from mjrig.editor.viewport.viewport import Viewport

_Pixels = np.ndarray[Any, np.dtype[np.uint8]]
FPS = 30
#: A longer gap while nothing runs is a jump, such as a drag of the timeline, not slow motion.
_JUMP_S = 1.0


def save_picture(picture: _Pixels, path: Path) -> None:
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

    def add(self, picture: _Pixels, time: float, *, is_running: bool = True) -> None:
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

    def _write(self, picture: _Pixels) -> None:
        width, height = self._size
        fitted = np.zeros((height, width, 3), np.uint8)
        part = picture[:height, :width]
        fitted[: part.shape[0], : part.shape[1]] = part
        self._writer.send(np.ascontiguousarray(fitted))
        self.frames += 1

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


# Viewport capture ---------------------------------------------------------------------------------
# Pictures and videos of the viewport.


class ViewportCapture:
    """Writes what the viewport shows to files."""

    def __init__(self, state: EditorState, viewport: Viewport, quality: Quality) -> None:
        self.state, self.viewport, self.quality = state, viewport, quality
        self._video: Video | None = None
        self._scale_before_video: float | None = None
        #: Whether a picture for the video is being taken; in a browser that takes a while.
        self._is_awaiting = False
        #: Whether the simulation ran since the last picture of the video was asked for.
        self._has_run = False

    @property
    def is_filming(self) -> bool:
        """Whether a video is being made."""
        return self._video is not None

    def tick(self) -> None:
        """Add a frame to the video that is being made."""
        self._has_run |= self.state.simulation.frame.playing
        if self._video is not None and not self.state.attempt(self._film):
            self.stop_video()  # report it once, not with every frame

    def _film(self) -> None:
        view = self.viewport.view
        if self._video is None or view is None or self._is_awaiting:
            return
        video, time, has_run = self._video, self.state.simulation.frame.time, self._has_run
        self._is_awaiting, self._has_run = True, False

        def add(picture: Picture) -> None:
            self._is_awaiting = False
            if video is not self._video:
                return
            if not self.state.attempt(lambda: video.add(picture, time, is_running=has_run)):
                self.stop_video()

        view.photograph(add)

    def take_picture(self) -> None:
        """Write what the viewport shows to a PNG."""
        view = self.viewport.view
        if view is None:
            self.state.console.warn(tr("no picture: the viewport has not been drawn yet"))
            return
        path = free_file(Path.cwd(), f"mjrig-{datetime.now():%Y%m%d-%H%M%S}", ".png")
        self.state.attempt(lambda: view.photograph(lambda picture: self._keep(picture, path)))

    def _keep(self, picture: Picture, path: Path) -> None:
        if self.state.attempt(lambda: save_picture(picture, path)):
            self.state.console.say(tr("picture: {path}", path=path))
            self.state.offer_file(path)

    def toggle_video(self) -> None:
        """Begin or end a video of the viewport."""
        if self._video is not None:
            self.stop_video()
            return
        path = free_file(Path.cwd(), f"mjrig-{datetime.now():%Y%m%d-%H%M%S}", ".mp4")
        self.state.attempt(lambda: self._start_video(path))

    def _start_video(self, path: Path) -> None:
        view = self.viewport.view
        if view is None:
            raise MjrigError(tr("no video: the viewport has not been drawn yet"))

        def begin(picture: Picture) -> None:
            height, width = picture.shape[:2]
            self._video = Video(path, (width, height))
            self._scale_before_video = self.quality.fixed
            self.quality.fixed = self.quality.scale  # the picture keeps its size
            self._is_awaiting = False

        view.photograph(lambda picture: self.state.attempt(lambda: begin(picture)))

    def stop_video(self) -> None:
        """End the video, if one is being made."""
        if self._video is not None:
            video, self._video = self._video, None
            self.quality.fixed = self._scale_before_video
            if self.state.attempt(video.close):
                self.state.console.say(
                    tr("video: {path} ({frames} frames)", path=video.path, frames=video.frames)
                )
                self.state.offer_file(video.path)
