"""Messages in JSON: the numbers in them by path, with the same names as in binary ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.robot_logs.messages.layouts import LONGEST, Columns, Wanted, element_names


class JsonReader:
    """Reads messages in JSON."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def read(
        self, messages: Sequence[bytes], wanted: Wanted
    ) -> Iterator[tuple[npt.NDArray[np.intp], Columns]]:
        """(rows, columns) for each group of messages with the same numbers.

        Raises:
            RecordingError: a message is no JSON.
        """
        groups: dict[tuple[str, ...], list[tuple[int, list[float]]]] = {}
        for row, message in enumerate(messages):
            found = {p: v for p, v in self._flat(message).items() if wanted(p)}
            groups.setdefault(tuple(found), []).append((row, list(found.values())))
        for paths, entries in groups.items():
            rows = np.array([row for row, _ in entries], dtype=np.intp)
            table = np.array([v for _, v in entries], dtype=np.float64).reshape(len(rows), -1)
            yield rows, {path: table[:, k] for k, path in enumerate(paths)}

    def paths(self, message: bytes) -> list[str]:
        """The numbers in a message."""
        return list(self._flat(message))

    def _flat(self, message: bytes) -> dict[str, float]:
        try:
            data = json.loads(message)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"a message of {self._topic} is no JSON: {error}") from error
        return dict(flat(data))


def flat(data: Any, prefix: str = "", labels: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """(path, number) of everything in JSON data."""
    if isinstance(data, bool):
        yield prefix, float(data)
    elif isinstance(data, int | float):
        yield prefix, float(data)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if str(key).endswith(("name", "names")) and _are_texts(value):
                labels = value
        for key, value in data.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key), labels)
    elif isinstance(data, list) and len(data) <= LONGEST:
        names = element_names(prefix, len(data), labels)
        for name, value in zip(names, data, strict=True):
            yield from flat(value, f"{prefix}[{name}]", labels)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
