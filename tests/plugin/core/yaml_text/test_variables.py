"""Variables: put in when a scene is read, kept when it is saved, followed when they change."""

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mjrig
from mjrig.components import PDController
from mjrig.core.errors import PropertyError
from mjrig.core.yaml_text.yaml_document import MAX_DEPTH, MAX_NODES, Resolved, escaped
from tests.worlds import refused

TEXT = """\
# Gains by side.
mjrig: 1
vars:
  side: left           # or right
  kp: 40
  stiff: ${kp}
  hips: {"${side}_hip": 60, default: 1}
actors:
  - name: ${side}_dog
    model: legs.xml
    components:
      - type: PDController
        actuators: ["${side}_.*"]
        kp: ${stiff}   # as the variable says
        kv: {"${side}_hip": 2, "${side}_knee": 3}
        torque_limit: ${hips}
"""


def load(folder: Path, text: str = TEXT, **options: Any) -> mjrig.Scene:
    (folder / "s.yaml").write_text(text)
    return mjrig.Scene.load(folder / "s.yaml", **options)


def controller(scene: mjrig.Scene) -> PDController:
    component = scene.actors[0].components[0]
    assert isinstance(component, PDController)
    return component


def resolved(value: Any, **variables: Any) -> Any:
    return Resolved({"vars": variables, "x": value}, {}).data["x"]


# What they become -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${n}", 40),
        ("${f}", 0.5),
        ("${t}", "left"),
        ("${b}", True),
        ("${none}", None),
        ("${list}", [1, [2]]),
        ("${map}", {"a": 1}),
        ("${t}_arm", "left_arm"),
        ("${t}${n}", "left40"),
        ("${f} ${b}", "0.5 true"),
        ("$${t}", "${t}"),
        ("a$${t}${t}", "a${t}left"),
        ("$$${t}", "$${t}"),
        ("$t {t} $", "$t {t} $"),
        (["${n}", {"${t}_knee": "${f}"}], [40, {"left_knee": 0.5}]),
        ({"${n}": 1}, {"40": 1}),
        ("${deep}", [40, "left"]),
    ],
)
def test_a_variable_becomes_its_value(value: Any, expected: Any) -> None:
    variables = {
        "n": 40, "f": 0.5, "t": "left", "b": True, "none": None,
        "list": [1, [2]], "map": {"a": 1}, "deep": ["${later}", "${t}"], "later": "${n}",
    }  # fmt: skip
    found = resolved(value, **variables)
    assert found == expected
    assert type(found) is type(expected)


def test_a_scene_says_what_its_variables_say(models: Path) -> None:
    scene = load(models)
    pd = controller(scene)
    assert scene["left_dog"] is scene.actors[0]
    assert pd.authored("kp") == 40
    assert pd.authored("kv") == {"left_hip": 2, "left_knee": 3}
    assert pd.authored("torque_limit") == {"left_hip": 60, "default": 1}
    assert scene.variables() == {
        "side": "left",
        "kp": 40,
        "stiff": 40,
        "hips": {"left_hip": 60, "default": 1},
    }
    built = mjrig.World(scene)["left_dog"].controllers[0]
    assert isinstance(built, PDController)
    assert built.kv.tolist() == [2.0, 3.0]


def test_a_caller_gives_other_values(models: Path) -> None:
    scene = load(models, vars={"side": "right", "kp": 7})
    assert [a.name for a in scene.actors] == ["right_dog"]
    assert controller(scene).authored("kp") == 7
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT


def test_what_a_caller_gives_is_taken_as_it_is(models: Path) -> None:
    text = "mjrig: 1\nvars: {name: dog}\nactors: [{name: a, model: '${name}.xml'}]\n"
    assert str(load(models, text, vars={"name": "${kp}"}).actors[0].model) == "${kp}.xml"


def test_anchors_may_stand_among_the_variables(models: Path) -> None:
    text = """\
mjrig: 1
vars:
  shared: &pd {type: PDController, kp: 7}
actors:
  - {name: a, model: hinge.xml, components: [{<<: *pd, kv: 1}]}
  - {name: b, model: hinge.xml, components: [*pd]}
"""
    scene = load(models, text)
    assert [a.components[0].to_data() for a in scene.actors] == [
        {"type": "PDController", "kp": 7, "kv": 1},
        {"type": "PDController", "kp": 7},
    ]
    scene.save()
    assert (models / "s.yaml").read_text() == text


# What is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("${stiff}   #", "${stif}   #",
         "s.yaml:14:13: actors[0].components[0].kp: there is no variable 'stif'; … "
         "'stiff'?"),
        ("stiff: ${kp}", "stiff: ${qq}",
         "s.yaml:6:10: vars.stiff: there is no variable 'qq'; … side, kp, stiff, hips"),
        ("kp: 40", "kp: ${stiff}",
         "s.yaml:6:10: vars.stiff: the variable 'kp' refers to … → … → …"),
        ("kp: 40", "kp: a${kp}",
         "s.yaml:5:7: vars.kp: the variable 'kp' refers to … → …"),
        ("name: ${side}_dog", "name: ${hips}_dog",
         "s.yaml:9:11: actors[0].name: the variable 'hips' is a …"),
        ("name: ${side}_dog", "name: ${side_dog",
         "s.yaml:9:11: actors[0].name: '${' has no '}'; write '$${' for … '${'"),
        ('"${side}_knee": 3', '"${sid}_knee": 3',
         "s.yaml:15:32: actors[0].components[0].kv.${sid}_knee: there is no variable "
         "'sid'; … 'side'?"),
        ('"${side}_knee": 3', '"left_hip": 3',
         "s.yaml:15:32: actors[0].components[0].kv.left_hip: duplicate key 'left_hip' "
         "after substituting …"),
        ("kp: 40", "kp: -40",
         "s.yaml:14:13: actors[0].components[0].kp: left_dog.PDController.kp: "
         "must be >= 0 N·m/rad, got -40"),
        ('"${side}_hip": 2', '"${side}_hip": -2',
         "s.yaml:15:29: actors[0].components[0].kv: left_dog.PDController.kv: "
         "must be >= 0 N·m·s/rad, got -2 for 'left_hip'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_stands(
    models: Path, old: str, new: str, expected: str
) -> None:
    assert old in TEXT
    with refused(mjrig.SceneError, f"{models}/{expected}"):
        load(models, TEXT.replace(old, new))


def test_variables_that_are_no_mapping_are_refused(models: Path) -> None:
    with refused(
        mjrig.SceneError, f"{models}/s.yaml:2:7: vars: scene.vars: must be a mapping, … [1]"
    ):
        load(models, "mjrig: 1\nvars: [1]\n")


def test_a_key_with_a_variable_that_matches_nothing_is_found_in_the_text(models: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.World(load(models, TEXT.replace('"${side}_knee": 3', '"${side}_nee": 3')))
    assert str(caught.value).startswith(
        f"{models}/s.yaml:15:32: actors[0].components[0].kv: left_dog.PDController.kv: "
        "'left_nee' matches no actuator"
    )


def test_a_caller_cannot_give_what_the_scene_does_not_have(models: Path) -> None:
    message = f"{models}/s.yaml:1:1: the scene has no … 'kpp'; … 'kp'?"
    with refused(mjrig.SceneError, message):
        load(models, vars={"kpp": 1})


def test_variables_of_variables_do_not_grow_without_bound() -> None:
    tens = {f"v{i}": [f"${{v{i - 1}}}"] * 10 for i in range(1, 20)} | {"v0": 1}
    with refused(PropertyError, f"the variables expand to … {MAX_NODES} …"):
        resolved("${v19}", **tens)
    texts = {f"v{i}": f"${{v{i - 1}}}" * 10 for i in range(1, 20)} | {"v0": "x" * 100}
    with refused(PropertyError, f"the variables expand to … {MAX_NODES} …"):
        resolved("${v19}", **texts)
    chain = {f"v{i}": f"${{v{i - 1}}}" for i in range(1, 5000)} | {"v0": 1}
    reverse = dict(reversed(chain.items()))
    with refused(PropertyError, f"variables are nested more … {MAX_DEPTH} …"):
        resolved("${v4999}", **reverse)


# Saving -----------------------------------------------------------------------------------------


def test_an_untouched_scene_keeps_its_variables(models: Path) -> None:
    load(models).save()
    assert (models / "s.yaml").read_text() == TEXT


def test_a_changed_value_is_written_out_where_it_stands(models: Path) -> None:
    scene = load(models)
    scene.set("left_dog.pd.kp", 50)
    scene.set("left_dog.pd.kv", {"left_hip": 2, "left_knee": 9})
    scene.save()
    expected = TEXT.replace("${stiff}   #", "50   #").replace('_knee": 3', '_knee": 9')
    assert (models / "s.yaml").read_text() == expected


def test_a_new_text_that_looks_like_a_variable_is_escaped(models: Path) -> None:
    scene = load(models)
    scene.set("left_dog.keyframe", "${kp}")
    scene.add_actor("b", model="$${x}.xml")
    scene.save()
    text = (models / "s.yaml").read_text()
    assert "keyframe: $${kp}\n" in text
    again = mjrig.Scene.load(models / "s.yaml")
    assert (again["left_dog"].keyframe, str(again["b"].model)) == ("${kp}", "$${x}.xml")


def test_actors_that_come_and_go_leave_the_variables_of_the_others(models: Path) -> None:
    scene = load(models)
    scene.actors = (mjrig.Actor(name="first", model="hinge.xml"), *scene.actors)
    text = scene.to_text()
    assert "- name: first\n    model: hinge.xml\n  - name: ${side}_dog\n" in text
    assert "kp: ${stiff}   # as the variable says" in text


def test_a_scene_made_in_python_escapes_and_keeps_its_variables(models: Path) -> None:
    scene = mjrig.Scene(vars={"kp": 1, "more": "${kp}"})
    scene.add_actor("a", model="hinge.xml", keyframe="${kp}")
    scene.save(models / "new.yaml")
    again = mjrig.Scene.load(models / "new.yaml")
    assert again["a"].keyframe == "${kp}"
    assert again.variables() == {"kp": 1, "more": 1}


def test_a_scene_whose_variables_are_gone_is_written_out(models: Path) -> None:
    scene = load(models)
    scene.unset("vars")
    scene.save()
    again = mjrig.Scene.load(models / "s.yaml")
    assert again.to_data() == scene.to_data()
    assert "${" not in (models / "s.yaml").read_text()


# Changing them ----------------------------------------------------------------------------------


def test_a_variable_that_changes_changes_what_uses_it(models: Path) -> None:
    scene = load(models)
    dog, pd = scene.actors[0], controller(scene)
    scene.set("vars.kp", 50)
    assert (scene.actors[0], controller(scene)) == (dog, pd)  # the same objects
    assert pd.authored("kp") == 50
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT.replace("kp: 40", "kp: 50")


def test_a_change_follows_keys_names_and_texts(models: Path) -> None:
    scene = load(models)
    scene.set("vars.side", "right")
    assert scene.actors[0].name == "right_dog"
    assert controller(scene).authored("kv") == {"right_hip": 2, "right_knee": 3}
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT.replace("side: left ", "side: right ")


def test_edits_and_variables_go_together(models: Path) -> None:
    scene = load(models)
    scene.set("left_dog.pd.kp", 45)
    scene.set("vars.kp", 50)
    scene.set("vars.side", "right")
    assert controller(scene).authored("kp") == 45
    scene.save()
    text = TEXT.replace("${stiff}   #", "45   #").replace("kp: 40", "kp: 50")
    assert (models / "s.yaml").read_text() == text.replace("side: left ", "side: right ")


def test_a_new_variable_is_added_to_the_others(models: Path) -> None:
    scene = load(models)
    scene.vars = {**scene.vars, "extra": [1, 2]}
    assert scene.variables()["extra"] == [1, 2]
    scene.save()
    assert "  extra: [1, 2]\nactors:" in (models / "s.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("vars.kp", -1, "left_dog.PDController.kp: must be >= 0 N·m/rad, got -1"),
        ("vars.kp", "${stiff}", "the variable 'kp' refers to … → … → …"),
        ("vars.kpp", 1, "the scene has no … 'kpp'; … 'kp'?"),
        ("vars.kp", "${k}", "there is no variable 'k'; … 'kp'?"),
        ("vars.side", "a b",
         "actors[0].name: must be letters, digits, _ and -, starting … 'a b_dog'"),
    ],
)  # fmt: skip
def test_a_variable_that_does_not_fit_changes_nothing(
    models: Path, path: str, value: object, expected: str
) -> None:
    scene = load(models)
    before = scene.to_data()
    with refused(mjrig.PropertyError, expected):
        scene.set(path, value)
    assert scene.to_data() == before
    scene.set("vars.kp", 41)
    assert controller(scene).authored("kp") == 41
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT.replace("kp: 40", "kp: 41")


def test_a_variable_set_by_hand_wins_over_what_the_caller_gave(models: Path) -> None:
    scene = load(models, vars={"kp": 7, "side": "right"})
    scene.set("vars.kp", 8)
    assert controller(scene).authored("kp") == 8
    assert scene.actors[0].name == "right_dog"
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT.replace("kp: 40", "kp: 8")


# Any data ---------------------------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from([*"ab$ {}", "${", "$${", "${a}"]), max_size=6).map("".join)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc${"), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(DATA)
def test_what_is_escaped_comes_back(data: Any) -> None:
    assert Resolved({"x": escaped(data)}, {}).data == {"x": data}


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(string.ascii_lowercase), DATA, max_size=5), DATA, DATA)
def test_a_template_for_new_data_says_the_new_data(
    new: dict[str, Any], variable: Any, kept: Any
) -> None:
    template = {
        "vars": {"a": escaped(variable)},
        "x": escaped(kept),
        "y": ["${a}", {"k": "${a}"}],
    }
    made = Resolved(template, {})
    changed = {**made.data, **new}
    again = made.template_for(changed)
    assert Resolved(again, {}).data == changed
    if "y" not in new:
        assert again["y"] == template["y"]
