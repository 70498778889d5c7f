"""An edit is a path with what stood there before and after: as large as what it changed."""

import pickle
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.edits import edits as editing
from mjrig.editor.edits.edits import UNSET, Edit, UndoEntry, UndoStack, apply, inverse, merged
from mjrig.editor.edits.scene_tracker import SceneTracker
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from tests.campaign import amount
from tests.editor.windows import BOX, SWINGS

LEFT = ("actors", 0, "components", 0)
VARIABLES = """\
mjrig: 1
vars: {stiff: 20, type: soft}
actors:
  - name: left
    model: package:tests.editor/pendulum.xml
    components:
      - {type: PDController, kp: "${stiff}", kv: 1}  # follows
"""


def _with_props(count: int) -> Session:
    scene = Scene.parse(SWINGS)
    for i in range(count):
        prop = {"type": "BoxProp", "size": [0.1, 0.1, 0.1]}
        scene.add_actor(f"box{i}", prop=prop, pose={"position": [i, 5, 1]})
    return Session(scene, Simulation(World(scene, "python")))


def _size(session: Session) -> int:
    return len(pickle.dumps(session.undo_stack.undoable))


def test_the_undo_entry_of_one_gain_does_not_grow_with_the_scene() -> None:
    small, large = _with_props(1), _with_props(100)
    for session in (small, large):
        session.set("left.PDController.kp", 33)
    assert _size(small) == _size(large) < 600


def test_a_drag_of_many_values_is_as_large_as_one_edit() -> None:
    session = _with_props(0)
    session.set("left.PDController.kp", 33, merge=True)
    size = _size(session)
    for value in range(34, 90):
        session.set("left.PDController.kp", value, merge=True)
        session.set("left.PDController.kp", value, merge=True)
    assert _size(session) == size
    session.seal()
    session.set("left.PDController.delay.steps", 1, merge=True)
    session.set("left.PDController.delay.steps", 2, merge=True)
    size = _size(session)
    session.set("left.PDController.delay.steps", 3, merge=True)
    assert _size(session) == size


def test_an_actor_that_comes_or_goes_is_held_alone() -> None:
    session = _with_props(50)
    with session.edit("Add") as scene:
        scene.add_actor("late", model="package:tests.editor/pendulum.xml")
    assert _size(session) < 800
    with session.edit("Remove") as scene:
        scene.remove("box7")
    assert _size(session) < 800
    names = [actor.name for actor in session.scene.actors]
    session.undo()
    assert [a.name for a in session.scene.actors].index("box7") == 9
    session.redo()
    assert [actor.name for actor in session.scene.actors] == names


def _rename(scene: Scene) -> None:
    scene.rename("left", "gauche")


def _exchange(scene: Scene) -> None:
    first, second = scene.actors
    scene.actors = (second, first)


def _unset(scene: Scene) -> None:
    scene["left"].components[0].unset("kp")


def _clamps(scene: Scene) -> None:
    scene.set(
        "left.PDController.clamps",
        [{"type": "MaxEffort", "max_effort": 3}, {"type": "MaxEffort", "max_effort": 4}],
    )
    scene.set("left.PDController.clamps[1].max_effort", 5)


CHANGES: dict[str, tuple[Callable[[Scene], object], list[tuple[object, ...]]]] = {
    "value": (lambda s: s.set("left.PDController.kp", 50), [(*LEFT, "kp")]),
    "nothing": (lambda s: s.set("left.PDController.kp", 10), []),
    "part made": (lambda s: s.set("left.PDController.delay.steps", 2), [(*LEFT, "delay")]),
    "in a part": (
        lambda s: s.set("right.pose.position", [0, 3, 0]),
        [("actors", 1, "pose", "position")],
    ),
    "unset": (_unset, [(*LEFT, "kp")]),
    "list of parts": (_clamps, [(*LEFT, "clamps")]),
    "option": (lambda s: s.set("scene.seed", 4), [("seed",)]),
    "removed": (lambda s: s.remove("left"), [("actors", 0)]),
    "added": (lambda s: s.add_actor("box", model="box.xml"), [("actors", 2)]),
    "renamed": (_rename, [("actors", 0, "name")]),
    "exchanged": (_exchange, [("actors", 1), ("actors", 0)]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_edits_name_the_places_and_lead_there_and_back(name: str, tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    scene, other = (Scene.parse(SWINGS, tmp_path) for _ in range(2))
    tracker = SceneTracker(scene)
    change, places = CHANGES[name]
    change(scene)
    edits = tracker.edits()
    assert [edit.path for edit in edits] == places
    apply(other, edits)
    assert other.to_text() == scene.to_text()
    tracker.accept(edits)
    assert tracker.data == scene.to_data()
    assert tracker.edits() == ()
    apply(scene, inverse(edits))
    assert scene.to_text() == SWINGS
    assert list(scene.to_data()["actors"][0]) == list(Scene.parse(SWINGS).to_data()["actors"][0])  # type: ignore[index]


def test_a_property_that_comes_back_stands_where_it_was() -> None:
    scene = Scene()  # no text to go by: the order is what the objects have
    scene.add_actor("left", model="package:tests.editor/pendulum.xml")
    scene.actors[0].assign({"components": [{"type": "PDController", "kp": 1, "kv": 2}]})
    session = Session(scene, Simulation(World(scene, "python")))
    text = scene.to_text()
    with session.edit("Reset") as scene:
        scene.actors[0].components[0].unset("kp")
    session.undo()
    assert scene.to_text() == text


def test_a_refused_edit_is_taken_back_to_the_byte() -> None:
    session = _with_props(3)
    text = session.scene.to_text()
    with pytest.raises(MjrigError, match="no file"), session.edit("All sorts") as scene:
        scene.remove("box1")
        scene["left"].components[0].unset("kp")
        scene.set("right.pose.position", [9, 9, 9])
        scene.add_actor("third", model="nothing_here.xml")
    assert session.scene.to_text() == text
    assert session.edits_since(session.data) == ()


def test_a_variable_is_one_edit_with_the_values_that_use_it() -> None:
    session = Session(scene := Scene.parse(VARIABLES), Simulation(World(scene, "python")))
    session.set("vars.stiff", 30)
    entry = session.undo_stack.undoable
    assert entry is not None
    assert [e.path for e in entry.edits] == [("vars", "stiff"), (*LEFT, "kp")]
    session.undo()
    assert scene.to_text() == VARIABLES
    session.redo()
    assert scene.to_text() == VARIABLES.replace("stiff: 20", "stiff: 30")


def test_values_that_fit_only_together_are_undone_together(tmp_path: Path) -> None:
    session = _with_props(0)
    with session.edit("Range") as scene:
        scene.set("left.PDController.clamps", [{"type": "MaxEffort", "max_effort": 3}])
        scene.set("left.PDController.kp", {".*": 4})
    text = session.scene.to_text()
    with session.edit("Other") as scene:
        scene.set("left.PDController.clamps[0].max_effort", {".*": 7})
        scene.actors[0].components[0].unset("kp")
    session.undo()
    assert session.scene.to_text() == text


def test_a_path_that_leads_nowhere_is_refused() -> None:
    scene = Scene.parse(SWINGS)
    with pytest.raises(PropertyError, match="no part 'delay' any more"):
        apply(scene, [Edit((*LEFT, "kp"), 10, 99), Edit((*LEFT, "delay", "steps"), 1, 2)])
    assert scene.to_text() == SWINGS


def test_merging_keeps_what_cannot_be_one() -> None:
    one, two = Edit(("seed",), 0, 1), Edit(("seed",), 1, 2)
    assert merged([one], [two]) == (Edit(("seed",), 0, 2),)
    assert merged([Edit(("seed",), 0, UNSET)], [Edit(("seed",), UNSET, 2)]) == (
        Edit(("seed",), 0, UNSET),
        Edit(("seed",), UNSET, 2),
    )
    added = Edit(("actors", 0), UNSET, {"name": "a"})
    assert merged([added], [added]) == (added, added)


@pytest.mark.campaign
def test_random_structural_edits_undone_and_redone_are_byte_identical() -> None:
    count = amount(12, 200)
    session = _with_props(4)
    rng = random.Random(5)
    texts = [session.scene.to_text()]
    for i in range(count):
        with session.edit(f"Edit {i}") as scene:
            names = [actor.name for actor in scene.actors]
            for _ in range(rng.randint(1, 3)):
                _at_random(scene, rng, names, i)
        if len(session.undo_stack) == len(texts):
            texts.append(session.scene.to_text())
    assert len(texts) > 2 * count // 3
    for text in reversed(texts[:-1]):
        session.undo()
        assert session.scene.to_text() == text
    for text in texts[1:]:
        session.redo()
        assert session.scene.to_text() == text


def _at_random(scene: Scene, rng: random.Random, names: list[str], i: int) -> None:
    kind = rng.randrange(7)
    name = rng.choice(names)
    actor = next((a for a in scene.actors if a.name == name), None)
    if actor is None or (kind == 0 and len(scene.actors) < 3):
        return
    if kind == 0:
        scene.remove(name)
    elif kind == 1:
        fresh = f"new{i}_{rng.randrange(10**6)}"
        scene.add_actor(fresh, prop={"type": "SphereProp", "radius": 0.1})
    elif kind == 2:
        scene.rename(name, f"r{i}_{rng.randrange(10**6)}")
    elif kind == 3:
        scene.set(f"{name}.pose.position", [rng.randint(0, 9), 0, 1])
    elif kind == 4 and actor.pose is not None:
        actor.unset("pose")
    elif kind == 5:
        items = list(scene.actors)
        rng.shuffle(items)
        scene.actors = tuple(items)
    elif actor.components:
        part = actor.components[0]
        if rng.random() < 0.5:
            part.unset("kp")
        else:
            part.property_named("kp").assign(part, rng.randint(1, 99))


# Bounds -----------------------------------------------------------------------------------------


def _edit(after: object, before: object = 0) -> Edit:
    return Edit(("vars", "x"), before, after)


def test_old_entries_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MAX_ENTRIES", 3)
    stack = UndoStack()
    for i in range(5):
        stack.push(UndoEntry(f"edit {i}", (_edit(i),)))
    assert stack.names == ["edit 2", "edit 3", "edit 4"]
    assert (stack.position, stack.forgotten) == (5, 2)
    assert stack.is_dirty
    assert [stack.step_back().name for _ in range(3)] == ["edit 4", "edit 3", "edit 2"]
    assert stack.undoable is None
    assert stack.is_dirty  # what was saved is before all of them


def test_large_edits_are_forgotten_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MAX_VALUES", 100)
    stack = UndoStack()
    stack.push(UndoEntry("small", (_edit(1),)))
    stack.mark_saved()
    stack.push(UndoEntry("large", (_edit(list(range(60))),)))
    assert len(stack) == 2
    stack.push(UndoEntry("drag", (_edit(list(range(20))),), merge="x"))
    stack.push(UndoEntry("drag", (_edit(list(range(30))),), merge="x"))
    assert stack.names == ["small", "large", "drag"]
    stack.push(UndoEntry("larger", (_edit({"a": list(range(500))}),)))
    assert stack.names == ["larger"]  # the last edit can always be undone
    assert (stack.position, stack.forgotten) == (4, 3)
    stack.step_back()
    assert stack.is_dirty
    stack.mark_saved()
    assert not stack.is_dirty


def test_the_saved_state_is_known_while_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MAX_ENTRIES", 3)
    stack = UndoStack()
    for i in range(3):
        stack.push(UndoEntry(f"edit {i}", (_edit(i),)))
    stack.mark_saved()
    stack.push(UndoEntry("edit 3", (_edit(3),)))
    assert stack.is_dirty
    stack.step_back()
    assert not stack.is_dirty
