"""URDF models: where their meshes are found, and what is said when they are not."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.model.model_source import mesh_places
from mjrig.core.sim.mujoco_export import export
from tests.meshes import write_corner
from tests.wording import matches
from tests.worlds import refused

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
SCENE = """\
mjrig: 1
actors:
  - name: robot
    model: {model}
"""


def urdf(first: str, second: str, *, extension: str = "", inertia: str = INERTIA) -> str:
    """Two links with a mesh each, and a hinge between them."""

    def link(name: str, mesh: str) -> str:
        return f"""
  <link name="{name}">
    <inertial><mass value="1"/>{inertia}</inertial>
    <visual><geometry><mesh filename="seen_only.dae"/></geometry></visual>
    <collision><geometry><mesh filename="{mesh}"/></geometry></collision>
  </link>"""

    return f"""<robot name="robot">{extension}
  {link("trunk", first)}{link("leg", second)}
  <joint name="hip" type="revolute">
    <parent link="trunk"/><child link="leg"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="5"/>
  </joint>
</robot>"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A ROS package `dog` in a workspace: `urdf/`, and two meshes with one base name."""
    write_corner(tmp_path / "src" / "dog" / "meshes" / "left" / "part.stl", 0.1)
    write_corner(tmp_path / "src" / "dog" / "meshes" / "right" / "part.stl", 0.2)
    (tmp_path / "src" / "dog" / "urdf").mkdir()
    return tmp_path / "src" / "dog"


def world_of(package: Path, text: str) -> mjrig.World:
    (package / "urdf" / "dog.urdf").write_text(text)
    return mjrig.World(scene_of(package / "urdf" / "dog.urdf"))


def scene_of(model: Path) -> mjrig.Scene:
    return mjrig.Scene.parse(SCENE.format(model=model.name), base=model.parent)


def mesh_sizes(world: mjrig.World) -> list[float]:
    """The longest edge of each mesh, from its vertices."""
    model = world.model
    starts, counts = model.mesh_vertadr, model.mesh_vertnum
    spans = [model.mesh_vert[a : a + n] for a, n in zip(starts, counts, strict=True)]
    return [round(float(np.ptp(points, axis=0).max()), 3) for points in spans]


@pytest.mark.parametrize(
    "written",
    [
        "package://dog/meshes/{side}/part.stl",
        "../meshes/{side}/part.stl",
        "{root}/meshes/{side}/part.stl",
        "file://{root}/meshes/{side}/part.stl",
    ],
)
def test_both_meshes_of_one_base_name_are_found(package: Path, written: str) -> None:
    sides = [written.format(side=side, root=package) for side in ("left", "right")]
    world = world_of(package, urdf(*sides))
    assert mesh_sizes(world) == [0.141, 0.283]
    assert world.model.body("robot/leg").id > 0


def test_a_package_beside_a_parent_is_found(package: Path) -> None:
    mesh = write_corner(package.parent / "parts" / "meshes" / "a.stl")
    found = [p for p in mesh_places("package://parts/meshes/a.stl", package / "urdf" / "x.urdf")]
    assert mesh in found
    world = world_of(package, urdf(*["package://parts/meshes/a.stl"] * 2))
    assert world.model.nmesh == 1


def test_meshes_beside_the_urdf_need_no_package(tmp_path: Path) -> None:
    write_corner(tmp_path / "meshes" / "a.stl")
    (tmp_path / "dog.urdf").write_text(urdf(*["package://anything/meshes/a.stl"] * 2))
    assert mjrig.World(scene_of(tmp_path / "dog.urdf")).model.nmesh == 1


def test_a_space_in_an_address_is_a_space(package: Path) -> None:
    write_corner(package / "meshes" / "a b.stl")
    world = world_of(package, urdf(*["package://dog/meshes/a%20b.stl"] * 2))
    assert world.model.nmesh == 1


def test_the_files_own_compiler_settings_are_obeyed(package: Path) -> None:
    extension = '<mujoco><compiler strippath="true" meshdir="../meshes/right"/></mujoco>'
    text = urdf("nowhere/part.stl", "elsewhere/part.stl", extension=extension)
    assert mesh_sizes(world_of(package, text)) == mesh_sizes(
        world_of(package, urdf(*["../meshes/right/part.stl"] * 2))
    )


def test_a_mesh_folder_of_the_file_comes_first(package: Path) -> None:
    extension = '<mujoco><compiler meshdir="../meshes/left"/></mujoco>'
    assert world_of(package, urdf("part.stl", "part.stl", extension=extension)).model.nmesh == 1


def test_a_missing_mesh_names_link_mesh_and_places(package: Path) -> None:
    text = urdf("../meshes/left/part.stl", "../meshes/lost.stl")
    with pytest.raises(mjrig.SceneError) as info:
        world_of(package, text)
    urdf_path, looked = package / "urdf" / "dog.urdf", package / "urdf" / "../meshes/lost.stl"
    assert str(info.value) == (
        "<text>:4:12: actors[0].model: robot.model: link 'leg' of "
        f"{str(urdf_path)!r} needs the mesh '../meshes/lost.stl', which was not found; "
        f"looked at: {str(looked)!r}"
    )


def test_a_missing_package_lists_every_place(package: Path) -> None:
    with pytest.raises(mjrig.SceneError, match="looked at: ") as info:
        world_of(package, urdf(*["package://cat/a.stl"] * 2))
    for place in (package / "urdf" / "cat", package / "cat", package.parent / "cat"):
        assert repr(str(place / "a.stl")) in str(info.value)


def test_a_format_that_nobody_reads_is_refused_before_it_is_looked_for(package: Path) -> None:
    with pytest.raises(mjrig.SceneError) as info:
        world_of(package, urdf("../meshes/left/part.stl", "package://dog/leg.fbx"))
    assert str(info.value) == (
        f"<text>:4:12: actors[0].model: robot.model: link 'leg' of "
        f"{str(package / 'urdf' / 'dog.urdf')!r} needs the mesh 'package://dog/leg.fbx', which "
        "must be .stl, .obj, .msh, .dae, .glb, .gltf or .ply: convert it, or remove it if it is "
        "only visual"
    )


def test_meshes_that_are_only_seen_are_not_missed(package: Path) -> None:
    """MuJoCo leaves visuals of a URDF out; `seen_only.dae` exists nowhere."""
    assert world_of(package, urdf(*["../meshes/left/part.stl"] * 2)).model.ngeom == 2


@pytest.mark.parametrize(
    ("inertia", "says"),
    [
        (
            INERTIA.replace('ixx="1"', 'ixx="9"'),
            "inertia must satisfy A + B >= C; … 'balanceinertia' … Element … "
            "'robot/trunk', … 1; … `compiler: {balanceinertia: true}`",
        ),
        (
            INERTIA.replace('ixx="1"', 'ixx="-1"'),
            "'robot/trunk', id 1 (a real body …",
        ),
    ],
)
def test_an_impossible_inertia_names_the_link_and_the_way_out(
    package: Path, inertia: str, says: str
) -> None:
    with pytest.raises(mjrig.SceneError) as info:
        world_of(package, urdf(*["../meshes/left/part.stl"] * 2, inertia=inertia))
    assert str(info.value).startswith("<text>:4:12: actors[0].model: ")
    assert matches(str(info.value), f"…{says}")


def test_the_way_out_works(package: Path) -> None:
    text = urdf(
        *["../meshes/left/part.stl"] * 2,
        inertia=INERTIA.replace('ixx="1"', 'ixx="9"'),
        extension="<mujoco><compiler balanceinertia='true'/></mujoco>",
    )
    inertia = world_of(package, text).model.body("robot/leg").inertia
    assert inertia[0] == pytest.approx(inertia[1])


def test_text_that_is_no_xml_is_refused_at_the_model(package: Path) -> None:
    with pytest.raises(mjrig.SceneError, match=r"^<text>:4:12: actors\[0\]\.model: robot\.model: "):
        world_of(package, "<robot")


def test_a_urdf_from_python_is_a_property_error(tmp_path: Path) -> None:
    folder = tmp_path / "alone"  # meshes of neighbours would be offered
    folder.mkdir()
    (folder / "dog.urdf").write_text(urdf("a.stl", "a.stl"))
    scene = mjrig.Scene()
    scene.add_actor("robot", model=folder / "dog.urdf")
    urdf_file, mesh = str(folder / "dog.urdf"), str(folder / "a.stl")
    message = f"robot.model: link 'trunk' of {urdf_file!r} needs … 'a.stl', … {mesh!r}"
    with refused(mjrig.PropertyError, message):
        mjrig.World(scene)


def test_a_urdf_has_no_actuators_of_its_own(package: Path) -> None:
    world = world_of(package, urdf(*["../meshes/left/part.stl"] * 2))
    assert world["robot"].actuator_names == ()
    assert world["robot"].joint_names == ("hip",)
    with pytest.raises(mjrig.BindingError):
        world["robot"].add_component(PDController(actuators="hip"))


def test_a_urdf_is_exported_with_both_meshes(package: Path, tmp_path: Path) -> None:
    world = world_of(
        package, urdf(*[f"package://dog/meshes/{s}/part.stl" for s in ("left", "right")])
    )
    (tmp_path / "out").mkdir()
    export(world.scene, tmp_path / "out" / "dog.xml")
    read = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "dog.xml"))
    assert np.array_equal(read.mesh_vert, world.model.mesh_vert)
