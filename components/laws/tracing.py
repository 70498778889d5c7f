"""Equations as numpy calls, prepared once and run every step.

An equation runs once with symbols in place of the arrays that change. Each operation on a symbol
becomes one call into an array that is made once. Calls are run as rarely as their inputs change:
with the parameters, with the setpoints, or in every step.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mjrig.components.laws.pipeline_arrays import Array, Operation, clip

#: Makes the calls that write to an array what follows from others.
Calls = Callable[[Sequence[Array], Array], list[Operation]]


class UpdateStage(IntEnum):
    """When a value changes."""

    PARAMETERS = 0
    COMMAND = 1
    STEP = 2


class Symbol(NDArrayOperatorsMixin):
    """A value that changes: an input by name, a given array, or the result of a function."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        stage: UpdateStage = UpdateStage.STEP,
        function: Any = None,
        arguments: tuple[Any, ...] = (),
        *,
        name: str = "",
        array: Array | None = None,
    ) -> None:
        self.shape, self.dtype, self.stage = shape, np.dtype(dtype), stage
        self.function, self.arguments, self.name, self.array = function, arguments, name, array

    @classmethod
    def of(cls, array: Array, stage: UpdateStage = UpdateStage.STEP) -> "Symbol":
        """The present content of an array."""
        return cls(array.shape, array.dtype, stage, array=array)

    @property
    def is_own(self) -> bool:
        """Whether a call writes it in every step, so that it may be written to any array."""
        return callable(self.function) and self.stage is UpdateStage.STEP

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        is_in_place = isinstance(options.pop("out", (self,))[0], Symbol)
        if method != "__call__" or options or not is_in_place:
            return NotImplemented
        return _result(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if options or function not in (np.where, np.clip) or len(inputs) != 3:
            raise TypeError(f"an equation cannot use np.{function.__name__} in this way")
        if function is np.where:
            return _result(_choose, inputs)
        values, low, high = inputs
        constants = not isinstance(low, Symbol) and not isinstance(high, Symbol)
        if constants and np.isneginf(low).all() and np.isposinf(high).all():
            return values
        return _result(clip, inputs)

    def __getitem__(self, index: int) -> "Symbol":
        return Symbol(self.shape[1:], self.dtype, self.stage, index, (self,))

    def __bool__(self) -> bool:
        raise TypeError("an equation cannot branch on a value that changes; use np.where")


def looked_up(calls: Calls, shape: tuple[int, ...], dtype: Any, *arguments: Any) -> Any:
    """A symbol, or for given arrays an array, that other calls write than a numpy function's."""
    if isinstance(arguments[0], Symbol):
        return Symbol(shape, dtype, UpdateStage.STEP, calls, arguments)
    out = np.zeros(shape, dtype)
    for call in calls(arguments, out):
        call()
    return out


def stored(value: Any, shape: tuple[int, ...], dtype: Any) -> Symbol:
    """A value that is copied in every step to an array of this type."""
    argument = value if isinstance(value, Symbol) else np.asarray(value, dtype)
    return Symbol(shape, dtype, UpdateStage.STEP, np.positive, (argument,))


def _choose(arguments: Sequence[Array], out: Array) -> list[Operation]:
    condition, chosen, otherwise = arguments
    return [
        partial(np.copyto, out, otherwise),
        partial(np.copyto, out, chosen, where=condition),
    ]


def _result(function: Any, inputs: Sequence[Any]) -> Symbol:
    """The symbol of a function's result; numbers among its inputs become arrays."""
    shape = np.broadcast_shapes(*(getattr(value, "shape", ()) for value in inputs))
    if isinstance(function, np.ufunc):
        kinds = [getattr(value, "dtype", type(value)) for value in inputs]
        *types, dtype = function.resolve_dtypes((*kinds, None))
    else:  # the first value of a choice is its condition
        dtype = np.result_type(*(getattr(v, "dtype", v) for v in inputs[function is _choose :]))
        types = [dtype] * len(inputs)
    arguments = tuple(
        value if hasattr(value, "dtype") else np.full(shape, value, kind)
        for value, kind in zip(inputs, types, strict=True)
    )
    stage = max(value.stage for value in inputs if isinstance(value, Symbol))
    return Symbol(shape, dtype, stage, function, arguments)


def _maker(function: Any) -> Any:
    """What makes the calls of a symbol's function; a ufunc of two arguments at most is called."""
    if function in (np.maximum, np.minimum):  # they reserve the third position
        return lambda arguments, out: [partial(function, *arguments, out=out)]
    if function is clip:
        return lambda arguments, out: [partial(clip, *arguments, out)]
    return function


class TracedProgram:
    """The calls that compute results from named inputs, and the arrays in between."""

    def __init__(self, results: Sequence[Any]) -> None:
        #: One per symbol and constant: its array; None for an input.
        self._arrays: list[Any] = []
        self._inputs: dict[int, str] = {}
        #: Each: stage, function or what makes its calls, numbers of its arguments, and its own.
        self._order: list[tuple[UpdateStage, Any, list[int], int]] = []
        self._numbers: dict[int, int] = {}
        self._uses: dict[int, int] = {}
        for result in results:
            self._count(result)
        self._results = [self._number(result) for result in results]
        self._keep_alive = results  # the numbers are found by identity

    @property
    def inputs(self) -> Sequence[str]:
        """Names of the inputs it needs."""
        return tuple(self._inputs.values())

    def _count(self, value: Any) -> None:
        """Count how often symbols are used."""
        self._uses[id(value)] = self._uses.get(id(value), 0) + 1
        if isinstance(value, Symbol) and self._uses[id(value)] == 1:
            for argument in value.arguments:
                self._count(argument)

    def _number(self, value: Any) -> int:
        """Where the array of a value is; calls are put behind those of their arguments."""
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        array = value
        if isinstance(value, Symbol):
            numbers = [self._number(argument) for argument in value.arguments]
            array = value.array if value.function is None else self._array(value, numbers)
            if callable(value.function):
                maker = _maker(value.function)
                self._order.append((value.stage, maker, numbers, len(self._arrays)))
            elif array is None:
                self._inputs[len(self._arrays)] = value.name
        self._numbers[id(value)] = len(self._arrays)
        self._arrays.append(array)
        return len(self._arrays) - 1

    def _array(self, symbol: Symbol, numbers: Sequence[int]) -> Array:
        """The array of a symbol: that of an argument which nothing else needs, or a new one."""
        if isinstance(symbol.function, int):
            row: Array = self._arrays[numbers[0]][symbol.function]
            return row
        for argument, number in zip(symbol.arguments, numbers, strict=True):
            is_free = isinstance(argument, Symbol) and callable(argument.function)
            is_free &= self._uses[id(argument)] == 1 and isinstance(symbol.function, np.ufunc)
            if is_free and all(
                getattr(argument, name) == getattr(symbol, name)
                for name in ("shape", "dtype", "stage")
            ):
                shared: Array = self._arrays[number]
                return shared
        return np.zeros(symbol.shape, symbol.dtype)

    def bind(
        self, inputs: Mapping[str, Array], outputs: Sequence[Array] = ()
    ) -> tuple[tuple[list[Operation], ...], list[Any]]:
        """The calls on these very arrays, by stage, and the arrays of the results.

        Args:
            inputs: by name.
            outputs: arrays that the first results are written to, which are `is_own` then.
        """
        arrays = self._arrays.copy()
        for number, name in self._inputs.items():
            arrays[number] = inputs[name]
        for number, output in zip(self._results, outputs, strict=False):
            arrays[number] = output
        calls: tuple[list[Operation], ...] = ([], [], [])
        for stage, function, numbers, number in self._order:
            arguments = [arrays[k] for k in numbers]
            if type(function) is np.ufunc:
                calls[stage].append(partial(function, *arguments, arrays[number]))
            else:
                calls[stage].extend(function(arguments, arrays[number]))
        return calls, [arrays[number] for number in self._results]


class Evaluation:
    """A program that runs at once, on copies of its inputs; their shapes are always the same."""

    def __init__(self, program: TracedProgram) -> None:
        self._program = program
        self._bound: dict[Any, tuple[dict[str, Array], list[Operation], list[Any]]] = {}

    def __call__(self, inputs: Mapping[str, Array]) -> list[Any]:
        """The results for these inputs; they hold until the next evaluation."""
        dtype = inputs["q"].dtype
        bound = self._bound.get(dtype)
        if bound is None:
            copies = {name: np.zeros_like(inputs[name]) for name in self._program.inputs}
            calls, results = self._program.bind(copies)
            operations = [call for stage in calls for call in stage]
            bound = self._bound[dtype] = copies, operations, results
        copied, operations, results = bound
        for name, copy in copied.items():
            np.copyto(copy, inputs[name])
        for operation in operations:
            operation()
        return results


# Derivatives --------------------------------------------------------------------------------------


def derivatives(values: Sequence[Any], inputs: Mapping[str, Array], name: str) -> list[Array]:
    """The derivatives of values with respect to the input of a name, elementwise.

    Raises:
        NotImplementedError: one is the result of a function without a known derivative.
    """
    known: dict[int, tuple[Any, Any]] = {}

    def at(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, Symbol):
            return value, 0.0
        if value.function is None:
            is_given = value.array is not None
            return (value.array if is_given else inputs[value.name]), float(value.name == name)
        if id(value) not in known:
            known[id(value)] = evaluate(value)
        return known[id(value)]

    def evaluate(symbol: Symbol) -> tuple[Any, Any]:
        function, pairs = symbol.function, [at(argument) for argument in symbol.arguments]
        x, d = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if isinstance(function, int):
            return x[0][function], np.broadcast_to(d[0], np.shape(x[0]))[function]
        rule = _RULES.get(function)
        if rule is None and isinstance(function, np.ufunc) and symbol.dtype != np.bool_:
            raise NotImplementedError(f"the derivative of {function.__name__} is not known")
        out = np.zeros(symbol.shape, symbol.dtype)
        maker = _maker(function)
        if isinstance(maker, np.ufunc):
            maker(*x, out)
        else:
            for call in maker(x, out):
                call()
        return out, 0.0 if rule is None else rule(x, d)

    return [np.broadcast_to(at(value)[1], np.shape(at(value)[0])).copy() for value in values]


def _times(factor: Any, derivative: Any) -> Any:
    """A product in which no change stays none, even times infinity."""
    one, other = np.broadcast_arrays(factor, derivative)
    return np.multiply(one, other, out=np.zeros(one.shape), where=other != 0.0)


#: The derivative of a function from its arguments and their derivatives; of a look-up it is 0.
_RULES: dict[Any, Callable[[list[Any], list[Any]], Any]] = {
    np.add: lambda x, d: d[0] + d[1],
    np.subtract: lambda x, d: d[0] - d[1],
    np.multiply: lambda x, d: _times(x[1], d[0]) + _times(x[0], d[1]),
    np.divide: lambda x, d: (d[0] - _times(x[0] / x[1], d[1])) / x[1],
    np.power: lambda x, d: _times(x[1] * x[0] ** (x[1] - 1.0), d[0]),
    np.negative: lambda x, d: -d[0],
    np.positive: lambda x, d: d[0],
    np.absolute: lambda x, d: np.sign(x[0]) * d[0],
    np.maximum: lambda x, d: np.where(x[0] > x[1], d[0], d[1]),
    np.minimum: lambda x, d: np.where(x[0] < x[1], d[0], d[1]),
    clip: lambda x, d: np.where(
        np.maximum(x[0], x[1]) >= x[2], d[2], np.where(x[0] <= x[1], d[1], d[0])
    ),
    _choose: lambda x, d: np.where(x[0], d[1], d[2]),
}
