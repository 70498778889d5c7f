"""Scenes: read, edited, saved, and turned into worlds with the options they say."""

import os
import shutil
import stat
from difflib import SequenceMatcher
from importlib.resources import files
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PassthroughController, PDController
from mjrig.core.scene.pose import rotation
from mjrig.core.scene.scene_description import existing, find, path_of
from mjrig.core.yaml_text import yaml_document
from tests.conftest import HINGE
from tests.wording import matches, mentions

SCENES = files("mjrig.config").joinpath("scenes")
BUNDLED = sorted(p.name.removesuffix(".yaml") for p in SCENES.iterdir() if "yaml" in p.name)
TEXT = """\
# A robot on two legs.
mjrig: 1
actors:
  - name: dog      # the only one
    model: legs.xml
    keyframe: home
    components:
      - type: PDController
        kp: {".*_hip": 60, default: 40}   # stiff
        kv: 1e-3
        torque_limit: inf
# the end
"""


def load(folder: Path, text: str = TEXT) -> mjrig.Scene:
    (folder / "s.yaml").write_bytes(text.encode())
    return mjrig.Scene.load(folder / "s.yaml")


def saved_difference(scene: mjrig.Scene, before: str) -> tuple[list[str], list[str]]:
    """The lines that went from and came to the file by saving."""
    scene.save()
    assert scene.path is not None
    old = before.splitlines()
    new = scene.path.read_bytes().decode().splitlines()
    codes = [c for c in SequenceMatcher(None, old, new, False).get_opcodes() if c[0] != "equal"]
    went = [line for _, i, i_end, _, _ in codes for line in old[i:i_end]]
    came = [line for _, _, _, j, j_end in codes for line in new[j:j_end]]
    return went, came


def bundled(name: str) -> Path:
    return Path(str(SCENES.joinpath(f"{name}.yaml")))


# Reading ----------------------------------------------------------------------------------------


def test_a_scene_says_what_its_file_says(models: Path) -> None:
    scene = load(models)
    assert [a.name for a in scene.actors] == ["dog"]
    assert scene["dog"].keyframe == "home"
    component = scene["dog"].components[0]
    assert isinstance(component, PDController)
    assert component.authored("kp") == {".*_hip": 60, "default": 40}
    assert (scene.path, scene.base) == (models / "s.yaml", models)


def test_numbers_may_be_written_with_an_exponent_or_as_inf(models: Path) -> None:
    controller = mjrig.World(load(models, TEXT.replace("60", "1e3")))["dog"].controllers[0]
    assert isinstance(controller, PDController)
    assert controller.kp.tolist() == [1000.0, 40.0, 1000.0, 40.0]
    assert controller.kv.tolist() == [0.001] * 4
    assert np.isinf(controller.torque_limit).all()


def test_a_path_may_be_a_string(models: Path) -> None:
    load(models)
    assert mjrig.Scene.load(str(models / "s.yaml"))["dog"].name == "dog"


def test_anchors_and_merge_keys_share_values_between_components(models: Path) -> None:
    text = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    components:
      - &left
        type: PDController
        actuators: left_.*
        kp: 7
      - <<: *left
        actuators: right_.*
"""
    first, second = mjrig.World(load(models, text))["dog"].controllers
    assert isinstance(first, PDController)
    assert isinstance(second, PDController)
    assert (first.kp.tolist(), second.kp.tolist()) == ([7.0, 7.0], [7.0, 7.0])
    assert [b.actuator for b in second.bindings] == ["right_hip", "right_knee"]


def test_a_file_that_is_too_big_is_refused(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MAX_CHARACTERS", 100)
    with pytest.raises(mjrig.SceneError) as caught:
        load(models)
    assert matches(
        str(caught.value), f"{models}/s.yaml:1:1: has {len(TEXT)} characters; at most 100 …"
    )


def test_a_model_may_come_from_a_package(tmp_path: Path) -> None:
    text = "mjrig: 1\nactors: [{name: p, model: 'package:mjrig.assets/pendulum/pendulum.xml'}]\n"
    world = mjrig.World(load(tmp_path, text))
    assert len(world["p"].actuators) == 1


def test_two_actors_may_use_the_same_model(models: Path) -> None:
    text = "mjrig: 1\nactors:\n  - {name: a, model: legs.xml}\n  - {name: b, model: legs.xml}\n"
    world = mjrig.World(load(models, text))
    assert list(world.articulations) == ["a", "b"]
    assert world["a"].actuator_names == world["b"].actuator_names


def test_a_scene_without_actors_is_a_world_without_actors() -> None:
    assert dict(mjrig.World(mjrig.Scene.parse("mjrig: 1\n")).articulations) == {}


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_scene_loads_and_steps(name: str) -> None:
    if name.endswith("_walk"):
        pytest.importorskip("onnxruntime")
    world = mjrig.World(bundled(name))
    assert world.articulations
    assert world.step(3) == 3
    assert np.isfinite(world.data.qpos).all()


def test_every_bundled_part_is_a_scene_of_its_own() -> None:
    parts = [p for p in files("mjrig.config").joinpath("parts").iterdir() if "yaml" in p.name]
    assert parts
    for part in parts:
        assert mjrig.World(Path(str(part))).articulations


def test_the_arms_of_a_pair_come_from_one_file_and_differ() -> None:
    world = mjrig.World(bundled("arm_pair"))
    left, right = (world[name].controllers[0] for name in ("left_arm", "right_arm"))
    assert isinstance(left, PDController)
    assert isinstance(right, PDController)
    assert (left.kp[0], right.kp[0]) == (300.0, 200.0)
    assert left.kv.tolist() == right.kv.tolist()


# Simulation options -----------------------------------------------------------------------------


def options(folder: Path, model: str, sim: str = "") -> mujoco.MjOption:
    (folder / "m.xml").write_text(model)
    head = f"mjrig: 1\nsim: {sim}\n" if sim else "mjrig: 1\n"
    scene = load(folder, head + "actors: [{name: a, model: m.xml}]\n")
    option: mujoco.MjOption = mjrig.World(scene).model.opt
    return option


RICH = HINGE.replace(
    '<option timestep="0.002"/>',
    '<option timestep="0.004" gravity="0 0 -1" wind="1 2 3" iterations="7" ls_iterations="9" '
    'cone="elliptic" impratio="3" integrator="implicitfast" solver="CG" jacobian="sparse" '
    'tolerance="1e-5"><flag contact="disable" energy="enable" warmstart="disable"/></option>',
)


def test_all_options_of_a_single_model_are_copied(models: Path) -> None:
    option = options(models, RICH)
    alone = mujoco.MjModel.from_xml_string(RICH).opt
    for name in (n for n in dir(alone) if not n.startswith("_")):
        assert np.array_equal(getattr(option, name), getattr(alone, name)), name


def test_sim_has_the_last_word_about_fields_enums_and_flags(models: Path) -> None:
    sim = (
        "{timestep: 1e-3, gravity: [0, 0, -2], iterations: 50, cone: pyramidal, integrator: RK4, "
        "contact: enable, energy: false, warmstart: true, frictionloss: disable}"
    )
    option = options(models, RICH, sim)
    assert (option.timestep, option.gravity.tolist(), option.iterations) == (0.001, [0, 0, -2], 50)
    assert option.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    assert option.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert option.disableflags == mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    assert option.enableflags == 0
    assert (option.ls_iterations, option.impratio) == (9, 3)


def test_gravity_in_sim_wins_over_the_flag_of_the_model(models: Path) -> None:
    model = HINGE.replace('0.002"/>', '0.002"><flag gravity="disable"/></option>')
    assert options(models, model).disableflags == mujoco.mjtDisableBit.mjDSBL_GRAVITY
    assert options(models, model, "{gravity: [0, 0, -9.81]}").disableflags == 0


# Saving -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_scene_saves_as_it_is_to_the_byte(name: str, tmp_path: Path) -> None:
    """Beside the files that it names; elsewhere only the names of files differ."""
    original = bundled(name).read_bytes()
    config = shutil.copytree(bundled(name).parents[1], tmp_path / "config")  # without the models
    mjrig.Scene.load(config / "scenes" / bundled(name).name).save(config / "scenes" / "twin.yaml")
    assert (config / "scenes" / "twin.yaml").read_bytes() == original
    mjrig.Scene.load(bundled(name)).save(tmp_path / "copy.yaml")
    lines = zip(
        original.splitlines(), (tmp_path / "copy.yaml").read_bytes().splitlines(), strict=True
    )
    assert all(a == b or b": ../" in a or b"file:" in a for a, b in lines)
    mjrig.World(tmp_path / "copy.yaml")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.removesuffix("\n"),
        TEXT.replace("# stiff", "#\tstiff\tagain"),
        TEXT.replace("robot", "Röböter 大"),
        "\ufeff" + TEXT,
        "mjrig: 1\nactors: [{name: dog, model:   legs.xml, pose: {position: [0,0,  1]}}] # flow\n",
        "mjrig: 1\nsim:\n  contact: off\n  timestep: 1e-3\n  gravity: [0, 0, -1e1]\nactors: []\n",
        "mjrig: 1\nactors:\n- name: dog\n  model: >-\n    legs.xml\n  pose: ~\n  joints: {}\n",
    ],
)
def test_an_untouched_scene_saves_as_it_is_to_the_byte(models: Path, text: str) -> None:
    scene = load(models, text)
    scene.save()
    assert (models / "s.yaml").read_bytes() == text.encode()


def test_an_edit_changes_its_line_only(models: Path) -> None:
    scene = load(models)
    scene.set("dog.PDController.kp", {".*_hip": 80, "default": 40})
    assert saved_difference(scene, TEXT) == (
        ['        kp: {".*_hip": 60, default: 40}   # stiff'],
        ['        kp: {".*_hip": 80, default: 40}   # stiff'],
    )


def test_an_edit_of_a_file_with_other_line_endings_keeps_them(models: Path) -> None:
    text = TEXT.replace("\n", "\r\n")
    scene = load(models, text)
    scene.set("dog.pose.position", [0, 0, 1])
    assert saved_difference(scene, text) == ([], ["    pose:", "      position: [0, 0, 1]"])
    assert (models / "s.yaml").read_bytes().count(b"\r\n") == text.count("\n") + 2


def test_actors_and_components_come_and_go_by_their_own_lines(models: Path) -> None:
    scene = load(models)
    scene["dog"].add_component(PassthroughController(actuators="pull"))
    scene.add_actor("cat", model="hinge.xml", pose={"position": [0, 2, 0]})
    scene.set("sim.timestep", 0.002)
    assert saved_difference(scene, TEXT) == (
        [],
        [
            "      - type: PassthroughController",
            "        actuators: pull",
            "  - name: cat",
            "    model: hinge.xml",
            "    pose:",
            "      position: [0, 2, 0]",
            "sim: {timestep: 0.002}",
        ],
    )
    again = mjrig.Scene.load(models / "s.yaml")
    assert again.to_data() == scene.to_data()
    assert list(mjrig.World(again).articulations) == ["dog", "cat"]
    again["dog"].remove_component(again["dog"].components[1])
    again.actors = again.actors[:1]
    again.unset("sim")
    again.save()
    assert (models / "s.yaml").read_text() == TEXT


def test_a_scene_made_in_python_saves_and_loads_as_itself(models: Path) -> None:
    scene = mjrig.Scene()
    dog = scene.add_actor("dog", model="legs.xml", joints={".*_hip": 0.5})
    dog.add_component(PDController(actuators=["left_.*"], kp=[1.0, 2.0], torque_limit=float("inf")))
    scene.set("dog.pd.kv", {"left_hip": 3, "default": 4})
    scene.set("dog.pose.euler_deg", [0, 0, 90])
    scene.save(models / "new.yaml")
    again = mjrig.Scene.load(models / "new.yaml")
    assert again.to_data() == {"mjrig": 1, **scene.to_data()}
    controller = mjrig.World(again)["dog"].controllers[0]
    assert isinstance(controller, PDController)
    assert (controller.kp.tolist(), controller.kv.tolist()) == ([1.0, 2.0], [3.0, 4.0])


def test_saving_without_a_path_needs_one() -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene().save()
    assert matches(str(caught.value), "the scene has no …")


def test_a_scene_that_cannot_be_written_says_so_and_keeps_its_file(models: Path) -> None:
    scene = load(models)
    with pytest.raises(mjrig.SceneError) as caught:
        scene.save(models / "nope" / "s.yaml")
    assert matches(
        str(caught.value), f"{models}/nope/s.yaml: there is no folder '{models}/nope'; …"
    )
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert scene.path == models / "s.yaml"


def test_a_write_that_fails_leaves_the_old_file(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = load(models)
    scene.set("dog.keyframe", "crouch")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(mjrig.SceneError) as caught:
        scene.save()
    assert matches(str(caught.value), f"{models}/s.yaml: cannot be written: No space …")
    assert (models / "s.yaml").read_text() == TEXT
    assert sorted(p.name for p in models.iterdir()) == ["hinge.xml", "legs.xml", "s.yaml"]


def test_a_shared_value_is_written_out_where_it_is_edited(models: Path) -> None:
    text = TEXT.replace("kv: 1e-3", "kv: &v 2\n        default_kp: *v")
    scene = load(models, text)
    scene.set("dog.pd.kv", 3)
    assert scene.to_text() == text.replace("&v 2", "3").replace("*v", "&v 2")
    scene.set("dog.pd.kv", 2)
    scene.set("dog.pd.default_kp", 4)
    scene.save()
    assert (models / "s.yaml").read_text() == text.replace("*v", "4")


def test_saving_keeps_the_permissions(models: Path) -> None:
    scene = load(models)
    (models / "s.yaml").chmod(0o640)
    scene.set("dog.keyframe", "crouch")
    scene.save()
    assert stat.S_IMODE((models / "s.yaml").stat().st_mode) == 0o640


def test_after_saving_elsewhere_further_edits_go_there(models: Path) -> None:
    scene = load(models)
    scene.save(models / "t.yaml")
    scene.set("dog.keyframe", "crouch")
    assert saved_difference(scene, TEXT) == (["    keyframe: home"], ["    keyframe: crouch"])
    assert scene.path == models / "t.yaml"
    assert (models / "s.yaml").read_text() == TEXT


# Editing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("dgo.pd.kp", 1, "the scene has no … 'dgo'; … 'dog'?"),
        ("dog.PD.kp", 1, "dog has no component 'PD'; … PDController"),
        ("dog.PDControler.kp", 1,
         "dog has no component 'PDControler'; … 'PDController'?"),
        ("dog.pd.kpp", 1, "PDController has no property 'kpp'; did … 'kp'?"),
        ("dog.keyfram", "x", "Actor has no property 'keyfram'; did … 'keyframe'?"),
        ("dog.pose.postion", [0, 0, 0], "Pose has no property 'postion'; did … 'position'?"),
        ("sim.timestp", 1, "SimOptions has no property 'timestp'; did … 'timestep'?"),
        ("kp", 1, "'kp' is not a path; … actor.component.property"),
        ("dog.pd.kp", "x", "dog.PDController.kp: must be a number, got 'x'"),
        ("dog.pd.kp", -1, "dog.PDController.kp: must be >= 0 N·m/rad, got -1"),
        ("dog.pose.quaternion", [0, 0, 0, 0],
         "dog.pose.quaternion: must not be zero; … [1, 0, 0, 0]"),
    ],
)  # fmt: skip
def test_a_path_or_value_that_is_wrong_names_the_right_one_and_changes_nothing(
    models: Path, path: str, value: object, expected: str
) -> None:
    scene = load(models)
    with pytest.raises(mjrig.PropertyError) as caught:
        scene.set(path, value)
    assert matches(str(caught.value), expected)
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT


def test_a_name_that_is_taken_is_refused_and_nothing_is_added(models: Path) -> None:
    scene = load(models)
    with pytest.raises(mjrig.PropertyError) as caught:
        scene.add_actor("dog", model="hinge.xml")
    assert matches(str(caught.value), "actors[1].name: 'dog' is the name of actors[0] …")
    assert len(scene.actors) == 1


def test_a_component_of_another_actor_cannot_be_removed(models: Path) -> None:
    scene = load(models)
    stranger = PDController(kp=1)
    with pytest.raises(mjrig.PropertyError) as caught:
        scene["dog"].remove_component(stranger)
    assert matches(str(caught.value), f"{stranger!r} is not a component … 'dog'")


def test_a_path_leads_to_an_object_and_a_name(models: Path) -> None:
    scene = load(models)
    assert find(scene, "dog.pd.kp") == (scene["dog"].components[0], "kp")


def test_a_pose_is_a_position_and_a_unit_quaternion() -> None:
    position, quaternion = rotation(mjrig.Pose(position=[1, 2, 3], quaternion=[0, 0, 0, 2]))
    assert (position.tolist(), quaternion.tolist()) == ([1, 2, 3], [0, 0, 0, 1])
    turned = rotation(mjrig.Pose(euler_deg=[0, 0, 90]))[1]
    assert turned == pytest.approx([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert rotation(None)[1].tolist() == [1, 0, 0, 0]


PARTS = """mjrig: 1
seed: 3
frames: [{name: gate}]
collision_groups: [{name: legs, members: [dog]}]
randomise: [{path: dog.PDController.default_kp}]
actors:
  - name: dog
    model: legs.xml
    pose: {position: [0, 0, 1]}
    keyframes: [{name: low}, {name: lower}]
    free_bodies: [{body: left}]
    components:
      - type: PDController
        delay: {steps: 1}
        clamps: [{type: MaxEffort, max_effort: 3}]
"""


def test_every_described_object_has_a_path_that_leads_back_to_it(models: Path) -> None:
    scene = load(models, PARTS)
    paths = {path_of(obj): obj for obj in scene._family()}
    assert sorted(paths) == [
        "collision_groups[0]",
        "dog",
        "dog.PDController",
        "dog.PDController.clamps[0]",
        "dog.PDController.delay",
        "dog.free_bodies[0]",
        "dog.keyframes[0]",
        "dog.keyframes[1]",
        "dog.pose",
        "frames[0]",
        "randomise[0]",
        "scene",
    ]
    assert all(existing(scene, path) is obj for path, obj in paths.items())


def test_items_of_lists_and_the_scene_itself_are_set_by_path(models: Path) -> None:
    scene = load(models, PARTS)
    scene.set("scene.seed", 4)
    scene.set("frames[0].position", [0, 0, 2])
    scene.set("dog.keyframes[1].name", "lowest")
    scene.set("dog.PDController.clamps[0].max_effort", 4)
    assert scene.seed == 4
    assert scene.to_data()["frames"] == [{"name": "gate", "position": [0, 0, 2]}]
    assert [k.name for k in scene["dog"].keyframes] == ["low", "lowest"]
    with pytest.raises(mjrig.PropertyError) as caught:
        scene.set("dog.keyframes[2].name", "x")
    assert mentions(str(caught.value), "dog has no part 'keyframes[2]'; …")


def test_looking_something_up_makes_no_part(models: Path) -> None:
    scene = load(models)
    for path in (
        "dog.pose",
        "dog.pose.position",
        "sim",
        "dog.PDController.delay",
        "nobody.x",
        "a b",
    ):
        assert existing(scene, path) is None
    assert scene.to_text() == TEXT


@pytest.mark.parametrize("path", ["sim.timestp", "vars.kp"])
def test_an_actor_may_share_the_name_of_a_section(models: Path, path: str) -> None:
    """Such a path is the scene's, and so is everything that an error undoes."""
    law = "components: [{type: PDController, kp: '${kp}'}]"
    actors = "".join(f"  - {{name: {n}, model: legs.xml, {law}}}\n" for n in ("sim", "vars"))
    text = f"mjrig: 1\nvars: {{kp: 9}}\nactors:\n{actors}"
    scene = load(models, text)
    with pytest.raises(mjrig.PropertyError):
        scene.set(path, -1.0)
    assert scene.sim is None
    assert scene.vars == {"kp": 9}
    assert scene.to_text() == text


def test_an_actor_may_be_called_scene(models: Path) -> None:
    scene = load(models, "mjrig: 1\nactors: [{name: scene, model: legs.xml}]\n")
    scene.set("scene.keyframe", "home")
    assert scene["scene"].keyframe == "home"
