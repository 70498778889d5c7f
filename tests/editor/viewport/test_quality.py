"""A GPU draws everything; without one the render scale follows the frame time."""

import pytest

from mjrig.editor.viewport.gl_view import is_software_name
from mjrig.editor.viewport.scene_renderer import FAST, SCALES, SLOW, Quality


def _feed(quality: Quality, seconds: float, frames: int = 400) -> None:
    for _ in range(frames):
        quality.note(seconds)


def test_slow_frames_are_drawn_coarser_and_fast_ones_finer() -> None:
    quality = Quality(software=True)
    _feed(quality, FAST / 2)
    assert quality.scale == 1.0
    _feed(quality, 2 * SLOW)
    assert quality.scale == SCALES[0] == 0.4


def test_a_gpu_draws_in_full_from_the_first_frame_on_however_long_frames_take() -> None:
    quality = Quality(software=True)
    quality.use(software=False)
    assert quality.scale == 1.0
    _feed(quality, 2 * SLOW)
    assert quality.scale == 1.0


@pytest.mark.parametrize(
    ("renderer", "software"),
    [
        (b"llvmpipe (LLVM 15.0.6, 256 bits)", True),
        (b"Google SwiftShader", True),
        (b"softpipe", True),
        (b"Apple Software Renderer", True),
        (b"GDI Generic", True),
        (b"NVIDIA GeForce RTX 3060/PCIe/SSE2", False),
        (b"Mesa Intel(R) UHD Graphics 620 (KBL GT2)", False),
        (b"AMD Radeon RX 6600 (radeonsi, navi23)", False),
    ],
)
def test_the_name_of_the_renderer_tells_whether_there_is_a_gpu(
    renderer: bytes, software: bool
) -> None:
    assert is_software_name(renderer) is software


def test_between_the_two_it_stays() -> None:
    quality = Quality(software=True)
    _feed(quality, (FAST + SLOW) / 2)
    assert quality.scale == 0.5
    assert quality.text == "view 50% auto, software GL"


def test_a_single_slow_frame_changes_nothing() -> None:
    quality = Quality(software=True)
    _feed(quality, FAST / 2)
    quality.note(10 * SLOW)
    assert quality.scale == 1.0


def test_a_fixed_scale_is_left_alone() -> None:
    quality = Quality(software=False)
    quality.fixed = 0.75
    _feed(quality, 2 * SLOW)
    assert quality.scale == 0.75
    assert quality.text == "view 75% fixed"
