"""Scatter: gathers a pipeline's inputs by index and adds its efforts at indices."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.space import Array

Indices = tuple[npt.ArrayLike | None, ...]
Arrays = tuple[Array | None, ...]


class Scatter:
    """Checked index arrays: positions, velocities, position targets, efforts.

    Raises:
        ValueError: an index is out of range or a list has another length than `size`.
    """

    def __init__(self, size: int, indices: Indices, arrays: Arrays) -> None:
        self._key = indices
        self._shapes = [None if a is None else a.shape for a in arrays]
        pos, vel, target, effort = indices
        self._pos = _index("pos_indices", pos, size)
        self._vel = _index("vel_indices", vel, size)
        self._target = self._pos if target is None else _index("target_indices", target, size)
        self._effort = self._vel if effort is None else _index("effort_indices", effort, size)
        qpos, qvel, target_q, target_qd, feedforward, out = arrays
        for name, index, array, what in (
            ("pos_indices", self._pos, qpos, "qpos"),
            ("vel_indices", self._vel, qvel, "qvel"),
            ("target_indices", self._target, target_q, "target_q"),
            ("vel_indices", self._vel, target_qd, "target_qd"),
            ("vel_indices", self._vel, feedforward, "feedforward"),
            ("effort_indices", self._effort, out, "out"),
        ):
            _check_range(name, index, array, what)
        self._repeated = len(np.unique(self._effort)) < size

    def fits(self, indices: Indices, arrays: Arrays) -> bool:
        """Whether these are the very index arrays, for arrays of the same shapes."""
        same = all(a is b for a, b in zip(indices, self._key, strict=True))
        return same and self._shapes == [None if a is None else a.shape for a in arrays]

    def gather(
        self,
        qpos: Any,
        qvel: Any,
        target_q: Array | None,
        target_qd: Array | None,
        feedforward: Array | None,
    ) -> tuple[Array, Array, Array | None, Array | None, Array | None]:
        """The pipeline's inputs."""
        return (
            qpos[..., self._pos],
            qvel[..., self._vel],
            None if target_q is None else target_q[..., self._target],
            None if target_qd is None else target_qd[..., self._vel],
            None if feedforward is None else feedforward[..., self._vel],
        )

    def add(self, out: Array, effort: Array) -> None:
        """Add efforts; repeated indices add up."""
        if self._repeated:
            where: Any = (..., self._effort)
            np.add.at(out, where, effort)
        else:
            out[..., self._effort] += effort


def _index(name: str, values: npt.ArrayLike | None, size: int) -> npt.NDArray[np.intp]:
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {size} whole numbers, got {array.dtype} {array.shape}")
    return array.astype(np.intp)


def _check_range(name: str, index: npt.NDArray[np.intp], array: Array | None, what: str) -> None:
    if array is None:
        return
    length = array.shape[-1]
    bad = index[(index < 0) | (index >= length)]
    if len(bad):
        raise ValueError(f"{name} has {bad[0]}, but {what} has {length} values")
