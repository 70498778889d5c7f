"""Included files: read with the scene, set from outside, and told of by their own lines."""

from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.scene import scene_file as reading
from tests.wording import matches
from tests.worlds import refused

PART = """\
mjrig: 1
vars: {kp: 40, model: legs.xml}
sim: {timestep: 0.001}
actors:
  - name: dog
    model: ../${model}
    keyframe: home
    components:
      - type: PDController
        kp: ${kp}
        kv: 1
"""
SCENE = """\
mjrig: 1
include:
  - parts/dog.yaml                                   # as it is
  - {file: parts/dog.yaml, prefix: left_, vars: {kp: 7}, set: {dog.PDController.kv: 2}}
actors:
  - {name: cat, model: hinge.xml}
"""


def write(folder: Path, text: str = SCENE, part: str = PART, **parts: str) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    (folder / "parts" / "dog.yaml").write_text(part)
    for name, content in parts.items():
        (folder / "parts" / f"{name}.yaml").write_text(content)
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


def load(folder: Path, text: str = SCENE, **parts: str) -> mjrig.Scene:
    return mjrig.Scene.load(write(folder, text, **parts))


def pd(world: mjrig.World, name: str) -> PDController:
    controller = world[name].controllers[0]
    assert isinstance(controller, PDController)
    return controller


def complaint(folder: Path, text: str, **parts: str) -> str:
    with pytest.raises(SceneError) as caught:
        load(folder, text, **parts)
    return str(caught.value).removeprefix(f"{folder}/")


# What they bring --------------------------------------------------------------------------------


def test_included_actors_are_in_the_world_with_their_variables_and_settings(models: Path) -> None:
    world = mjrig.World(load(models))
    assert list(world.articulations) == ["dog", "left_dog", "cat"]
    assert pd(world, "dog").kp.tolist() == [40.0] * 4
    assert pd(world, "left_dog").kp.tolist() == [7.0] * 4
    assert (pd(world, "dog").kv[0], pd(world, "left_dog").kv[0]) == (1.0, 2.0)


def test_the_scene_finds_included_actors_and_saves_as_it_is(models: Path) -> None:
    scene = load(models)
    assert scene.actor_names() == ["dog", "left_dog", "cat"]
    assert scene["left_dog"].components[0].authored("kp") == 7
    assert scene["left_dog"].name == "left_dog"
    scene.save()
    assert (models / "s.yaml").read_text() == SCENE


def test_variables_of_the_scene_reach_its_includes(models: Path) -> None:
    text = SCENE.replace("{kp: 7}", "{kp: '${stiff}'}") + "vars: {stiff: 9}\n"
    scene = load(models, text)
    assert scene["left_dog"].components[0].authored("kp") == 9
    scene.set("vars.stiff", 11)
    assert scene["left_dog"].components[0].authored("kp") == 11


def test_a_file_of_a_package_may_be_included(models: Path) -> None:
    scene = load(
        models, "mjrig: 1\ninclude: [{file: 'package:mjrig.config/scenes/arm.yaml', prefix: a_}]\n"
    )
    assert list(mjrig.World(scene).articulations) == ["a_arm"]


def test_a_scene_made_in_python_may_include_files(models: Path) -> None:
    write(models)
    scene = mjrig.Scene(include=[{"file": str(models / "parts/dog.yaml"), "prefix": "a_"}])
    assert list(mjrig.World(scene).articulations) == ["a_dog"]


def test_names_that_clash_are_told_of_the_second(models: Path) -> None:
    scene = load(models, SCENE.replace("cat", "dog"))
    message = f"{models}/s.yaml:6:12: actors[0].name: the name 'dog' is not …"
    with refused(SceneError, message):
        mjrig.World(scene)


# Simulation options -----------------------------------------------------------------------------


def sim(folder: Path, text: str, **parts: str) -> dict[str, object]:
    return load(folder, text, **parts).effective_sim().to_data()


def test_options_of_an_included_file_hold_where_the_scene_sets_none(models: Path) -> None:
    text = "mjrig: 1\ninclude: [parts/dog.yaml]\n"
    assert sim(models, text) == {"timestep": 0.001}
    assert mjrig.World(load(models, text)).timestep == 0.001
    own = text + "sim: {iterations: 7}\n"
    assert sim(models, own) == {"timestep": 0.001, "iterations": 7}
    assert mjrig.World(load(models, own)).timestep == 0.001
    assert mjrig.World(load(models, text + "sim: {timestep: 2e-3}\n")).timestep == 0.002


def test_included_files_that_disagree_about_an_option_are_refused(models: Path) -> None:
    text = "mjrig: 1\ninclude: [parts/dog.yaml, parts/b.yaml]\n"
    other = "mjrig: 1\nsim: {timestep: 0.5, iterations: 3}\n"
    assert matches(
        complaint(models, text, b=other),
        "s.yaml:2:27: include[1]: sim.timestep: the included files differ: 0.001 … "
        "'parts/dog.yaml', 0.5 … 'parts/b.yaml'; …",
    )
    settled = text + "sim: {timestep: 0.25}\n"
    assert sim(models, settled, b=other) == {"timestep": 0.25, "iterations": 3}


def test_actuation_of_an_included_file_holds(models: Path) -> None:
    text = "mjrig: 1\ninclude: [parts/dog.yaml]\n"
    part = PART.replace("timestep: 0.001", "actuation: implicit, integrator: implicitfast")
    world = mjrig.World(load(models, text, part=part))
    assert world.execution == "native"


# What is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("include: [parts/dgo.yaml]",
         "s.yaml:2:11: include[0].file: scene.include[0].file: there is no file "
         "'{0}/parts/dgo.yaml'; … 'dog.yaml'?"),
        ("include: [parts/dog.txt]",
         "s.yaml:2:11: include[0].file: scene.include[0].file: must end in .yaml or "
         ".yml, … 'parts/dog.txt'"),
        ("include: [{file: parts/dog.yaml, prefix: a/}]",
         "s.yaml:2:42: include[0].prefix: scene.include[0].prefix: must be letters, "
         "digits, _ and -, starting … 'a/'"),
        ("include: [{prefix: a_}]", "s.yaml:2:11: include[0]: scene.include[0]: needs a file"),
        ("include: [{file: parts/dog.yaml, vars: {kpp: 1}}]",
         "s.yaml:2:41: include[0].vars: the scene has no … 'kpp'; … 'kp'?"),
        ("include: [{file: parts/dog.yaml, set: {dgo.PDController.kv: 1}}]",
         "s.yaml:2:40: include[0].set: the scene has no … 'dgo'; … 'dog'?"),
        ("include: [{file: parts/dog.yaml, set: {dog.PDController.kvv: 1}}]",
         "s.yaml:2:40: include[0].set: PDController has no property 'kvv'; did … 'kv'?"),
        ("include: [{file: parts/dog.yaml, set: {dog.PDController.kv: -1}}]",
         "s.yaml:2:61: include[0].set: dog.PDController.kv: must be >= 0 N·m·s/rad, got -1"),
        ("include: [{file: parts/dog.yaml, set: {dog.PDController.kv: {a: 1, b: -1}}}]",
         "s.yaml:2:71: include[0].set: dog.PDController.kv: must be >= 0 N·m·s/rad, "
         "got -1 for 'b'"),
        ("include: [{file: parts/dog.yaml, set: {nonsense: 1}}]",
         "s.yaml:2:40: include[0].set: 'nonsense' is not a path; … "
         "actor.component.property"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_include_is_said_when_the_scene_is_read(
    models: Path, text: str, expected: str
) -> None:
    assert matches(complaint(models, f"mjrig: 1\n{text}\n"), expected.format(models))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kv: 1", "kv: -1",
         "parts/dog.yaml:11:13: actors[0].components[0].kv: dog.PDController.kv: "
         "must be >= 0 N·m·s/rad, got -1"),
        ("mjrig: 1\n", "",
         "parts/dog.yaml:1:1: the format version is missing; begin with 'mjrig: 1'"),
        ("${kp}", "${pk}",
         "parts/dog.yaml:10:13: actors[0].components[0].kp: there is no variable 'pk'; "
         "did you mean 'kp'?"),
        ("kv: 1", "[", None),
    ],
)  # fmt: skip
def test_what_is_wrong_in_an_included_file_is_said_of_its_own_lines(
    models: Path, old: str, new: str, expected: str | None
) -> None:
    found = complaint(models, SCENE, part=PART.replace(old, new))
    assert matches(found, expected) if expected else found.startswith("parts/dog.yaml:")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("../${model}", "../nope.xml", "parts/dog.yaml:6:12: actors[0].model: dog.model: there is"),
        ("kv: 1", "kv: {nope: 1}",
         "parts/dog.yaml:11:14: actors[0].components[0].kv: dog.PDController.kv: "
         "'nope' matches no"),
        ("keyframe: home", "keyframe: hom", "parts/dog.yaml:7:15: actors[0].keyframe: "),
    ],
)  # fmt: skip
def test_what_fails_in_building_is_said_of_the_included_lines(
    models: Path, old: str, new: str, expected: str
) -> None:
    scene = load(models, "mjrig: 1\ninclude: [parts/dog.yaml]\n", part=PART.replace(old, new))
    with pytest.raises(SceneError) as caught:
        mjrig.World(scene)
    assert str(caught.value).startswith(f"{models}/{expected}")


def test_what_fails_in_binding_for_a_value_set_from_outside_is_said_there(models: Path) -> None:
    text = "mjrig: 1\ninclude: [{file: parts/dog.yaml, set: {dog.PDController.kv: {nope: 1}}}]\n"
    with pytest.raises(SceneError) as caught:
        mjrig.World(load(models, text))
    assert str(caught.value).startswith(
        f"{models}/s.yaml:2:62: include[0].set: dog.PDController.kv: 'nope' matches no"
    )


def test_without_an_including_file_it_is_said_of_the_included_one(models: Path) -> None:
    write(models)
    include = {"file": str(models / "parts/dog.yaml"), "set": {"dog.pd.kv": {"nope": 1}}}
    with pytest.raises(SceneError) as caught:
        mjrig.World(mjrig.Scene(include=[include]))
    assert str(caught.value).startswith(f"{models}/parts/dog.yaml:11:9: ")


def test_that_holds_through_two_files(models: Path) -> None:
    middle = "mjrig: 1\ninclude: [{file: dog.yaml, prefix: a_}]\n"
    text = (
        "mjrig: 1\ninclude:\n- file: parts/m.yaml\n  set:\n    a_dog.PDController.kv: {nope: 1}\n"
    )
    with pytest.raises(SceneError) as caught:
        mjrig.World(load(models, text, m=middle))
    assert str(caught.value).startswith(f"{models}/s.yaml:5:29: include[0].set: ")


def test_a_file_that_includes_itself_is_refused_with_the_way_it_does(models: Path) -> None:
    a = "mjrig: 1\ninclude: [b.yaml]\n"
    b = "mjrig: 1\ninclude: [a.yaml]\n"
    assert complaint(models, "mjrig: 1\ninclude: [parts/a.yaml]\n", a=a, b=b) == (
        "parts/b.yaml:2:11: include[0].file: scene.include[0].file: "
        "the file includes itself: a.yaml → b.yaml → a.yaml"
    )
    assert complaint(models, "mjrig: 1\ninclude: [s.yaml]\n") == (
        "s.yaml:2:11: include[0].file: scene.include[0].file: "
        "the file includes itself: s.yaml → s.yaml"
    )


def test_a_link_does_not_hide_that_a_file_includes_itself(models: Path) -> None:
    (models / "link.yaml").symlink_to(models / "s.yaml")
    assert "the file includes itself: s.yaml → s.yaml" in complaint(
        models, "mjrig: 1\ninclude: [link.yaml]\n"
    )


def test_too_many_files_are_refused(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = {
        f"p{i}": f"mjrig: 1\ninclude: [p{i + 1}.yaml, {{file: p{i + 1}.yaml, prefix: b_}}]\n"
        for i in range(12)
    }
    found = complaint(models, "mjrig: 1\ninclude: [parts/p0.yaml]\n", p12="mjrig: 1\n", **twice)
    assert matches(found, "parts/p11.yaml:2:11: include[0]: the scene includes more … 256 …")
    monkeypatch.setattr(reading, "MAX_DEPTH", 5)
    deep = complaint(models, "mjrig: 1\ninclude: [parts/p0.yaml]\n")
    assert deep.endswith("includes are nested more than 5 deep")


# Editing ----------------------------------------------------------------------------------------


def test_a_property_of_an_included_actor_is_set_in_its_include(models: Path) -> None:
    scene = load(models)
    scene.set("left_dog.pd.kp", 50)
    assert scene["left_dog"].components[0].authored("kp") == 50
    scene.save()
    assert (models / "s.yaml").read_text() == SCENE.replace(
        "{dog.PDController.kv: 2}", "{dog.PDController.kv: 2, dog.PDController.kp: 50}"
    )
    assert (models / "parts/dog.yaml").read_text() == PART
    assert pd(mjrig.World(mjrig.Scene.load(models / "s.yaml")), "left_dog").kp[0] == 50.0


def test_a_second_value_takes_the_place_of_the_first(models: Path) -> None:
    scene = load(models)
    scene.set("left_dog.pd.kv", 3)
    scene.set("left_dog.PDController.kv", 4)
    scene.save()
    expected = SCENE.replace("dog.PDController.kv: 2", "dog.PDController.kv: 4")
    assert (models / "s.yaml").read_text() == expected


def test_the_short_form_becomes_the_long_one(models: Path) -> None:
    scene = load(models)
    scene.set("dog.pose.position", [0, 0, 1])
    assert scene["dog"].pose is not None
    scene.save()
    again = mjrig.Scene.load(models / "s.yaml")
    assert again["dog"].to_data()["pose"] == {"position": [0, 0, 1]}
    assert "# as it is" in (models / "s.yaml").read_text()


def test_that_works_through_two_files(models: Path) -> None:
    middle = "mjrig: 1\ninclude: [{file: dog.yaml, prefix: a_}]\n"
    scene = load(models, "mjrig: 1\ninclude: [{file: parts/m.yaml, prefix: b_}]\n", m=middle)
    scene.set("b_a_dog.pd.kp", 3)
    scene.set("b_a_dog.pose.position", [1, 0, 0])
    assert scene["b_a_dog"].components[0].authored("kp") == 3
    scene.save()
    assert (models / "s.yaml").read_text().splitlines()[1] == (
        "include: [{file: parts/m.yaml, prefix: b_, set: "
        "{a_dog.PDController.kp: 3, a_dog.pose.position: [1, 0, 0]}}]"
    )
    assert (models / "parts/m.yaml").read_text() == middle


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("left_dog.pd.kp", -1, "dog.PDController.kp: must be >= 0 N·m/rad, got -1"),
        ("left_dog.pd.kpp", 1, "PDController has no property 'kpp'; did … 'kp'?"),
        ("left_dgo.pd.kp", 1, "the scene has no … 'left_dgo'; … 'left_dog'?"),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(
    models: Path, path: str, value: object, expected: str
) -> None:
    scene = load(models)
    with refused(PropertyError, expected):
        scene.set(path, value)
    assert scene["left_dog"].components[0].authored("kp") == 7
    assert scene.to_text() == SCENE


def change_name(actor: mjrig.Actor) -> None:
    actor.name = "x"


def change_gain(actor: mjrig.Actor) -> None:
    actor.components[0].assign({"kp": 1})


def drop_components(actor: mjrig.Actor) -> None:
    actor.components = ()


@pytest.mark.parametrize("change", [change_name, change_gain, drop_components])
@pytest.mark.parametrize("name", ["dog", "left_dog"])
def test_an_included_actor_says_how_to_change_it(models: Path, change: Any, name: str) -> None:
    scene = load(models)
    actor = scene[name]
    before = actor.to_data()
    message = f"'{name}' comes from 'parts/dog.yaml'; change it … scene.set('{name}.…', …"
    with refused(PropertyError, message):
        change(actor)
    assert actor.to_data() == before == scene[name].to_data()


def test_an_include_reads_its_file_again_when_told_to(models: Path) -> None:
    write(models)
    include = mjrig.Scene(include=[str(models / "parts/dog.yaml")]).include[0]
    assert include.scene() is include.scene()
    (models / "parts/dog.yaml").write_text(PART.replace("kv: 1", "kv: 5"))
    include.forget()
    assert include.scene()["dog"].components[0].authored("kv") == 5
