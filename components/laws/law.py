"""Law: computes raw effort from state and setpoint. Pure array code, independent of MuJoCo."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.equations import LawSignals
from mjrig.components.laws.pipeline_arrays import Array, Operation, PipelineSpace, State
from mjrig.components.laws.tracing import (
    Evaluation,
    Symbol,
    TracedProgram,
    UpdateStage,
    derivatives,
    stored,
)
from mjrig.core.errors import PropertyError
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


class PipelinePart(Component):
    """Base class of laws and clamps: parameters, resolved and scaled into a space.

    A part that scales its parameters into any space in `enter` sets `any_space`; else it runs in
    joint units with its resolved properties.
    """

    #: Whether `enter` scales the parameters, so that the part may run in actuator space.
    any_space: ClassVar[bool] = False
    #: Executions besides python that have a form of what this class computes.
    _forms: ClassVar[tuple[str, ...]] = ()
    #: The methods that define what it computes.
    _computing: ClassVar[tuple[str, ...]] = ("equation",)

    def prepare(self) -> None:
        self._space: PipelineSpace | None = None
        #: Incremented with every change of the parameters: earlier programs are stale.
        self._revision = 0

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

    def _has_form(self, execution: str) -> bool:
        """Whether an execution computes the same; of an equation of a subclass it knows nothing."""
        kind = type(self)
        owner = next(c for c in kind.__mro__ if "_forms" in vars(c))
        return execution in self._forms and all(
            getattr(kind, name) is getattr(owner, name) for name in self._computing
        )


#: Names of the setpoints among the inputs of an equation.
_TARGETS = ("target_q", "target_qd", "feedforward")


class LawInputs(LawSignals):
    """What the equation of a law is written with: symbols; `dt` is a number."""

    _dtype: Any
    _state: State
    #: What the memory becomes with this step, by name.
    kept: dict[str, Symbol]

    @classmethod
    def of(cls, space: PipelineSpace, state: State, dt: float) -> "LawInputs":
        """The inputs of a law in a space, with the memory of a state."""
        signals: list[Any] = [
            Symbol(
                space.shape,
                space.dtype,
                UpdateStage.COMMAND if name in _TARGETS else UpdateStage.STEP,
                name=name,
            )
            for name in LawSignals._fields[:-1]
        ]
        made = cls(*signals, float(dt))  # type: ignore[call-arg]
        made._dtype, made._state, made.kept = space.dtype, state, {}
        return made

    def memory(self, name: str) -> Symbol:
        """The memory of this name, as the last step left it."""
        return Symbol.of(getattr(self._state, name))

    def keep(self, name: str, value: Any) -> Symbol:
        """Give the memory of this name a new value, unless the effort is not finite."""
        array = getattr(self._state, name)
        is_ready = isinstance(value, Symbol) and value.is_own and value.dtype == array.dtype
        self.kept[name] = value if is_ready else stored(value, array.shape, array.dtype)
        return self.kept[name]

    def rounded(self, value: Symbol) -> Symbol:
        """A value in the precision of the pipeline, whatever the parameters have."""
        is_wide = value.dtype != self._dtype
        return stored(value, value.shape, self._dtype) if is_wide else value


class _Trace:
    """The equation of a law as a program: the effort, then the memory."""

    def __init__(self, law: "Law", space: PipelineSpace, state: State, dt: float) -> None:
        self.inputs = LawInputs.of(space, state, dt)
        effort = law.equation(self.inputs)
        if not isinstance(effort, Symbol | np.ndarray | np.floating | float | int):
            raise PropertyError(
                f"{law.label}: {type(law).__name__}.equation returned {effort!r:.60}; "
                "return the effort"
            )
        kept = self.inputs.kept
        is_ready = isinstance(effort, Symbol) and effort.is_own
        if not is_ready or any(effort is value for value in kept.values()):
            effort = stored(effort, space.shape, space.dtype)
        self.effort, self.program = effort, TracedProgram([effort, *kept.values()])
        self.evaluate = Evaluation(self.program)


class Law(PipelinePart):
    """Base class of control laws: properties, and an `equation` or `compute`."""

    _computing = ("equation", "compute", "program")
    #: Names of extra inputs `custom_inputs` must give.
    custom_names: tuple[str, ...] = ()

    def prepare(self) -> None:
        super().prepare()
        nothing = np.zeros(0)
        self._targets: tuple[Array, Array, Array] = (nothing, nothing, nothing)
        self._custom: Mapping[str, Array] = {}
        #: The equation that ran last, and its inputs.
        self._bound: tuple[_Trace | None, dict[str, Array]] = None, {}
        self._on_command: list[Operation] = []
        #: Programs of the present parameters, by dt.
        self._traces: dict[float, _Trace] = {}
        self._traced = 0
        #: The memory after the step by name, and with the memory that `advance` copies it to.
        self._next: dict[str, npt.NDArray[Any]] = {}
        self._commits: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []

    def use_space(self, space: PipelineSpace) -> None:
        super().use_space(space)
        self._next = {}

    def remember(self, state: State, space: PipelineSpace) -> None:
        """Hook: register the law's memory."""

    def check_dt(self, dt: float | None) -> None:
        """Hook: raise ValueError where the law cannot run with this dt."""

    def needs(self) -> dict[str, str]:
        """Which target (`target_q`, `target_qd`) which non-zero gain needs."""
        return {}

    def equation(self, x: LawInputs) -> Any:
        """Hook: the raw effort as an expression of `x.q`, `x.qd`, the targets and `x.dt`.

        It is evaluated once for all steps: with operators and functions of numpy, without branches
        on what changes. `x.memory(name)` is the memory, `x.keep(name, value)` changes it.
        """
        raise NotImplementedError

    @required("equation")
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
        self.command(target_q, target_qd, feedforward)
        self.respond(q, qd, state, dt, out)

    def command(self, target_q: Array, target_qd: Array, feedforward: Array) -> None:
        """Take the setpoints of the next `program` or `respond`."""
        self._targets = (target_q, target_qd, feedforward)

    def program(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> list[Operation]:
        """Calls that write the raw effort for the setpoints of the last `command`.

        They hold these very arrays, so that a step only runs them, until a parameter changes. When
        the values of the setpoints change, the calls in `_on_command` come first.
        """
        targets = self._targets
        if type(self).compute is not Law.compute:

            def compute() -> None:
                result = self.compute(q, qd, *targets, state, dt, out)
                if result is not None:
                    check_filled(self, "compute", result, out)

            self._on_command = [partial(self.command, *targets)]
            return [compute]
        trace = self._bind(q, qd, state, dt)
        outputs = [out, *(value for _, value in self._commits)]
        calls, _ = trace.program.bind(self._bound[1], outputs)
        self._on_command = calls[UpdateStage.COMMAND]
        for call in (*calls[UpdateStage.PARAMETERS], *self._on_command):
            call()
        return calls[UpdateStage.STEP]

    def _bind(self, q: Array, qd: Array, state: State, dt: float) -> _Trace:
        """The equation of the present parameters, with these inputs."""
        assert self._space is not None
        if self._traced != self._revision:
            self._traces, self._traced = {}, self._revision
        trace = self._traces.get(dt)
        if trace is None:
            trace = self._traces[dt] = _Trace(self, self._space, state, dt)
        self._bound = trace, {"q": q, "qd": qd, **dict(zip(_TARGETS, self._targets, strict=True))}
        kept = {name: getattr(state, name) for name in trace.inputs.kept}
        for name, array in kept.items():
            if name not in self._next:
                self._next[name] = np.zeros_like(array)
        self._commits = [(array, self._next[name]) for name, array in kept.items()]
        return trace

    def respond(self, q: Array, qd: Array, state: State, dt: float, out: Array) -> None:
        """Write the raw effort for the setpoints of the last `command`."""
        if type(self).compute is not Law.compute:
            for operation in self.program(q, qd, state, dt, out):
                operation()
            return
        results = self._bind(q, qd, state, dt).evaluate(self._bound[1])
        for output, result in zip(
            (out, *(value for _, value in self._commits)), results, strict=True
        ):
            np.copyto(output, result, casting="same_kind")

    def advance(self, state: State, good: npt.NDArray[np.bool_] | None = None) -> None:
        """Hook: commit the memory update of the last `compute`.

        Args:
            state: the pipeline's.
            good: the actuators whose effort was finite; None: all. The others keep their memory.
        """
        for array, value in self._commits:
            commit(array, value, good)

    def slopes(self, state: State, dt: float) -> Slopes:
        """∂τ/∂(q, qd, targets) of the raw effort that `compute` wrote last.

        Raises:
            NotImplementedError: the law has none.
        """
        trace, inputs = self._bound
        if trace is None:
            raise NotImplementedError(f"{type(self).__name__} has no derivative")
        names = ("q", "qd", "target_q", "target_qd")
        return Slopes(*(derivatives([trace.effort], inputs, name)[0] for name in names))

    def implicit(self) -> Implicit:
        """How the law takes part in the implicit solve."""
        return Implicit.EXACT

    def why_not_compiled(self) -> str:
        """Why the law has no compiled form; empty if it has."""
        has_form = self._has_form("compiled")
        return "" if has_form else f"{type(self).__name__} is a Python law without a compiled form"

    def why_not_native(self) -> str:
        """Why the law has no MuJoCo form; empty if it has."""
        has_form = self._has_form("native")
        return "" if has_form else f"MuJoCo has no actuator that computes {type(self).__name__}"


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
