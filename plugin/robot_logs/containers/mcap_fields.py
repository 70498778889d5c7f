"""Fields of a record of an MCAP file, one after the other."""

import struct
from typing import Any


class RecordFields:
    """Reads fields from the first on.

    Raises:
        struct.error, ValueError: the record ends before the field does.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def skip(self, count: int) -> None:
        """Pass over some bytes."""
        self._bytes(count)

    def u16(self) -> int:
        """A number of two bytes."""
        return self._number("<H")

    def u32(self) -> int:
        """A number of four bytes."""
        return self._number("<I")

    def u64(self) -> int:
        """A number of eight bytes."""
        return self._number("<Q")

    def text(self, *, replace: bool = False) -> str:
        """A text after its length; `replace`: letters that are not UTF-8 do not matter."""
        return self._bytes(self.u32()).decode("utf-8", "replace" if replace else "strict")

    def texts(self) -> dict[str, str]:
        """Texts by name."""
        inner = RecordFields(self._bytes(self.u32()))
        entries: dict[str, str] = {}
        while inner._at < len(inner._content):
            name = inner.text()
            entries[name] = inner.text()
        return entries

    def pairs(self, letters: str) -> list[tuple[Any, ...]]:
        """A list of pairs of numbers after its length in bytes."""
        return list(struct.iter_unpack(f"<{letters}", self._bytes(self.u32())))

    def rest(self) -> bytes:
        """All that follows."""
        return self._content[self._at :]

    def _number(self, letter: str) -> int:
        (value,) = struct.unpack_from(letter, self._content, self._at)
        self._at += struct.calcsize(letter)
        return int(value)

    def _bytes(self, count: int) -> bytes:
        if self._at + count > len(self._content):
            raise ValueError(f"a field of {count} bytes does not fit in its record")
        self._at += count
        return self._content[self._at - count : self._at]
