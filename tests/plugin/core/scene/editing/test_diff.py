"""What two scenes say differently, in actors and properties."""

from pathlib import Path

import pytest

import mjrig
from mjrig.core.scene.editing.diff import Change, Difference, differences

BASE = """\
mjrig: 1
sim: {timestep: 0.001}
frames: [{name: table, position: [1, 0, 0]}]
actors:
  - name: dog
    model: legs.xml
    pose: {position: [0, 0, 1]}
    keyframe: home
    components:
      - {type: PDController, kp: 40, kv: 5}
      - {type: PassthroughController, actuators: pull}
  - {name: cat, model: hinge.xml}
"""


def load(folder: Path, text: str, name: str = "s.yaml") -> mjrig.Scene:
    (folder / name).write_text(text)
    return mjrig.Scene.load(folder / name)


def lines(folder: Path, before: str, after: str) -> list[str]:
    return [str(d) for d in differences(load(folder, before, "a.yaml"), load(folder, after))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kp: 40", "kp: 50", ["dog.PDController.kp: 40 → 50"]),
        ("kp: 40", "kp: {left_hip: 1, default: 2}",
         ["dog.PDController.kp: 40 → {left_hip: 1, default: 2}"]),
        ("kp: 40, ", "", ["dog.PDController.kp: 40 → not set (default_kp)"]),
        ("keyframe: home", "keyframe: crouch", ["dog.keyframe: home → crouch"]),
        ("    keyframe: home\n", "", ["dog.keyframe: home → not set ('')"]),
        ("position: [0, 0, 1]", "position: [0, 0, 2]",
         ["dog.pose.position: [0, 0, 1] → [0, 0, 2]"]),
        ("    pose: {position: [0, 0, 1]}\n", "",
         ["dog.pose.position: [0, 0, 1] → not set ([0.0, 0.0, 0.0])"]),
        ("      - {type: PassthroughController, actuators: pull}\n", "",
         ["- component dog.PassthroughController"]),
        ("      - {type: PassthroughController, actuators: pull}\n",
         "      - {type: TrotGait}\n",
         ["- component dog.PassthroughController", "+ component dog.TrotGait"]),
        ("  - {name: cat, model: hinge.xml}\n", "", ["- actor 'cat' (model hinge.xml)"]),
        ("name: cat", "name: mouse",
         ["- actor 'cat' (model hinge.xml)", "+ actor 'mouse' (model hinge.xml)"]),
        ("timestep: 0.001", "timestep: 0.002", ["sim.timestep: 0.001 → 0.002"]),
        ("sim: {timestep: 0.001}\n", "",
         ["sim.timestep: 0.001 → not set (the model's value)"]),
        ("position: [1, 0, 0]", "position: [2, 0, 0]",
         ["table.position: [1, 0, 0] → [2, 0, 0]"]),
        ("model: hinge.xml", "model: legs.xml", ["cat.model: hinge.xml → legs.xml"]),
        ("mjrig: 1\n", "mjrig: 1\nseed: 3\n", ["seed: not set (0) → 3"]),
        ("mjrig: 1\n",
         "mjrig: 1\nrandomise: [{path: dog.PDController.kp, low: 1, high: 2}]\n",
         ["+ randomise randomise[0]"]),
    ],
)  # fmt: skip
def test_a_difference_is_told_by_actor_and_property(
    models: Path, old: str, new: str, expected: list[str]
) -> None:
    assert old in BASE
    assert lines(models, BASE, BASE.replace(old, new)) == expected


def test_actors_in_another_order_are_told(models: Path) -> None:
    first, second = BASE.index("  - name: dog"), BASE.index("  - {name: cat")
    turned = BASE[:first] + BASE[second:] + BASE[first:second]
    assert lines(models, BASE, turned) == ["order of actors: dog, cat → cat, dog"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kp: 40", "kp:   4.0e+1"),
        ("timestep: 0.001", "timestep: 1e-3"),
        ("keyframe: home", "keyframe: home\n    base: model"),
        ("model: hinge.xml", "model: ./hinge.xml"),
        ("mjrig: 1\n", "mjrig: 1\nvars: {unused: 3}\n"),
        ("mjrig: 1\n", "mjrig: 1\nseed: 0\n"),
    ],
)
def test_what_is_only_written_differently_is_none(models: Path, old: str, new: str) -> None:
    assert lines(models, BASE, BASE.replace(old, new)) == []


def test_variables_and_included_files_are_put_in(models: Path) -> None:
    (models / "part.yaml").write_text(BASE)
    text = "mjrig: 1\ninclude: [{file: part.yaml, set: {dog.PDController.kp: 50}}]\n"
    assert lines(models, BASE, text) == ["dog.PDController.kp: 40 → 50"]
    variables = BASE.replace("kp: 40", 'kp: "${x}"') + "vars: {x: 41}\n"
    assert lines(models, BASE, variables) == ["dog.PDController.kp: 40 → 41"]


def test_a_difference_is_data_too(models: Path) -> None:
    found = differences(load(models, BASE, "a.yaml"), load(models, BASE.replace("40", "50")))
    assert found == [
        Difference(Change.CHANGED, "property", "dog.PDController.kp", "40", "50"),
    ]


LONG = """mjrig: 1
actors:
  - name: dog
    model: dog.xml
    joints: {a: 0.1, b: 0.2, c: 0.3}
    removed: [one, two, three]
    components:
      - {type: PDController, kp: [1, 2, 3, 4, 5, 6]}
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("b: 0.2", "b: 0.5", ["dog.joints[b]: 0.2 → 0.5"]),
        ("b: 0.2, ", "", ["- entry dog.joints[b] (0.2)"]),
        ("c: 0.3", "c: 0.3, d: 4", ["+ entry dog.joints[d] (4)"]),
        ("3, 4, 5", "3, 9, 5", ["dog.PDController.kp[3]: 4 → 9"]),
        ("one, two", "one", ["- entry dog.removed[1] (two)"]),
        ("two, three", "two, and, three", ["+ entry dog.removed[2] (and)"]),
        ("[one, two, three]", "[one]", ["dog.removed: [one, two, three] → [one]"]),
    ],
)
def test_only_the_entries_that_differ_are_told(old: str, new: str, expected: list[str]) -> None:
    before, after = (mjrig.Scene.parse(text) for text in (LONG, LONG.replace(old, new)))
    assert [str(d) for d in differences(before, after)] == expected
