"""Uneven ground: its heights are where the rows say, and things lie on it."""

import struct
import zlib
from pathlib import Path

import pytest

import mjrig
from mjrig.components import HeightFieldProp
from tests.wording import matches
from tests.worlds import refused

STAIR = [[0.5, 0.5, 0.1, 0.1], [0.5, 0.5, 0.1, 0.1], [0.3, 0.3, -0.1, -0.1], [0.3, 0.3, -0.1, -0.1]]


def picture(path: Path, rows: list[bytes]) -> Path:
    """A grey PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
    return path


def height_at(prop: HeightFieldProp, x: float, y: float) -> float:
    """Where a small ball comes to rest, less its radius."""
    scene = mjrig.Scene()
    scene.add_actor("hills", prop=prop)
    ball = {"type": "SphereProp", "radius": 0.02, "free": True, "mass": 0.1, "condim": 6,
            "friction": [1, 0.1, 0.1]}  # fmt: skip
    scene.add_actor("ball", prop=ball, pose={"position": [x, y, 0.6]})
    world = mjrig.World(scene)
    world.step(1000)
    return float(world.data.qpos[2]) - 0.02


@pytest.mark.parametrize(
    ("x", "y", "height"), [(-1.6, 1.6, 0.5), (1.6, 1.6, 0.1), (-1.6, -1.6, 0.3), (1.6, -1.6, -0.1)]
)
def test_rows_are_as_on_a_map(x: float, y: float, height: float) -> None:
    prop = HeightFieldProp(heights=STAIR, size=[4, 4])
    assert height_at(prop, x, y) == pytest.approx(height, abs=5e-3)


def test_a_picture_is_black_below_and_white_on_top(tmp_path: Path) -> None:
    rows = [b"\xff\xff\x00\x00"] * 4
    prop = HeightFieldProp(file=picture(tmp_path / "hills.png", rows), top=0.25)
    assert height_at(prop, -1.6, 0.0) == pytest.approx(0.25, abs=5e-3)
    prop = HeightFieldProp(file=tmp_path / "hills.png", top=0.25)
    assert height_at(prop, 1.6, 0.0) == pytest.approx(0.0, abs=5e-3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heights": [1, 2]}, "HeightFieldProp.heights: must be at least …"),
        (
            {"heights": [[1, 1], [1, 1]]},
            "HeightFieldProp.heights: are all equal; use … GroundProp",
        ),
        (
            {"heights": STAIR, "file": "a.png"},
            "HeightFieldProp: has both heights and …",
        ),
        ({"heights": STAIR, "top": 1}, "HeightFieldProp.top: is for a file …"),
        ({"heights": [[1, 2], [3]]}, "HeightFieldProp.heights: must be lists of …"),
        ({"size": [0, 1]}, "HeightFieldProp.size: must be >= 1e-06 m, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, object], message: str) -> None:
    with refused(mjrig.PropertyError, message):
        HeightFieldProp(**values)


@pytest.mark.parametrize(
    ("prop", "message"),
    [
        ("{type: HeightFieldProp}", "3:25: actors[0].prop: hills.prop: needs heights or a …"),
        (
            "{type: HeightFieldProp, file: hill.png}",
            "3:55: actors[0].prop.file: hills.prop.file: there is no file 'hill.png'",
        ),
    ],
)
def test_what_is_missing_is_told_where_it_stands(prop: str, message: str) -> None:
    scene = mjrig.Scene.parse(f"mjrig: 1\nactors:\n  - {{name: hills, prop: {prop}}}\n")
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.World(scene)
    assert matches(str(info.value), f"<text>:{message}…")
