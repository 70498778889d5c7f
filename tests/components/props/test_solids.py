"""Props that have a body: what they are in the model, how they move, and what is refused."""

import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import BoxProp, CapsuleProp, CylinderProp, MeshProp, SolidProp, SphereProp
from mjrig.core.sim.mujoco_export import export
from tests.conftest import HINGE
from tests.meshes import write_corner
from tests.worlds import refused

GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
}


def world_of(*actors: str, base: Path = Path()) -> mjrig.World:
    text = "mjrig: 1\nactors:\n" + "".join(f"  - {actor}\n" for actor in actors)
    return mjrig.World(mjrig.Scene.parse(text, base=base))


def world_with(prop: SolidProp, **actor: object) -> mjrig.World:
    scene = mjrig.Scene()
    scene.add_actor("thing", prop=prop).assign(actor)
    return mjrig.World(scene)


# Shapes and masses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prop", "kind", "size", "volume"),
    [
        (BoxProp(size=[0.2, 0.4, 0.6]), "box", [0.1, 0.2, 0.3], 0.048),
        (SphereProp(radius=0.1), "sphere", [0.1, 0, 0], 4 / 3 * np.pi * 1e-3),
        (CylinderProp(radius=0.1, height=0.5), "cylinder", [0.1, 0.25, 0], np.pi * 0.005),
        (
            CapsuleProp(radius=0.1, length=0.5),
            "capsule",
            [0.1, 0.25, 0],
            np.pi * 0.005 + 4 / 3 * np.pi * 1e-3,
        ),
    ],
)
def test_a_shape_has_its_size_and_the_mass_of_its_volume(
    prop: SolidProp, kind: str, size: list[float], volume: float
) -> None:
    prop.density = 500.0
    model = world_with(prop).model
    geom = model.geom("thing/geom")
    assert (geom.type[0], geom.size.tolist()) == (GEOMS[kind], size)
    assert model.body("thing/body").mass[0] == pytest.approx(500.0 * volume)


def test_a_mass_is_the_mass() -> None:
    assert world_with(SphereProp(mass=2.5)).model.body("thing/body").mass[0] == 2.5


def test_a_mesh_stands_where_its_file_says(tmp_path: Path) -> None:
    write_corner(tmp_path / "meshes" / "corner.stl", edge=100.0)
    world = world_of(
        "{name: thing, prop: {type: MeshProp, file: meshes/corner.stl, "
        "scale: [0.001, 0.001, 0.001]}}",
        base=tmp_path,
    )
    assert world.model.body("thing/body").mass[0] == pytest.approx(1000.0 * 0.1**3 / 6)
    assert world.data.xipos[1] == pytest.approx([0.025] * 3)  # the centre of such a corner


def test_looks_and_contacts_are_the_geoms() -> None:
    prop = BoxProp(rgba=[1, 0, 0.5, 0.25], friction=0.3, condim=4, collides=False)
    geom = world_with(prop).model.geom("thing/geom")
    assert geom.rgba.tolist() == [1, 0, 0.5, 0.25]
    assert geom.friction.tolist() == [0.3, 0.005, 0.0001]
    assert (geom.condim[0], geom.contype[0], geom.conaffinity[0]) == (4, 0, 0)


# Standing and moving ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["BoxProp", "SphereProp", "CylinderProp", "CapsuleProp"])
def test_a_free_prop_falls_on_the_ground_and_stays(kind: str) -> None:
    world = world_of(
        "{name: ground, prop: {type: GroundProp}}",
        f"{{name: thing, prop: {{type: {kind}, free: true}}, pose: {{position: [1, 2, 0.3]}}}}",
    )
    assert world.data.qpos.tolist() == [1, 2, 0.3, 1, 0, 0, 0]
    world.step(1000)
    assert world.data.qpos[:2] == pytest.approx([1, 2], abs=1e-6)
    rest = 0.1 if kind == "CapsuleProp" else 0.05
    assert world.data.qpos[2] == pytest.approx(rest, abs=2e-3)
    world.reset()
    assert world.data.qpos[2] == 0.3


def test_a_standing_prop_does_not_fall() -> None:
    world = world_with(BoxProp(), pose={"position": [0, 0, 1]})
    assert world.model.nq == 0
    world.step(100)
    assert world.data.xpos[1].tolist() == [0, 0, 1]


def test_friction_holds_a_box_on_a_slope_or_lets_it_go() -> None:
    moved = {}
    for friction in (0.1, 1.0):
        world = world_of(
            f"{{name: slope, prop: {{type: BoxProp, size: [4, 4, 0.1], friction: {friction}}}, "
            "pose: {euler_deg: [0, 20, 0]}}",
            f"{{name: box, prop: {{type: BoxProp, free: true, friction: {friction}}}, "
            "pose: {position: [0.034, 0, 0.094], euler_deg: [0, 20, 0]}}",
        )
        before = world.data.qpos[0]
        world.step(250)
        moved[friction] = world.data.qpos[0] - before
    assert moved[0.1] > 0.2
    assert abs(moved[1.0]) < 0.01


def test_what_does_not_collide_is_passed_through() -> None:
    world = world_of(
        "{name: table, prop: {type: BoxProp, collides: false}}",
        "{name: ball, prop: {type: SphereProp, free: true}, pose: {position: [0, 0, 0.5]}}",
    )
    world.step(500)
    assert world.data.qpos[2] < -1.0


def test_copies_stand_on_a_grid() -> None:
    world = world_of(
        "{name: post, prop: {type: CylinderProp}, replicate: {count: [2, 2], spacing: [3, 4]}}"
    )
    assert list(world.articulations) == ["post_0", "post_1", "post_2", "post_3"]
    assert world.data.xpos[1:].tolist() == [[0, 0, 0], [0, 4, 0], [3, 0, 0], [3, 4, 0]]


def test_a_prop_stands_beside_a_robot(tmp_path: Path) -> None:
    (tmp_path / "hinge.xml").write_text(HINGE)
    world = world_of(
        "{name: robot, model: hinge.xml, keyframe: home}",
        "{name: box, prop: {type: BoxProp, free: true}, pose: {position: [3, 0, 0]}}",
        base=tmp_path,
    )
    assert world.data.qpos.tolist() == [0.5, 3, 0, 0, 1, 0, 0, 0]
    assert world["box"].joint_names == ("free",)
    assert world["box"].actuator_names == ()


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prop", "message"),
    [
        ("{type: BoxPorp}",
         "3:32: actors[0].prop: thing.prop: there is no prop … 'BoxPorp'; … 'BoxProp'?"),
        ("{type: PDController}",
         "3:32: actors[0].prop: thing.prop: 'PDController' is not a type … BoxProp, "
         "CameraProp, CapsuleProp, CylinderProp, GroundProp, HeightFieldProp, "
         "LightProp, MeshProp, SphereProp, TerrainProp"),
        ("{type: BoxProp, size: [1, 0, 1]}", "3:51: actors[0].prop.size: thing.prop.size: "
         "must not be 0"),
        ("{type: BoxProp, size: [1, 1]}", "3:47: actors[0].prop.size: thing.prop.size: must have "
         "3 values, got 2"),
        ("{type: BoxProp, size: [1, -1, 1]}", "3:51: actors[0].prop.size: thing.prop.size: "
         "must be >= 0 m, got -1"),
        ("{type: BoxProp, mass: 1, density: 2}",
         "3:59: actors[0].prop.density: thing.prop: has both mass and …"),
        ("{type: BoxProp, mass: 0}", "3:47: actors[0].prop.mass: thing.prop.mass: must be > 0 kg, "
         "got 0"),
        ("{type: BoxProp, condim: 2}", "3:49: actors[0].prop.condim: thing.prop.condim: must be "
         "1, 3, 4 or 6, got 2"),
        ("{type: BoxProp, rgba: [1, 1, 1, 2]}", "3:57: actors[0].prop.rgba: thing.prop.rgba: "
         "must be <= 1, got 2"),
        ("{type: SphereProp, radius: 0}", "3:52: actors[0].prop.radius: thing.prop.radius: must "
         "be > 0 m, got 0"),
        ("{type: SphereProp, size: 1}", "3:44: actors[0].prop.size: SphereProp has no property "
         "'size'; has: free, mass, density, rgba, collides, friction, condim, radius"),
        ("{type: MeshProp}", "3:25: actors[0].prop: thing.prop: needs a file"),
        ("{type: MeshProp, file: a.dae}",
         "3:48: actors[0].prop.file: thing.prop.file: must end in .stl or .obj … .msh, "
         "… 'a.dae'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_where_it_stands(prop: str, message: str) -> None:
    with refused(mjrig.SceneError, f"<text>:{message}"):
        world_of(f"{{name: thing, prop: {prop}}}")


def test_a_missing_mesh_names_the_nearest(tmp_path: Path) -> None:
    write_corner(tmp_path / "corner.stl")
    message = (
        f"<text>:3:48: actors[0].prop.file: thing.prop.file: there is no file "
        f"{str(tmp_path / 'cornr.stl')!r}; did you mean 'corner.stl'?"
    )
    with refused(mjrig.SceneError, message):
        world_of("{name: thing, prop: {type: MeshProp, file: cornr.stl}}", base=tmp_path)


def test_a_refused_value_changes_nothing() -> None:
    prop = BoxProp(size=[1, 2, 3])
    before = dict(vars(prop))
    with pytest.raises(mjrig.PropertyError):
        prop.assign({"rgba": [1, 1, 1, 1], "size": [0, 1, 1]})
    assert vars(prop) == before


def test_props_are_saved_as_they_were_written() -> None:
    text = (
        "mjrig: 1\nactors:\n  - name: a  # a box\n    prop: {type: BoxProp, size: [1, 2, 3e-1]}\n"
    )
    scene = mjrig.Scene.parse(text)
    assert scene.to_text() == text
    scene.set("a.prop.size", [1, 2, 4])
    assert scene.to_text() == text.replace("3e-1", "4")


def test_a_mesh_prop_made_in_python_finds_its_file(tmp_path: Path) -> None:
    path = write_corner(tmp_path / "corner.stl")
    assert world_with(MeshProp(file=path)).model.nmesh == 1


def test_the_mesh_of_a_prop_is_exported(tmp_path: Path) -> None:
    world = world_with(MeshProp(file=write_corner(tmp_path / "here" / "corner.stl")))
    (tmp_path / "out").mkdir()
    export(world.scene, tmp_path / "out" / "thing.xml")
    shutil.rmtree(tmp_path / "here")
    read = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "thing.xml"))
    assert np.array_equal(read.mesh_vert, world.model.mesh_vert)
    assert np.array_equal(read.body_mass, world.model.body_mass)
