"""After Stop: each edit made while playing can be dropped by itself, the others stay."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mjrig.components import PassthroughController
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.edits.edits import apply
from mjrig.editor.edits.play_mode_edits import kept_changes, taking_back
from mjrig.editor.edits.scene_tracker import SceneTracker
from tests.editor.windows import BOX, SWINGS

Change = Callable[[Scene], object]


def _drop(began: SceneTracker, unwanted: Callable[[str], bool]) -> list[str]:
    """Take back what a person unticked; returns all lines they saw."""
    made = began.edits()
    changes = kept_changes(made, began.scene)
    dropped = [edit for c in changes if unwanted(c.text) for edit in c.edits]
    apply(began.scene, taking_back(made, dropped))
    return [change.text for change in changes]


def _add_box(scene: Scene) -> None:
    scene.add_actor("box", model="box.xml")


def _add_component(scene: Scene) -> None:
    scene["left"].remove_component(scene["left"].components[0])
    scene["left"].add_component(PassthroughController())


def _add_group(scene: Scene) -> None:
    scene.property_named("collision_groups").assign(scene, [{"name": "g", "members": ["left"]}])


def _clamp(scene: Scene) -> None:
    scene.set("left.PDController.clamps", [{"type": "MaxEffort", "max_effort": 3}])


EDITS: dict[str, Change] = {
    "changed": lambda s: s.set("left.PDController.kp", 50),
    "newly set": lambda s: s.set("left.PDController.delay.steps", 2),
    "part made": lambda s: s.set("left.pose.position", [1, 0, 0]),
    "option": lambda s: s.set("sim.timestep", 0.0005),
    "seed": lambda s: s.set("scene.seed", 4),
    "actor added": _add_box,
    "actor removed": lambda s: s.remove("left"),
    "component exchanged": _add_component,
    "component removed": lambda s: s["right"].remove_component(s["right"].components[0]),
    "group": _add_group,
    "list of parts": _clamp,
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_listed_and_taken_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    scene = Scene.parse(SWINGS, tmp_path)
    began, data = SceneTracker(scene), scene.to_data()
    EDITS[name](scene)
    assert scene.to_text() != SWINGS
    assert _drop(began, lambda text: True)
    assert scene.to_data() == data
    assert scene.to_text() == SWINGS


@pytest.mark.parametrize("dropped", EDITS)
def test_dropping_one_edit_keeps_an_edit_of_another_kind(dropped: str, tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    scene = Scene.parse(SWINGS, tmp_path)
    began = SceneTracker(scene)
    scene.set("right.pose.position", [0, 9, 0])
    EDITS[dropped](scene)
    _drop(began, lambda text: not text.startswith("right.pose"))
    assert scene.to_text() == SWINGS.replace("[0, 2, 0]", "[0, 9, 0]")


def test_a_component_that_goes_back_leaves_the_edits_of_its_actor() -> None:
    scene = Scene.parse(SWINGS)
    began = SceneTracker(scene)
    scene.set("left.pose.position", [3, 0, 0])
    scene.set("left.PDController.kp", 77)
    scene["left"].add_component(PassthroughController())
    _drop(began, lambda text: "component" in text)
    assert [c.role for c in scene["left"].components] == ["PDController"]
    assert scene["left"].components[0].to_data()["kp"] == 77


def test_an_actor_comes_back_at_its_place() -> None:
    scene = Scene.parse(SWINGS)
    began = SceneTracker(scene)
    scene.remove("left")
    scene.add_actor("third", model="package:tests.editor/pendulum.xml")
    _drop(began, lambda text: "left" in text)
    assert [a.name for a in scene.actors] == ["left", "right", "third"]


def test_what_is_set_on_top_of_an_include_goes_back(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(SWINGS)
    text = "mjrig: 1\ninclude:\n  - {file: two.yaml, set: {left.PDController.kp: 5}}\n"
    scene = Scene.parse(text, tmp_path)
    began, data = SceneTracker(scene), scene.to_data()
    scene.set("left.PDController.kp", 6)
    scene.set("right.PDController.kp", 7)
    lines = _drop(began, lambda text: text.startswith("right"))
    assert lines == ["left.PDController.kp: 5 → 6", "right.PDController.kp: not set → 7"]
    assert dict(scene.include[0].set) == {"left.PDController.kp": 6}
    _drop(began, lambda text: True)
    assert scene.to_data() == data
