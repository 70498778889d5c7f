"""Clip: min(max(x, low), high) as one call into a given array.

`np.clip` is a Python function around a ufunc that numpy does not export; a law calls it at every
step, where the wrapper costs more than the work.
"""

from importlib import import_module
from typing import Any

import numpy as np

from mjrig.components.laws.space import Array


def _in_two_calls(values: Array, low: Array, high: Array, out: Array) -> Array:
    np.maximum(values, low, out=out)
    np.minimum(out, high, out=out)
    return out


def _ufunc() -> Any:
    """The ufunc behind `np.clip`, wherever this numpy keeps it; two calls do the same."""
    for module in ("numpy._core.umath", "numpy.core.umath"):
        try:
            return import_module(module).clip
        except (ImportError, AttributeError):
            continue
    return _in_two_calls


#: clip(values, low, high, out); the upper bound wins, NaN stays NaN.
clip = _ufunc()
