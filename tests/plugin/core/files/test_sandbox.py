"""The sandbox: no file of a scene lies outside of its folder, by whatever way it is named."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import PropertyError, RecordingError, SceneError
from mjrig.core.files.paths import model_files
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.sim.mujoco_export import export
from mjrig.data.recording.metadata import scene_of
from tests import networks
from tests.conftest import HINGE
from tests.wording import mentions, regex
from tests.worlds import refused

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `in` for the scene, and one `out` beside it, with the same files in both."""
    for name in ("in", "in/sub", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hinge.xml").write_text(HINGE)
        (tmp_path / name / "m.obj").write_text(OBJ)
        (tmp_path / name / "part.yaml").write_text("mjrig: 1\n")
        (tmp_path / name / "bodies.xml").write_text("<mujocoinclude><size/></mujocoinclude>")
    return tmp_path / "in"


def with_model(folder: Path, xml: str, name: str = "m.xml") -> Path:
    (folder / name).write_text(xml)
    return write(folder, f"actors: [{{name: a, model: {name}}}]")


def write(folder: Path, text: str) -> Path:
    (folder / "s.yaml").write_text(f"mjrig: 1\n{text}\n")
    return folder / "s.yaml"


def refusal(path: Path) -> str:
    """What is said of a scene in the sandbox; it is fine outside of it."""
    mjrig.World(path)
    with pytest.raises(SceneError) as caught:
        mjrig.World(mjrig.Scene.load(path, sandbox=True))
    root = os.path.realpath(path.parent)
    assert str(caught.value).startswith(f"{path}:")
    return str(caught.value).replace(str(root), "ROOT")


def mesh(file: str, compiler: str = "") -> str:
    return f"""
    <mujoco>
      <compiler {compiler}/>
      <asset><mesh name="m" file="{file}"/></asset>
      <worldbody><geom type="mesh" mesh="m"/></worldbody>
    </mujoco>"""


# What the scene names ---------------------------------------------------------------------------


def test_files_below_the_scene_are_fine(folder: Path) -> None:
    with_model(folder, mesh("m.obj"), "sub/m.xml")
    path = write(folder, "include: [sub/part.yaml]\nactors: [{name: a, model: sub/m.xml}]")
    assert list(mjrig.World(mjrig.Scene.load(path, sandbox=True)).articulations) == ["a"]


@pytest.mark.parametrize("name", ["../out/hinge.xml", "sub/../../out/hinge.xml", "{out}/hinge.xml"])
def test_a_model_outside_is_refused(folder: Path, name: str) -> None:
    name = name.format(out=folder.parent / "out")
    path = write(folder, f"actors: [{{name: a, model: {name}}}]")
    assert refusal(path) == (
        f"{folder}/s.yaml:2:27: actors[0].model: a.model: '{name}' is outside of the sandbox 'ROOT'"
    ).replace(str(folder.resolve()), "ROOT")


def test_a_link_that_leads_outside_is_refused(folder: Path) -> None:
    (folder / "link.xml").symlink_to(folder.parent / "out" / "hinge.xml")
    (folder / "links").symlink_to(folder.parent / "out")
    for name in ("link.xml", "links/hinge.xml"):
        assert "is outside" in refusal(write(folder, f"actors: [{{name: a, model: {name}}}]"))


def test_whether_a_file_outside_exists_is_not_told(folder: Path) -> None:
    said = []
    for name in ("hinge.xml", "nothing.xml"):
        path = write(folder, f"actors: [{{name: a, model: ../out/{name}}}]")
        with pytest.raises(SceneError) as caught:
            mjrig.World(mjrig.Scene.load(path, sandbox=True))
        said.append(str(caught.value).replace(name, ""))
    assert said[0] == said[1]


def test_an_included_file_outside_is_refused(folder: Path) -> None:
    assert refusal(write(folder, "include: [../out/part.yaml]")).endswith(
        "scene.include[0].file: '../out/part.yaml' is outside of the sandbox 'ROOT'"
    )


def test_an_included_file_is_in_the_same_sandbox(folder: Path) -> None:
    (folder / "sub/part.yaml").write_text(
        "mjrig: 1\nactors:\n  - {name: a, model: ../hinge.xml}\n"
        "  - {name: b, model: ../../out/hinge.xml}\n"
    )
    for prefix in ("", "p_"):
        path = write(folder, f"include: [{{file: sub/part.yaml, prefix: '{prefix}'}}]")
        scene = mjrig.Scene.load(path, sandbox=True)
        with pytest.raises(SceneError) as caught:
            mjrig.World(scene)
        assert f"{prefix}b.model: '../../out/hinge.xml' is outside" in str(caught.value)
        assert "sub/part.yaml:4:" in str(caught.value)


def test_the_file_of_a_component_is_refused_too(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    networks.mlp(folder.parent / "out" / "net.onnx", 2, {"model_type": "mlp"})
    path = write(
        folder,
        "actors: [{name: a, model: hinge.xml, components: "
        "[{type: NeuralController, path: ../out/net.onnx}]}]",
    )
    assert mentions(refusal(path), "'../out/net.onnx' is outside of the … 'ROOT'")


def test_a_running_world_stays_in_its_sandbox(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    from mjrig.components import NeuralController

    networks.mlp(folder.parent / "out" / "net.onnx", 2, {"model_type": "mlp"})
    path = write(folder, "actors: [{name: a, model: hinge.xml}]")
    component = NeuralController.from_data({"path": "../out/net.onnx"})
    world = mjrig.World(mjrig.Scene.load(path, sandbox=True))
    with pytest.raises(PropertyError, match=regex("is outside of the …")):
        world["a"].add_component(component)
    mjrig.World(path)["a"].add_component(component.copy())


def test_an_exported_world_stays_in_its_sandbox(folder: Path) -> None:
    path = with_model(folder, mesh("m.obj"))
    world = mjrig.World(mjrig.Scene.load(path, sandbox=True))
    export(world, folder / "fine.mjb")
    (folder / "m.obj").unlink()
    (folder / "m.obj").symlink_to(folder.parent / "out" / "m.obj")
    with pytest.raises(PropertyError, match=regex("is outside of the …")):
        export(world, folder / "not.mjb")
    assert not (folder / "not.mjb").exists()


# What a model names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "xml",
    [
        mesh("../out/m.obj"),
        mesh("m.obj", 'meshdir="../out"'),
        mesh("m.obj", 'assetdir="../out"'),
        mesh("{out}/m.obj"),
        mesh("m.obj", 'meshdir="{out}"'),
        '<mujoco><include file="../out/bodies.xml"/></mujoco>',
        '<mujoco><include file="{out}/bodies.xml"/></mujoco>',
        '<mujoco><asset><model name="m" file="../out/hinge.xml"/></asset></mujoco>',
    ],
)
def test_a_model_that_names_a_file_outside_is_refused(folder: Path, xml: str) -> None:
    (folder / "m.obj").unlink()
    path = with_model(folder, xml.format(out=folder.parent / "out"))
    said = refusal(path)
    assert said.startswith("ROOT/s.yaml:2:27: actors[0].model: a.model: 'm.xml' refers to ")
    assert said.endswith("which is outside of the sandbox 'ROOT'")


@pytest.mark.parametrize("compiler", ["", 'meshdir="../out"'])
def test_whether_a_mesh_outside_exists_is_not_told(folder: Path, compiler: str) -> None:
    path = with_model(folder, mesh("../out/gone.obj", compiler))
    with pytest.raises(SceneError, match=regex("'../out/gone.obj', which is outside of …")):
        mjrig.World(mjrig.Scene.load(path, sandbox=True))


def test_paths_that_are_stripped_lead_nowhere(folder: Path) -> None:
    path = with_model(folder, mesh("../cad/m.obj", 'strippath="true"'))
    mjrig.World(mjrig.Scene.load(path, sandbox=True))


def test_a_mesh_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / "m.obj").unlink()
    (folder / "m.obj").symlink_to(folder.parent / "out" / "m.obj")
    assert "'m.xml' refers to 'm.obj'" in refusal(with_model(folder, mesh("m.obj")))


def test_an_included_model_is_looked_into(folder: Path) -> None:
    (folder / "sub/bodies.xml").write_text(
        '<mujocoinclude><asset><mesh name="m" file="../out/m.obj"/></asset></mujocoinclude>'
    )
    path = with_model(folder, '<mujoco><include file="sub/bodies.xml"/></mujoco>')
    assert "'bodies.xml' refers to '../out/m.obj'" in refusal(path)


def test_a_urdf_is_looked_into(folder: Path) -> None:
    urdf = """<robot name="r"><link name="l"><collision><geometry>
    <mesh filename="../out/m.obj"/></geometry></collision></link></robot>"""
    said = refusal(with_model(folder, urdf, "m.urdf"))
    assert said.endswith("a.model: '../out/m.obj' is outside of the sandbox 'ROOT'")


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE mujoco [<!ENTITY f "../out/m.obj">]><mujoco/>',
        "<mujoco",
        "",
        '<?xml version="1.0" encoding="utf-16"?>\udcff',
    ],
)
def test_a_model_that_readers_may_read_differently_is_refused(folder: Path, xml: str) -> None:
    (folder / "m.xml").write_bytes(xml.encode("utf-8", "surrogateescape"))
    with pytest.raises(PropertyError, match=r"'m\.xml' "):
        Sandbox.at(folder).admit_model(folder / "m.xml")


def test_models_that_include_each_other_end(folder: Path) -> None:
    (folder / "a.xml").write_text('<mujoco><include file="b.xml"/></mujoco>')
    (folder / "b.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    assert {r.inside.name for r in model_files(folder / "a.xml")} == {"a.xml", "b.xml"}


def test_a_binary_model_refers_to_nothing(folder: Path) -> None:
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(HINGE), str(folder / "m.mjb"), None)
    Sandbox.at(folder).admit_model(folder / "m.mjb")


# Packages ---------------------------------------------------------------------------------------


def test_packages_of_mjrig_are_fine(folder: Path) -> None:
    path = write(folder, "actors: [{name: a, model: 'package:mjrig.assets/arm/arm.xml'}]")
    assert "a" in mjrig.World(mjrig.Scene.load(path, sandbox=True)).articulations


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mjrig.assets/../../../etc/x.xml",
         "'../../../etc/x.xml' leads outside of the package 'mjrig.assets'"),
        ("beside/x.xml",
         "the sandbox allows files of mjrig's own packages only, not of 'beside'"),
        ("numpy/x.xml", "the sandbox allows files of mjrig's own packages only, not of 'numpy'"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_a_package_of_mjrig_is_refused(
    folder: Path, name: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "beside.py").write_text("raise SystemExit('was imported')")
    path = write(folder, f"actors: [{{name: a, model: 'package:{name}'}}]")
    message = f"{path}:2:27: actors[0].model: a.model: {expected}"
    with refused(SceneError, message):
        mjrig.World(mjrig.Scene.load(path, sandbox=True))


# A recording's own scene ------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["../out", "{out}", "links", ".."])
def test_a_recording_does_not_choose_the_sandbox(folder: Path, named: str) -> None:
    (folder / "links").symlink_to(folder.parent / "out")
    text = "mjrig: 1\nactors: [{name: a, model: hinge.xml}]\n"
    (folder.parent / "out" / "s.yaml").write_text(text)
    named = named.format(out=folder.parent / "out")
    said = {"scene": text, "scene_file": "s.yaml", "scene_folder": named}
    recording: Any = SimpleNamespace(path=folder / "r.h5", attributes=said)
    assert scene_of(recording) is not None
    with pytest.raises(RecordingError, match=regex("which is outside of … --scene SCENE")):
        scene_of(recording, sandbox=True)


# Who asks ---------------------------------------------------------------------------------------


def test_another_folder_may_be_given(folder: Path) -> None:
    path = write(folder, "actors: [{name: a, model: ../out/hinge.xml}]")
    mjrig.World(mjrig.Scene.load(path, sandbox=folder.parent))
    with pytest.raises(SceneError, match=regex("s.yaml' is outside of the …")):
        mjrig.Scene.load(path, sandbox=folder / "sub")
    with pytest.raises(SceneError, match=regex("is outside of the …")):
        mjrig.World(mjrig.Scene.parse(path.read_text(), folder, sandbox=True))


@pytest.mark.parametrize(
    "command", [["check"], ["run", "--duration", "0"], ["export", "-o", "{out}/m.mjb"]]
)
def test_the_command_line_asks_for_it(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder, "actors: [{name: a, model: ../out/hinge.xml}]")
    arguments = [part.format(out=folder.parent / "out") for part in command]
    assert main([*arguments, str(path)]) == 0
    capsys.readouterr()
    assert main([*arguments, str(path), "--sandbox"]) == 1
    assert mentions(capsys.readouterr().err, "'../out/hinge.xml' is outside of the …")
