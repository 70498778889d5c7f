"""Law: computes raw effort from state and setpoint. Pure array code, independent of MuJoCo."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.pipeline_arrays import Array, Operation, PipelineSpace, State
from mjrig.core.properties.component import Component
from mjrig.core.properties.hooks import check_filled, fills, hook_methods, required


@dataclass(frozen=True)
class Slopes:
    """∂τ/∂(q, qd, target_q, target_qd), one value per actuator: a law couples none of them."""

    q: Array
    qd: Array
    target_q: Array
    target_qd: Array


class Implicit(Enum):
    """How a law takes part in the implicit solve."""

    EXACT = "exact"
    LINEARISED = "linearised"
    NONE = "none"


class Law(Component):
    """Base class of control laws: properties and `compute`.

    A law with only `compute` runs in joint units with its resolved properties. One that
    scales its parameters into any space in `enter` sets `any_space`.
    """

    #: Whether `enter` scales the parameters, so that the law may run in actuator space.
    any_space: ClassVar[bool] = False
    #: Names of extra inputs `custom_inputs` must give.
    custom_names: tuple[str, ...] = ()

    def prepare(self) -> None:
        self._space: PipelineSpace | None = None
        #: Incremented with every change of the parameters: earlier programs are stale.
        self._revision = 0
        nothing = np.zeros(0)
        self._targets: tuple[Array, Array, Array] = (nothing, nothing, nothing)
        self._custom: Mapping[str, Array] = {}

    def use_space(self, space: PipelineSpace) -> None:
        """Scale the resolved parameters into a space; called again after every change of them."""
        self._space = space
        self._revision += 1
        for method in hook_methods(type(self), "enter"):
            method(self, space)

    def enter(self, space: PipelineSpace) -> None:
        """Hook: scale the resolved parameters into a space, and make arrays of its shape."""

    def on_change(self, names: tuple[str, ...]) -> None:
        if self._space is not None and self._slots is not None:
            self.use_space(self._space)

    def remember(self, state: State, space: PipelineSpace) -> None:
        """Hook: register the law's memory."""

    def check_dt(self, dt: float | None) -> None:
        """Hook: raise ValueError where the law cannot run with this dt."""

    def needs(self) -> dict[str, str]:
        """Which target (`target_q`, `target_qd`) which non-zero gain needs."""
        return {}

    @required()
    @fills("out")
    def compute(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        state: State,
        dt: float,
        out: Array,
    ) -> None:
        """Write the raw effort to `out`; memory changes in `advance`."""
        raise NotImplementedError

    def command(self, target_q: Array, target_qd: Array, feedforward: Array) -> None:
        """Take setpoints that hold until the next call; a law may precompute with them.

        A law that overrides it overrides `respond` too.
        """
        self._targets = (target_q, target_qd, feedforward)

    def program(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> list[Operation]:
        """Calls that write the raw effort for the setpoints of the last `command`.

        They hold these very arrays, so that a step only runs them, until a parameter changes.
        """

        def compute() -> None:
            result = self.compute(q, qd, *self._targets, state, dt, out)
            if result is not None:
                check_filled(self, "compute", result, out)

        return [compute]

    def respond(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> None:
        """Write the raw effort for the setpoints of the last `command`."""
        for operation in self.program(q, qd, state, dt, out):
            operation()

    def advance(self, state: State, good: npt.NDArray[np.bool_] | None = None) -> None:
        """Hook: commit the memory update of the last `compute`.

        Args:
            state: the pipeline's.
            good: the actuators whose effort was finite; None: all. The others keep their memory.
        """

    def slopes(self, state: State, dt: float) -> Slopes:
        """∂τ/∂(q, qd, targets) of the raw effort.

        Raises:
            NotImplementedError: the law has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def implicit(self) -> Implicit:
        """How the law takes part in the implicit solve."""
        return Implicit.EXACT

    def why_not_compiled(self) -> str:
        """Why the law has no compiled form; empty if it has."""
        return f"{type(self).__name__} is a Python law without a compiled form"

    def why_not_native(self) -> str:
        """Why the law has no MuJoCo form; empty if it has."""
        return f"MuJoCo has no actuator that computes {type(self).__name__}"


def commit(
    target: npt.NDArray[Any],
    value: npt.NDArray[Any],
    good: npt.NDArray[np.bool_] | None,
) -> None:
    """Copy a value into memory where `good` allows."""
    if good is None:
        np.copyto(target, value)
    else:
        np.copyto(target, value, where=good)
