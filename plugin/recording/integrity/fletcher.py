"""The checksum of HDF5's filter `fletcher32`, for chunks that are written without its help.

Two sums of 16-bit words: the plain one, and one that weights each word with its distance from the
end. Both are taken modulo 65535, where swapping the bytes of a word multiplies it by 256.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Bytes that the filter adds to a chunk.
SIZE = 4
#: Two words in the lower halves of 32 bits each, so that sums of 8 bytes at a time do not overflow.
_LANES, _LANE, _HALF, _WORD = (np.uint64(n) for n in (0x0000FFFF0000FFFF, 0xFFFFFFFF, 32, 16))
#: 8-byte numbers per row of a piece, and rows: pieces that fit into a processor's cache.
_ROW, _ROWS = 128, 128


def fletcher32(block: npt.NDArray[Any]) -> bytes:
    """The checksum of an array of 8-byte numbers, as the filter stores it."""
    numbers = np.ascontiguousarray(block).reshape(-1).view(np.uint64)
    total = weighted = 0
    for first in range(0, len(numbers), _ROW * _ROWS):
        piece = numbers[first : first + _ROW * _ROWS]
        plain, by_place = _sums(piece)
        total += plain
        weighted += by_place + 4 * first * plain
    return _encoded(4 * len(numbers) * total - weighted, total)


def _sums(numbers: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """The sum of the words of a piece, and the sum of each times its place."""
    if len(numbers) % _ROW:
        padded = np.zeros(-(-len(numbers) // _ROW) * _ROW, np.uint64)
        padded[: len(numbers)] = numbers
        numbers = padded
    table = numbers.reshape(-1, _ROW)
    even, odd = table & _LANES, (table >> _WORD) & _LANES
    first, third = _lanes(even.sum(axis=0))
    second, fourth = _lanes(odd.sum(axis=0))
    even += odd
    rows = np.add(*_lanes(even.sum(axis=1)))
    columns = first + second + third + fourth
    numbered = _ROW * _weighted(rows) + _weighted(columns)
    inside = int(second.sum()) + 2 * int(third.sum()) + 3 * int(fourth.sum())
    return int(rows.sum()), 4 * numbered + inside


def _lanes(sums: Any) -> tuple[Any, Any]:
    return sums & _LANE, sums >> _HALF


def _weighted(sums: Any) -> int:
    return int((np.arange(len(sums), dtype=np.uint64) * sums).sum())


def _encoded(second: int, first: int) -> bytes:
    high, low = (0 if not s else (256 * s - 1) % 65535 + 1 for s in (second, first))
    return (high << 16 | low).to_bytes(SIZE, "little")
