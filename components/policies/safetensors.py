"""Arrays of a safetensors file: a JSON header and raw numbers, read without a dependency."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import PolicyError
from mjrig.files.decoding import decoding

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
#: Longest header [bytes]; initial values of a policy need far less.
MOST = 10_000_000


def read_safetensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a file by name.

    Raises:
        PolicyError: it cannot be read, or is not such a file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path.name}: cannot be read: {error.strerror or error}") from error
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 2 <= size <= min(MOST, len(content) - 8):
        raise PolicyError(f"{path.name}: is not a safetensors file")
    with decoding(path.name, problem="is a damaged safetensors file", error=PolicyError):
        header = json.loads(content[8 : 8 + size])
        if not isinstance(header, dict):
            raise ValueError("no header")
        entries = {name: e for name, e in header.items() if name != "__metadata__"}
        return {name: _array(entry, content[8 + size :]) for name, entry in entries.items()}


def _array(entry: Any, data: bytes) -> npt.NDArray[Any]:
    start, end = (int(v) for v in entry["data_offsets"])
    shape = [int(n) for n in entry["shape"]]
    kind = np.dtype(_DTYPES[entry["dtype"]])
    if min(shape, default=1) < 0 or not 0 <= start <= end <= len(data):
        raise ValueError("an array lies outside of the file")
    if end - start != math.prod(shape) * kind.itemsize:
        raise ValueError("the size of an array is not that of its shape")
    return np.frombuffer(data[start:end], kind).reshape(shape).copy()
