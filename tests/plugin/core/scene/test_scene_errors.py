"""Whatever is wrong in a scene file is one SceneError that says where, what, and what is right."""

from pathlib import Path

import pytest

import mjrig
from mjrig.core.errors import LocatedError
from tests.conftest import HINGE
from tests.wording import matches

HEAD = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
"""
PD = HEAD + "    components:\n      - type: PDController\n"
WITH_SIM = HEAD.replace("actors:", "sim: {SIM}\nactors:")
TWO = """\
mjrig: 1
actors:
  - {name: a, model: hinge.xml}
  - {name: b, model: other.xml}
"""


def refusal(folder: Path, text: str) -> mjrig.SceneError:
    """The error of a scene file with this text, without the folder in its name."""
    file = folder / "s.yaml"
    file.write_text(text)
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.World(file)
    return caught.value


def message(folder: Path, text: str) -> str:
    return str(refusal(folder, text)).replace(f"{folder}/", "")


# Files and versions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "s.yaml:1:1: a scene is a … 'mjrig: 1' … 'actors'"),
        ("# x\n- a\n", "s.yaml:2:1: a scene is a … 'mjrig: 1' … 'actors'"),
        ("text", "s.yaml:1:1: a scene is a … 'mjrig: 1' … 'actors'"),
        ("actors: []\n", "s.yaml:1:1: the format version is … 'mjrig: 1'"),
        (
            "# x\nmjrig: 2\n",
            "s.yaml:2:8: mjrig: format version 2 is not … 1",
        ),
        ("mjrig: one\n", "s.yaml:1:8: mjrig: scene.mjrig: must be a number, … 'one'"),
        ("mjrig: 1\nactors: {}\n", "s.yaml:2:9: actors: scene.actors: must be a list, … {}"),
        (
            "mjrig: 1\nactors: [5]\n",
            "s.yaml:2:10: actors[0]: scene.actors[0]: must be a mapping, got 5",
        ),
        (
            "mjrig: 1\nactors: [a\n",
            "s.yaml:3:1: not valid YAML: expected ',' or ']', … '<stream end>', …",
        ),
        (
            HEAD + "    keyframe: !!python/name:os.system ''\n",
            "s.yaml:5:15: actors[0].keyframe: the tag !!python/name:os.system is not … YAML",
        ),
        (
            HEAD + "    model: b.xml\n",
            "s.yaml:5:5: actors[0]: duplicate key 'model'; first at 4:5",
        ),
    ],
)
def test_a_text_that_is_no_scene_is_refused(models: Path, text: str, expected: str) -> None:
    assert matches(message(models, text), expected)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(HEAD)
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.load(tmp_path / "sceen.yaml")
    assert matches(
        str(caught.value), f"{tmp_path}/sceen.yaml:1:1: there is no such … 'scene.yaml'?"
    )
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.load(tmp_path)
    assert matches(str(caught.value), f"{tmp_path}:1:1: cannot be read: Is a …")


def test_a_file_that_is_not_utf8_is_refused_at_the_first_wrong_byte(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"mjrig: 1\n# \xc3\xa9 \xe9\n")
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.load(file)
    assert matches(str(caught.value), f"{file}:2:5: not UTF-8 text: invalid continuation …")


def test_a_text_without_a_file_is_called_text() -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.parse("mjrig: 1\nactor: []\n")
    assert str(caught.value) == (
        "<text>:2:1: actor: Scene has no property 'actor'; did you mean 'actors'?"
    )


# Actors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "  - name: dog\n    model: lgs.xml\n",
            "s.yaml:4:12: actors[0].model: dog.model: there is no file 'lgs.xml'; … 'legs.xml'?",
        ),
        (
            "  - name: dog\n    model: nope/legs.xml\n",
            "s.yaml:4:12: actors[0].model: dog.model: there is no file 'nope/legs.xml'; … 'nope' …",
        ),
        (
            "  - name: dog\n    model: legs.stl\n",
            "s.yaml:4:12: actors[0].model: dog.model: must end in .xml or .mjcf … .urdf … "
            ".mjb … .mjz … .zip, … 'legs.stl'",
        ),
        (
            "  - name: dog\n    model: 5\n",
            "s.yaml:4:12: actors[0].model: dog.model: must be a file … 5",
        ),
        (
            "  - name: dog\n    model: package:mjrig.nope/legs.xml\n",
            "s.yaml:4:12: actors[0].model: dog.model: there is no installed … 'mjrig.nope'",
        ),
        (
            "  - name: dog\n    model: package:mjrig.assets/arm/amr.xml\n",
            "s.yaml:4:12: actors[0].model: dog.model: the package 'mjrig.assets' has no … "
            "'arm/amr.xml'",
        ),
        ("  - model: legs.xml\n", "s.yaml:3:5: actors[0]: actors[0]: needs a name"),
        ("  - name: dog\n", "s.yaml:3:5: actors[0]: dog: needs a model or …"),
        (
            "  - model: legs.xml\n    name: my/dog\n",
            "s.yaml:4:11: actors[0].name: actors[0].name: must be letters, digits, _ and "
            "-, starting … 'my/dog'",
        ),
        (
            "  - {name: on, model: legs.xml}\n",
            "s.yaml:3:12: actors[0].name: actors[0].name: must be text, got True; …",
        ),
        (
            "  - {name: 12, model: legs.xml}\n",
            "s.yaml:3:12: actors[0].name: actors[0].name: must be text, got 12; …",
        ),
        (
            "  - {name: dog, model: legs.xml}\n  - {name: dog, model: legs.xml}\n",
            "s.yaml:4:12: actors[1].name: actors[1].name: 'dog' is the name of actors[0] …",
        ),
    ],
)
def test_an_actor_that_cannot_be_is_refused(models: Path, lines: str, expected: str) -> None:
    assert matches(message(models, "mjrig: 1\nactors:\n" + lines), expected)


def test_a_model_name_longer_than_any_file_name_is_refused(models: Path) -> None:
    name = "a" * 5000 + ".xml"
    text = message(models, HEAD.replace("legs.xml", name))
    assert text.startswith("s.yaml:4:12: actors[0].model: dog.model: there is no file 'aaaa")
    assert len(text) < 2500


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "    modle: x\n",
            "s.yaml:5:5: actors[0].modle: Actor has no property 'modle'; did … 'model'?",
        ),
        (
            "    pose: {positon: [0, 0, 0]}\n",
            "s.yaml:5:12: actors[0].pose.positon: Pose has no property 'positon'; did … "
            "'position'?",
        ),
        (
            "    pose:\n      position: [0, 0, 1]\n      quaternion: [0, 0, 0, 0]\n",
            "s.yaml:7:19: actors[0].pose.quaternion: dog.pose.quaternion: must not be "
            "zero; … [1, 0, 0, 0]",
        ),
        (
            "    pose:\n      quaternion: [1, 0, 0, 0]\n      euler_deg: [0, 0, 0]\n",
            "s.yaml:6:19: actors[0].pose.quaternion: dog.pose: has both euler_deg and "
            "quaternion; …",
        ),
        (
            "    pose: {position: [0, nan, 0]}\n",
            "s.yaml:5:26: actors[0].pose.position: dog.pose.position: must be a number, … nan",
        ),
        (
            "    pose: {position: [0, 0]}\n",
            "s.yaml:5:22: actors[0].pose.position: dog.pose.position: must have 3 values, got 2",
        ),
        ("    pose: 5\n", "s.yaml:5:11: actors[0].pose: dog.pose: must be a mapping, got 5"),
        (
            "    keyframe: hoem\n",
            "s.yaml:5:15: actors[0].keyframe: dog.keyframe: the model has no … 'hoem'; … 'home'?",
        ),
        (
            "    keyframe: no\n",
            "s.yaml:5:15: actors[0].keyframe: dog.keyframe: must be text, got False; …",
        ),
        (
            "    joints:\n      left_hip: 1\n      left_kne: 2\n",
            "s.yaml:7:7: actors[0].joints: dog.joints: 'left_kne' matches no hinge or … "
            "'dog'; … 'left_knee'?",
        ),
        (
            "    joints: {left_.*: 1, .*_hip: 2}\n",
            "s.yaml:5:26: actors[0].joints: dog.joints: 'left_hip' is matched by 'left_.*' (1) "
            "and '.*_hip' (2)",
        ),
        (
            "    joints: {left_hip: x}\n",
            "s.yaml:5:24: actors[0].joints: dog.joints: must be a finite … 'x' … 'left_hip'",
        ),
        (
            "    joints: {left_hip: 1:30}\n",
            "s.yaml:5:24: actors[0].joints.left_hip: 1:30 is not a decimal …",
        ),
    ],
)
def test_a_wrong_line_of_an_actor_is_refused(models: Path, lines: str, expected: str) -> None:
    assert matches(message(models, HEAD + lines), expected)


def test_a_joint_pattern_that_is_no_pattern_is_refused_at_its_key(models: Path) -> None:
    text = HEAD + "    joints: {left_hip: 0, '(': 1}\n"
    assert message(models, text).startswith("s.yaml:5:27: actors[0].joints: dog.joints: '(' is not")


# Models -----------------------------------------------------------------------------------------


def test_a_model_that_does_not_parse_is_refused_at_its_line(models: Path) -> None:
    (models / "bad.xml").write_text("<mujoco>\n<worldbody>\n<body>\n</worldbody></mujoco>")
    error = refusal(models, HEAD.replace("legs.xml", "bad.xml"))
    start = f"{models}/s.yaml:4:12: actors[0].model: dog.model: "
    assert str(error).startswith(start)
    assert "\n" not in str(error)
    assert isinstance(error.__cause__, mjrig.PropertyError)
    assert isinstance(error.__cause__.__cause__, ValueError)


def test_a_model_that_does_not_compile_is_refused_at_the_line_of_its_actor(models: Path) -> None:
    (models / "bad.xml").write_text(
        '<mujoco><worldbody><body name="b"><joint/></body></worldbody></mujoco>'
    )
    text = "mjrig: 1\nactors:\n  - {name: g, model: hinge.xml}\n  - {name: dog, model: bad.xml}\n"
    assert message(models, text).startswith("s.yaml:4:24: actors[1].model: the model does not")
    assert "mass and inertia" in message(models, text)


def test_the_actor_whose_name_ends_like_the_culprits_is_not_blamed(models: Path) -> None:
    (models / "bad.xml").write_text(
        '<mujoco><worldbody><body name="b"><joint/></body></worldbody></mujoco>'
    )
    text = "mjrig: 1\nactors:\n  - {name: g, model: hinge.xml}\n  - {name: dog, model: bad.xml}\n"
    assert message(models, text.replace("dog", "bigg")).startswith("s.yaml:4:25: actors[1].model:")


def test_a_motor_on_a_joint_that_does_not_exist_is_refused(models: Path) -> None:
    (models / "bad.xml").write_text(HINGE.replace('joint="swing"/></act', 'joint="swung"/></act'))
    assert message(models, HEAD.replace("legs.xml", "bad.xml")).startswith(
        "s.yaml:4:12: actors[0].model: dog.model: Error: unknown transmission target 'swung'"
    )


# Components -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "    components: 5\n",
            "s.yaml:5:17: actors[0].components: dog.components: must be a list, got 5",
        ),
        (
            "    components: [5]\n",
            "s.yaml:5:18: actors[0].components[0]: dog.components[0]: must be a mapping, got 5",
        ),
        (
            "    components:\n      - actuators: .*\n        type: PDControler\n",
            "s.yaml:7:15: actors[0].components[0]: dog.components[0]: there is no "
            "component … 'PDControler'; … 'PDController'?",
        ),
        (
            "    components:\n      - type: TrotGait\n",
            "s.yaml:6:9: actors[0].components[0]: dog.TrotGait: needs an actuator "
            "'FL_hip'; available: left_hip, left_knee, right_hip, right_knee, …",
        ),
    ],
)
def test_a_component_that_cannot_be_is_refused(models: Path, lines: str, expected: str) -> None:
    found = message(models, HEAD + lines)
    assert matches(found, expected)


def test_a_component_without_a_type_is_refused_with_the_types_there_are(models: Path) -> None:
    found = message(models, HEAD + "    components:\n      - kp: 1\n")
    start = "s.yaml:6:9: actors[0].components[0]: dog.components[0]: needs a 'type', one of "
    assert found.startswith(start)
    assert {"PDController", "TrotGait"} <= set(found.removeprefix(start).split(", "))


KP = "actors[0].components[0].kp: dog.PDController.kp: "


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "        kpp: 3\n",
            "s.yaml:7:9: actors[0].components[0].kpp: PDController has no property 'kpp'; "
            "did you mean 'kp'?",
        ),
        (
            "        kp:\n          .*_knee: 1\n          # hips\n          .*_hpi: 2\n",
            f"s.yaml:10:11: {KP}'.*_hpi' matches no actuator or joint of 'dog'; "
            "did you mean '.*_hip'?",
        ),
        (
            "        kp: {default: 1, .*_hpi: 2}\n",
            f"s.yaml:7:26: {KP}'.*_hpi' matches no actuator or joint of 'dog'; "
            "did you mean '.*_hip'?",
        ),
        (
            "        kp: {left_.*: 1, .*_hip: 2}\n",
            f"s.yaml:7:26: {KP}'left_hip' is matched by 'left_.*' (1) and '.*_hip' (2)",
        ),
        (
            "        kp: [1, 2]\n",
            f"s.yaml:7:13: {KP}must have 4 values, one per actuator, got 2; "
            "order: left_hip, left_knee, right_hip, right_knee",
        ),
        ("        kp: nan\n", f"s.yaml:7:13: {KP}must be a number, got nan"),
        ("        kp: .nan\n", f"s.yaml:7:13: {KP}must be a number, got nan"),
        ("        kp: inf\n", f"s.yaml:7:13: {KP}must be finite, got inf"),
        ("        kp: stiff\n", f"s.yaml:7:13: {KP}must be a number, got 'stiff'"),
        ("        kp: on\n", f"s.yaml:7:13: {KP}must be a number, got True"),
        (
            "        kp: [1, 2, .nan, 4]\n",
            f"s.yaml:7:20: {KP}must be a number, got nan at index 2",
        ),
        (
            "        kp: 010\n",
            "s.yaml:7:13: actors[0].components[0].kp: 010 is not a decimal number; write it as one",
        ),
        (
            "        torque_limit: -1\n",
            "s.yaml:7:23: actors[0].components[0].torque_limit: dog.PDController.torque_limit: "
            "must be >= 0 N·m, got -1",
        ),
        (
            "        torque_limit:\n          left_hip: 1\n          left_knee: -1\n",
            "s.yaml:9:22: actors[0].components[0].torque_limit: dog.PDController.torque_limit: "
            "must be >= 0 N·m, got -1 for 'left_knee'",
        ),
        (
            "        default_kv: soft\n",
            "s.yaml:7:21: actors[0].components[0].default_kv: dog.PDController.default_kv: "
            "must be a number, got 'soft'",
        ),
        (
            "        actuators: lft_.*\n",
            "s.yaml:7:20: actors[0].components[0].actuators: dog.PDController.actuators: "
            "'lft_.*' matches no actuator or joint of 'dog'; did you mean 'left_.*'?",
        ),
        (
            "        actuators: [left_.*, rigth_.*]\n",
            "s.yaml:7:30: actors[0].components[0].actuators: dog.PDController.actuators: "
            "'rigth_.*' matches no actuator or joint of 'dog'; did you mean 'right_.*'?",
        ),
        (
            "        actuators: [left_.*, pull]\n",
            "s.yaml:7:30: actors[0].components[0].actuators: dog.PDController: 'pull' drives the "
            "tendon 'knees', not a joint; set transmissions: all to run the law on its length, "
            "or leave it out",
        ),
        (
            "        actuators: left_.*\n"
            "      - type: PassthroughController\n"
            "        actuators: .*_hip\n",
            "s.yaml:8:9: actors[0].components[1]: dog: actuator 'left_hip' is claimed by "
            "components[0] PDController ('left_.*') and components[1] PassthroughController "
            "('.*_hip'); make the patterns disjoint",
        ),
    ],
)
def test_a_wrong_line_of_a_component_is_refused(models: Path, lines: str, expected: str) -> None:
    error = refusal(models, PD + lines)
    assert matches(error, f"{models}/{expected}")
    if "decimal" not in expected:  # that one is refused while reading, before there is a property
        assert isinstance(error.__cause__, LocatedError)
        assert str(error).endswith(f": {error.__cause__}")


def test_an_error_under_an_alias_is_where_the_value_is_written(models: Path) -> None:
    text = PD + "        actuators: left_.*\n        kp: &k {right_.*: 1}\n        kv: *k\n"
    assert message(models, text).startswith("s.yaml:8:17: actors[0].components[0].kp: ")


# Simulation options -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sim", "expected"),
    [
        (
            "{timestp: 1}",
            "s.yaml:2:7: sim.timestp: SimOptions has no property 'timestp'; did … 'timestep'?",
        ),
        ("{timestep: 0}", "s.yaml:2:17: sim.timestep: sim.timestep: must be > 0, got 0"),
        (
            "{timestep: true}",
            "s.yaml:2:17: sim.timestep: sim.timestep: must be a finite … True",
        ),
        (
            "{gravity: [0, 0, nan]}",
            "s.yaml:2:23: sim.gravity: sim.gravity: must be a finite … 'nan'",
        ),
        (
            "{gravity: -9.81}",
            "s.yaml:2:16: sim.gravity: sim.gravity: must be a list … 3 … -9.81",
        ),
        (
            "{integrator: euler}",
            "s.yaml:2:19: sim.integrator: sim.integrator: must be one of Euler, RK4, "
            "implicit, implicitfast, discrete; … 'euler'",
        ),
        (
            "{contact: maybe}",
            "s.yaml:2:16: sim.contact: sim.contact: must be one of … 'maybe'",
        ),
        ("5", "s.yaml:2:6: sim: scene.sim: must be a mapping, … 5"),
    ],
)
def test_a_wrong_option_is_refused(models: Path, sim: str, expected: str) -> None:
    assert matches(message(models, WITH_SIM.replace("{SIM}", sim)), expected)


@pytest.mark.parametrize(
    ("option", "sim", "difference"),
    [
        ('timestep="0.004"', "timestep: 0.001", "timestep: the models differ: 0.002 in 'a', 0.004"),
        (
            'timestep="0.002" cone="elliptic"',
            "cone: pyramidal",
            "cone: the models differ: pyramidal in 'a', elliptic",
        ),
        (
            'timestep="0.002" gravity="0 0 -1"',
            "gravity: [0, 0, 0]",
            "gravity: the models differ: [ 0.    0.   -9.81] in 'a', [ 0.  0. -1.]",
        ),
    ],
)
def test_models_whose_options_differ_are_refused_until_sim_sets_the_field(
    models: Path, option: str, sim: str, difference: str
) -> None:
    (models / "other.xml").write_text(HINGE.replace('timestep="0.002"', option))
    name = difference.partition(":")[0]
    assert matches(
        message(models, TWO), f"s.yaml:1:1: sim.{name}: sim.{difference} in 'b'; set it under …"
    )
    (models / "t.yaml").write_text(TWO.replace("actors:", f"sim: {{{sim}}}\nactors:"))
    mjrig.World(models / "t.yaml")


@pytest.mark.parametrize(
    ("flag", "sim", "difference"),
    [
        (
            'contact="disable"',
            "contact: true",
            "contact: the models differ: enable in 'a', disable",
        ),
        ('energy="enable"', "energy: false", "energy: the models differ: disable in 'a', enable"),
        (
            'gravity="disable"',
            "gravity: [0, 0, -9.81]",
            "gravity: the models differ: [ 0.    0.   -9.81] in 'a', [0. 0. 0.]",
        ),
    ],
)
def test_models_whose_flags_differ_are_refused_until_sim_sets_the_flag(
    models: Path, flag: str, sim: str, difference: str
) -> None:
    other = HINGE.replace('0.002"/>', f'0.002"><flag {flag}/></option>')
    (models / "other.xml").write_text(other)
    name = difference.partition(":")[0]
    assert matches(
        message(models, TWO), f"s.yaml:1:1: sim.{name}: sim.{difference} in 'b'; set it under …"
    )
    (models / "t.yaml").write_text(TWO.replace("actors:", f"sim: {{{sim}}}\nactors:"))
    mjrig.World(models / "t.yaml")


# Nothing half done ------------------------------------------------------------------------------


def test_a_refused_world_leaves_the_scene_as_it_was(models: Path) -> None:
    scene = mjrig.Scene.parse(PD + "        kp: {.*_hpi: 1}\n", models)
    before, text = scene.to_data(), scene.to_text()
    component = scene["dog"].components[0]
    state = dict(vars(component))
    with pytest.raises(mjrig.SceneError):
        mjrig.World(scene)
    assert (scene.to_data(), scene.to_text()) == (before, text)
    assert vars(component) == state
    scene.set("dog.pd.kp", {".*_hip": 1})
    assert mjrig.World(scene)["dog"].controllers[0].bindings[0].actuator == "left_hip"


def test_a_refused_assignment_leaves_the_scene_as_it_was(models: Path) -> None:
    scene = mjrig.Scene.parse(PD, models)
    before = scene.to_data()
    with pytest.raises(mjrig.PropertyError):
        scene.assign({"sim": {"timestep": 0.001}, "actors": [{"name": "a"}]})
    assert scene.to_data() == before
    assert scene.sim is None


# Without a file ---------------------------------------------------------------------------------


def test_a_scene_made_in_python_raises_property_and_binding_errors(models: Path) -> None:
    from mjrig.components import PDController

    with pytest.raises(mjrig.PropertyError) as refused:
        PDController(kp=-1)
    assert str(refused.value) == "PDController.kp: must be >= 0 N·m/rad, got -1"
    scene = mjrig.Scene()
    dog = scene.add_actor("dog", model=models / "legs.xml")
    dog.add_component(PDController(actuators="left_.*", kp={"left_hpi": 1}))
    with pytest.raises(mjrig.PropertyError) as unmatched:
        mjrig.World(scene)
    assert matches(
        str(unmatched.value),
        "dog.PDController.kp: 'left_hpi' matches no actuator or … 'dog'; … 'left_hip'?",
    )
    scene.set("dog.pd.kp", 1)
    dog.add_component(PDController(actuators=".*_hip"))
    with pytest.raises(mjrig.BindingError) as claimed:
        mjrig.World(scene)
    assert matches(
        str(claimed.value),
        "dog: actuator 'left_hip' is claimed by components[0] PDController ('left_.*') "
        "… components[1] PDController ('.*_hip'); …",
    )


def test_a_missing_model_of_a_scene_made_in_python_is_a_property_error(tmp_path: Path) -> None:
    scene = mjrig.Scene()
    scene.add_actor("dog", model=tmp_path / "nope.xml")
    with pytest.raises(mjrig.PropertyError) as caught:
        mjrig.World(scene)
    assert str(caught.value) == f"dog.model: there is no file '{tmp_path}/nope.xml'"
