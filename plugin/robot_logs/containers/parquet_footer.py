"""The description at the end of a Parquet file, as far as it bounds what its columns unpack to.

pyarrow ends the process if it is asked for the description of a damaged column.
"""

import struct
from pathlib import Path
from typing import Any

#: Bytes of the longest description that is looked at; files with more are large themselves.
_MAX_FOOTER = 1 << 20
#: Field numbers: row groups of a file, columns of a group, description of a column, its values.
_GROUPS, _COLUMNS, _META, _VALUES = 4, 1, 3, 5


def most_values(path: Path) -> int:
    """Values of the longest column, items of lists counted; 0: it cannot be known."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        end, mark = struct.unpack("<I4s", stream.read(8))
        if mark != b"PAR1" or end > min(_MAX_FOOTER, path.stat().st_size - 8):
            return 0
        stream.seek(-8 - end, 2)
        content = stream.read(end)
    counts: dict[int, int] = {}
    try:
        for group in _Compact(content).struct()[_GROUPS]:
            for k, column in enumerate(group[_COLUMNS]):
                counts[k] = counts.get(k, 0) + int(column[_META][_VALUES])
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return 0  # it is damaged, or encrypted: pyarrow reports that
    return max(counts.values(), default=0)


class _Compact:
    """Reads Thrift's compact protocol: a struct is a dictionary by field number."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self) -> dict[int, Any]:
        """Fields until the one that ends it."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):  # flags and bytes in a list
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            size = 8 if kind == 7 else self._unsigned()
            if self._at + size > len(self._content):
                raise IndexError(self._at)
            self._at += size
            return None
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise KeyError(kind)  # maps are not used in such descriptions
