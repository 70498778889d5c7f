"""Files the editor opens, the command that does it, and a window in a script."""

import argparse
from pathlib import Path

import mujoco
import pytest
from imgui_bundle import immapp

import mjrig.editor
from mjrig.cli.command_options import read_options
from mjrig.core.errors import BindingError, MissingExtraError, MjrigError, SceneError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor import command
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.viewer import ScriptSimulation
from mjrig.editor.window.scene_files import open_file
from tests.editor.windows import BOX, BOXES, SWINGS, Bench
from tests.wording import mentions, regex


def test_a_scene_is_opened_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(SWINGS)
    scene = open_file(tmp_path / "scene.yaml")
    assert scene.path == tmp_path / "scene.yaml"
    assert scene.to_text() == SWINGS


def test_a_model_becomes_a_new_scene_around_it(tmp_path: Path) -> None:
    (tmp_path / "Mein Röbot.xml").write_text(BOX)
    scene = open_file(tmp_path / "Mein Röbot.xml")
    assert scene.path is None
    assert [a.name for a in scene.actors] == ["Mein_Robot"]
    assert list(World(scene, "python").articulations) == ["Mein_Robot"]


KEYED = """<mujoco><worldbody><body><joint name="a"/><joint name="b" axis="1 0 0"/><geom size=".1"/>
</body></worldbody><keyframe>{keys}</keyframe></mujoco>"""


@pytest.mark.parametrize("names", [(), ("home",), ("rest", "home"), ("rest",), ("Home", "")])
def test_a_model_starts_in_its_home_keyframe(tmp_path: Path, names: tuple[str, ...]) -> None:
    keys = [f'<key name="{n}" qpos="{i + 1} -{i + 2}"/>' for i, n in enumerate(names) if n]
    (tmp_path / "two.xml").write_text(KEYED.format(keys="".join(keys)))
    world = World(open_file(tmp_path / "two.xml"), "python")
    bare = mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml"))
    there = bare.key("home").qpos if "home" in names else bare.qpos0
    assert world.data.qpos.tolist() == there.tolist()


@pytest.mark.parametrize(
    ("folder", "written"),
    [("robots", "two.xml"), (".", "robots/two.xml"), ("other", None), ("robots/a", None)],
)
def test_a_scene_around_a_model_names_it_by_where_it_is_saved(
    tmp_path: Path, folder: str, written: str | None
) -> None:
    (tmp_path / "robots" / "a").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    model = tmp_path / "robots" / "two.xml"
    model.write_text(KEYED.format(keys=""))
    scene = open_file(model)
    session = Session(scene, Simulation(World(scene, "python")))
    target = tmp_path / folder / "s.yaml"
    session.save(target)
    assert scene.actors[0].authored("model") == (written or str(model))
    assert World(target, "python").model.njnt == 2
    session.set("two.pose.position", [0, 0, 1])
    assert session.undo_stack.names == ["Set two.pose.position"]  # and the name is no part of it
    session.undo()
    assert not session.is_dirty


def test_a_scene_saved_to_another_folder_finds_its_files(tmp_path: Path) -> None:
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "box.xml").write_text(BOX)
    (tmp_path / "a" / "s.yaml").write_text(BOXES)
    scene = open_file(tmp_path / "a" / "s.yaml")
    session = Session(scene, Simulation(World(scene, "python")))
    session.save(tmp_path / "b" / "c" / "s.yaml")
    assert "model: ../../a/box.xml" in (tmp_path / "b" / "c" / "s.yaml").read_text()
    session.set("box.pose.position", [0, 0, 1])  # builds a world, from the new folder
    session.undo()
    session.save(tmp_path / "a" / "again.yaml")
    assert (tmp_path / "a" / "again.yaml").read_text() == BOXES


def test_nothing_is_an_empty_scene() -> None:
    assert open_file(None).actors == ()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.yaml", "gone.yaml"),
        ("gone.xml", "there is no such …"),
        ("gone.h5", "gone.h5: there is no such …"),
        ("walk.onnx", "is a network; open …"),
        ("a.png", "cannot be opened; the … .yaml"),
        ("a folder", "cannot be opened"),
    ],
)
def test_what_cannot_be_opened_says_why(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "a folder").mkdir()
    with pytest.raises(MjrigError) as caught:
        open_file(tmp_path / name)
    assert mentions(str(caught.value), reason)


def test_the_command_needs_its_extra_and_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    options = read_options(parser.parse_args(["edit", "a.yaml"]))
    assert options.file == Path("a.yaml")
    with monkeypatch.context() as patch:
        patch.setattr("mjrig.editor.command.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match="imgui_bundle is not installed"):
            command.run(options)
        patch.setattr("mjrig.editor.command.find_spec", lambda name: name != "websockets" or None)
        with pytest.raises(MissingExtraError, match="websockets is not installed"):
            command.run(read_options(parser.parse_args(["edit", "a.yaml", "--web"])))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(SceneError, match="there is no display"):
        command.run(options)
    with pytest.raises(SceneError, match=regex("there is no display…mjrig.show")):
        mjrig.editor.view(World(Scene.parse(SWINGS), "python"))


def test_a_window_that_cannot_be_opened_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*values: object) -> None:
        raise RuntimeError('IM_ASSERT( false && "Failed to create temporary window." ) --- a.cpp:2')

    monkeypatch.setattr(immapp.manual_render, "setup_from_runner_params", fails)
    with pytest.raises(SceneError, match=regex("opened: Failed to create temporary window. It …")):
        Bench.on(SWINGS).window.app.begin(None)


def test_a_script_keeps_its_world() -> None:
    scene = Scene.parse(SWINGS)
    world = World(scene, "python")
    session = Session(scene, ScriptSimulation(world))
    session.set("left.PDController.kp", 4)
    with pytest.raises(BindingError, match=regex("the script holds the …")):
        session.set("left.pose.position", [1, 0, 0])
    assert session.scene.to_text() == SWINGS.replace("kp: 10,", "kp: 4,")
    assert session.simulation.world is world
    session.play()
    assert not session.simulation.playing  # the script's own loop steps
