"""Frames of the WebSocket protocol (RFC 6455, RFC 7692), without a socket."""

import base64
import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
#: What a server answers to a browser that offers to compress: every message on its own.
DEFLATE = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
#: Messages shorter than this are not worth compressing [bytes].
_WORTH = 64
_TAIL = b"\x00\x00\xff\xff"


class ProtocolError(Exception):
    """The other side does not keep to the protocol, or to a limit; `code` closes the connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Message:
    """One whole message, or a ping, pong or close frame."""

    opcode: int
    payload: bytes


def accept_key(key: str) -> str:
    """The answer to the key of an opening handshake."""
    return base64.b64encode(hashlib.sha1(key.encode("ascii") + _GUID).digest()).decode("ascii")


def packed(opcode: int, payload: bytes, *, mask: bytes = b"") -> bytes:
    """One message as a frame, compressed where that is worth it; clients give a mask."""
    is_deflated = opcode < CLOSE and len(payload) >= _WORTH and not mask
    if is_deflated:
        payload = _deflated(payload)
    length = len(payload)
    first, masked = 0x80 | (0x40 if is_deflated else 0) | opcode, 0x80 if mask else 0
    if length < 126:
        head = struct.pack(">BB", first, masked | length)
    elif length < 65536:
        head = struct.pack(">BBH", first, masked | 126, length)
    else:
        head = struct.pack(">BBQ", first, masked | 127, length)
    return head + mask + (_masked(payload, mask) if mask else payload)


def closing(code: int, reason: str = "", *, mask: bytes = b"") -> bytes:
    """A frame that ends the connection."""
    text = reason.encode(errors="replace")[:120].decode(errors="ignore")  # no half of a character
    return packed(CLOSE, struct.pack(">H", code) + text.encode(), mask=mask)


def _deflated(payload: bytes) -> bytes:
    press = zlib.compressobj(1, zlib.DEFLATED, -15)
    return (press.compress(payload) + press.flush(zlib.Z_SYNC_FLUSH))[:-4]


def _masked(payload: bytes, mask: bytes) -> bytes:
    key = np.frombuffer((mask * (len(payload) // 4 + 1))[: len(payload)], np.uint8)
    return (np.frombuffer(payload, np.uint8) ^ key).tobytes()


class Receiver:
    """Bytes in, messages out.

    Args:
        limit: longest message, before and after inflating [bytes].
        is_server: whether frames must be masked, as those of a browser are.
    """

    def __init__(self, limit: int, *, is_server: bool = True) -> None:
        self.limit, self._is_server = limit, is_server
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        self._opcode, self._is_deflated = 0, False

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now.

        Raises:
            ProtocolError: the protocol or the limit is broken.
        """
        self._buffer += data
        while (frame := self._frame()) is not None:
            first, payload = frame
            message = self._message(first, payload)
            if message is not None:
                yield message

    def _frame(self) -> tuple[int, bytes] | None:
        """First byte and payload of the next frame; None: not all of it is there."""
        have = self._buffer
        if len(have) < 2:
            return None
        first, second = have[0], have[1]
        if bool(second & 0x80) != self._is_server:
            raise ProtocolError(1002, "masking")
        if first & 0x30:
            raise ProtocolError(1002, "reserved bits")
        length, start = second & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(have) < start:
                return None
            length = int.from_bytes(have[2:start], "big")
        if length > self.limit or (first & 0x0F >= CLOSE and length > 125):
            raise ProtocolError(1009, "message too long")
        mask = bytes(have[start : start + 4]) if self._is_server else b""
        start += len(mask) if self._is_server else 0
        if len(have) < start + length or (self._is_server and len(mask) < 4):
            return None
        payload = bytes(have[start : start + length])
        del have[: start + length]
        return first, _masked(payload, mask) if mask else payload

    def _message(self, first: int, payload: bytes) -> Message | None:
        opcode, is_last = first & 0x0F, bool(first & 0x80)
        if opcode >= CLOSE:
            if opcode > PONG or not is_last or first & 0x40:
                raise ProtocolError(1002, "control frame")
            return Message(opcode, payload)
        if opcode > BINARY or (opcode == CONTINUATION) != bool(self._parts):
            raise ProtocolError(1002, "opcode")
        if opcode != CONTINUATION:
            self._opcode, self._is_deflated = opcode, bool(first & 0x40)
        elif first & 0x40:
            raise ProtocolError(1002, "reserved bits")
        self._parts.append(payload)
        if sum(map(len, self._parts)) > self.limit or len(self._parts) > 1024:
            raise ProtocolError(1009, "message too long")
        if not is_last:
            return None
        whole, self._parts = b"".join(self._parts), []
        return Message(self._opcode, self._inflated(whole) if self._is_deflated else whole)

    def _inflated(self, payload: bytes) -> bytes:
        unpress = zlib.decompressobj(-15)
        try:
            whole = unpress.decompress(payload + _TAIL, self.limit + 1)
        except zlib.error as error:
            raise ProtocolError(1007, "deflate") from error
        if len(whole) > self.limit:
            raise ProtocolError(1009, "message too long")
        return whole
