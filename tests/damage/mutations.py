"""Changes of files: of bytes, of length fields, of records, and of values that stay well-formed."""

import json
import random
import re
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from tests.plugin.data.recording import mutations as common

#: What a length or a count is replaced by.
EDGES = (0, 1, 2, 255, 256, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62,
         2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
NUMBERS = ("0", "-0", "-1", "1", "1e308", "-1e308", "1e999", "nan", "inf", "1e-320", "2147483648",
           "-2147483649", "99999999999999999999", "0x10", "1_0", "", "a", "\x00", "é", "1 2",
           "9" * 400, "💥", "1,5", "true", "null", "[]", "{}", "'", '"', "<", "&")  # fmt: skip
#: Bytes that are not UTF-8, of other encodings, and a reference that MuJoCo writes as such bytes.
NOT_TEXT = (b"\xe4", b"\xff\xfe", b"\x80", b"\xed\xa0\x80", b"\xc3", b"&#xD800;", b"&#56832;")
Change = Callable[[random.Random, Path], None]


def mutate(rng: random.Random, path: Path, syntax: str) -> None:
    """Change a file in place, one to three times."""
    by_syntax = SYNTAX.get(syntax)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if by_syntax is not None and rng.random() < 0.6:
            by_syntax(rng, path)
            continue
        data = path.read_bytes()
        if not data:
            return
        change = rng.choice((*common.BYTES, resize, resize, splice))
        path.write_bytes(change(rng, data))


def resize(rng: random.Random, data: bytes) -> bytes:
    """A number that may be a length, a count or an offset gets an edge value."""
    width = rng.choice((1, 2, 4, 4, 4, 8, 8))
    order: Literal["little", "big"] = "little" if rng.random() < 0.7 else "big"
    places = range(max(1, len(data) - width))
    at = rng.choice(places)
    for _ in range(64):  # prefer numbers that fit in the file
        at = rng.choice(places)
        if 0 < int.from_bytes(data[at : at + width], order) <= len(data):
            break
    value = int.from_bytes(data[at : at + width], order)
    edge = rng.choice((*EDGES, value + 1, value - 1, 2 * value, value // 2, len(data), -1))
    new = (edge % (1 << (8 * width))).to_bytes(width, order)
    return data[:at] + new + data[at + width :]


def splice(rng: random.Random, data: bytes) -> bytes:
    """A block of the file again, or at another place."""
    size = rng.choice((1, 4, 16, 64, 512, 4096))
    source, target = rng.randrange(len(data)), rng.randrange(len(data))
    block = data[source : source + size] * rng.choice((1, 1, 1, 50))
    return data[:target] + block + data[target + rng.choice((0, len(block))) :]


# Texts ------------------------------------------------------------------------------------------


def change_text(rng: random.Random, path: Path) -> None:
    """Another number, word or line; deeper nesting."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    kind = rng.randrange(7)
    if kind <= 2:
        pattern = r"-?\d+\.?\d*(?:e[+-]?\d+)?" if kind else r"\"[^\"\n]*\"|\w+"
        tokens = list(re.finditer(pattern, text))
        if tokens:
            token = rng.choice(tokens)
            new = rng.choice((*NUMBERS, rng.choice(tokens).group()))
            text = text[: token.start()] + new + text[token.end() :]
    elif kind == 3:
        lines = text.splitlines(keepends=True) or [""]
        at = rng.randrange(len(lines))
        line = lines[at]
        lines[at : at + 1] = rng.choice(([], [line, line], [line] * 200, [rng.choice(lines)]))
        text = "".join(lines)
    elif kind == 4:
        at = rng.randrange(len(text) + 1)
        opening = rng.choice(
            ("[", "{a: ", "<body>", "- ", "(", '{"a":', "<a b='", "!!x ", "&a *a ")
        )
        text = text[:at] + opening * rng.choice((1, 30, 3000)) + text[at:]
    elif kind == 5:
        tags = list(re.finditer(r"<[^<>]*>|[^,\n]*,", text))
        if tags:
            one, two = rng.choice(tags), rng.choice(tags)
            text = text[: one.start()] + two.group() * rng.choice((0, 1, 2)) + text[one.end() :]
    else:
        text = rng.choice(("\ufeff", "\x00", "")) + text.replace("\n", rng.choice(("\r\n", "\r")))
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def change_xml(rng: random.Random, path: Path) -> None:
    """Bytes in an attribute that are not UTF-8, or another text."""
    data = path.read_bytes()
    values = list(re.finditer(rb'="[^"]*"', data))
    if rng.randrange(2) or not values:
        return change_text(rng, path)
    at = rng.choice(values).end() - 1
    path.write_bytes(data[:at] + rng.choice(NOT_TEXT) + data[at:])
    return None


def change_yaml(rng: random.Random, path: Path) -> None:
    """Another value, an alias bomb, a tag, or another text."""
    kind = rng.randrange(5)
    text = path.read_text("utf-8", "surrogateescape")
    if kind == 0 or "&a0" in text:  # an alias bomb is not written out
        return change_text(rng, path)
    if kind == 1:
        levels = [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
        bomb = "\n".join(["a0: &a0 [x]", *levels])
        path.write_text(f"{bomb}\n{text}", "utf-8", "surrogateescape")
        return None
    try:
        data = yaml.safe_load(text)
        path.write_text(yaml.safe_dump(common.other_json(rng, data), sort_keys=False))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        change_text(rng, path)
    return None


def change_json(rng: random.Random, path: Path) -> None:
    """Another value, or another text."""
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return change_text(rng, path)
    if rng.random() < 0.3:
        return change_text(rng, path)
    path.write_text(json.dumps(common.other_json(rng, data)))
    return None


# Records ----------------------------------------------------------------------------------------


def _mcap_records(data: bytes) -> Iterator[bytes]:
    at = 8
    while at + 9 <= len(data):
        size = struct.unpack_from("<Q", data, at + 1)[0]
        if at + 9 + size > len(data):
            break
        yield data[at : at + 9 + size]
        at += 9 + size


def change_mcap(rng: random.Random, path: Path) -> None:
    """Records swapped, repeated, removed or changed inside; the chunks keep their checksum."""
    data = path.read_bytes()
    records = list(_mcap_records(data))
    if not records:
        return
    at = rng.randrange(len(records))
    record = records[at]
    if record[0] == 6 and rng.random() < 0.7:
        records[at] = _chunk(rng, record)
    elif rng.random() < 0.5:
        body = bytearray(record[9:])
        if body:
            body[:] = rng.choice((resize, common.flip, splice))(rng, bytes(body))
        records[at] = record[:1] + struct.pack("<Q", len(body)) + bytes(body)
    else:
        _shuffle(rng, records)
    path.write_bytes(data[:8] + b"".join(records) + data[-8:])


def _chunk(rng: random.Random, record: bytes) -> bytes:
    """The chunk with changed records, without compression."""
    body = record[9:]
    start, end, size, _, length = struct.unpack_from("<QQQII", body)
    name = body[32 : 32 + length]
    content = body[32 + length + 8 :]
    try:
        if name == b"zstd":
            content = import_module("zstandard").ZstdDecompressor().decompress(content, size)
        elif name == b"lz4":
            content = import_module("lz4.frame").decompress(content)
    except Exception:  # damaged by an earlier change
        return record
    inner = list(_mcap_records(bytes(8) + content))
    if not inner:
        return record
    if rng.random() < 0.5:
        _shuffle(rng, inner)
    else:
        at = rng.randrange(len(inner))
        inside = inner[at][9:]
        if inside:
            inside = rng.choice((resize, common.flip, splice, common.truncate))(rng, inside)
        inner[at] = inner[at][:1] + struct.pack("<Q", len(inside)) + inside
    content = b"".join(inner)
    declared = rng.choice((len(content),) * 9 + (rng.choice(EDGES),)) % 2**64
    head = struct.pack("<QQQII", start, end, declared, zlib.crc32(content), 0)
    chunk = head + struct.pack("<Q", len(content)) + content
    return b"\x06" + struct.pack("<Q", len(chunk)) + chunk


def _shuffle(rng: random.Random, records: list[bytes]) -> None:
    at, other = rng.randrange(len(records)), rng.randrange(len(records))
    kind = rng.randrange(4)
    if kind == 0:
        records[at], records[other] = records[other], records[at]
    elif kind == 1:
        del records[at]
    elif kind == 2:
        records.insert(other, records[at])
    else:
        records[at] = bytes([rng.randrange(256)]) + records[at][1:]


def change_bag(rng: random.Random, path: Path) -> None:
    """Records of a ROS 1 bag swapped, repeated or removed, and fields of their headers changed."""
    data = path.read_bytes()
    first = data.find(b"\n") + 1
    records, at = [], first
    while at + 8 <= len(data):
        header = struct.unpack_from("<I", data, at)[0]
        if at + 8 + header > len(data):
            break
        size = struct.unpack_from("<I", data, at + 4 + header)[0]
        end = at + 8 + header + size
        records.append(data[at:end])
        at = end
    if not records:
        return
    if rng.random() < 0.6:
        k = rng.randrange(len(records))
        names = list(re.finditer(rb"(conn|count|size|op|index_pos|chunk_pos|time)=", records[k]))
        if names:
            start = rng.choice(names).end()
            width = rng.choice((1, 4, 8))
            new = (rng.choice(EDGES) % (1 << (8 * width))).to_bytes(width, "little")
            records[k] = records[k][:start] + new + records[k][start + width :]
    else:
        _shuffle(rng, records)
    path.write_bytes(data[:first] + b"".join(records) + data[at:])


def change_sqlite(rng: random.Random, path: Path) -> None:
    """Cells of another type or extent, rows gone or doubled, tables dropped."""
    values = (
        None,
        -1,
        2**62,
        1.5,
        float("inf"),
        "x",
        "",
        b"",
        b"\x00\x01",
        "x" * 5000,
        rng.randbytes(60),
    )
    try:
        with sqlite3.connect(path) as database:
            tables = [r[0] for r in database.execute("SELECT name FROM sqlite_master")]
            table = rng.choice(tables or ["none"])
            columns = [r[1] for r in database.execute(f"PRAGMA table_info('{table}')")]
            column = rng.choice(columns or ["none"])
            some = rng.choice(("", " WHERE rowid % 7 = 3"))
            kind = rng.randrange(8)
            if kind == 0:
                database.execute(f"DROP TABLE '{table}'")
            elif kind == 1:
                database.execute(f"DELETE FROM '{table}'{some}")
            elif kind == 2:
                database.execute(f"ALTER TABLE '{table}' RENAME COLUMN '{column}' TO other")
            elif kind == 3 and "data" in columns:
                rows = database.execute("SELECT rowid, data FROM messages").fetchall()
                number, data = rng.choice(rows)
                new = rng.choice((resize, common.flip, splice, common.truncate))(rng, data)
                database.execute("UPDATE messages SET data = ? WHERE rowid = ?", (new, number))
            else:
                value = rng.choice(values)
                database.execute(f"UPDATE '{table}' SET '{column}' = ?{some}", (value,))
    except (sqlite3.Error, TypeError, ValueError, IndexError):
        path.write_bytes(common.flip(rng, path.read_bytes()))


def change_parquet(rng: random.Random, path: Path) -> None:
    """Columns of another type, with other lists, renamed or gone."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        table = parquet.read_table(path)
        count, name = len(table), rng.choice(table.column_names)
    except Exception:  # damaged by an earlier change
        path.write_bytes(common.flip(rng, path.read_bytes()))
        return
    others: list[Callable[[], Any]] = [
        lambda: ["x"] * count,
        lambda: [None] * count,
        lambda: [[1.0] * (k % 3) for k in range(count)],
        lambda: [[None, 1.0]] * count,
        lambda: [{"a": k} for k in range(count)],
        lambda: [b"\xff"] * count,
        lambda: [2**63 - 1 - k for k in range(count)],
        lambda: np.zeros(count, "M8[us]"),
        lambda: np.full(count, np.nan),
        lambda: [[[k]] for k in range(count)],
        lambda: [True] * count,
    ]
    at = table.column_names.index(name)
    if rng.random() < 0.2:
        table = table.remove_column(at)
    else:
        table = table.set_column(at, name, arrow.array(rng.choice(others)()))
    parquet.write_table(
        table,
        path,
        row_group_size=rng.choice((7, 1000)),
        compression=rng.choice(("snappy", "zstd", "none")),
    )


def change_npz(rng: random.Random, path: Path) -> None:
    """Another array, object arrays included, or other JSON."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = list(file.files)
            meta = next((n for n in names if n in ("meta", "mjrig_recording")), "")
            if not names:
                return
        common.change_npz(rng, path, meta)
    except Exception:  # damaged by an earlier change
        path.write_bytes(common.flip(rng, path.read_bytes()))


def change_h5(rng: random.Random, path: Path) -> None:
    """Another attribute or column."""
    try:
        common.change_h5(rng, path)
    except Exception:  # damaged by an earlier change
        path.write_bytes(common.flip(rng, path.read_bytes()))


def change_msgpack(rng: random.Random, path: Path) -> None:
    """Another value."""
    msgpack = import_module("msgpack")
    try:
        data = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
        path.write_bytes(msgpack.packb(common.other_json(rng, data)))
    except (ValueError, TypeError, OverflowError, RecursionError):
        path.write_bytes(common.flip(rng, path.read_bytes()))


def change_mjb(rng: random.Random, path: Path) -> None:
    """A size in the header of a compiled model gets an edge value, or a name other bytes."""
    data = bytearray(path.read_bytes())
    names = list(re.finditer(rb"(?<=\0)[a-z.]{1,8}(?=\0)", data))
    if names and rng.randrange(2):
        data[rng.choice(names).start()] = rng.choice((0xFF, 0xE4, 0x80))
        path.write_bytes(bytes(data))
        return
    at = 20 + 8 * rng.randrange(90)
    if at + 8 <= len(data):
        (value,) = struct.unpack_from("<q", data, at)
        edge = rng.choice((*EDGES, value + 1, value - 1, 2 * value)) % 2**64
        struct.pack_into("<Q", data, at, edge)
    path.write_bytes(bytes(data))


def change_onnx(rng: random.Random, path: Path) -> None:
    """Another operator, name, shape, type or tensor, or a node that is gone or doubled."""
    onnx = import_module("onnx")
    try:
        model = onnx.load_model_from_string(path.read_bytes())
        graph = model.graph
        kind = rng.randrange(9)
        if kind == 0:
            rng.choice(graph.node).op_type = rng.choice(("Relu", "Loop", "Nothing", "Reshape", ""))
        elif kind == 1:
            node = rng.choice(graph.node)
            node.input[rng.randrange(len(node.input))] = rng.choice(
                ("obs", "nothing", "", "actions")
            )
        elif kind == 2:
            tensor = rng.choice(graph.initializer)
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice((-1, 0, 3, 2**31, 2**62))
        elif kind == 3:
            rng.choice(graph.initializer).data_type = rng.randrange(30)
        elif kind == 4:
            info = rng.choice((*graph.input, *graph.output))
            rng.choice(info.type.tensor_type.shape.dim).dim_value = rng.choice((-1, 0, 3, 2**40))
        elif kind == 5:
            del graph.node[rng.randrange(len(graph.node))]
        elif kind == 6:
            graph.node.append(rng.choice(graph.node))
        elif kind == 7:
            model.opset_import[0].version = rng.choice((0, 1, 999, -1, 2**31))
        else:
            model.metadata_props.add(
                key=rng.choice(("metadata", "joint_names", "action_scale")),
                value=rng.choice((*NUMBERS, "[" * 5000, '{"joint_names": 3}', "1," * 3000)),
            )
        path.write_bytes(model.SerializeToString())
    except Exception:  # damaged by an earlier change, or a value that protobuf rejects
        path.write_bytes(common.flip(rng, path.read_bytes()))


SYNTAX: dict[str, Change] = {
    "text": change_text, "yaml": change_yaml, "json": change_json, "mcap": change_mcap,
    "bag": change_bag, "sqlite": change_sqlite, "parquet": change_parquet, "npz": change_npz,
    "h5": change_h5, "msgpack": change_msgpack, "mjb": change_mjb, "onnx": change_onnx,
    "xml": change_xml,
}  # fmt: skip
