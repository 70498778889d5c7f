"""Where models come from: files, archives, packages, and what is wrong with them."""

import zipfile
from pathlib import Path

import mujoco
import pytest

import mjrig
from mjrig.components import PDController
from tests.conftest import HINGE
from tests.meshes import write_corner
from tests.wording import regex

MESHED = """
<mujoco>
  <compiler meshdir="meshes" {compiler}/>
  <asset>{asset}</asset>
  <worldbody><body name="part"><freejoint/><geom type="mesh" mesh="corner"/></body></worldbody>
</mujoco>
"""
CORNER = '<mesh name="corner" file="corner.stl"/>'


def world_of(model: Path) -> mjrig.World:
    text = f"mjrig: 1\nactors:\n  - name: robot\n    model: {model.name}\n"
    return mjrig.World(mjrig.Scene.parse(text, base=model.parent))


def meshed(folder: Path, asset: str = CORNER, compiler: str = "") -> Path:
    write_corner(folder / "meshes" / "corner.stl")
    path = folder / "part.xml"
    path.write_text(MESHED.format(asset=asset, compiler=compiler))
    return path


# Files beside a model ---------------------------------------------------------------------------


def test_a_mesh_is_found_in_the_models_folder(tmp_path: Path) -> None:
    assert world_of(meshed(tmp_path)).model.nmesh == 1


def test_a_missing_mesh_names_itself_its_place_and_the_nearest(tmp_path: Path) -> None:
    path = meshed(tmp_path, CORNER.replace("corner.stl", "cornr.stl"))
    with pytest.raises(mjrig.SceneError) as info:
        world_of(path)
    assert str(info.value) == (
        f"<text>:4:12: actors[0].model: robot.model: the mesh 'corner' of {str(path)!r} needs the "
        f"file 'cornr.stl', which is not at {str(tmp_path / 'meshes' / 'cornr.stl')!r}; "
        "did you mean 'corner.stl'?"
    )


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    path = meshed(tmp_path, CORNER.replace("corner.stl", "stl/corner.stl"))
    with pytest.raises(
        mjrig.SceneError, match=regex("; the folder '…/meshes/stl' does not …") + "$"
    ):
        world_of(path)


@pytest.mark.parametrize(
    ("asset", "what"),
    [
        ('<texture name="wood" type="2d" file="wood.png"/>', "texture 'wood'"),
        ('<hfield name="hills" file="hills.png" size="1 1 1 1"/>', "hfield 'hills'"),
        (
            '<texture name="sky" type="skybox" fileright="r.png" fileleft="l.png"/>',
            "texture 'sky'",
        ),
    ],
)
def test_other_files_are_missed_too(tmp_path: Path, asset: str, what: str) -> None:
    with pytest.raises(mjrig.SceneError, match=f"the {what} of "):
        world_of(meshed(tmp_path, CORNER + asset))


def test_stripped_paths_are_looked_for_as_mujoco_does(tmp_path: Path) -> None:
    asset = CORNER.replace("corner.stl", "somewhere/else/corner.stl")
    assert world_of(meshed(tmp_path, asset, 'strippath="true"')).model.nmesh == 1


def test_files_of_an_included_file_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corner(tmp_path / "models" / "sub" / "corner.stl")
    (tmp_path / "models" / "sub" / "part.xml").write_text(
        MESHED.format(asset=CORNER, compiler="").replace('meshdir="meshes"', "")
    )
    (tmp_path / "models" / "main.xml").write_text('<mujoco><include file="sub/part.xml"/></mujoco>')
    monkeypatch.chdir(tmp_path)
    assert world_of(Path("models") / "main.xml").model.nmesh == 1


# Sizes ------------------------------------------------------------------------------------------


def test_sizes_of_a_model_are_kept_and_say_nothing(tmp_path: Path) -> None:
    sizes = '<size memory="77M" nuserdata="3" nuser_body="2" nkey="4"/>'
    (tmp_path / "a.xml").write_text(HINGE.replace("<worldbody>", sizes + "<worldbody>"))
    model = world_of(tmp_path / "a.xml").model
    assert (model.nuserdata, model.nuser_body) == (3, 2)
    assert model.narena == 77 * 1024 * 1024


def test_old_limits_of_a_model_say_nothing(tmp_path: Path) -> None:
    sizes = '<size njmax="500" nconmax="100"/>'
    (tmp_path / "a.xml").write_text(HINGE.replace("<worldbody>", sizes + "<worldbody>"))
    assert world_of(tmp_path / "a.xml").model.nq == 1


# Archives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".mjz", ".zip"])
def test_an_archive_is_the_model_in_it(tmp_path: Path, suffix: str) -> None:
    text = HINGE.replace("<worldbody>", f"<asset>{CORNER}</asset><worldbody>").replace(
        '<geom type="capsule"', '<geom type="mesh" mesh="corner"/><geom type="capsule"'
    )
    write_corner(tmp_path / "corner.stl")
    (tmp_path / "part.xml").write_text(text)
    spec = mujoco.MjSpec.from_file(str(tmp_path / "part.xml"))
    spec.encode(str(tmp_path / "part.mjz"), model=spec.compile())
    path = (tmp_path / "part.mjz").rename(tmp_path / f"packed{suffix}")
    (tmp_path / "corner.stl").unlink()
    scene = mjrig.Scene()
    actor = scene.add_actor("robot", model=path, keyframe="home")
    actor.add_component(PDController(kp=10, kv=1))
    native = mjrig.World(scene, "native")  # compiles a second time
    python = mjrig.World(scene, "python")
    for world in (native, python):
        world.step(50)
    assert native.model.nmesh == 1
    assert native.data.qpos.tolist() == python.data.qpos.tolist()


def test_an_archive_without_a_model_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("notes.txt", "nothing here")
    with pytest.raises(
        mjrig.SceneError, match="^" + regex("<text>:4:12: …no model XML found in archive")
    ):
        world_of(tmp_path / "empty.zip")


# Suffixes ---------------------------------------------------------------------------------------


def test_other_files_are_no_models() -> None:
    text = "mjrig: 1\nactors:\n  - {name: robot, model: a.usd}\n"
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.Scene.parse(text)
    assert str(info.value) == (
        "<text>:3:26: actors[0].model: robot.model: must end in .xml or .mjcf or .urdf or .mjb or "
        ".mjz or .zip, got 'a.usd'"
    )
