"""The checksum of HDF5's filter `fletcher32`, for chunks that are written without its help.

Two sums of 16-bit words: the plain one, and one that weights each word with its distance from the
end. Both are taken modulo 65535, where swapping the bytes of a word multiplies it by 256.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Bytes that the filter adds to a chunk.
SIZE = 4
#: Words per row of a piece, and rows: sums of so many are exact in 32-bit floats, fast to add.
_ROW = _ROWS = 256
_PLACES = np.arange(256.0)


def fletcher32(block: npt.NDArray[Any]) -> bytes:
    """The checksum of an array of 8-byte numbers, as the filter stores it."""
    words = np.ascontiguousarray(block).reshape(-1).view(np.uint16)
    piece = np.empty((_ROWS, _ROW), np.float32)
    total = weighted = 0
    for first in range(0, len(words), _ROW * _ROWS):
        plain, by_place = _sums(words[first : first + _ROW * _ROWS], piece)
        total += plain
        weighted += by_place + first * plain
    return _encoded(len(words) * total - weighted, total)


def _sums(words: npt.NDArray[np.uint16], piece: npt.NDArray[np.float32]) -> tuple[int, int]:
    """The sum of some words, and the sum of each times its place; `piece` is room for them."""
    count = len(words)
    if count < piece.size:
        piece = piece[: -(-count // _ROW)]
        piece.reshape(-1)[count:] = 0
    piece.reshape(-1)[:count] = words
    rows = np.add.reduce(piece, 1).astype(np.float64)
    columns = np.add.reduce(piece, 0).astype(np.float64)
    return int(rows.sum()), _ROW * _weighted(rows) + _weighted(columns)


def _weighted(sums: npt.NDArray[np.float64]) -> int:
    return int((_PLACES[: len(sums)] * sums).sum())


def _encoded(second: int, first: int) -> bytes:
    high, low = (0 if not s else (256 * s - 1) % 65535 + 1 for s in (second, first))
    return (high << 16 | low).to_bytes(SIZE, "little")
