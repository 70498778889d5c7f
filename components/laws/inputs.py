"""Inputs of a pipeline step: checked, and copied into preallocated arrays."""

from collections.abc import Mapping
from math import isfinite

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.delay import Delay
from mjrig.components.laws.law import Law
from mjrig.components.laws.space import Array, PipelineSpace
from mjrig.names import listed

Input = npt.ArrayLike | None
#: q, qd, target_q, target_qd, feedforward.
Inputs = tuple[Array, Array, Array, Array, Array]
#: target_q, target_qd, feedforward.
Targets = tuple[Array, Array, Array]
_NAMES = ("q", "qd", "target_q", "target_qd", "feedforward")


class InputRows:
    """Rows for q, qd, target_q, target_qd and feedforward, each of a pipeline's shape."""

    def __init__(self, space: PipelineSpace) -> None:
        self._space = space
        self._block = np.zeros((5, *space.shape), space.dtype)
        a, b, c, d, e = self._block
        self.rows: Inputs = (a, b, c, d, e)

    def take(
        self,
        given: tuple[npt.ArrayLike, npt.ArrayLike, Input, Input, Input],
        law: Law,
        delay: Delay | None,
        dt: float | None,
        custom: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Inputs:
        """Check inputs and copy them into the rows.

        Raises:
            ValueError: a shape is wrong, a value is not finite, a target is missing that a gain
                needs, or dt is missing.
        """
        law.check_dt(dt)
        if delay is not None:
            delay.check_dt(dt)
        for name, gain in law.needs().items():
            if given[_NAMES.index(name)] is None:
                raise ValueError(f"{name} is None but {gain} is not zero; give {name}")
        if custom or law.custom_names:
            self._take_custom(law, custom or {})
        shape = self._space.shape
        for row, value, name in zip(self.rows, given, _NAMES, strict=True):
            if value is None:
                row[...] = 0.0
            elif getattr(value, "shape", None) == shape:
                row[...] = value
            else:
                row[...] = self._array(name, value)
        block = self._block
        if not isfinite(np.vdot(block, block)):
            for row, name in zip(self.rows, _NAMES, strict=True):
                _refuse_non_finite(name, row)
        return self.rows

    def _take_custom(self, law: Law, inputs: Mapping[str, npt.ArrayLike]) -> None:
        names = law.custom_names
        missing, unknown = set(names) - set(inputs), set(inputs) - set(names)
        if missing:
            raise ValueError(f"custom_inputs must give {listed(sorted(missing))}")
        if unknown:
            raise ValueError(
                f"custom_inputs has {listed(sorted(unknown))}; "
                f"{type(law).__name__} takes {listed(names)}"
            )
        custom = {name: self._array(name, inputs[name]) for name in names}
        for name, array in custom.items():
            _refuse_non_finite(name, array)
        law._custom = custom

    def _array(self, name: str, value: npt.ArrayLike) -> Array:
        array = np.asarray(value, dtype=self._space.dtype)
        if array.shape != self._space.shape:
            raise ValueError(f"{name} must have shape {self._space.shape}, got {array.shape}")
        return array


def _refuse_non_finite(name: str, array: Array) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        index = ", ".join(map(str, bad[0]))
        raise ValueError(f"{name}[{index}] is {array[tuple(bad[0])]}; must be finite")
