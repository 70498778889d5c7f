"""No way of writing a file's name leads MuJoCo, Python or a network out of the sandbox."""

import contextlib
import itertools
import os
import random
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.errors import MjrigError
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.properties import registry
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import FilePath
from mjrig.core.scene.editing.file_watch import files_of
from tests.campaign import Tally
from tests.conftest import HINGE
from tests.opened_files import OpenedFiles

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
SCHEMA = Path(mujoco.__file__).parent / "doc" / "XMLschema.rst"
#: Where an element with a file name stands, and the canary that fits; {0} is the attribute.
PLACES = {
    "asset-mesh": ('<asset><mesh name="m" {0}/></asset>', "c.obj"),
    "asset-hfield": ('<asset><hfield name="h" size="1 1 1 1" {0}/></asset>', "c.png"),
    "asset-skin": ('<asset><skin name="s" {0}/></asset>', "c.skn"),
    "deformable-skin": ('<deformable><skin name="s" {0}/></deformable>', "c.skn"),
    "asset-texture": ('<asset><texture name="t" type="{1}" {0}/></asset>', "c.png"),
    "asset-model": (
        '<asset><model name="x" {0}/></asset><worldbody><attach model="x" prefix="p"/></worldbody>',
        "c.xml",
    ),
    "body-flexcomp": (
        '<worldbody><body name="b"><flexcomp name="f" type="mesh" {0}/></body></worldbody>',
        "c.obj",
    ),
    "include": ("<include {0}/>", "c.xml"),
}


def attributes() -> list[tuple[str, str]]:
    """Every attribute of MJCF that names a file, with its element, as the wheel documents them."""
    if not SCHEMA.is_file():
        pytest.skip("this MuJoCo comes without its reference")
    found = re.findall(r":ref:`(\w*file\w*)<([\w-]+)-\w+>`", SCHEMA.read_text("utf-8"))
    return [*((element, name) for name, element in found), ("include", "file")]


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    rows = b"".join(b"\0" + bytes(range(r, r + 4)) for r in range(4))
    head = (4).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `in`, and one `out` beside it whose files must not be opened."""
    out = tmp_path / "out"
    for name in ("in", "in/sub", "out"):
        (tmp_path / name).mkdir()
    (out / "c.obj").write_text(OBJ)
    (out / "c.stl").write_bytes(b"\0" * 84)
    (out / "c.png").write_bytes(png())
    (out / "c.xml").write_text(HINGE)
    (out / "c.skn").write_bytes(b"\0" * 64)
    (out / "c.yaml").write_text("mjrig: 1\n")
    (out / "c.onnx").write_bytes(b"\0")
    (out / "c.npz").write_bytes(b"\0")
    (out / "c.pt").write_bytes(b"\0")
    (out / "c.mjb").write_bytes(b"\0" * 100)
    return tmp_path / "in"


def ways(folder: Path, name: str) -> Iterator[str]:
    """Ways to write the name of a file in the folder outside."""
    out = folder.parent / "out"
    yield f"../out/{name}"
    yield f"sub/../../out/{name}"
    yield f".//..///out/./{name}"
    yield f"..\\out\\{name}"
    yield str(out / name)
    yield f"/{out / name}"
    yield f"{folder}/../out/{name}"
    yield f"%2e%2e/out/{name}"
    yield f"..%2Fout%2f{name}"
    yield f"link{Path(name).suffix}"
    yield f"links/{name}"
    yield f"sub/../links/{name}"
    yield f"a b/{name}"
    yield f"a\nb/{name}"
    for scheme in ("file", "FILE", "File"):
        yield f"{scheme}://{out / name}"
        yield f"{scheme}:{out / name}"
        yield f"{scheme}://localhost{out / name}"
    for scheme in ("package", "model", "PACKAGE", "Model"):
        yield f"{scheme}://out/{name}"
        yield f"{scheme}://in/../out/{name}"
        yield f"{scheme}://nope/../out/{name}"
        yield f"{scheme}://nope/%2e%2e/out/{name}"
        yield f"{scheme}://in/%2E%2e%2Fout/{name}"
        yield f"{scheme}:///{out}/{name}"
        yield f"{scheme}://../out/{name}"
        yield f"{scheme}://links/{name}"


def prepare(folder: Path, name: str) -> None:
    """Links inside that lead out, and folders with strange names."""
    out = folder.parent / "out"
    link = folder / f"link{Path(name).suffix}"
    places = [(folder / link_name, out) for link_name in ("links", "a\nb", "file:", "package:")]
    for place, target in [(link, out / name), *places]:
        if not os.path.lexists(place):
            place.symlink_to(target)
    (folder / "a b").mkdir(exist_ok=True)
    shutil.copy(out / name, folder / "a b" / name)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def mjcf(rng: random.Random, place: str, attribute: str, file: str) -> str:
    """A model with one file name in it, written in one of several ways."""
    sides = "file" in attribute and attribute != "file"
    body = place.format(f'{attribute}="{escape(file)}"', "cube" if sides else "2d")
    if rng.random() < 0.2:
        body = body.replace("<include", '<include xmlns="x"')
    if rng.random() < 0.2:
        body = body.replace("<include", "<INCLUDE")
    geom = '<worldbody><geom type="mesh" mesh="m"/></worldbody>' if "<mesh" in body else ""
    return f"<mujoco>{body}{geom}</mujoco>"


def nested(folder: Path, rng: random.Random, xml: str) -> str:
    """The model itself, or one that includes or attaches it from a folder inside."""
    how = rng.choice(("as it is", "included", "attached", "twice"))
    if how == "as it is":
        return xml
    (folder / "sub" / "inner.xml").write_text(xml)
    if how == "attached":
        return (
            '<mujoco><asset><model name="i" file="sub/inner.xml"/></asset>'
            '<worldbody><attach model="i" prefix="q"/></worldbody></mujoco>'
        )
    if how == "twice":
        (folder / "sub" / "middle.xml").write_text(
            '<mujoco><include file="inner.xml"/><include file="sub/inner.xml"/></mujoco>'
        )
        return '<mujoco><include file="sub/middle.xml"/></mujoco>'
    return '<mujoco><include file="sub/inner.xml"/></mujoco>'


def attempt(path: Path) -> None:
    """Do with a scene in the sandbox what can be done, as far as it goes."""
    read = None
    with contextlib.suppress(MjrigError):
        read = mjrig.Scene.load(path, sandbox=True)
        mjrig.World(read).step()
    for scene in {read, None}:
        files_of(path, scene, Sandbox.at(path.parent))


def scene(folder: Path, text: str) -> Path:
    path = folder / "s.yaml"
    path.write_text(f"mjrig: 1\n{text}\n")
    return path


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("element", "attribute"), attributes())
def test_without_a_sandbox_the_canary_is_opened(folder: Path, element: str, attribute: str) -> None:
    """The generator reaches MuJoCo, and the detector sees it, for every attribute there is."""
    place, name = PLACES[element]
    (folder / "m.xml").write_text(mjcf(random.Random(1), place, attribute, f"../out/{name}"))
    with OpenedFiles(folder.parent / "out") as opened:
        with contextlib.suppress(MjrigError):
            mjrig.World(scene(folder, "actors: [{name: a, model: m.xml}]"))
        assert name in opened.names()


@pytest.mark.campaign
def test_no_model_leads_out(folder: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    known = attributes()
    monkeypatch.chdir(folder)
    for rng in tally.cases("sandbox: files that models name", 60, 8000):
        element, attribute = rng.choice(known)
        place, name = PLACES[element]
        prepare(folder, name)
        file = rng.choice(list(ways(folder, name)))
        xml = mjcf(rng, place, attribute, file)
        if rng.random() < 0.3:
            directory = rng.choice(("../out", str(folder.parent / "out"), "links", "sub/../../out"))
            kind = rng.choice(("meshdir", "texturedir", "assetdir"))
            extra = rng.choice(("", ' strippath="true"'))
            xml = xml.replace("<mujoco>", f'<mujoco><compiler {kind}="{directory}"{extra}/>')
            xml = xml.replace(escape(file), rng.choice((escape(file), name)))
        (folder / "m.xml").write_text(nested(folder, rng, xml))
        with OpenedFiles(folder.parent / "out") as opened:
            attempt(scene(folder, "actors: [{name: a, model: m.xml}]"))
            if found := opened.names():
                tally.found(f"{found} opened by {xml!r}")


@pytest.mark.campaign
def test_no_urdf_leads_out(folder: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for rng in tally.cases("sandbox: meshes that URDFs name", 30, 3000):
        name = rng.choice(("c.obj", "c.stl", "c.xml"))
        prepare(folder, name)
        file = rng.choice(list(ways(folder, name)))
        compiler = rng.choice(
            ("", '<mujoco><compiler discardvisual="false"/></mujoco>',
             '<mujoco><compiler meshdir="../out" strippath="true"/></mujoco>',
             '<mujoco><compiler meshdir="../out" strippath="false"/></mujoco>',
             f'<mujoco><include file="{escape(file)}"/></mujoco>'))  # fmt: skip
        shape = f'<geometry><mesh filename="{escape(file)}"/></geometry>'
        paint = f'<material name="p"><texture filename="{escape(file)}"/></material>'
        (folder / "sub").mkdir(exist_ok=True)
        model = rng.choice(("m.urdf", "sub/m.urdf", "m.xml", "m.URDF"))
        (folder / model).write_text(
            f'<robot name="r">{compiler}<link name="l"><visual>{shape}{paint}</visual>'
            f"<collision>{shape}</collision></link></robot>"
        )
        with OpenedFiles(folder.parent / "out") as opened:
            attempt(scene(folder, f"actors: [{{name: a, model: {model}}}]"))
            if found := opened.names():
                tally.found(f"{found} opened by {file!r} in {model} with {compiler!r}")


#: A scene with a file in it, for each property that names one; {0} is the file.
KEYS = {
    "GRU.path": "actors: [{{name: a, model: m.xml, components: [{{type: LawController, law: "
    "{{type: GRU, path: {0}}}}}]}}]",
    "LSTM.path": "actors: [{{name: a, model: m.xml, components: [{{type: LawController, law: "
    "{{type: LSTM, path: {0}}}}}]}}]",
    "MLP.path": "actors: [{{name: a, model: m.xml, components: [{{type: LawController, law: "
    "{{type: MLP, path: {0}}}}}]}}]",
    "HeightFieldProp.file": "actors: [{{name: a, prop: {{type: HeightFieldProp, file: {0}, "
    "size: [1, 1]}}}}]",
    "MeshProp.file": "actors: [{{name: a, prop: {{type: MeshProp, file: {0}}}}}]",
    "NeuralController.path": "actors: [{{name: a, model: m.xml, components: "
    "[{{type: NeuralController, path: {0}}}]}}]",
    "Policy.file": "actors: [{{name: a, model: m.xml, components: [{{type: Policy, file: {0}}}]}}]",
    "PolicyFile.network": "actors: [{{name: a, model: m.xml, components: "
    "[{{type: Policy, file: p.yaml}}]}}]",
    "actor.model": "actors: [{{name: a, model: {0}}}]",
    "include": "include: [{0}]",
    "include.file": "include: [{{file: {0}, prefix: p_}}]",
}
SUFFIXES = (".obj", ".stl", ".png", ".xml", ".yaml", ".onnx", ".pt", ".mjb", ".npz")
POLICY = "network: {0}\njoints: [swing]\nobservation: {{terms: [{{type: JointPositions}}]}}\n"


def test_every_property_that_names_a_file_is_attacked() -> None:
    named = {
        f"{name}.{prop.name}"
        for name in registry.names()
        for prop in registry.get(name, HasProperties).properties()
        if isinstance(prop, FilePath)
        and registry.get(name, HasProperties).__module__.startswith("mjrig.")
    }
    assert named <= set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_without_a_sandbox_the_file_of_a_scene_is_opened(folder: Path, key: str) -> None:
    suffixes = {"HeightFieldProp": "png", "MeshProp": "obj", "actor": "xml"}
    kind = key.partition(".")[0]
    yaml = kind in ("Policy", "include")
    name = f"c.{suffixes.get(kind, 'yaml' if yaml else 'onnx')}"
    if name == "c.onnx":
        pytest.importorskip("onnxruntime")
    (folder / "m.xml").write_text(HINGE)
    (folder / "p.yaml").write_text(POLICY.format(f"../out/{name}"))
    with OpenedFiles(folder.parent / "out") as opened:
        with contextlib.suppress(MjrigError):
            mjrig.World(scene(folder, KEYS[key].format(f"../out/{name}")))
        assert name in opened.names()


@pytest.mark.parametrize("key", KEYS)
def test_in_a_sandbox_the_file_of_a_scene_is_not_opened(
    folder: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "m.xml").write_text(HINGE)
    with OpenedFiles(folder.parent / "out") as opened:
        for suffix in SUFFIXES:
            (folder / "p.yaml").write_text(POLICY.format(f"../out/c{suffix}"))
            attempt(scene(folder, KEYS[key].format(f"../out/c{suffix}")))
        assert not opened.names()


@pytest.mark.campaign
def test_no_scene_leads_out(folder: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "m.xml").write_text(HINGE)
    combinations = list(itertools.product(KEYS, SUFFIXES))
    for rng in tally.cases("sandbox: files that scenes name", 40, 6000):
        key, suffix = rng.choice(combinations)
        prepare(folder, f"c{suffix}")
        own = [f"package:{p}" for p in ("out/c", "mjrig/../../out/c", "mjrig.assets//out/c")]
        own += [f"menagerie:out/c{suffix}", "menagerie:out", f"menagerie:../out/c{suffix}"]
        names = [*ways(folder, f"c{suffix}"), *(f"{p}{suffix}" for p in own), f"../out/c{suffix}\0"]
        file = quoted(rng.choice(names))
        (folder / "p.yaml").write_text(POLICY.format(file.replace("\0", "\\0")))
        text = KEYS[key].format(file.replace("\0", "\\0"))
        monkeypatch.setenv("MJRIG_MENAGERIE", str(folder.parent))
        with OpenedFiles(folder.parent / "out") as opened:
            attempt(scene(folder, text))
            if found := opened.names():
                tally.found(f"{found} opened by {text!r}")


def test_the_data_of_a_network_is_not_outside(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from tests import networks

    networks.mlp(folder / "net.onnx", 2, {"model_type": "mlp"})
    np.zeros(100, np.float32).tofile(folder.parent / "out" / "weights.bin")
    (folder / "weights.bin").symlink_to(folder.parent / "out" / "weights.bin")
    (folder / "m.xml").write_text(HINGE)
    path = scene(folder, KEYS["NeuralController.path"].format("net.onnx"))
    for place in ("../out/weights.bin", str(folder.parent / "out" / "weights.bin"), "weights.bin"):
        model = onnx.load(str(folder / "net.onnx"), load_external_data=False)
        for tensor in model.graph.initializer:
            tensor.ClearField("raw_data")
            del tensor.external_data[:]
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=place)
        (folder / "net.onnx").write_bytes(model.SerializeToString())
        with OpenedFiles(folder.parent / "out") as opened:
            attempt(path)
            assert not opened.names(), place
