"""MuJoCo's own vectors in an MjSpec as lists."""

from typing import Any


def values_of(vector: Any) -> list[Any]:
    """The items of a vector of numbers or texts.

    By index: each iteration over one, `np.array` too, ends with an exception of MuJoCo's, which
    takes longer than all of the items.
    """
    return [vector[i] for i in range(len(vector))]
