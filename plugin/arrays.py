"""Array types that every room uses, and read-only copies."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def frozen(values: object) -> FloatArray:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def as_slice(indices: npt.NDArray[np.intp]) -> slice | npt.NDArray[np.intp]:
    """Indices that follow each other as a slice, which selects without a copy; others unchanged."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices
