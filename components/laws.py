"""Control laws on plain arrays: no MuJoCo, nothing allocated per call."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]


class PDLaw:
    """τ = ff + kp (q* − q) + kv (v* − v)  [N·m or N], shapes (n,).

    The sum is bracketed as the engine brackets it, so that a lowered controller has the same bits:
    `((kp·q* + kv·v*) + ff) + ((−kp)·q + (−kv)·v)`. The first half changes only with a setpoint or
    a gain: `command` computes it, `compute` adds the rest every step.
    """

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self._dtype: Any = np.dtype(dtype)
        self._commanded, self._b, self._c = np.zeros((3, size), self._dtype)
        self.set_gains(np.zeros(size), np.zeros(size))

    def set_gains(self, kp: Array, kv: Array) -> None:
        """Swap the gains; `command` must follow."""
        self._kp, self._kv = kp.astype(self._dtype), kv.astype(self._dtype)
        self._minus_kp, self._minus_kv = -self._kp, -self._kv

    def command(self, target_q: Array, target_qd: Array, feedforward: Array) -> None:
        """Take the setpoints; they hold until the next call."""
        a, b = self._commanded, self._b
        np.multiply(self._kp, target_q, out=a)
        np.multiply(self._kv, target_qd, out=b)
        np.add(a, b, out=a)
        np.add(a, feedforward, out=a)

    def compute(self, q: Array, qd: Array, out: Array) -> None:
        """Write the raw effort to `out`."""
        b, c = self._b, self._c
        np.multiply(self._minus_kp, q, out=b)
        np.multiply(self._minus_kv, qd, out=c)
        np.add(b, c, out=b)
        np.add(self._commanded, b, out=out)


class PDLaw32(PDLaw):
    """The same in float32, summed from left to right as training stacks do."""

    def __init__(self, size: int) -> None:
        super().__init__(size, np.float32)
        self._target_q, self._target_qd, self._feedforward = np.zeros((3, size), np.float32)

    def command(self, target_q: Array, target_qd: Array, feedforward: Array) -> None:
        self._target_q[:], self._target_qd[:] = target_q, target_qd
        self._feedforward[:] = feedforward

    def compute(self, q: Array, qd: Array, out: Array) -> None:
        b, c = self._b, self._c
        np.subtract(self._target_q, q, out=b)
        np.multiply(self._kp, b, out=b)
        np.add(self._feedforward, b, out=b)
        np.subtract(self._target_qd, qd, out=c)
        np.multiply(self._kv, c, out=c)
        np.add(b, c, out=out)
