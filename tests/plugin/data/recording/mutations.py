"""Damaged files: bytes flipped, cut, moved; metadata of other types; arrays of other shapes."""

import json
import random
import re
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Bytes = Callable[[random.Random, bytes], bytes]


def _place(rng: random.Random, data: bytes) -> slice:
    start = rng.randrange(len(data))
    # As often in the first part, where headers are, as in the rest.
    start = start // 10 if rng.random() < 0.3 else start
    return slice(start, min(len(data), start + rng.choice([1, 2, 8, 64, 4096])))


def flip(rng: random.Random, data: bytes) -> bytes:
    """One bit, or a few."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        changed[_place(rng, data).start] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(rng: random.Random, data: bytes) -> bytes:
    """A stretch with zeros, ones or anything."""
    at = _place(rng, data)
    size = at.stop - at.start
    new: bytes = rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size)])
    return data[: at.start] + new + data[at.stop :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    """The end is missing; of a text sometimes just some lines."""
    end = rng.randrange(1, len(data))
    if rng.random() < 0.5:
        end = data.rfind(b"\n", 0, end) + 1 or end
    return data[:end]


def move(rng: random.Random, data: bytes) -> bytes:
    """Two stretches change places, or one is missing, doubled or new."""
    a, b = sorted((_place(rng, data), _place(rng, data)), key=lambda s: s.start)
    first, second = data[a], data[b]
    if a.stop <= b.start and rng.random() < 0.4:
        return data[: a.start] + second + data[a.stop : b.start] + first + data[b.stop :]
    return data[: a.start] + rng.choice([b"", first + first, rng.randbytes(9)]) + data[a.stop :]


BYTES: tuple[Bytes, ...] = (flip, flip, overwrite, truncate, move)


def other_value(rng: random.Random, value: object) -> object:
    """A value of another type or of an extreme."""
    return rng.choice(
        [
            None, True, -1, 0, 3, 10**30, 1e308, -1e308, float("nan"), float("inf"), 0.5, "", "x",
            "inf", "x" * 5000, [], [1], [[]], [None], ["a"], [value], {}, {"a": 1}, {"": value},
            [value] * 100, str(value), {"step": 1}, {"step": "a"}, [{"step": -1}], 2**63, -(2**63),
        ]
    )  # fmt: skip


def other_json(rng: random.Random, data: Any) -> Any:
    """The same JSON with one place changed, gone or doubled."""
    if isinstance(data, dict) and data and rng.random() < 0.9:
        key = rng.choice(list(data))
        if rng.random() < 0.1:
            return {k: v for k, v in data.items() if k != key}
        if rng.random() < 0.05:
            return {f"{k}x" if k == key else k: v for k, v in data.items()}
        return {**data, key: other_json(rng, data[key])}
    if isinstance(data, list) and data and rng.random() < 0.8:
        at = rng.randrange(len(data))
        if rng.random() < 0.2:
            return rng.choice([data[:at], data + data, data[::-1], data[at:]])
        return [*data[:at], other_json(rng, data[at]), *data[at + 1 :]]
    return other_value(rng, data)


def other_array(rng: random.Random, array: Any) -> Any:
    """The same array with another type, shape or content."""
    kinds: list[Callable[[], Any]] = [
        lambda: array[:-1], lambda: array[:0], lambda: array.T, lambda: array[None],
        lambda: np.concatenate([array, array]), lambda: array.astype(np.float32),
        lambda: array.astype(str), lambda: array.astype(complex), lambda: array.astype(bool),
        lambda: np.full_like(array, np.nan), lambda: array * 1e300, lambda: -array,
        lambda: np.array(3.0), lambda: np.zeros(array.shape, "M8[s]"), lambda: array[::-1],
        lambda: np.zeros(array.shape, [("a", "f8")]), lambda: np.array([{}], dtype=object),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        try:
            return rng.choice(kinds)()
        except (TypeError, ValueError, IndexError, DeprecationWarning):
            return np.zeros((1, 1))


def change_npz(rng: random.Random, path: Path, meta: str) -> None:
    """Another array, or another value in the JSON of `meta`."""
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files}
    name = meta if meta in arrays and rng.random() < 0.6 else rng.choice(list(arrays))
    if name == meta:
        arrays[name] = np.array(json.dumps(other_json(rng, json.loads(str(arrays[name])))))
    elif rng.random() < 0.2:
        del arrays[name]
    else:
        arrays[name] = other_array(rng, arrays[name])
    np.savez(path, **arrays)


def change_csv(rng: random.Random, path: Path) -> None:
    """Another value in the JSON of the first line, with a checksum that fits or none."""
    mark, rest = b"# mjrig recording ", path.read_bytes()
    first, _, body = rest.partition(b"\n")
    meta = json.loads(first.removeprefix(mark))
    meta.pop("crc32")
    meta.pop("rows")
    line = mark + json.dumps(other_json(rng, meta)).encode() + b"\n"
    if rng.random() < 0.5 and re.search(rb"\}\n$", line):
        line = line[:-2] + b', "crc32": "00000000"}\n'
        line = line[:-11] + b"%08x" % zlib.crc32(line + body) + b'"}\n'
    path.write_bytes(line + body)


def change_json(rng: random.Random, path: Path) -> None:
    """Another value in a JSON file."""
    path.write_text(json.dumps(other_json(rng, json.loads(path.read_text()))))


def change_h5(rng: random.Random, path: Path) -> None:
    """Another attribute or column, also one that lies elsewhere, in a file without checksums."""
    h5py: Any = import_module("h5py")
    with h5py.File(path, "r+") as file:
        items: list[Any] = [file]
        file.visititems(lambda _, item: items.append(item))
        for item in items:
            item.attrs.pop("crc32", None)
        groups = [i for i in items if len(i.attrs)]
        columns = [i for i in items if isinstance(i, h5py.Dataset)]
        if rng.random() < 0.6 and groups:
            group = rng.choice(groups)
            name = rng.choice(list(group.attrs))
            said = group.attrs[name]
            value: object
            try:
                value = json.dumps(other_json(rng, json.loads(said)))
            except (TypeError, ValueError):
                value = other_value(rng, said if isinstance(said, str) else float(said))
            try:
                group.attrs[name] = value
            except (TypeError, ValueError, OSError):
                group.attrs[name] = str(value)
            return
        column = rng.choice(columns)
        name, values, home = column.name, column[:], column.parent
        del file[name]
        end = name.rpartition("/")[2]
        kind = rng.randrange(6)
        if kind == 0:
            home[end] = h5py.SoftLink(rng.choice(["/time", "/nowhere", name]))
        elif kind == 1:
            home[end] = h5py.ExternalLink(str(path), "/time")
        elif kind == 2:
            home.create_dataset(end, (50,), "u1", external=[(__file__, 0, 50)])
        elif kind == 3:
            layout = h5py.VirtualLayout(shape=values.shape, dtype=values.dtype)
            home.create_virtual_dataset(end, layout)
        elif kind == 4:
            home.create_dataset(end, (2**40,), "f8", chunks=(1024,))
        else:
            changed = other_array(rng, values)
            try:
                home[end] = changed
            except (TypeError, ValueError):
                home[end] = np.zeros(3)
