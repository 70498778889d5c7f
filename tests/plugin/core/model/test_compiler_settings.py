"""Compiler attributes: in the file or in the scene, for MJCF and URDF, as bare MuJoCo has them."""

import random
import re
from pathlib import Path
from typing import Any

import mujoco
import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from mjrig.core.model.build import build
from mjrig.core.scene.mujoco_options import CompilerOptions
from tests.campaign import Tally
from tests.meshes import write_corner
from tests.mjcf_schema import attributes, values
from tests.mjcf_walk import differences, model_with, write_files
from tests.wording import regex

#: Attributes a scene cannot give an actor: how its numbers are meant is the file's own matter,
#: and the rest concerns saving, attaching and speed.
OF_THE_FILE = {"angle", "coordinate", "eulerseq"}
NOT_OF_A_MODEL = {
    "conflict", "passthrough", "savecanonical", "savecompiled", "saveinertial", "usethread",
}  # fmt: skip
GIVABLE = [a for a in attributes("compiler") if a.path == "compiler"]
GIVABLE = [a for a in GIVABLE if a.name not in OF_THE_FILE | NOT_OF_A_MODEL]
LINE = re.compile(r"`compiler: (\{.*?\})`")


def built(model: Path, compiler: dict[str, Any] | None = None) -> Any:
    actor: dict[str, Any] = {"name": "robot", "model": str(model)}
    if compiler:
        actor["compiler"] = compiler
    return build(mjrig.Scene.from_data({"actors": [actor]})).model


def test_every_attribute_of_mujoco_is_a_property_or_left_out_on_purpose() -> None:
    assert {a.name for a in GIVABLE} == set(CompilerOptions._properties)


@pytest.mark.parametrize("attribute", GIVABLE, ids=lambda a: a.name)
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_the_scene_gives_what_the_file_would_say(tmp_path: Path, attribute: Any) -> None:
    write_files(tmp_path)
    value = values(attribute)[-1]
    said, plain = tmp_path / "said.xml", tmp_path / "plain.xml"
    said.write_text(model_with({attribute: value}))
    plain.write_text(model_with({attribute: value}, written=False))
    bare = mujoco.MjModel.from_xml_path(str(said))
    assert differences(bare, built(plain, {attribute.name: yaml.safe_load(as_yaml(value))})) == []


def as_yaml(value: str) -> str:
    return f"[{value.replace(' ', ', ')}]" if " " in value else value


# URDF -------------------------------------------------------------------------------------------


def link(name: str, *, mass: float = 1.0, inertia: str = "1 1 1", mesh: str = "") -> str:
    x, y, z = inertia.split()
    shape = f'<mesh filename="{mesh}"/>' if mesh else '<box size="0.1 0.2 0.3"/>'
    body = (
        f"""<inertial><mass value="{mass}"/>
      <inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>"""
        if mass
        else ""
    )
    return f"""<link name="{name}">{body}
      <visual><geometry><sphere radius="0.3"/></geometry></visual>
      <collision><geometry>{shape}</geometry></collision></link>"""


def joint(name: str, parent: str, child: str, kind: str = "revolute") -> str:
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def urdf(*parts: str, compiler: str = "") -> str:
    extension = f"<mujoco><compiler {compiler}/></mujoco>" if compiler else ""
    return f'<robot name="robot">{extension}{"".join(parts)}</robot>'


ROBOT = (
    link("base"), link("arm", inertia="1 1 1.5"), link("tool", mass=0.2), link("hand"),
    joint("shoulder", "base", "arm"), joint("weld", "arm", "tool", "fixed"),
    joint("wrist", "tool", "hand"),
)  # fmt: skip
URDF_ATTRIBUTES = {
    "settotalmass": "14", "boundmass": "0.5", "boundinertia": "1.2", "inertiafromgeom": "true",
    "fusestatic": "true", "discardvisual": "false", "balanceinertia": "true", "alignfree": "true",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), URDF_ATTRIBUTES.items())
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_a_urdf_compiles_as_in_bare_mujoco(tmp_path: Path, name: str, value: str) -> None:
    said, plain = tmp_path / "said.urdf", tmp_path / "plain.urdf"
    fused = "" if name == "fusestatic" else ' fusestatic="false"'
    said.write_text(urdf(*ROBOT, compiler=f'{name}="{value}"{fused}'))
    plain.write_text(urdf(*ROBOT))
    bare = mujoco.MjModel.from_xml_path(str(said))
    assert differences(bare, built(said)) == []
    assert differences(bare, built(plain, {name: yaml.safe_load(value)})) == []


def test_static_links_of_a_urdf_stay_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(urdf(*ROBOT))
    assert built(tmp_path / "arm.urdf").body("robot/tool").id
    assert built(tmp_path / "arm.urdf", {"fusestatic": True}).nbody == 3


def test_a_static_body_that_the_scene_names_is_not_fused(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(urdf(*ROBOT))
    (tmp_path / "pen.xml").write_text(
        '<mujoco><worldbody><body name="pen"><geom size=".1"/></body></worldbody></mujoco>'
    )
    text = """mjrig: 1
actors:
  - {name: arm, model: arm.urdf, compiler: {fusestatic: true}}
  - {name: pen, model: pen.xml, attach: {to: arm/tool}}
"""
    model = build(mjrig.Scene.parse(text, base=tmp_path)).model
    assert model.body(model.body("pen/pen").parentid[0]).name == "arm/tool"


# The scene --------------------------------------------------------------------------------------


def scene(compiler: str) -> mjrig.Scene:
    return mjrig.Scene.parse(
        f"mjrig: 1\nactors:\n  - name: dog\n    model: dog.urdf\n    compiler: {compiler}\n"
    )


def test_what_was_written_is_saved_as_it_was() -> None:
    text = "{balanceinertia: true, boundmass: 1e-3, inertiafromgeom: auto, meshdir: parts}"
    loaded = scene(text)
    assert loaded.actors[0].compiler is not None
    given = dict(loaded.actors[0].compiler.given())
    assert given == {
        "balanceinertia": "true", "boundmass": 1e-3, "inertiafromgeom": "auto", "meshdir": "parts"
    }  # fmt: skip
    assert text in loaded.to_text()


@pytest.mark.parametrize(
    ("compiler", "says"),
    [
        ("{balanceinerta: true}", "did you mean 'balanceinertia'"),
        ("{boundmass: -1}", "dog.compiler.boundmass: must be >= 0 kg, got -1"),
        ("{settotalmass: 0}", "dog.compiler.settotalmass: must be > 0 kg, got 0"),
        ("{fusestatic: maybe}", "dog.compiler.fusestatic: must be one of … 'maybe'"),
        ("{inertiagrouprange: [3, 1]}", "must be lowest and … 3 … 1"),
        ("{inertiagrouprange: [0.5, 1]}", "must be whole numbers, got 0.5"),
    ],
)
def test_what_cannot_be_is_refused(compiler: str, says: str) -> None:
    with pytest.raises(mjrig.SceneError, match=regex(says)):
        scene(compiler)


def test_a_compiled_model_cannot_be_read_otherwise(tmp_path: Path) -> None:
    (tmp_path / "dog.mjb").write_bytes(b"")
    with pytest.raises(
        mjrig.MjrigError, match=regex("robot.compiler: an .mjb is already compiled")
    ):
        built(tmp_path / "dog.mjb", {"boundmass": 1})


# The line to paste ------------------------------------------------------------------------------


def broken_urdf(rng: random.Random) -> str:
    """A chain of links with faults that vendors' files have."""
    count = rng.randint(2, 6)
    parts = []
    for i in range(count):
        fault = rng.choice(("", "", "odd", "empty", "tiny"))
        inertia = "1 1 9" if fault == "odd" else "0 0 0" if fault == "tiny" else "1 1 1.2"
        mass = {"empty": 0.0, "tiny": 1e-18}.get(fault, rng.uniform(0.1, 2))
        text = link(f"l{i}", mass=mass, inertia=inertia)
        if fault == "empty":  # no shape either: a frame on a joint
            text = f'<link name="l{i}"/>'
        parts.append(text)
        if i:
            kind = "fixed" if rng.random() < 0.2 else "revolute"
            parts.append(joint(f"j{i}", f"l{i - 1}", f"l{i}", kind))
    return urdf(*parts)


@pytest.mark.campaign
def test_the_line_of_the_message_makes_a_urdf_load(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("refused URDFs", 10, 3000, minutes=4):
        path = tmp_path / "robot.urdf"
        path.write_text(broken_urdf(rng))
        try:
            built(path)
        except mjrig.MjrigError as error:
            line = LINE.search(str(error))
            if line is None:
                tally.found(f"no line to paste: {error}")
                continue
            try:
                built(path, yaml.safe_load(line[1]))
            except mjrig.MjrigError as again:
                tally.found(f"{line[1]} does not help: {again}")


@pytest.mark.parametrize("folder", [".", "meshes", "../meshes"])
def test_meshes_in_folders_that_do_not_exist_are_found_by_the_line(
    tmp_path: Path, folder: str
) -> None:
    write_corner(tmp_path / "urdf" / folder / "part.stl")
    (tmp_path / "urdf").mkdir(exist_ok=True)
    model = tmp_path / "urdf" / "robot.urdf"
    model.write_text(urdf(link("base", mesh="/home/vendor/ws/parts/part.stl")))
    with pytest.raises(mjrig.PropertyError, match="which was not found") as info:
        built(model)
    line = LINE.search(str(info.value))
    assert line is not None
    assert built(model, yaml.safe_load(line[1])).nmesh == 1


def test_check_prints_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "robot.urdf").write_text(
        urdf(link("base"), link("arm", inertia="1 1 9"), joint("j", "base", "arm"))
    )
    (tmp_path / "scene.yaml").write_text(
        "mjrig: 1\nactors:\n  - {name: robot, model: robot.urdf}\n"
    )
    assert main(["check", str(tmp_path / "scene.yaml")]) != 0
    assert "`compiler: {balanceinertia: true}`" in capsys.readouterr().err
    setting = ["--set", "robot.compiler.balanceinertia=true"]
    assert main(["check", str(tmp_path / "scene.yaml"), *setting]) == 0


def test_a_wrong_line_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(urdf(link("base"), link("arm", inertia="1 1 -9"), joint("j", "base", "arm")))
    with pytest.raises(mjrig.PropertyError, match="positive eigenvalues") as info:
        built(path)
    assert "`compiler" not in str(info.value)


# Sandbox ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["meshdir", "texturedir", "assetdir"])
def test_a_folder_of_the_scene_does_not_lead_out_of_the_sandbox(tmp_path: Path, name: str) -> None:
    write_corner(tmp_path / "out" / "part.stl")
    write_corner(tmp_path / "in" / "part.stl")
    (tmp_path / "in" / "robot.urdf").write_text(urdf(link("base", mesh="part.stl")))
    text = "mjrig: 1\nactors: [{{name: a, model: robot.urdf, compiler: {{{}: {}}}}}]\n"
    for folder in ("../out", str(tmp_path / "out"), "../nowhere"):
        scene = mjrig.Scene.parse(
            text.format(name, folder), base=tmp_path / "in", sandbox=tmp_path / "in"
        )
        with pytest.raises(mjrig.SceneError, match=rf"{name}: '.*' is outside of the sandbox"):
            build(scene)


def test_a_link_in_a_folder_of_the_scene_does_not_lead_out_either(tmp_path: Path) -> None:
    write_corner(tmp_path / "out" / "part.stl")
    (tmp_path / "in" / "parts").mkdir(parents=True)
    (tmp_path / "in" / "parts" / "part.stl").symlink_to(tmp_path / "out" / "part.stl")
    (tmp_path / "in" / "part.stl").write_bytes(b"")
    (tmp_path / "in" / "robot.xml").write_text(
        """<mujoco><asset><mesh name="p" file="part.stl"/></asset><worldbody>
        <geom type="mesh" mesh="p"/></worldbody></mujoco>"""
    )
    text = "mjrig: 1\nactors: [{name: a, model: robot.xml, compiler: {meshdir: parts}}]\n"
    scene = mjrig.Scene.parse(text, base=tmp_path / "in", sandbox=tmp_path / "in")
    with pytest.raises(mjrig.SceneError, match="outside of the sandbox"):
        build(scene)
