"""What is dropped becomes one edit, or a reason why not."""

import os
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_file import actor_name
from mjrig.core.sim.floor_placement import CLEARANCE, has_floor, lowest_point
from mjrig.editor.assets.drops import drop, drop_files
from mjrig.editor.assets.file_kinds import FileKindError, classify, reference
from mjrig.editor.session.state import EditorState
from tests.editor.ui_driver import editor_state
from tests.wording import matches
from tests.worlds import arm, hinge, refused

EMPTY = "mjrig: 1\nactors: []\n"
FLOOR = '<mujoco><worldbody><geom type="plane" size="0 0 1"/></worldbody></mujoco>'
#: A free box, 0.2 m high, whose origin is in its middle.
BOX = """
<mujoco>
  <option timestep="0.004" integrator="implicitfast"><flag warmstart="disable"/></option>
  <worldbody>
    <body name="box"><freejoint/><geom type="box" size="0.3 0.2 0.1"/></body>
  </worldbody>
</mujoco>"""


def opened(folder: Path, text: str = EMPTY) -> EditorState:
    """An editor on a scene file in a folder."""
    path = folder / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return editor_state(Scene.load(path))


def messages(state: EditorState) -> list[str]:
    return [line.text for line in state.console.lines]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# Kinds of files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.xml", b"<mujoco/>", "model"),
        ("a.XML", b"<?xml version='1.0'?><!-- c --><mujoco model='x'></mujoco>", "model"),
        ("a.urdf", b"<robot name='r'/>", "model"),
        ("a.xml", b"<robot name='r'/>", "model"),
        ("a.mjb", (54321).to_bytes(4, "little") + b"....", "model"),
        ("a.yaml", b"# a scene\nmjrig: 1\n", "scene"),
        ("a.yml", b"{mjrig: 1, actors: []}", "scene"),
        ("a.yaml", "\ufeffmjrig: 1\n".encode(), "scene"),
        ("a.yaml", b"mjrig_gains: 1\nPDController: {}\n", "preset"),
        ("a.h5", b"\x89HDF\r\n\x1a\n....", "recording"),
        ("a.onnx", b"\x08\x07", "policy"),
        ("a.yaml", b"network: a.onnx\njoints: [a]\nobservation: {}\n", "policy"),
        ("a.yaml", b"kps: []\nkds: []\ndefault_angles: []\nnum_actions: 2\n", "policy"),
        ("a.json", b'{"policy": {"policy_type": "x"}}', "policy"),
        ("a.json", b'{"frames": []}', "recording"),
        ("a.csv", b"time,a\n", "recording"),
        ("a.mcap", b"\x89MCAP0\r\n", "recording"),
        ("a.bag", b"#ROSBAG V2.0\n", "recording"),
        ("a.db3", b"SQLite format 3\0", "recording"),
        ("a.parquet", b"PAR1", "recording"),
    ],
)
def test_a_file_is_known_by_name_and_content(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert classify(tmp_path / name) == kind


def test_npz_is_a_recording(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", qpos=np.zeros(3))
    assert classify(tmp_path / "run.npz") == "recording"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.xml", b"<svg/>", "'a.xml' is not a model: … <svg>, … <mujoco> …"),
        ("a.xml", b"<mujocoinclude/>", "'a.xml' is a fragment for MJCF …"),
        ("a.xml", b"mujoco", "'a.xml' is not well-formed XML: syntax … 1, … 0"),
        ("a.xml", b"", "'a.xml' is empty"),
        ("a.mjb", b"<mujoco/>", "'a.mjb' is not a compiled MuJoCo …"),
        ("a.yaml", b"robot: mjrig\nx:\n  mjrig: 1\n", "'a.yaml' is neither a scene ('mjrig: 1')"),
        ("a.h5", b"text", "'a.h5' is not an HDF5 file, …"),
        ("a.pt", b"text", "'a.pt' is not a TorchScript file, …"),
        ("a.npz", b"text", "'a.npz' is not an .npz file, …"),
        ("a.stl", b"solid", "'a.stl' is a mesh, not … (MJCF, URDF) …"),
        (
            "a.txt",
            b"text",
            "'a.txt': files that end in '.txt' … .xml",
        ),
        (
            "Makefile",
            b"all:",
            "'Makefile': files without a suffix …",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileKindError) as info:
        classify(tmp_path / name)
    assert matches(str(info.value), f"{why}…")


def test_folders_missing_and_unreadable_files_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(
        FileKindError,
        f"{tmp_path.name!r} is a folder; add …",
    ):
        classify(tmp_path)
    with refused(FileKindError, "'none.xml' cannot be read: No such …"):
        classify(tmp_path / "none.xml")
    locked = write(tmp_path / "locked.xml", "<mujoco/>")

    def deny(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", deny)
    with refused(FileKindError, "'locked.xml' cannot be read: Permission denied"):
        classify(locked)


# Names and paths --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("/x/go2.xml", "go2"),
        ("/x/Großer Bär (2).xml", "Grosser_Bar_2"),
        ("/x/7dof.urdf", "_7dof"),
        ("/x/机器人.xml", "actor"),
        ("/x/unitree go2/scene.xml", "unitree_go2"),
        ("package:mjrig.assets/arm/arm.xml", "arm"),
        ("/x/dog.xml", "dog_2"),
    ],
)
def test_actors_are_named_after_their_file(value: str, name: str) -> None:
    assert actor_name(value, ["dog"]) == name


def test_paths_are_relative_below_the_scene_and_absolute_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    state = opened(tmp_path / "scenes")
    inside = tmp_path / "scenes" / "robots" / "a b.xml"
    outside = tmp_path / "robots" / "a.xml"
    assert reference(inside, state.scene) == "robots/a b.xml"
    assert reference(outside, state.scene) == str(outside)
    assert reference(inside, Scene()) == str(inside)


def test_files_of_the_package_are_named_so_that_they_are_found_elsewhere() -> None:
    from importlib.resources import files

    link = Path(str(files("mjrig.assets"))) / "arm" / "arm.xml"
    for path in (link, Path(os.path.realpath(link))):
        assert reference(path, Scene()) == "package:mjrig.assets/arm/arm.xml"


# Models -----------------------------------------------------------------------------------------


def test_a_free_model_is_put_just_above_the_floor_in_one_undo_entry(tmp_path: Path) -> None:
    state = opened(tmp_path)
    before = state.scene.to_text()
    model = write(tmp_path / "Kiste ä.xml", BOX)
    assert drop(state, "model", str(model), None, (1.23456, -2.0, 0.5))
    (actor,) = state.scene.actors
    assert actor.to_data() == {
        "name": "Kiste_a",
        "model": "Kiste ä.xml",
        "pose": {"position": [1.235, -2.0, 0.5 + 0.1 + CLEARANCE]},
    }
    assert state.selection.paths == ["Kiste_a"]
    assert list(state.simulation.world.articulations) == ["Kiste_a"]
    world = state.simulation.world
    assert lowest_point(world.model, world.data) == pytest.approx(0.5 + CLEARANCE)
    assert state.session.undo() == "Add Kiste_a"
    assert state.scene.to_text() == before
    assert state.session.undo() is None


def test_a_second_one_gets_a_name_of_its_own(tmp_path: Path) -> None:
    state = opened(tmp_path)
    model = write(tmp_path / "box.xml", BOX)
    assert drop(state, "model", str(model))
    assert drop(state, "model", str(model), None, (2, 0))
    assert [a.name for a in state.scene.actors] == ["box", "box_2"]


def test_a_robot_starts_in_its_home_pose_with_its_feet_on_the_floor(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert drop(state, "model", "package:mjrig.assets/quadruped/quadruped.xml")
    (actor,) = state.scene.actors
    assert (actor.name, actor.keyframe) == ("quadruped", "home")
    world = state.simulation.world
    lowest = lowest_point(world.model, world.data)
    assert lowest is not None and abs(lowest) < 0.03
    assert actor.pose is None  # it brings its own floor, at the height of its own feet


def test_where_there_is_a_floor_the_model_leaves_its_own_behind(tmp_path: Path) -> None:
    write(tmp_path / "floor.xml", FLOOR)
    state = opened(tmp_path, "mjrig: 1\nactors: [{name: floor, model: floor.xml}]\n")
    floor = BOX.replace("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>')
    assert drop(state, "model", str(write(tmp_path / "box.xml", floor)))
    actor = state.scene["box"]
    assert actor.scenery is False
    assert actor.pose is not None
    assert actor.pose.position[2] == pytest.approx(0.1 + CLEARANCE)


def test_a_fixed_model_keeps_its_height_unless_it_reaches_below_the_floor(tmp_path: Path) -> None:
    state = opened(tmp_path)
    body = '<mujoco><worldbody><body pos="0 0 {z}"><geom size="0.1"/></body></worldbody></mujoco>'
    assert drop(state, "model", str(write(tmp_path / "high.xml", body.format(z=1))))
    assert drop(state, "model", str(write(tmp_path / "deep.xml", body.format(z=-1))))
    assert state.scene["high"].pose is None
    deep = state.scene["deep"].pose
    assert deep is not None
    assert list(deep.position) == [0.0, 0.0, 1.1]


def test_the_scenes_options_hold_for_what_is_dropped_into_it(tmp_path: Path) -> None:
    write(tmp_path / "first.xml", hinge(option='gravity="0 0 -3"'))
    state = opened(tmp_path, "mjrig: 1\nactors: [{name: first, model: first.xml}]\n")
    assert drop(state, "model", str(write(tmp_path / "box.xml", BOX)))
    assert state.scene.sim is not None
    assert state.scene.sim.to_data() == {
        "gravity": [0.0, 0.0, -3.0],
        "integrator": "Euler",
        "timestep": 0.001,
        "warmstart": "enable",
    }
    options = state.simulation.world.model.opt
    assert (options.timestep, options.gravity[2]) == (0.001, -3.0)
    (said,) = messages(state)
    assert said.startswith("the scene's simulation options also apply to 'box' (sim: gravity [0.0,")
    state.session.undo()
    assert state.scene.sim is None


@pytest.mark.parametrize(
    ("geom", "reach"),
    [
        ('type="sphere" size="0.2"', 0.2),
        ('type="capsule" size="0.1 0.3"', 0.4),
        ('type="capsule" size="0.1 0.3" euler="0 90 0"', 0.1),
        ('type="cylinder" size="0.1 0.3"', 0.3),
        ('type="cylinder" size="0.1 0.3" euler="90 0 0"', 0.1),
        ('type="ellipsoid" size="0.1 0.2 0.3" euler="90 0 0"', 0.2),
        ('type="box" size="0.1 0.2 0.3" euler="0 90 0"', 0.1),
        ('type="mesh" mesh="wedge"', 0.5),
        ('type="mesh" mesh="wedge" euler="0 180 0"', 0.25),
    ],
)
def test_the_lowest_point_of_every_shape(geom: str, reach: float) -> None:
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <asset><mesh name="wedge" inertia="shell"
          vertex="0 0 -0.5  0.4 0 0.25  -0.4 0.3 0.25  -0.4 -0.3 0.25"/></asset>
        <worldbody>
          <geom type="plane" size="1 1 1" pos="0 0 -9"/>
          <geom size="1" pos="0 0 -8"/>
          <body pos="0 0 2"><geom {geom}/><geom size="1" contype="0" conaffinity="0"/></body>
        </worldbody>
      </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert lowest_point(model, data) == pytest.approx(2.0 - reach)
    assert has_floor(model)


def test_a_model_that_does_not_compile_changes_nothing(tmp_path: Path) -> None:
    state = opened(tmp_path)
    bad = write(tmp_path / "bad.xml", "<mujoco><worldbody><geom/></worldbody></mujoco>")
    assert not drop(state, "model", str(bad))
    (said,) = messages(state)
    assert said.startswith("'bad.xml' cannot be added: the model does not compile: Error: size 0")
    assert not state.scene.actors
    assert not state.session.is_dirty


# Scenes, presets, what arrives later ------------------------------------------------------------


def test_a_scene_is_asked_to_be_opened(tmp_path: Path) -> None:
    state = opened(tmp_path)
    other = write(tmp_path / "other scene.yaml", EMPTY)
    assert drop_files(state, [other]) == [True]
    assert state.wants_to_open == other


def test_what_cannot_be_dropped_says_why(tmp_path: Path) -> None:
    state = opened(tmp_path)
    files = [
        write(tmp_path / "walk.onnx", "x"),
        write(tmp_path / "gains.yaml", "mjrig_gains: 1\n"),
        write(tmp_path / "notes.txt", "x"),
        tmp_path,
    ]
    assert drop_files(state, files) == [False] * 4
    assert messages(state) == [
        "'gains.yaml' holds gains; drop it on the actor they are for",
        "'notes.txt': files that end in '.txt' are not supported; supported: .xml, .mjcf, .urdf, "
        ".mjb, .yaml, .yml, .h5, .hdf5, .npz, .mcap, .bag, .onnx, …",
        f"{tmp_path.name!r} is a folder; add it in the asset browser, or drop a file of it",
        "'walk.onnx': drop a policy on the robot it is for",
    ]
    assert not drop(state, "signal", "dog.height")
    assert not drop(state, "moon", "x")
    assert messages(state)[-2:] == [
        "dog.height can be plotted; drop it on a plot",
        "a moon cannot be dropped here",
    ]


def test_a_recording_is_asked_to_be_shown_on_the_robot(tmp_path: Path) -> None:
    state = opened(tmp_path)
    np.savez(tmp_path / "run.npz", x=np.zeros(1))
    assert drop_files(state, [tmp_path / "run.npz"], "dog") == [True]
    assert state.wants_to_replay == (tmp_path / "run.npz", "dog")


def test_files_dropped_together_stand_apart(tmp_path: Path) -> None:
    state = opened(tmp_path)
    paths = [write(tmp_path / f"{n}.xml", BOX) for n in ("a", "b")]
    assert drop_files(state, [paths[0], tmp_path / "none.xml", paths[1]]) == [True, False, True]
    xs = [a.pose.position[0] for a in state.scene.actors if a.pose is not None]
    assert xs == [0.0, 1.0]


# Components -------------------------------------------------------------------------------------

ARM = "mjrig: 1\nactors:\n  - name: reach\n    model: arm.xml\n"


def test_a_component_is_hung_on_the_actor_it_is_dropped_on(tmp_path: Path) -> None:
    write(tmp_path / "arm.xml", arm())
    state = opened(tmp_path, ARM)
    assert drop(state, "component", "PDController", "reach")
    assert state.scene.to_text() == ARM + "    components:\n      - type: PDController\n"
    assert state.selection.paths == ["reach.PDController"]
    assert state.session.undo() == "Add PDController to reach"
    assert state.scene.to_text() == ARM


def test_a_component_on_nothing_or_of_another_kind_says_why_not(tmp_path: Path) -> None:
    write(tmp_path / "arm.xml", arm())
    state = opened(tmp_path, ARM)
    assert not drop(state, "component", "PDController", None)
    assert not drop(state, "component", "MaxEffort", "reach")
    assert not drop(state, "component", "PDControler", "reach")
    assert not drop(state, "component", "PDController", "peach")
    assert drop(state, "component", "PDController", "reach")
    assert not drop(state, "component", "PDController", "reach")
    said = messages(state)
    assert said[:4] == [
        "a PDController belongs on an actor; drop it on one",
        "a MaxEffort is a part of a controller and cannot be added to an actor by itself; "
        "choose it in the controller's inspector",
        "there is no component type 'PDControler'; did you mean 'PDController'?",
        "the scene has no actor 'peach'; did you mean 'reach'?",
    ]
    assert "reach" in said[4]
    assert len(state.scene["reach"].components) == 1


def test_copies_and_included_actors_lead_to_their_description(tmp_path: Path) -> None:
    write(tmp_path / "arm.xml", arm())
    write(tmp_path / "part.yaml", "mjrig: 1\nactors: [{name: far, model: arm.xml}]\n")
    text = f"{ARM}    replicate: {{count: [2]}}\ninclude: [part.yaml]\n"
    state = opened(tmp_path, text)
    assert drop(state, "component", "PDController", "reach_1")
    assert [c.label for c in state.scene["reach"].components] == ["reach.PDController"]
    assert not drop(state, "component", "PDController", "far")
    part = tmp_path / "part.yaml"
    assert messages(state) == [f"'far' comes from the included file {part}; edit it there"]


def test_a_prop_becomes_an_actor_on_the_floor(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert drop(state, "prop", "SphereProp", None, (1.0, 2.0, 0.0))
    assert drop(state, "prop", "SphereProp", "sphere", (3.0, 2.0, 0.0))
    assert drop(state, "prop", "LightProp", None, (1.0, 2.0, 0.0))
    assert [actor.to_data() for actor in state.scene.actors] == [
        {"name": n, "prop": {"type": t}, "pose": {"position": p}}
        for n, t, p in (
            ("sphere", "SphereProp", [1.0, 2.0, 0.05]),
            ("sphere_2", "SphereProp", [3.0, 2.0, 0.05]),
            ("light", "LightProp", [1.0, 2.0, 2.0]),
        )
    ]
    assert state.selection.paths == ["light"]
    assert state.session.undo() == "Add light"
    assert not drop(state, "component", "SphereProp", "sphere")
    assert not drop(state, "prop", "PDController")
    on_an_actor, no_prop = messages(state)
    assert matches(on_an_actor, "SphereProp is a prop: drop …")
    assert no_prop.startswith(
        "'PDController' is not a type of prop; available: BoxProp, CameraProp, "
    )


def test_an_actuator_drives_the_joints_that_nothing_drives_yet(tmp_path: Path) -> None:
    write(tmp_path / "arm.xml", arm('<motor name="a" joint="shoulder"/>'))
    write(tmp_path / "full.xml", arm())
    state = opened(tmp_path, f"{ARM}  - name: full\n    model: full.xml\n")
    assert drop(state, "component", "MotorActuator", "reach"), messages(state)
    (actuator,) = state.scene["reach"].actuators
    assert actuator.to_data() == {"type": "MotorActuator", "joint": "elbow"}
    assert not drop(state, "component", "MotorActuator", "full")
    assert messages(state) == [
        "every hinge and slide joint of 'full' has an actuator; "
        "add another one in the inspector, with its target"
    ]


def test_a_preset_goes_to_the_controllers_of_the_actor(tmp_path: Path) -> None:
    write(tmp_path / "arm.xml", arm())
    preset = write(tmp_path / "stiff.yaml", "mjrig_gains: 1\nPDController: {kp: {.*: 7}}\n")
    state = opened(tmp_path, ARM + "    components: [{type: PDController}]\n")
    assert drop_files(state, [preset], "reach") == [True]
    assert messages(state) == ["stiff.yaml: 2 actuators set"]
    assert state.scene["reach"].components[0].to_data()["kp"] == 7
    bare = opened(tmp_path, ARM)
    assert not drop(bare, "preset", str(preset), "reach")
    assert messages(bare) == ["'reach' has no actuator with gains"]
