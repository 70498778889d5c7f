"""The render scale follows the frame time."""

from mjrig.editor.viewport.quality import FAST, SCALES, SLOW, Quality


def _feed(quality: Quality, seconds: float, frames: int = 400) -> None:
    for _ in range(frames):
        quality.note(seconds)


def test_slow_frames_are_drawn_coarser_and_fast_ones_finer() -> None:
    quality = Quality(software=False)
    assert quality.scale == 1.0
    _feed(quality, 2 * SLOW)
    assert quality.scale == SCALES[0] == 0.5
    _feed(quality, FAST / 2)
    assert quality.scale == 1.0


def test_between_the_two_it_stays() -> None:
    quality = Quality(software=True)
    _feed(quality, (FAST + SLOW) / 2)
    assert quality.scale == SCALES[0]
    assert quality.text == "view 50% auto, software GL"


def test_a_single_slow_frame_changes_nothing() -> None:
    quality = Quality(software=False)
    _feed(quality, FAST / 2, 19)
    quality.note(10 * SLOW)
    assert quality.scale == 1.0


def test_a_fixed_scale_is_left_alone() -> None:
    quality = Quality(software=False)
    quality.fixed = 0.75
    _feed(quality, 2 * SLOW)
    assert quality.scale == 0.75
    assert quality.text == "view 75% fixed"
