"""Memory of components in recordings: as JSON and named arrays, and back, bit-identical.

No code from a file is run: there is no pickle, no import, and no constructor is called.
"""

import dataclasses
import json
import math
import struct
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.errors import RecordingError

# Memory codec -------------------------------------------------------------------------------------
# Memory of components as JSON and named arrays, and back: every bit and every type is kept.
#
# Nothing here runs code from a file: there is no pickle, no import, and no constructor is called.


#: Deeper structures are rejected before Python's recursion limit is reached.
MAX_DEPTH = 60
#: Kinds of numbers and texts that an array may have; objects would need a pickle.
_KINDS = "biufcSUmM"
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

Arrays = dict[str, npt.NDArray[Any]]


class UnstorableError(ValueError):
    """A value that has no form in a file; the message names its type and place."""


class _Encoder:
    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def node(self, value: Any, at: str, depth: int = 0) -> Any:
        """The JSON form of a value; arrays are added under the name of their place."""
        if depth > MAX_DEPTH:
            raise UnstorableError(f"{at}: is nested more than {MAX_DEPTH} levels deep")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if kind is bytes:
            return {"bytes": self._add(np.frombuffer(value, np.uint8), at)}
        if kind is np.ndarray:
            return {"array": self._add(value, at)}
        if isinstance(value, np.generic):
            return {"scalar": self._add(np.asarray(value), at)}
        return self._container(value, kind, at, depth + 1)

    def _container(self, value: Any, kind: type, at: str, depth: int) -> Any:
        if kind is list:
            return self._items(value, at, depth)
        if kind is dict:
            return {"dict": self._pairs(value, at, depth)}
        if kind is deque:
            return {"deque": self._items(value, at, depth), "maxlen": value.maxlen}
        if kind in (tuple, set, frozenset):
            return {kind.__name__: self._items(value, at, depth)}
        return self._instance(value, kind, at, depth)

    def _instance(self, value: Any, kind: type, at: str, depth: int) -> Any:
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            return {"generator": self.node(state, at, depth)}
        if isinstance(value, Enum):
            return {"enum": value.name, "type": _named(kind, at)}
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return {"named tuple": self._items(value, at, depth), "type": _named(kind, at)}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return {"dataclass": self.node(fields, at, depth), "type": _named(kind, at)}
        raise UnstorableError(f"{at}: is a {kind.__module__}.{kind.__qualname__}")

    def _pairs(self, values: dict[Any, Any], at: str, depth: int) -> list[Any]:
        return [
            [self.node(key, f"{at}/key {i}", depth), self.node(item, f"{at}/{key}", depth)]
            for i, (key, item) in enumerate(values.items())
        ]

    def _items(self, values: Any, at: str, depth: int) -> list[Any]:
        return [self.node(item, f"{at}/{i}", depth) for i, item in enumerate(values)]

    def _add(self, array: npt.NDArray[Any], at: str) -> str:
        if array.dtype.kind not in _KINDS or not array.dtype.itemsize:
            raise UnstorableError(f"{at}: is an array of {array.dtype}")
        name = at
        while name in self._arrays:  # keys of different types may have the same text
            name += "'"
        self._arrays[name] = array
        return name


def encode(value: Any, at: str, arrays: Arrays) -> Any:
    """The JSON form of a value; its arrays are added to `arrays`, named by their place.

    Raises:
        UnstorableError: there is none; nothing was added.
    """
    added: Arrays = dict(arrays)
    try:
        node = _Encoder(added).node(value, at)
    except RecursionError:
        raise UnstorableError(f"{at}: is nested too deeply") from None
    arrays.update(added)
    return node


def decode(node: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The reverse of `encode`, sharing nothing with `arrays`.

    Raises:
        ValueError: it is not a form of a value, or of a type that is not loaded here.
    """
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [decode(item, arrays) for item in node]
    if not isinstance(node, dict) or not node:
        raise ValueError(f"{node!r:.60} is not a stored value")
    kind = next(iter(node))
    if kind not in _DECODERS:
        raise ValueError(f"{kind!r:.60} is not a kind of stored value")
    return _DECODERS[kind](node[kind], node, arrays)


def _items(content: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
    return [decode(item, arrays) for item in content]


def _stored(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"the array {name!r:.60} is missing")
    return arrays[name].copy()


def _named_tuple(content: Any, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    cls = _loaded(name, lambda c: issubclass(c, tuple) and hasattr(c, "_fields"))
    if len(content) != len(cls._fields):
        raise ValueError(f"{name} has other fields here")
    return tuple.__new__(cls, _items(content, arrays))


def _generator(state: Any) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"{name!r} is not a bit generator of numpy")
    generator = getattr(np.random, name)()
    generator.state = state
    return np.random.Generator(generator)


def _dataclass(name: str, fields: Mapping[str, Any]) -> Any:
    # Deleting an instance must not run code on values from a file.
    cls = _loaded(name, lambda c: dataclasses.is_dataclass(c) and not hasattr(c, "__del__"))
    if set(fields) != {f.name for f in dataclasses.fields(cls)}:
        raise ValueError(f"{name} has other fields here")
    instance = object.__new__(cls)
    for attribute, value in fields.items():
        object.__setattr__(instance, attribute, value)
    return instance


def _named(cls: type, at: str) -> str:
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _find(name) is not cls:
        raise UnstorableError(f"{at}: is of the local type {cls.__qualname__}")
    return name


def _loaded(name: str, fits: Any) -> Any:
    cls = _find(name)
    if not isinstance(cls, type) or not fits(cls):
        raise ValueError(f"the type {name!r} is not loaded here")
    return cls


def _find(name: str) -> Any:
    """A class of a module that is loaded; nothing is imported."""
    module, _, path = name.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = vars(value).get(part) if hasattr(value, "__dict__") else None
    return value


#: Key of a JSON object → the value of its content, given the object and the arrays.
_DECODERS: dict[str, Callable[[Any, Mapping[str, Any], Mapping[str, npt.NDArray[Any]]], Any]] = {
    "array": lambda content, node, arrays: _stored(content, arrays),
    "scalar": lambda content, node, arrays: _stored(content, arrays)[()],
    "bytes": lambda content, node, arrays: _stored(content, arrays).tobytes(),
    "float": lambda content, node, arrays: struct.unpack(">d", bytes.fromhex(content))[0],
    "dict": lambda content, node, arrays: {
        decode(key, arrays): decode(item, arrays) for key, item in content
    },
    "tuple": lambda content, node, arrays: tuple(_items(content, arrays)),
    "set": lambda content, node, arrays: set(_items(content, arrays)),
    "frozenset": lambda content, node, arrays: frozenset(_items(content, arrays)),
    "deque": lambda content, node, arrays: deque(_items(content, arrays), node["maxlen"]),
    "generator": lambda content, node, arrays: _generator(decode(content, arrays)),
    "enum": lambda content, node, arrays: _loaded(
        node["type"], lambda cls: issubclass(cls, Enum)
    ).__members__[content],
    "named tuple": lambda content, node, arrays: _named_tuple(content, node["type"], arrays),
    "dataclass": lambda content, node, arrays: _dataclass(node["type"], decode(content, arrays)),
}


# Stored memory ------------------------------------------------------------------------------------
# Memory of components in a recording: JSON lines, and the bytes of the arrays they name.


#: Columns of a file: JSON lines, and the bytes of their arrays one after the other.
LINES, VALUES = "states/memory", "states/memory_values"


@dataclass(frozen=True)
class StoredMemory:
    """What the components remembered before one step.

    Attributes:
        step: step of the recording.
        parts: part → JSON form of its memory: `arm` (setpoints and the like), `arm.PIDController`.
        arrays: the arrays that the forms name.
        unknown: components whose memory could not be stored, with the reason.
    """

    step: int
    parts: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)

    def part(self, name: str) -> Any:
        """The memory of one part; None: it was not stored.

        Raises:
            ValueError: it is damaged, or of a type that is not loaded here.
        """
        try:
            return decode(self.parts[name], self.arrays) if name in self.parts else None
        except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def encoded(self) -> tuple[bytes, bytes]:
        """A line of JSON, and the bytes of the arrays."""
        about = [[name, a.dtype.str, list(a.shape)] for name, a in self.arrays.items()]
        entry = {
            "step": self.step,
            "parts": self.parts,
            "arrays": about,
            "unknown": self.unknown,
        }
        line = json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        return line, b"".join(a.tobytes() for a in self.arrays.values())


def encode_memories(memories: Sequence[StoredMemory]) -> dict[str, npt.NDArray[np.uint8]]:
    """The two columns of a file; empty if there is nothing to store."""
    if not memories:
        return {}
    lines, values = zip(*(memory.encoded() for memory in memories), strict=True)
    return {
        LINES: np.frombuffer(b"".join(lines), np.uint8),
        VALUES: np.frombuffer(b"".join(values), np.uint8),
    }


def decode_memories(
    path: Path, lines: npt.NDArray[Any], values: npt.NDArray[Any], steps: int
) -> tuple[StoredMemory, ...]:
    """The reverse, for the steps up to `steps`.

    A last line that is cut off, or whose values are, is dropped: the writer was ended.

    Raises:
        RecordingError: a line is not what `StoredMemory.encoded` writes.
    """
    for name, column in ((LINES, lines), (VALUES, values)):
        if column.dtype != np.uint8 or column.ndim != 1:
            raise RecordingError(
                f"{path}: {name}: must be bytes, got {column.dtype} of shape {column.shape}"
            )
    memories: list[StoredMemory] = []
    content, start = np.ascontiguousarray(values), 0
    for number, line in enumerate(lines.tobytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            memory, start = _memory(line, content, start)
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            text = " ".join(str(error).split())
            raise RecordingError(
                f"{path}: {LINES}: line {number} is damaged: {type(error).__name__}: {text:.200}"
            ) from error
        if start > content.size:
            break
        if memory.step <= steps:
            memories.append(memory)
    return tuple(memories)


def _memory(line: bytes, values: npt.NDArray[np.uint8], start: int) -> tuple[StoredMemory, int]:
    """The memory of one line, and the place after its arrays, which may be beyond the end."""
    entry = json.loads(line)
    step = entry["step"]
    if type(step) is not int or step < 0:
        raise ValueError(f"the step must be a count, got {step!r:.60}")
    parts, unknown = entry["parts"], entry["unknown"]
    if not isinstance(parts, dict) or not isinstance(unknown, dict):
        raise TypeError("parts and unknown must be objects")
    arrays = Arrays()
    for name, kind, shape in entry["arrays"]:
        dtype = np.dtype(kind)
        if dtype.hasobject or dtype.names or not dtype.itemsize:
            raise ValueError(f"{name!r:.60} is an array of {dtype}")
        if any(type(n) is not int or n < 0 for n in shape):
            raise ValueError(f"{name!r:.60} has the shape {shape!r:.60}")
        count = math.prod(shape)
        end = start + count * dtype.itemsize
        if end <= values.size:
            arrays[str(name)] = values[start:end].view(dtype).reshape(shape)
        start = end
    texts = {str(name): str(reason) for name, reason in unknown.items()}
    return StoredMemory(step, parts, arrays, texts), start
