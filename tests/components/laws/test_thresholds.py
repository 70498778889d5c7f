"""Where laws decide by numbers: each case is on one of the two sides of a threshold."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.components.laws.implicit_effort import law_effort
from mjrig.components.laws.law import Implicit


@pytest.mark.parametrize(("share", "slope"), [(-3.0, -3.0), (0.6, 0.6), (0.88, 0.88), (1.5, 0.9)])
def test_the_slope_of_a_network_is_at_most_nine_tenths_of_what_is_stable(
    share: float, slope: float
) -> None:
    """An effort that grows with the velocity makes h·slope/inertia = 1 unstable."""
    h, inertia = 0.01, 0.2

    def respond(q: Any, qd: Any, state: Any, dt: float, out: Any) -> None:
        out[:] = share * inertia / h * qd

    law: Any = SimpleNamespace(implicit=lambda: Implicit.LINEARISED, respond=respond)
    still, mass = np.zeros(1), np.array([[1.0 / inertia]])
    raw, _ = law_effort(law, None, [], still, still, h, mass)  # type: ignore[arg-type]
    assert raw(still, np.array([2.0])) == pytest.approx([slope * inertia / h * 2.0])
