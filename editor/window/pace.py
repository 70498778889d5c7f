"""Pace: how often the window is drawn, by what goes on in it."""

from collections.abc import Callable
from typing import Any

from imgui_bundle import imgui

#: Highest frame rate; while a result is awaited; while nothing happens.
MOST_FRAMES, AWAITING_FRAMES, IDLE_FRAMES = 60.0, 10.0, 1.0
#: While the pointer only moves about a still picture that the processor draws.
POINTING_FRAMES = 12.0
#: How long input keeps the window from idling [s]; tooltips appear within it.
ATTENTIVE = 0.8


class Pace:
    """Sets the frame rate of a window.

    Args:
        is_moving: whether something moves by itself: the simulation, a replay, a video.
        is_awaiting: whether a result of something in the background is expected.
        is_software: whether the processor draws.
    """

    def __init__(
        self,
        is_moving: Callable[[], bool],
        is_awaiting: Callable[[], bool] = lambda: False,
        is_software: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_moving, self._is_awaiting = is_moving, is_awaiting
        self._is_software = is_software

    def set(self, fps: Any) -> None:
        """Set hello_imgui's rates for the next frame; a context must exist."""
        moving = self._is_moving()
        fps.enable_idling = not moving
        fps.fps_idle = AWAITING_FRAMES if self._is_awaiting() else IDLE_FRAMES
        fps.time_active_after_last_event = ATTENTIVE
        pointing = not moving and self._is_software() and not imgui.is_any_mouse_down()
        fps.fps_max = POINTING_FRAMES if pointing else MOST_FRAMES

    def interval(self, since_input: float) -> float:
        """Time until the next frame that no input asks for, where nobody else keeps it [s]."""
        if self._is_moving() or since_input < ATTENTIVE:
            return 1.0 / MOST_FRAMES
        return 1.0 / (AWAITING_FRAMES if self._is_awaiting() else IDLE_FRAMES)
