"""Pictures and videos: one frame per 1/30 s of simulated time, whatever time does."""

from pathlib import Path

import numpy as np
import pytest

from mjrig.editor.window.capture import FPS, Video, save_picture

BLACK = np.zeros((31, 41, 3), np.uint8)


def _count(path: Path) -> int:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    frames: int = ffmpeg.count_frames_and_secs(str(path))[0]
    return frames


def _video(folder: Path) -> Video:
    pytest.importorskip("imageio_ffmpeg")
    return Video(folder / "new folder" / "a.mp4", (41, 31))


def test_a_picture_is_what_was_given(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = np.arange(31 * 41 * 3, dtype=np.uint8).reshape(31, 41, 3)
    save_picture(picture, tmp_path / "new folder" / "a.png")
    with image.open(tmp_path / "new folder" / "a.png") as opened:
        assert np.array_equal(np.asarray(opened), picture)


def test_a_second_is_thirty_frames_at_any_pace_of_the_window(tmp_path: Path) -> None:
    for pace in (1 / 240, 1 / 30, 1 / 7):
        video = _video(tmp_path)
        for time in np.arange(0.0, 1.0, pace):
            video.add(BLACK, float(time))
        video.close()
        assert video.frames == pytest.approx(FPS, abs=5)
        assert _count(video.path) == video.frames


def test_time_that_stands_still_adds_nothing(tmp_path: Path) -> None:
    video = _video(tmp_path)
    for _ in range(20):
        video.add(BLACK, 0.5)
    video.close()
    assert video.frames == 1


def test_time_that_goes_back_or_jumps_starts_anew(tmp_path: Path) -> None:
    video = _video(tmp_path)
    for time in (0.0, 0.4, 0.0, 0.1, 500.0, 500.1):
        video.add(BLACK, time)
    video.close()
    assert video.frames == 13 + 4 + 4


def test_a_picture_of_another_size_fits(tmp_path: Path) -> None:
    video = _video(tmp_path)
    video.add(np.zeros((80, 20, 3), np.uint8), 0.0)
    video.add(np.zeros((10, 90, 3), np.uint8), 0.1)
    video.close()
    assert _count(video.path) == 4
