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


def test_time_that_goes_back_or_jumps_starts_again(tmp_path: Path) -> None:
    video = _video(tmp_path)
    for time in (0.0, 0.4, 0.0, 0.1, 500.0, 500.1):
        video.add(BLACK, time, is_running=False)
    video.close()
    assert video.frames == 13 + 4 + 4


@pytest.mark.parametrize("is_running", [True, False])
def test_where_a_jump_begins(tmp_path: Path, is_running: bool) -> None:
    video = _video(tmp_path)
    for time in (0.0, 0.9, 2.6):
        video.add(BLACK, time, is_running=is_running)
    video.close()
    assert video.frames == (79 if is_running else 28 + 1)


def test_a_run_counts_in_full_however_rarely_it_is_drawn(tmp_path: Path) -> None:
    """Pauses, changes of speed, single steps and resets in a random order."""
    rng = np.random.default_rng(3)
    for case in range(20):
        video = _video(tmp_path / str(case))
        time, expected = float(rng.uniform(0.0, 5.0)), 0.0
        video.add(BLACK, time, is_running=False)
        for _ in range(8):
            action = rng.choice(["run", "pause", "step", "reset"])
            if action == "run":
                span = float(rng.choice([0.01, 0.5, 3.0, 13.0]))
                pictures = int(rng.integers(1, 4))
                for k in range(pictures):
                    is_last = k == pictures - 1  # it is paused before the last picture
                    video.add(BLACK, time + span * (k + 1) / pictures, is_running=not is_last)
                if pictures == 1:  # nobody has seen it run
                    expected += span if span <= 1.0 else 0.0
                else:
                    expected += span
                time += span
            elif action == "step":
                time, expected = time + 0.002, expected + 0.002
                video.add(BLACK, time, is_running=False)
            elif action == "reset":
                time = 0.0
                video.add(BLACK, time, is_running=False)
            else:
                video.add(BLACK, time, is_running=False)
        video.close()
        assert video.frames / FPS == pytest.approx(expected, abs=8 * 3 / FPS), case


def test_a_picture_of_another_size_fits(tmp_path: Path) -> None:
    video = _video(tmp_path)
    video.add(np.zeros((80, 20, 3), np.uint8), 0.0)
    video.add(np.zeros((10, 90, 3), np.uint8), 0.1)
    video.close()
    assert _count(video.path) == 4
