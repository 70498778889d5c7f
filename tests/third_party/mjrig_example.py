"""SpringController: every joint hangs on a spring."""

from typing import Any

import numpy as np

from mjrig import ArticulationController, Source
from mjrig.properties import Float, PerActuator, action


class SpringController(ArticulationController):
    """τ = −stiffness (q − rest), clamped to ±limit  [N·m or N]."""

    stiffness = PerActuator(
        constant=10.0,
        min=0.0,
        finite=True,
        unit="N·m/rad",
        category="Spring",
        doc="Stiffness per actuator.",
    )
    rest = Float(0.0, unit="rad", category="Spring", doc="Angle without effort.")
    limit = Float(20.0, min=0.0, unit="N·m", category="Spring", doc="Largest effort.")

    def on_bind(self, model: Any, data: Any) -> None:
        self._q = [b.qpos_address for b in self.bindings]
        self._ctrl = [b.ctrl_address for b in self.bindings]
        self._factor = np.array([b.factor for b in self.bindings])  # joint effort = factor · ctrl

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        effort = -self.stiffness * (data.qpos[self._q] - self.rest)
        data.ctrl[self._ctrl] = np.clip(effort, -self.limit, self.limit) / self._factor

    @action
    def slacken(self, factor: float = 0.5) -> None:
        """Multiply every stiffness by a factor."""
        self.stiffness = self.stiffness * factor
