"""KeyframeHold: setpoints pinned at a keyframe's pose until they are released."""

from typing import Any, NamedTuple

from mjrig.arrays import FloatArray
from mjrig.control.setpoints import Setpoints


class Pinned(NamedTuple):
    """What is pinned: all setpoints (3·n,), input vectors by name, and the keyframe's name."""

    flat: FloatArray
    inputs: dict[str, FloatArray]
    keyframe: str


class KeyframeHold:
    """Writes the same setpoints before every step, so that they override every other command."""

    def __init__(self, setpoints: Setpoints) -> None:
        self._setpoints = setpoints
        self.pinned: Pinned | None = None

    def __call__(self) -> None:
        pinned = self.pinned
        if pinned is not None:
            self._setpoints.flat[:] = pinned.flat
            for name, values in pinned.inputs.items():
                self._setpoints.input_values[name][:] = values

    def memory(self) -> Any:
        """What `restore` takes back; nothing of it is ever written into."""
        return None if self.pinned is None else tuple(self.pinned)

    def restore(self, memory: Any) -> None:
        """Pin what was pinned when `memory` was called."""
        self.pinned = None if memory is None else Pinned(*memory)
