"""MuJoCo's actuator callbacks while a model is compiled."""

from collections.abc import Iterator
from contextlib import contextmanager

import mujoco

ACTUATOR_CALLBACKS = ("act_dyn", "act_gain", "act_bias")


@contextmanager
def without_actuator_callbacks() -> Iterator[None]:
    """Compile without them: the compiler runs the model before Python can access it."""
    found = {name: getattr(mujoco, f"get_mjcb_{name}")() for name in ACTUATOR_CALLBACKS}
    try:
        for name in found:
            getattr(mujoco, f"set_mjcb_{name}")(None)
        yield
    finally:
        for name, callback in found.items():
            getattr(mujoco, f"set_mjcb_{name}")(callback)
