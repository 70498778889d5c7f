"""Skin files (`.skn`): read if a bone is the world, which attaching a model would rename."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.files.paths import read_limited

MAX_BYTES = 64_000_000
_NAME_BYTES = 40
_WORLD = "world"


def read_world_skin(skin: Any, path: Path) -> None:
    """Put the content of a skin's file in place of its name if it refers to the world.

    MuJoCo reads the file when the model is compiled, and gives all bones the prefix of the actor.
    A malformed file is left to MuJoCo, which reports it.
    """
    content = read_limited(path, MAX_BYTES)
    if _WORLD.encode() not in content:
        return
    try:
        arrays = _arrays(content)
    except (struct.error, ValueError):
        return
    if _WORLD in arrays["bodyname"]:
        skin.file = ""
        for name, values in arrays.items():
            setattr(skin, name, values)


def _arrays(content: bytes) -> dict[str, list[Any]]:
    """The properties of a skin.

    Raises:
        ValueError: the file is too short.
    """
    at = 0

    def read(kind: Any, count: int) -> list[Any]:
        nonlocal at
        values = np.frombuffer(content, kind, count, at) if count else np.empty(0, kind)
        at += values.nbytes
        return list(values.tolist())

    vertices, points, faces, bones = read("<i4", 4)
    arrays: dict[str, list[Any]] = {
        "vert": read("<f4", 3 * vertices),
        "texcoord": read("<f4", 2 * points),
        "face": read("<i4", 3 * faces),
    }
    columns: dict[str, list[Any]] = {}
    for _ in range(bones):
        name = content[at : at + _NAME_BYTES].partition(b"\0")[0].decode()
        at += _NAME_BYTES
        bone = {"bodyname": [name], "bindpos": read("<f4", 3), "bindquat": read("<f4", 4)}
        count = read("<i4", 1)[0]
        bone |= {"vertid": [read("<i4", count)], "vertweight": [read("<f4", count)]}
        for key, values in bone.items():
            columns.setdefault(key, []).extend(values)
    return arrays | columns
