"""Compressed sections of logs, unpacked up to a limit: a forged size takes no memory."""

import bz2
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO

from mjrig.core.errors import MissingExtraError

#: Bytes that are unpacked at once.
PIECE = 1 << 20


class UnpackingError(ValueError):
    """Compressed data that cannot be unpacked; `start` is what came before the damage."""

    def __init__(self, message: str, start: bytes = b"") -> None:
        super().__init__(message)
        self.start = start


def package(name: str, what: str) -> Any:
    """A package of the extra `logs`, imported when it is needed.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, "logs", error) from error


def unpacked(compression: str, data: bytes, limit: int) -> bytes:
    """The content of compressed data: `none` or empty, `zstd`, `lz4`, `bz2`.

    Args:
        compression: as MCAP files and ROS 1 bags name it.
        data: the compressed bytes.
        limit: bytes that it may have.

    Raises:
        UnpackingError: it is damaged, cut off or larger, or the compression is unknown.
        MissingExtraError: a package is not installed.
    """
    if compression in ("", "none"):
        return data
    if compression not in _OPENED:
        raise UnpackingError(f"the compression {compression!r} is unknown")
    following = _OPENED[compression](BytesIO(data))
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := following():
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise UnpackingError(f"unpacks to more than {limit} bytes")
    except UnpackingError:
        raise
    except Exception as error:  # every package has its own errors
        raise UnpackingError(f"{compression}: {error}", b"".join(pieces)) from error
    return b"".join(pieces)


def unpack_file(source: BinaryIO, sink: BinaryIO, limit: int) -> None:
    """Unpack a file of zstd.

    Raises:
        UnpackingError: it is damaged or larger.
        MissingExtraError: a package is not installed.
    """
    following, size = _zstd(source), 0
    try:
        while piece := following():
            size += len(piece)
            if size > limit:
                raise UnpackingError(f"unpacks to more than {limit} bytes")
            sink.write(piece)
    except package("zstandard", "a compressed bag").ZstdError as error:
        raise UnpackingError(f"zstd: {error}") from error


def _zstd(stream: Any) -> Callable[[], bytes]:
    reader = package("zstandard", "a compressed log").ZstdDecompressor().stream_reader(stream)
    return lambda: bytes(reader.read(PIECE))


def _lz4(stream: BytesIO) -> Callable[[], bytes]:
    decoder = package("lz4.frame", "a compressed log").LZ4FrameDecompressor()
    return _fed(decoder, stream)


def _bz2(stream: BytesIO) -> Callable[[], bytes]:
    return _fed(bz2.BZ2Decompressor(), stream)


def _fed(decoder: Any, stream: BytesIO) -> Callable[[], bytes]:
    """Pieces of a decoder that takes data and gives at most so much."""

    def following() -> bytes:
        while not decoder.eof:
            data = stream.read(PIECE) if decoder.needs_input else b""
            is_over = decoder.needs_input and not data
            piece = b"" if is_over else bytes(decoder.decompress(data, max_length=PIECE))
            if piece or is_over:
                return piece
        return b""

    return following


_OPENED: dict[str, Callable[[Any], Callable[[], bytes]]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "bz2": _bz2,
}
