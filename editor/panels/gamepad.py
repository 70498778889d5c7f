"""Sticks of a gamepad, through GLFW."""

from collections.abc import Sequence

#: Dead zone of a stick around its centre.
DEAD = 0.15
#: Forward, sideways and turn, each from -1 to 1; left is positive.
Sticks = tuple[float, float, float]


def read() -> Sticks | None:
    """The sticks of the first gamepad; None: there is none. Only where a window is open."""
    import glfw  # the window's own: it was imported after imgui_bundle

    for joystick in range(glfw.JOYSTICK_1, glfw.JOYSTICK_LAST + 1):
        if glfw.joystick_is_gamepad(joystick):
            state = glfw.get_gamepad_state(joystick)
            return None if state is None else sticks(state.axes)
    return None


def sticks(axes: Sequence[float]) -> Sticks:
    """Left stick: forward and sideways; right stick: turn. Axes as GLFW numbers them."""
    sideways, forward, turn = (-_alive(float(axes[i])) for i in (0, 1, 2))
    return forward + 0.0, sideways + 0.0, turn + 0.0


def _alive(value: float) -> float:
    """Zero in the dead zone, linear from there to the end."""
    beyond = max(abs(value) - DEAD, 0.0) / (1.0 - DEAD)
    return min(beyond, 1.0) * (1.0 if value > 0.0 else -1.0)
