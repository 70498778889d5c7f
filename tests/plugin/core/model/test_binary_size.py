"""Compiled models whose headers ask for more than they hold: refused before MuJoCo loads them."""

import re
import struct
from pathlib import Path

import mujoco
import pytest

import mjrig
from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.model.binary_model import BYTES, PRODUCTS, VERSION, check_binary_size
from tests.conftest import LEGS
from tests.places import ASSETS
from tests.resource_limits import cpu_limit, memory_limit
from tests.wording import regex

HEADER = Path(mujoco.__file__).parent / "include" / "mujoco" / "mjxmacro.h"
WIDTHS = {"int": 4, "mjtNum": 8, "float": 4, "mjtBool": 1, "mjtByte": 1, "char": 1, "mjtSize": 8}
#: What begins every file: five numbers, the sizes, options, statistics and visual settings.
CONSTANT = 1799


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `m.mjb` and a scene of it."""
    folder = tmp_path_factory.mktemp("compiled")
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(LEGS), str(folder / "m.mjb"))
    (folder / "s.yaml").write_text("mjrig: 1\nactors: [{name: a, model: m.mjb}]\n")
    return folder


def test_the_table_is_the_one_of_this_mujoco() -> None:
    assert mujoco.mj_version() == VERSION
    text = HEADER.read_text()
    names = re.findall(r"X\( (\w+) \)", text.split("#define MJMODEL_SIZES")[1].split("/*")[0])
    assert names == list(BYTES)
    begin = text.index("#define MJMODEL_POINTERS_BODY")
    entry = r"\bX\w*\s*\(\s*(\w+),\s*\w+,\s*(\w+),\s*(MJ_M\(\s*\w+\s*\)|\w+)\s*\)"
    found, products = dict.fromkeys(names, 0), set()
    for kind, rows, columns in re.findall(entry, text[begin : text.index("MJDATA", begin)]):
        if columns.startswith("MJ_M"):
            products.add(f"{rows} {columns[5:-1].strip()}")
        elif columns == "mjNTEXROLE":
            found[rows] += WIDTHS[kind] * int(mujoco.mjtTextureRole.mjNTEXROLE)
        else:
            width = int(columns) if columns.isdigit() else getattr(mujoco, columns)
            found[rows] += WIDTHS[kind] * width
    assert found == BYTES
    assert products == set(PRODUCTS)


@pytest.mark.parametrize("name", ["arm", "quadruped", "humanoid"])
def test_it_is_known_how_large_a_file_is(name: str, tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_path(str(ASSETS / name / f"{name}.xml"))
    pairs = [pair.split() for pair in PRODUCTS]
    numbers = sum(getattr(model, one) * getattr(model, other) for one, other in pairs)
    known = sum(count * getattr(model, name) for name, count in BYTES.items()) + 8 * numbers
    assert mujoco.mj_sizeModel(model) == known + CONSTANT
    mujoco.mj_saveModel(model, str(tmp_path / "m.mjb"))
    check_binary_size(tmp_path / "m.mjb")


@pytest.mark.parametrize("size", BYTES)
def test_no_size_in_the_header_takes_long_or_much_memory(compiled: Path, size: str) -> None:
    whole = (compiled / "m.mjb").read_bytes()
    place = 20 + 8 * list(BYTES).index(size)
    for value in (2**40, 10**8, 10**6, -7):
        changed = whole[:place] + struct.pack("<q", value) + whole[place + 8 :]
        (compiled / "f.mjb").write_bytes(changed)
        with memory_limit(100.0), cpu_limit(1.0):
            try:
                check_binary_size(compiled / "f.mjb")
            except PropertyError as error:
                assert str(error).startswith("'f.mjb' ")
            else:  # MuJoCo has nothing to make room for, or refuses it at once
                assert BYTES[size] == 0


def test_the_place_is_named(compiled: Path, tmp_path: Path) -> None:
    whole = (compiled / "m.mjb").read_bytes()
    (tmp_path / "m.mjb").write_bytes(whole[:20] + struct.pack("<q", 10**9) + whole[28:])
    (tmp_path / "s.yaml").write_text((compiled / "s.yaml").read_text())
    with pytest.raises(SceneError, match=regex("s.yaml:2:27: …'m.mjb' is damaged or cut …")):
        mjrig.World(tmp_path / "s.yaml")
    with open(tmp_path / "m.mjb", "wb") as file:
        file.truncate(300_000_000)  # a hole: it takes no room
    with pytest.raises(SceneError, match=r"'m.mjb' has 300000000 bytes; at most 256000000"):
        mjrig.World(tmp_path / "s.yaml")
    assert mjrig.World(compiled / "s.yaml").model.nu == 5
