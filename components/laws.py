"""Control laws on plain arrays: no MuJoCo, nothing allocated per call."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]


class PDLaw:
    """τ = ff + kp (q* − q) + kv (v* − v)  [N·m or N], shapes (n,).

    In float64 the sum is bracketed as the engine brackets it,
    `((kp·q* + kv·v*) + ff) + ((−kp)·q + (−kv)·v)`, so that a lowered controller has the same bits;
    in float32 it is summed from left to right, as training stacks do.
    """

    def __init__(self, size: int, dtype: npt.DTypeLike = np.float64) -> None:
        self._dtype = np.dtype(dtype)
        self._a, self._b, self._c = np.zeros((3, size), self._dtype)
        self.set_gains(np.zeros(size), np.zeros(size))
        if self._dtype == np.float32:
            self.compute = self._compute_left_to_right

    def set_gains(self, kp: Array, kv: Array) -> None:
        """Swap the gains; effective with the next `compute`."""
        self._kp, self._kv = kp.astype(self._dtype), kv.astype(self._dtype)
        self._minus_kp, self._minus_kv = -self._kp, -self._kv

    def compute(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, feedforward: Array, out: Array
    ) -> None:
        """Write the raw effort to `out`."""
        a, b, c = self._a, self._b, self._c
        np.multiply(self._kp, target_q, out=a)
        np.multiply(self._kv, target_qd, out=b)
        np.add(a, b, out=a)
        np.add(a, feedforward, out=a)
        np.multiply(self._minus_kp, q, out=b)
        np.multiply(self._minus_kv, qd, out=c)
        np.add(b, c, out=b)
        np.add(a, b, out=out)

    def _compute_left_to_right(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, feedforward: Array, out: Array
    ) -> None:
        a, b = self._a, self._b
        np.subtract(target_q, q, out=a)
        np.multiply(self._kp, a, out=a)
        np.add(feedforward, a, out=a)
        np.subtract(target_qd, qd, out=b)
        np.multiply(self._kv, b, out=b)
        np.add(a, b, out=out)
