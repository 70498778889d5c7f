"""Memory of components in a recording: JSON lines, and the bytes of the arrays they name."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.recording.memory.memory_codec import Arrays, decode

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
