"""Messages in JSON: the numbers in them by path, with the same names as in binary ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.files.decoding import reason
from mjrig.robot_logs.messages.layouts import LONGEST, Columns, Skip, Wanted, element_names


class JsonReader:
    """Reads messages in JSON."""

    def read(
        self, messages: Sequence[bytes], wanted: Wanted, skip: Skip
    ) -> Iterator[tuple[npt.NDArray[np.intp], Columns]]:
        """(rows, columns) for each group of messages with the same numbers; others are skipped."""
        groups: dict[tuple[str, ...], list[tuple[int, list[float]]]] = {}
        for row, message in enumerate(messages):
            try:
                values = dict(flat(json.loads(message)))
            except (ValueError, RecursionError, OverflowError) as error:
                skip(row, f"is no JSON: {reason(error)}")
                continue
            chosen = {path: value for path, value in values.items() if wanted(path)}
            groups.setdefault(tuple(chosen), []).append((row, list(chosen.values())))
        for paths, entries in groups.items():
            rows = np.array([row for row, _ in entries], dtype=np.intp)
            table = np.array([v for _, v in entries], dtype=np.float64).reshape(len(rows), -1)
            yield rows, {path: table[:, k] for k, path in enumerate(paths)}


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
