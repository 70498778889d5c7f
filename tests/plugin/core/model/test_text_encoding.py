"""Names that are not UTF-8, anywhere in a model: an error with file and place."""

import re
import zipfile
from pathlib import Path

import mujoco
import pytest

import mjrig
from mjrig.core.errors import SceneError
from mjrig.lab.check.preflight import findings
from tests.wording import regex

MODEL = b"""<mujoco model="M"><compiler meshdir="."/>
<asset><texture name="T" type="2d" builtin="flat" rgb1="1 1 1" width="8" height="8"/>
<material name="S" texture="T"/><mesh name="V" builtin="sphere" params="1"/></asset>
<default><default class="D"><joint damping="1"/></default></default>
<worldbody><light name="L"/><camera name="C"/><body name="B"><joint name="J" class="D"/>
<geom name="G" size=".1" material="S"/><site name="P"/></body></worldbody>
<actuator><motor name="A" joint="J"/></actuator><sensor><jointpos name="E" joint="J"/></sensor>
<tendon><fixed name="F"><joint joint="J" coef="1"/></fixed></tendon>
<equality><joint name="Q" joint1="J"/></equality><contact>
<exclude name="X" body1="B" body2="world"/></contact>
<custom><text name="W" data="w"/><numeric name="N" data="1"/></custom>
<keyframe><key name="K" qpos="0"/></keyframe></mujoco>"""
NAMES = sorted(set(re.findall(rb'(?<=")[A-Z](?=")', MODEL)))
NOT_TEXT = (b"b\xe4tt", b"\xff\xfe", b"\xed\xa0\x80", b"&#xD800;", b"&#57343;")


def load(path: Path) -> mjrig.World:
    text = f"mjrig: 1\nactors: [{{name: a, model: {path.name}}}]\n"
    world = mjrig.World(mjrig.Scene.parse(text, path.parent))
    findings(world)
    return world


def test_the_model_has_a_name_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_bytes(MODEL)
    load(tmp_path / "m.xml").step(1)
    assert len(NAMES) == 19


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", NOT_TEXT)
def test_names_that_are_not_utf8_are_rejected_with_their_line(
    tmp_path: Path, name: bytes, text: bytes
) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(MODEL.replace(b'"%b"' % name, b'"%b"' % text))
    line = path.read_bytes().split(text)[0].count(b"\n") + 1
    with pytest.raises(SceneError, match=rf"'m.xml'.* line {line},.*UTF-8"):
        load(path)


@pytest.mark.parametrize("kind", ["include", "mesh file", "archive", "urdf", "suffix"])
def test_every_file_of_a_model_is_checked(tmp_path: Path, kind: str) -> None:
    path, bad = tmp_path / "m.xml", b"b\xe4tt"
    file = {"include": "inner.xml", "urdf": "m.urdf", "suffix": "m.mjcf"}.get(kind, "m.xml")
    content = MODEL.replace(b'"B"', b'"%b"' % bad)
    if kind == "include":
        (tmp_path / "inner.xml").write_bytes(
            b'<mujoco><worldbody><body name="b\xe4"/></worldbody></mujoco>'
        )
        path.write_text('<mujoco><include file="inner.xml"/></mujoco>')
    elif kind == "mesh file":
        path.write_bytes(MODEL.replace(b'builtin="sphere" params="1"', b'file="%b.stl"' % bad))
    elif kind == "archive":
        path = tmp_path / "m.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("m.xml", content)
    elif kind == "urdf":
        path = tmp_path / "m.urdf"
        path.write_bytes(b'<robot name="r"><link name="%b"/></robot>' % bad)
    else:
        path = tmp_path / "m.mjcf"
        path.write_bytes(content)
    with pytest.raises(SceneError, match=rf"'{file}' is not UTF-8 in line \d+, at byte \d+"):
        load(path)


def test_bytes_in_comments_do_not_matter(tmp_path: Path) -> None:
    comment = b"<!-- Stra\xdfe &#xD800; -->"
    for content in (comment + MODEL, MODEL.replace(b"<worldbody>", comment + b"<worldbody>")):
        (tmp_path / "m.xml").write_bytes(content)
        load(tmp_path / "m.xml").step(1)


def test_characters_by_number_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_bytes(MODEL.replace(b'"B"', b'"b&#228;tt&#xD7FF;&#57344;"'))
    assert "a/b\u00e4tt\ud7ff\ue000" in {
        b.name for b in map(load(tmp_path / "m.xml").model.body, range(2))
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != b"D"])
def test_compiled_models_are_rejected_too(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "source.xml").write_bytes(MODEL.replace(b'"%b"' % name, b'"%b_x"' % name))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "source.xml"))
    path = tmp_path / "m.mjb"
    mujoco.mj_saveModel(model, str(path))
    content = path.read_bytes()
    assert content.count(b"%b_x\0" % name) == 1
    path.write_bytes(content.replace(b"%b_x\0" % name, b"%b\xe4x\0" % name))
    with pytest.raises(SceneError, match=regex("'m.mjb' has the name '…\\xe4x', which … UTF-8")):
        load(path)
