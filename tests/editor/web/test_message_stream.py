"""WebSocket messages of the window, fed as bytes, against the client of `websockets`."""

import pytest

websockets = pytest.importorskip("websockets")

from websockets.client import ClientProtocol  # noqa: E402
from websockets.exceptions import InvalidHandshake  # noqa: E402
from websockets.extensions.permessage_deflate import (  # noqa: E402
    ClientPerMessageDeflateFactory,
)
from websockets.frames import Close, Frame, Opcode  # noqa: E402
from websockets.http11 import Response  # noqa: E402
from websockets.protocol import OPEN  # noqa: E402
from websockets.uri import parse_uri  # noqa: E402

from mjrig.editor.web.websocket import (  # noqa: E402
    Message,
    MessageStream,
    ProtocolError,
    accept,
    binary_frames,
    close_frame,
    text_frame,
)

LIMIT = 10_000


def opened(*, compresses: bool = True) -> tuple[ClientProtocol, MessageStream]:
    """A client after its handshake, and the stream of the server."""
    extensions = [ClientPerMessageDeflateFactory()] if compresses else None
    client = ClientProtocol(parse_uri("ws://localhost/live"), extensions=extensions)
    request = client.connect()
    client.send_request(request)
    client.data_to_send()
    stream, response = accept(request.path, dict(request.headers.raw_items()), LIMIT)
    client.receive_data(response)
    (received,) = client.events_received()
    assert isinstance(received, Response) and client.state is OPEN
    return client, stream


def sent(client: ClientProtocol) -> bytes:
    return b"".join(client.data_to_send())


def frames(client: ClientProtocol, data: bytes) -> list[tuple[Opcode, bytes]]:
    """The frames that a client reads."""
    client.receive_data(data)
    return [(f.opcode, bytes(f.data)) for f in client.events_received() if isinstance(f, Frame)]


def test_a_handshake_needs_compression() -> None:
    with pytest.raises(InvalidHandshake, match="permessage-deflate is needed"):
        opened(compresses=False)
    with pytest.raises(InvalidHandshake):
        accept("/live", {"Connection": "close"}, LIMIT)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 5000])
def test_messages_are_read_by_a_client_of_another_library(size: int) -> None:
    client, _ = opened()
    text = "ä" * (size // 2) + "a" * (size % 2)
    data = text_frame(text) + binary_frames(bytes(size), b"next")
    assert frames(client, data) == [
        (Opcode.TEXT, text.encode()),
        (Opcode.BINARY, bytes(size)),
        (Opcode.BINARY, b"next"),
    ]


@pytest.mark.parametrize(("size", "is_compressed"), [(63, False), (64, True)])
def test_messages_of_64_bytes_are_compressed(size: int, is_compressed: bool) -> None:
    frame = binary_frames(bytes(size))
    assert bool(frame[0] & 0x40) is is_compressed
    assert (len(frame) < size) is is_compressed


def test_a_reason_is_cut_after_120_bytes() -> None:
    for reason in ("too slow", "ä" * 200, "a" * 121):
        client, _ = opened()
        ((opcode, payload),) = frames(client, close_frame(1008, reason))
        close = Close.parse(payload)
        assert (opcode, close.code) == (Opcode.CLOSE, 1008)
        assert reason.startswith(close.reason)
        assert len(close.reason.encode()) == min(120, len(reason.encode()))


def test_messages_of_a_client_are_complete_whatever_its_pieces() -> None:
    client, stream = opened()
    client.send_text(b"hello")
    client.send_binary(bytes(500))
    client.send_text(b"a", fin=False)
    client.send_continuation(b"b", fin=False)
    client.send_ping(b"?")
    client.send_continuation(b"c", fin=True)
    client.send_binary(b"x", fin=False)
    client.send_continuation(b"y", fin=True)
    expected = [
        Message(Opcode.TEXT, b"hello"),
        Message(Opcode.BINARY, bytes(500)),
        Message(Opcode.PING, b"?"),
        Message(Opcode.TEXT, b"abc"),
        Message(Opcode.BINARY, b"xy"),
    ]
    data = sent(client)
    read = [m for k in range(len(data)) for m in stream.feed(data[k : k + 1])]
    assert read == expected
    assert frames(client, stream.replies()) == [(Opcode.PONG, b"?")]
    assert not stream.is_closing


def test_a_client_that_closes_gets_an_answer() -> None:
    client, stream = opened()
    client.send_close(1000, "bye")
    ((message),) = stream.feed(sent(client))
    assert message.opcode is Opcode.CLOSE
    ((opcode, _),) = frames(client, stream.replies())
    assert opcode is Opcode.CLOSE and stream.is_closing


@pytest.mark.parametrize(("count", "is_read"), [(1024, True), (1025, False)])
def test_a_message_has_at_most_1024_fragments(count: int, is_read: bool) -> None:
    client, stream = opened()
    client.send_text(b"a", fin=False)
    for k in range(count - 1):
        client.send_continuation(b"b", fin=k == count - 2)
    data = sent(client)
    if is_read:
        (message,) = stream.feed(data)
        assert len(message.payload) == count
    else:
        with pytest.raises(ProtocolError, match="too many fragments") as error:
            list(stream.feed(data))
        assert error.value.code == 1009


@pytest.mark.parametrize(("limit", "size", "is_read"), [(100, 100, True), (100, 101, False)])
def test_messages_beyond_the_limit_end_the_connection(limit: int, size: int, is_read: bool) -> None:
    client, stream = opened()
    stream.set_limit(limit)
    client.send_binary(bytes(size))
    if is_read:
        assert [len(m.payload) for m in stream.feed(sent(client))] == [size]
    else:
        with pytest.raises(ProtocolError) as error:
            list(stream.feed(sent(client)))
        assert error.value.code == 1009


def test_frames_that_violate_the_protocol_end_the_connection() -> None:
    _, stream = opened()
    with pytest.raises(ProtocolError) as error:
        list(stream.feed(Frame(Opcode.TEXT, b"not masked").serialize(mask=False)))
    assert error.value.code == 1002
