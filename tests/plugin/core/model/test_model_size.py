"""A few letters in a model that ask for millions: refused before MuJoCo reads them."""

import random
import re
import struct
import zipfile
from pathlib import Path
from xml.etree import ElementTree
from zlib import crc32

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.model.model_size import MAX_ELEMENTS, Pixels
from mjrig.lab.check.preflight import findings
from tests.campaign import Tally
from tests.mjcf_schema import documented
from tests.resource_limits import TooLarge, TooSlow, cpu_limit, memory_limit

SCENE = "mjrig: 1\nactors: [{name: a, model: m.xml}]\n"
BALL = '<body><freejoint/><geom size=".1"/></body>'


def model(inner: str, head: str = "", tail: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{inner}</worldbody>{tail}</mujoco>"


def mesh(kind: str, params: str) -> str:
    asset = f'<asset><mesh name="m" builtin="{kind}" params="{params}"/></asset>'
    return model('<geom type="mesh" mesh="m"/>', asset)


def sensor(text: str) -> str:
    camera = '<camera name="c" resolution="30000 30000"/><geom name="g" size="1"/>'
    return model(camera, tail=f"<sensor>{text}</sensor>")


ELEMENTS = "has more than 50000 elements"
REPLICAS = "has too many elements made by <replicate>"
MEMORY = "asks for more than 100 MB"
MODELS = {
    "replicas": (model(f'<replicate count="1000000">{BALL}</replicate>'), ELEMENTS),
    "some replicas": (model(f'<replicate count="4000">{BALL}</replicate>'), REPLICAS),
    "nested replicas": (
        model('<replicate count="30">' * 4 + BALL + "</replicate>" * 4), ELEMENTS,
    ),
    "included replicas": (
        model('<replicate count="4000"><include file="part.xml"/></replicate>'), REPLICAS,
    ),
    "flex": (model('<flexcomp name="f" type="grid" count="1000 1000 1000"/>'), ELEMENTS),
    "height field": (
        model("", '<asset><hfield name="h" nrow="9999" ncol="9999" size="1 1 1 1"/></asset>'),
        MEMORY,
    ),
    "texture": (
        model("", '<asset><texture type="2d" builtin="flat" width="9999" height="9999"/></asset>'),
        MEMORY,
    ),
    "sky": (model("", '<asset><texture builtin="flat" width="9999"/></asset>'), MEMORY),
    "user data": (model("", '<size nuserdata="1000000000"/>'), MEMORY),
    "data of bodies": (model(BALL, '<size nuser_body="1000000000"/>'), MEMORY),
    "keys": (model(BALL, '<size nkey="100000"/>'), ELEMENTS),
    "sensor": (sensor('<user dim="1000000000"/>'), MEMORY),
    "contacts": (sensor('<contact geom1="g" num="1000000000"/>'), MEMORY),
    "history": (sensor('<clock nsample="10000000" delay="1"/>' * 3), MEMORY),
    "rays": (sensor('<rangefinder camera="c"/>'), MEMORY),
    "cone": (mesh("cone", "100000 1"), "asks for a cone with 100000 points; at most 1000"),
    "plate": (mesh("plate", "3 100000"), "asks for a plate with 100000 points; at most 300"),
    "iterations": (
        model("", '<option iterations="2000000000"/>'),
        "<option iterations> must be at most 10000, got 2000000000",
    ),
    "itself": (
        '<mujoco><asset><model name="i" file="m.xml"/></asset><worldbody><body name="b">'
        '<attach model="i" body="b" prefix="x"/></body></worldbody></mujoco>',
        "'m.xml' attaches itself, as 'm.xml'",
    ),
    "attached ten times": (
        '<mujoco><asset><model name="i" file="many0.xml"/></asset><worldbody>'
        '<attach model="i" body="b" prefix="x"/></worldbody></mujoco>',
        ELEMENTS,
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCENE)
    (tmp_path / "part.xml").write_text(f"<mujoco>{BALL}</mujoco>")
    for i in range(6):  # each attaches the next one ten times
        asset = f'<asset><model name="i" file="many{i + 1}.xml"/></asset>'
        many = "".join(f'<attach model="i" body="b" prefix="p{k}"/>' for k in range(10))
        inner = f'<body name="b"><geom size=".1"/>{many if i < 5 else ""}</body>'
        (tmp_path / f"many{i}.xml").write_text(model(inner, asset if i < 5 else ""))
    return tmp_path


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_asks_for_too_much_is_refused_unread(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, problem = MODELS[kind]
    (folder / "m.xml").write_text(text)
    if kind != "iterations":  # MuJoCo may read these
        monkeypatch.setattr(mujoco.MjSpec, "from_file", lambda name: pytest.fail("it was read"))
    with pytest.raises(SceneError, match=rf"s.yaml:2:27: .*{re.escape(problem)}"):
        mjrig.World(folder / "s.yaml")


def test_the_line_is_named(folder: Path) -> None:
    text = model(f'\n\n<replicate count="1000000">{BALL}</replicate>')
    (folder / "m.xml").write_text(text)
    with pytest.raises(SceneError, match=r"a.model: 'm.xml', line 3, has more than 50000"):
        mjrig.World(folder / "s.yaml")


def test_an_archive_is_looked_into(folder: Path) -> None:
    with zipfile.ZipFile(folder / "m.mjz", "w") as archive:
        archive.writestr("m/m.xml", MODELS["replicas"][0])
    (folder / "s.yaml").write_text(SCENE.replace("m.xml", "m.mjz"))
    with pytest.raises(SceneError, match=ELEMENTS):
        mjrig.World(folder / "s.yaml")


def png(width: int, height: int) -> bytes:
    """The beginning of an image, and nothing in it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", crc32(chunk))


IMAGES = {
    "texture": ('<texture type="2d" file="a.png"/>', [(9000, 9000)]),
    "height field": ('<hfield name="h" file="a.png" size="1 1 1 1"/>', [(9000, 9000)]),
    "cube": (
        '<texture fileright="a.png" fileleft="b.png" fileup="b.png" filedown="b.png"'
        ' filefront="b.png" fileback="b.png"/>',
        [(4000, 4000), (4000, 4000)],
    ),
    "two": (
        '<texture type="2d" file="a.png"/><texture name="b" type="2d" file="b.png"/>',
        [(6000, 6000), (6000, 6000)],
    ),
}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("is_archive", [False, True])
def test_images_are_not_unpacked_if_they_are_too_large(
    folder: Path, kind: str, is_archive: bool
) -> None:
    assets, images = IMAGES[kind]
    text = model("", f"<asset>{assets}</asset>")
    files = {f"{name}.png": png(*size) for name, size in zip("ab", images, strict=False)}
    if is_archive:
        if kind == "cube":
            files["b.png"] = png(9000, 9000)  # there it counts once
        with zipfile.ZipFile(folder / "m.mjz", "w") as archive:
            archive.writestr("m.xml", text)
            for name, content in files.items():
                archive.writestr(name, content)
        (folder / "s.yaml").write_text(SCENE.replace("m.xml", "m.mjz"))
    else:
        (folder / "m.xml").write_text(text)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    with memory_limit(100.0), pytest.raises(SceneError, match=r"s.yaml:2:27: .*unpacks to \d000 x"):
        mjrig.World(folder / "s.yaml")


def test_an_image_that_is_large_on_disk_may_have_many_pixels(folder: Path) -> None:
    pixels = Pixels("'m'")
    for _ in range(20):
        pixels.add("a.png", png(8192, 8192)[:24], 33_554_432)
    with pytest.raises(PropertyError, match="unpacks to 8192 x 8192 pixels"):
        for _ in range(2):
            pixels.add("a.png", png(8192, 8192)[:24], 1000)


def test_letters_of_another_encoding_hide_nothing(folder: Path) -> None:
    text = MODELS["replicas"][0].replace("<worldbody>", "<!-- é --><worldbody>")
    (folder / "m.xml").write_bytes(text.encode("latin-1"))
    with pytest.raises(SceneError, match=ELEMENTS):
        mjrig.World(folder / "s.yaml")


def test_what_models_really_have_is_taken(folder: Path) -> None:
    inner = (
        f'<replicate count="3" offset="1 0 0">{BALL}</replicate><geom type="hfield" hfield="h"/>'
    )
    head = (
        '<size nuserdata="100" nuser_geom="20" memory="50M"/><option iterations="5000"/><asset>'
        '<hfield name="h" nrow="50" ncol="50" size="1 1 1 1"/>'
        '<texture type="skybox" builtin="gradient" width="64"/></asset>'
    )
    (folder / "m.xml").write_text(model(inner, head))
    world = mjrig.World(folder / "s.yaml")
    assert (world.model.nbody, world.model.nuserdata) == (4, 100)
    assert MAX_ELEMENTS > 1000 * world.model.nbody


def test_replicas_of_a_large_part_are_taken_and_share_its_textures(folder: Path) -> None:
    texture = (
        '<asset><texture name="t" type="2d" builtin="flat" width="1000" height="1000"/></asset>'
    )
    geoms = '<geom size=".1"/>' * 150
    (folder / "part.xml").write_text(model(f'<body name="b">{geoms}</body>', texture))
    many = '<replicate count="10"><replicate count="10"><attach model="p" body="b" prefix="_"/>'
    head = '<asset><model name="p" file="part.xml"/></asset>'
    (folder / "m.xml").write_text(model(many + "</replicate>" * 2, head))
    loaded = mjrig.World(folder / "s.yaml").model
    assert (loaded.ngeom, loaded.ntex) == (15_000, 1)
    single = f'<replicate count="5000">{BALL}</replicate>'  # as many elements in one replicate
    (folder / "m.xml").write_text(model(single))
    with pytest.raises(SceneError, match="made by <replicate>"):
        mjrig.World(folder / "s.yaml")


# Every whole number of MuJoCo's schema ----------------------------------------------------------

EVERYTHING = """<mujoco>
  <size nuserdata="3"/><option iterations="9"/>
  <custom><numeric name="n" size="3" data="1"/></custom>
  <asset><mesh name="m" builtin="sphere" params="1"/><mesh name="c" builtin="cone" params="5 1"/>
    <mesh name="s" builtin="supersphere" params="5 1 1"/><hfield name="h" nrow="3" ncol="3"
    size="1 1 1 1"/><texture name="t" type="2d" builtin="flat" width="8" height="8"/>
    <texture name="k" builtin="checker" mark="random" width="8"/><material name="x" texture="t"/>
  </asset>
  <visual><quality shadowsize="64"/><global offwidth="64"/></visual>
  <worldbody><geom type="hfield" hfield="h"/><light/><camera name="c" resolution="4 4"/>
    <replicate count="2" offset="0 0 1"><body pos="0 0 2"><joint name="j"/><geom type="mesh"
    mesh="m"/><site name="s"/></body></replicate>
    <body name="o"><joint name="one"/><geom name="g" size=".1"/></body>
    <flexcomp name="f" type="grid" count="2 2 2" spacing=".1 .1 .1" radius=".01" dim="3"/>
  </worldbody>
  <actuator><motor joint="one"/><general joint="one" dyntype="filter" actdim="1"/>
    <position joint="one" nsample="2" delay="0.004"/></actuator>
  <sensor><user dim="2"/><clock nsample="2"/><contact geom1="g" num="1"/>
    <rangefinder camera="c"/></sensor>
  <keyframe><key name="k"/></keyframe></mujoco>"""
NUMBERS = (2**31 - 1, 2**31, 10**9, 10**7, 10**6, 100_000, 30_000, 3000, 0, -1)


def whole_numbers() -> dict[str, dict[str, int]]:
    """By element of the model above, its attributes that are whole numbers and how many."""
    found: dict[str, dict[str, int]] = {}
    tags = {element.tag for element in ElementTree.fromstring(EVERYTHING).iter()}
    for label, about in documented().items():
        match = re.match(r"int(?:\((\d+)\))?", about)
        tag, _, name = label.rpartition("-")
        if match and (last := tag.rpartition("-")[2]) in tags:
            found.setdefault(last, {})[name] = int(match[1] or 1)
    found["mesh"] = {"params": 1, **found.get("mesh", {})}
    return found


def enlarged(rng: random.Random, numbers: dict[str, dict[str, int]]) -> str:
    root = ElementTree.fromstring(EVERYTHING)
    places = [element for element in root.iter() if element.tag in numbers]
    for element in rng.sample(places, rng.choice((1, 1, 2))):
        name, count = rng.choice(list(numbers[element.tag].items()))
        old = element.get(name, "").split()[count:]
        new = [str(rng.choice(NUMBERS)) for _ in range(count)]
        element.set(name, " ".join([*new, *old]))
    return ElementTree.tostring(root, encoding="unicode")


def use(folder: Path) -> None:
    world = mjrig.World(folder / "s.yaml")
    list(findings(world))
    world.step()


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore")
def test_no_whole_number_of_a_model_takes_long_or_much_memory(folder: Path, tally: Tally) -> None:
    numbers = whole_numbers()
    assert {"replicate", "flexcomp", "hfield", "texture", "size", "option"} <= set(numbers)
    for rng in tally.cases("whole numbers in a model", 40, 6000, minutes=10):
        text = enlarged(rng, numbers)
        (folder / "m.xml").write_text(text)
        try:
            with memory_limit(500.0), cpu_limit(1.0), np.errstate(all="ignore"):
                use(folder)
        except SceneError as error:
            if not re.match(r".*s.yaml:2:\d+: ", str(error)):
                tally.found(f"an error without its place: {error}\n{text}")
        except (TooSlow, TooLarge) as error:
            tally.found(f"{type(error).__name__} {error}\n{text}")
        except Exception as error:
            tally.found(f"{type(error).__name__}: {error}\n{text}")
