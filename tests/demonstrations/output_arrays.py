"""A clamp that returns its result instead of filling `out` is an error that says so."""

import numpy as np

import mjrig
from mjrig.components import Clamp
from mjrig.properties import Float

try:

    class SoftLimit(Clamp):
        """Limits an effort smoothly, but forgets `out`."""

        limit = Float(10.0, min=0.0, unit="N·m")

        def apply(self, effort, q, qd, out):  # type: ignore[no-untyped-def]
            return self.limit * np.tanh(effort / self.limit)

except mjrig.MjrigError as error:
    print(error)
else:
    raise SystemExit("nothing was said")
