"""A mesh for tests: a corner of a cube, written as STL."""

import struct
from pathlib import Path

_CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def write_corner(path: Path, edge: float = 0.1) -> Path:
    """Write a tetrahedron at the origin, with three edges of this length along the axes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [b"\0" * 80, struct.pack("<I", len(_FACES))]
    for face in _FACES:
        points = [edge * x for i in face for x in _CORNERS[i]]
        parts.append(struct.pack("<12fH", 0.0, 0.0, 0.0, *points, 0))
    path.write_bytes(b"".join(parts))
    return path
