"""Equations as numpy calls, prepared once and run every step.

An equation runs once with symbols in place of the arrays that change. Each operation on a symbol
becomes one call into an array that is made once; calls that depend on setpoints only are kept
apart, since they hold until the next setpoint.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mjrig.components.laws.pipeline_arrays import Array, Operation, clip

#: Makes the calls that write to an array what follows from others.
Calls = Callable[[Sequence[Array], Array], list[Operation]]


class Symbol(NDArrayOperatorsMixin):
    """A value that changes from step to step: a named array, or the result of a function."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        function: Any = None,
        arguments: tuple[Any, ...] = (),
        *,
        name: str = "",
        is_commanded: bool = False,
    ) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.function, self.arguments, self.name = function, arguments, name
        #: Whether it changes only with the setpoints.
        self.is_commanded = is_commanded

    @property
    def is_own(self) -> bool:
        """Whether a call writes it in every step, so that it may be written to any array."""
        return callable(self.function) and not self.is_commanded

    @property
    def kind(self) -> object:
        """Symbols of one kind may share an array."""
        return self.shape, self.dtype, self.is_commanded

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
        return Symbol(self.shape[1:], self.dtype, index, (self,), is_commanded=self.is_commanded)

    def __bool__(self) -> bool:
        raise TypeError("an equation cannot branch on a value that changes; use np.where")


def looked_up(calls: Calls, shape: tuple[int, ...], dtype: Any, *arguments: Symbol) -> Symbol:
    """A symbol whose value is written by other calls than one of a numpy function."""
    return Symbol(shape, dtype, calls, arguments)


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
    else:  # of a choice the condition, of a clip the first value is one of several
        dtype = np.result_type(*(getattr(v, "dtype", v) for v in inputs[function is _choose :]))
        types = [dtype] * len(inputs)
    arguments = tuple(
        value if hasattr(value, "dtype") else np.full(shape, value, kind)
        for value, kind in zip(inputs, types, strict=True)
    )
    symbols = [value for value in inputs if isinstance(value, Symbol)]
    return Symbol(
        shape, dtype, function, arguments, is_commanded=all(s.is_commanded for s in symbols)
    )


def stored(value: Any, shape: tuple[int, ...], dtype: Any) -> Symbol:
    """A value that is copied in every step to an array of this type."""
    argument = value if isinstance(value, Symbol) else np.asarray(value, dtype)
    return Symbol(shape, dtype, np.positive, (argument,))


def _calls(function: Any, arguments: Sequence[Any], out: Array) -> list[Operation]:
    """The calls that write the result of a symbol's function to an array."""
    if isinstance(function, int):
        return []  # a row, which another call writes
    if function in (np.maximum, np.minimum):  # they reserve a third position
        return [partial(function, *arguments, out=out)]
    if isinstance(function, np.ufunc) or function is clip:
        return [partial(function, *arguments, out)]
    calls: list[Operation] = function(arguments, out)
    return calls


class Program:
    """The calls that compute results from named arrays, and the arrays in between."""

    def __init__(self, results: Sequence[Any]) -> None:
        self._results = results
        self._order: list[Symbol] = []
        self._uses: dict[int, int] = {}
        for result in results:
            self._visit(result)
        self._buffers: dict[int, Array] = {}
        for symbol in self._order:
            self._buffers[id(symbol)] = self._buffer(symbol)

    def _visit(self, value: Any) -> None:
        """Put a symbol behind those that it is computed from."""
        if not isinstance(value, Symbol):
            return
        self._uses[id(value)] = self._uses.get(id(value), 0) + 1
        if self._uses[id(value)] == 1:
            for argument in value.arguments:
                self._visit(argument)
            if value.function is not None:
                self._order.append(value)

    def _buffer(self, symbol: Symbol) -> Array:
        """The array of a symbol: that of an argument which nothing else needs, or a new one."""
        if isinstance(symbol.function, int):
            row: Array = self._buffers[id(symbol.arguments[0])][symbol.function]
            return row
        for argument in symbol.arguments if isinstance(symbol.function, np.ufunc) else ():
            is_free = self._uses.get(id(argument)) == 1 and callable(argument.function)
            if is_free and argument.kind == symbol.kind:
                return self._buffers[id(argument)]
        return np.zeros(symbol.shape, symbol.dtype)

    def bind(
        self, inputs: Mapping[str, Array], outputs: Sequence[Array] = ()
    ) -> tuple[list[Operation], list[Operation], list[Any]]:
        """The calls on these very arrays: of a new setpoint, of every step; and the results.

        Args:
            inputs: by name.
            outputs: arrays that the first results are written to, which are `is_own` then.
        """
        replaced = zip(self._results, outputs, strict=False)
        arrays = self._buffers | {id(result): array for result, array in replaced}

        def array(value: Any) -> Any:
            if not isinstance(value, Symbol):
                return value
            return arrays[id(value)] if value.function is not None else inputs[value.name]

        calls: tuple[list[Operation], list[Operation]] = [], []
        for symbol in self._order:
            function, out = symbol.function, arrays[id(symbol)]
            arguments = [array(argument) for argument in symbol.arguments]
            calls[symbol.is_commanded].extend(_calls(function, arguments, out))
        return calls[True], calls[False], [array(result) for result in self._results]


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
            return inputs[value.name], float(value.name == name)
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
        for call in _calls(function, x, out):
            call()
        return out, 0.0 if rule is None else rule(x, d)

    return [np.broadcast_to(at(value)[1], np.shape(at(value)[0])).copy() for value in values]


def _times(factor: Any, derivative: Any) -> Any:
    """A product in which no change stays none, even times infinity."""
    return np.where(np.equal(derivative, 0.0), 0.0, factor * derivative)


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
