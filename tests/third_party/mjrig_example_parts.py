"""A law and a clamp: parts of any pipeline."""

from typing import Any

import numpy as np

from mjrig.components import Clamp, Law
from mjrig.properties import Float, PerActuator


class CubicSpring(Law):
    """τ = stiffness (q* − q)³ + ff  [N·m or N]."""

    stiffness = PerActuator(constant=10.0, min=0.0, finite=True, unit="N·m/rad³", doc="Stiffness.")

    def compute(
        self,
        q: Any,
        qd: Any,
        target_q: Any,
        target_qd: Any,
        feedforward: Any,
        state: Any,
        dt: float,
        out: Any,
    ) -> None:
        out[...] = self.stiffness * (target_q - q) ** 3 + feedforward


class Derate(Clamp):
    """|τ| ≤ share · rated, as for a motor that is too hot."""

    rated = PerActuator(constant=10.0, min=0.0, finite=True, unit="N·m", doc="Rated effort.")
    share = Float(1.0, min=0.0, max=1.0, doc="What is left of it.")

    def apply(self, effort: Any, q: Any, qd: Any, out: Any) -> None:
        limit = self.share * self.rated
        np.minimum(np.maximum(effort, -limit), limit, out=out)
