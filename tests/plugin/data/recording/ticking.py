"""A policy without a network, for tests."""

from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import Plant
from mjrig.core.control.policy import PolicyComponent


class Ticking(PolicyComponent):
    """Ticks every fourth step; its action is the number of the tick."""

    def prepare(self) -> None:
        self._ticks = self._steps = 0

    def reset(self) -> None:
        self._ticks = self._steps = 0

    def before_controls(self, time: float) -> None:
        if self._steps % self.tick_steps == 0:
            self._ticks += 1
        self._steps += 1

    @property
    def ticks(self) -> int:
        return self._ticks

    @property
    def tick_steps(self) -> int:
        return 4

    @property
    def joints(self) -> tuple[str, ...]:
        return ("turn",)

    @property
    def observation(self) -> Any:
        return np.array([self._ticks, 0.5], np.float32)

    @property
    def action(self) -> Any:
        return np.array([self._ticks], np.float32)

    @property
    def command_now(self) -> FloatArray:
        return np.array([0.5, 0.0, 0.0])

    def plant(self) -> Plant:
        return Plant()
