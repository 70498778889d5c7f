"""WebSocket messages of the live connections, on the sans-I/O protocol of `websockets`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from websockets.datastructures import Headers
from websockets.exceptions import InvalidHandshake
from websockets.extensions.permessage_deflate import (
    PerMessageDeflate,
    ServerPerMessageDeflateFactory,
)
from websockets.frames import Close, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import Protocol, Side
from websockets.server import ServerProtocol

#: Speed counts more than size: a frame of the window is compressed once for all pages.
_DEFLATE = {"level": 1}
#: Shorter messages are not worth compressing [bytes].
_MIN_COMPRESSED = 64
#: Fragments of one message; browsers make some hundred of an image.
_MAX_FRAGMENTS = 1024
#: Longest reason in a closing frame [bytes].
_MAX_REASON = 120


class ProtocolError(Exception):
    """The peer violates the protocol or a limit; `code` closes the connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Message:
    """A complete message, or a ping, pong or close frame."""

    opcode: Opcode
    payload: bytes


# Out ----------------------------------------------------------------------------------------------


def deflate() -> PerMessageDeflate:
    """The extension with every message compressed separately: one frame suits all pages."""
    return PerMessageDeflate(True, True, 15, 15, _DEFLATE)


def text_frame(text: str) -> bytes:
    """A text message as one frame."""
    return _frame(Opcode.TEXT, text.encode())


def binary_frames(*payloads: bytes) -> bytes:
    """Binary messages as frames, one after the other."""
    return b"".join(_frame(Opcode.BINARY, payload) for payload in payloads)


def _frame(opcode: Opcode, payload: bytes) -> bytes:
    extensions = [deflate()] if len(payload) >= _MIN_COMPRESSED else []
    return Frame(opcode, payload).serialize(mask=False, extensions=extensions)


def close_frame(code: int, reason: str = "") -> bytes:
    """A frame that ends the connection."""
    text = reason.encode(errors="replace")[:_MAX_REASON].decode(errors="ignore")
    return Frame(Opcode.CLOSE, Close(code, text).serialize()).serialize(mask=False)


# In -----------------------------------------------------------------------------------------------


def accept(path: str, headers: Mapping[str, str], limit: int) -> tuple["MessageStream", bytes]:
    """The stream of a connection that asks for a WebSocket, and the response to it.

    Args:
        limit: longest message, before and after decompression [bytes].

    Raises:
        InvalidHandshake: the request is malformed, or does not offer compression.
    """
    factory = ServerPerMessageDeflateFactory(True, True, compress_settings=_DEFLATE)
    handshake = ServerProtocol(extensions=[factory])
    response = handshake.accept(Request(path, Headers(headers)))
    if handshake.handshake_exc is not None:
        raise InvalidHandshake(str(handshake.handshake_exc))
    if not handshake.extensions:
        raise InvalidHandshake("permessage-deflate is needed")
    protocol = Protocol(Side.SERVER, max_size=limit)
    protocol.extensions = handshake.extensions
    return MessageStream(protocol), response.serialize()


class MessageStream:
    """Bytes of the peer in, messages and replies out.

    Args:
        protocol: an open connection.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._opcode, self._fragments = Opcode.CONT, list[bytes]()

    def set_limit(self, limit: int) -> None:
        """Set the longest message from the next frame on [bytes]."""
        self._protocol.max_message_size = limit

    @property
    def is_closing(self) -> bool:
        """Whether the peer has closed the connection."""
        return self._protocol.close_expected()

    def replies(self) -> bytes:
        """What the protocol answers to the frames so far: pongs, and the end of the connection."""
        return b"".join(self._protocol.data_to_send())

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now.

        Raises:
            ProtocolError: the protocol or a limit is violated.
        """
        protocol = self._protocol
        protocol.receive_data(data)
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)  # requests come before the stream
            if frame.opcode in (Opcode.CLOSE, Opcode.PING, Opcode.PONG):
                yield Message(frame.opcode, bytes(frame.data))
                continue
            if frame.opcode is not Opcode.CONT:
                self._opcode = frame.opcode
            self._fragments.append(bytes(frame.data))
            if len(self._fragments) > _MAX_FRAGMENTS:
                raise ProtocolError(1009, "too many fragments")
            if frame.fin:
                payload, self._fragments = b"".join(self._fragments), []
                yield Message(self._opcode, payload)
        if protocol.parser_exc is not None and protocol.close_sent is not None:
            raise ProtocolError(protocol.close_sent.code, protocol.close_sent.reason)
