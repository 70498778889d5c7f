"""Messages of pages by the grammar of the protocol, with values at the edges of every field."""

import json
import os
import random
import struct
import zlib
from collections.abc import Sequence

from websockets.frames import Opcode

from mjrig.editor.web.protocol import (
    BINARY_MESSAGES,
    MESSAGES,
    Field,
    FlagField,
    IntegerField,
    ListField,
    NumberField,
    TextField,
)
from tests.editor.web.chromium import client_frame

#: JSON that no field takes, or only some: numbers beyond every type, halves of characters, depth.
EDGES = (
    "9" * 400, "-" + "9" * 400, "9" * 5000, "1e400", "-1e400", "NaN", "Infinity", "-Infinity",
    "0", "-0", "-0.0", "1e-320", "-1", "1", "0.5", "2147483648", "4294967296", "-2147483649",
    "9007199254740993", "1073741824", "18446744073709551616", "true", "false", "null", '""',
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"x"', '"%s%n"', '"KeyA"', '"\U0001f600"',
    "[]", "{}", "[[]]", "[" * 500 + "]" * 500, "[" * 100000, '{"a":' * 300 + "1" + "}" * 300,
    '[["a",1]]', '[["../a",1]]', '[["a",-1]]', '[["a"]]', '[["a",1,2]]', "[[1,1]]", "[1,2,3]",
    f'[["a",{"9" * 400}]]', '[["\\ud800",1]]', "[NaN,NaN,NaN]", "[1e400,0,0]", "1e308", "-1e308",
)  # fmt: skip
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cf"
    "c0000003010100c9fe92ef0000000049454e44ae426082"
)


def example(field: Field, rng: random.Random) -> str:
    """JSON that a field takes, often at an end of its range."""
    if isinstance(field, IntegerField):
        ends = (field.low, field.high, min(max(1, field.low), field.high))
        return str(rng.choice((*ends, rng.randint(field.low, field.high))))
    if isinstance(field, NumberField):
        value = rng.choice((field.low, field.high, 0.0, rng.uniform(field.low, field.high)))
        return repr(rng.choice((value, round(value), rng.uniform(0.0, 1000.0))))
    if isinstance(field, TextField):
        texts = ("", "x", "KeyA", "Escape", "7.5", "é\u0301\u200d", "\x00\x1b", "%s", "a/b.xml")
        return json.dumps(rng.choice((*texts, "x" * min(field.longest, 3000))))
    if isinstance(field, FlagField):
        return rng.choice(("true", "false"))
    assert isinstance(field, ListField)
    entries = [[example(f, rng) for f in field.fields] for _ in range(rng.randrange(4))]
    if len(field.fields) == 1:
        return f"[{','.join(entry[0] for entry in entries)}]"
    return "[" + ",".join("[" + ",".join(entry) + "]" for entry in entries) + "]"


def text_message(rng: random.Random, *, is_right: bool = False) -> str:
    """A text message: right, or wrong in a value, their number, its name or its form."""
    name, kind = rng.choice(list(MESSAGES.items()))
    values = [example(field, rng) for field in kind.fields]
    mistake = 7 if is_right else rng.randrange(8)
    if mistake in (0, 1, 2) and values:
        values[rng.randrange(len(values))] = rng.choice(EDGES)
    elif mistake == 3:
        values = [rng.choice(EDGES) for _ in values]
    elif mistake == 4:
        values = rng.choice((values[:-1], [*values, rng.choice(EDGES)]))
    shown = (
        rng.choice(('"nothing"', "1", "null", "[]", '"\\ud800"')) if mistake == 5 else f'"{name}"'
    )
    text = f"[{','.join((shown, *values))}]"
    if mistake == 6 and rng.random() < 0.3:
        return rng.choice((text[:-1], f"{{{text}}}", text + "]", "", *EDGES))
    return text


def binary_message(rng: random.Random) -> bytes:
    """A binary message: a part of a file, asked for or not, an image, or neither."""
    first = rng.choice((*BINARY_MESSAGES, 0, 3, 255))
    name = rng.choice((b"", b"a.xml", b"../a", b"\xff\xfe", b"a" * 900, b"a/b\x00.xml"))
    length = rng.choice((len(name), 0, 65535, rng.randrange(300))) & 0xFFFF
    damaged = bytearray(PNG)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    image = rng.choice((PNG, PNG[: rng.randrange(len(PNG))], bytes(damaged), b"", b"GIF89a"))
    part = struct.pack("<H", length) + name + os.urandom(rng.choice((0, 1, 100)))
    return rng.choice((bytes([first]) + rng.choice((part, image)), bytes([first]), b""))


def upload_messages(rng: random.Random) -> list[str | bytes]:
    """A drop of files and parts of them: complete, cut off, too long, in a wrong order or name."""
    names = rng.sample(("a.xml", "b.yaml", "d/c.xml", "d/e.png", "notes.txt"), rng.randrange(1, 4))
    contents = {name: rng.choice((b"", b"<mujoco/>", b"\xff" * 9, PNG)) for name in names}
    sizes = [[name, len(content)] for name, content in contents.items()]
    parts: list[str | bytes] = []
    for name, content in contents.items():
        cut = rng.randrange(len(content) + 1)
        for piece in (content[:cut], content[cut:]):
            encoded = name.encode()
            parts.append(b"\x01" + struct.pack("<H", len(encoded)) + encoded + piece)
    mistake = rng.randrange(8)
    if mistake == 0:
        rng.shuffle(parts)
    elif mistake == 1:
        del parts[rng.randrange(len(parts))]
    elif mistake == 2:
        parts.insert(rng.randrange(len(parts) + 1), binary_message(rng))
    end = rng.choice(('["dropped"]', '["dropped"]', '["nodrop"]', '["take"]'))
    return [json.dumps(["drop", 5, 5, sizes]), *parts, end]


def _press(payload: bytes) -> bytes:
    """A payload as browsers compress it; never empty."""
    press = zlib.compressobj(6, zlib.DEFLATED, -15)
    return (press.compress(payload) + press.flush(zlib.Z_SYNC_FLUSH))[:-4]


#: Two kilobytes that inflate to two megabytes: more than a watcher may send.
BOMB = _press(bytes(1 << 21))


def _compressed(opcode: int, pressed: bytes) -> bytes:
    frame = bytearray(client_frame(opcode, pressed))
    frame[0] |= 0x40
    return bytes(frame)


def wire_of(message: str | bytes, rng: random.Random, *, is_right: bool = False) -> bytes:
    """A message in one frame or several, now and then against the rules."""
    opcode = Opcode.TEXT if isinstance(message, str) else Opcode.BINARY
    payload = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
    broken = 40 if is_right else rng.randrange(40)
    if broken == 0:
        return rng.randbytes(rng.randrange(1, 60))
    if broken == 1:  # fragments, the last of which may be missing
        cut = rng.randrange(len(payload) + 1)
        parts = (payload[:cut], payload[cut:])
        frames = [bytearray(client_frame(opcode, part)) for part in parts]
        frames[0][0] &= 0x7F
        frames[1][0] = 0x80 | rng.choice((Opcode.CONT, Opcode.CONT, Opcode.TEXT))
        return bytes(frames[0] + rng.choice((frames[1], bytearray())))
    if broken in (6, 7) or (broken > 7 and rng.random() < 0.2):
        pressed = bytearray(BOMB if broken == 7 else _press(payload))
        if broken == 6:
            pressed[rng.randrange(len(pressed))] ^= 1 << rng.randrange(8)
        return _compressed(opcode, bytes(pressed))
    frame = bytearray(client_frame(opcode, payload))
    if broken == 2:
        frame[0] ^= 1 << rng.randrange(8)  # another opcode, reserved bits, not the last
    elif broken == 3:
        frame[1] ^= 0x80
    elif broken == 4:
        return b"\x81\xff" + rng.choice((1 << 63, 1 << 40, 1 << 25)).to_bytes(8, "big") + bytes(4)
    elif broken == 5:
        return client_frame(rng.choice((8, 9, 10, 11)), payload[:125]) + bytes(frame)
    return bytes(frame)


def greeting(tokens: Sequence[str], rng: random.Random) -> str:
    """The first message, mostly with a right token."""
    if rng.random() < 0.85:
        return json.dumps({"token": rng.choice(tokens)})
    wrong = (*EDGES, '"é"', json.dumps(tokens[0][:-1]))
    return rng.choice((f'{{"token":{rng.choice(wrong)}}}', rng.choice(wrong), "x", "{}"))


def head(port: int, rng: random.Random) -> bytes:
    """The request that opens a live connection, seldom damaged or for something else."""
    place = f"127.0.0.1:{port}"
    path = (
        rng.choice(("/", "/asset/x", "/download/x", "//", "/live/", "/%00"))
        if rng.random() < 0.03
        else "/live"
    )
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {place}", f"Origin: http://{place}", "Upgrade: websocket",
        "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: YWJjZGVmZ2hpamtsbW5vcA==",
        "Sec-WebSocket-Extensions: permessage-deflate",
    ]  # fmt: skip
    if rng.random() < 0.05:
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(
            (
                "",
                "Host: [",
                "x",
                "Upgrade:",
                lines[at][: rng.randrange(30)],
                "Authorization: Bearer \x7f",
            )
        )
    wire = "\r\n".join(lines).encode() + b"\r\n\r\n"
    if rng.random() < 0.02:
        at = rng.randrange(len(wire))
        wire = wire[:at] + rng.randbytes(3) + wire[at + 1 :]
    return wire
