"""Array types that every room uses, and read-only copies."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
D = TypeVar("D", bound=np.generic)


def frozen(values: object) -> FloatArray:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def read_only(array: npt.NDArray[D]) -> npt.NDArray[D]:
    """A read-only view: a write to a copy would have no effect."""
    view = array.view()
    view.setflags(write=False)
    return view


def copy_into(target: npt.NDArray[Any], values: npt.ArrayLike, label: str) -> None:
    """Copy numbers into an array that they fit or can be broadcast to.

    Raises:
        ValueError: another shape, or not numbers; nothing was changed.
    """
    try:
        target[...] = np.broadcast_to(np.asarray(values, dtype=target.dtype), target.shape)
    except (TypeError, ValueError):
        shape = np.shape(values) if isinstance(values, np.ndarray | list | tuple) else ()
        raise ValueError(
            f"{label} takes numbers of shape {target.shape}, got "
            f"{f'shape {shape}' if shape else repr(values)}"
        ) from None


def as_slice(indices: npt.NDArray[np.intp]) -> slice | npt.NDArray[np.intp]:
    """Indices that follow each other as a slice, which selects without a copy; others unchanged."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices
