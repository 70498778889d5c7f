"""Sessions: every edit reaches the running world, can be undone, or changes nothing."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.core.sim.world import World
from mjrig.editor.edits.edits import Edit
from mjrig.editor.edits.live_edits import EditedProperty, edited_properties
from mjrig.editor.edits.scene_tracker import SceneTracker
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from tests.campaign import Tally, amount

TEXT = """\
mjrig: 1   # two of a kind
sim: {timestep: 0.002}
actors:
  - name: left
    model: package:tests.editor/pendulum.xml
    components:
      - type: PDController
        kp: 10      # soft
        kv: 0.5
  - name: right
    model: package:tests.editor/pendulum.xml
    pose: {position: [0, 2, 0]}
    components:
      - {type: PDController, kp: 20, kv: 1}
"""
LEFT = ("actors", 0, "components", 0)
BOX = """<mujoco><worldbody><body name="box"><freejoint name="root"/>
<geom size=".1 .1 .1" type="box"/></body></worldbody></mujoco>"""


def _session(text: str = TEXT, base: Path | str = ".") -> Session:
    scene = Scene.parse(text, base)
    return Session(scene, Simulation(World(scene, "python")))


def _kp(session: Session, actor: str = "left") -> float:
    return float(session.simulation.world[actor].controllers[0].gains()["kp"][0])


def test_a_property_edit_reaches_the_running_world_without_a_new_one() -> None:
    session = _session()
    world = session.simulation.world
    session.set("left.PDController.kp", 33)
    assert _kp(session) == 33.0
    assert session.simulation.world is world


def test_a_drag_is_one_undo_entry() -> None:
    session = _session()
    for value in range(40, 60):
        session.set("left.PDController.kp", value, merge=True)
    session.seal()
    session.set("left.PDController.kp", 70, merge=True)
    assert list(session.undo_stack.names) == ["Set left.PDController.kp"] * 2
    session.undo()
    assert _kp(session) == 59.0
    session.undo()
    assert _kp(session) == 10.0
    session.redo()
    assert _kp(session) == 59.0


def test_a_refused_edit_changes_nothing_anywhere() -> None:
    session = _session()
    before = session.scene.to_text()
    for value in (-1, {"nope": 3}, "text", [1, 2, 3]):
        with pytest.raises(PropertyError):
            session.set("left.PDController.kp", value)
    assert session.scene.to_text() == before
    assert _kp(session) == 10.0
    assert not session.is_dirty
    assert not len(session.undo_stack)


def test_a_structural_edit_keeps_the_state_and_the_memory() -> None:
    session = _session()
    session.simulation.world["left"].set_targets({".*": 0.5})
    session.simulation.advance(200)
    qpos = session.simulation.world["left"].position
    with session.edit("Add actor") as scene:
        scene.add_actor("third", model="package:tests.editor/pendulum.xml")
    world = session.simulation.world
    assert list(world.articulations) == ["left", "right", "third"]
    assert np.array_equal(world["left"].position, qpos)
    assert world["left"].setpoints.position[0] == 0.5
    assert world.time == pytest.approx(0.4)


def test_a_scene_that_does_not_build_leaves_the_old_world_running() -> None:
    session = _session()
    before, world = session.scene.to_text(), session.simulation.world
    with pytest.raises(MjrigError, match="no file"), session.edit("Add actor") as scene:
        scene.add_actor("third", model="nothing_here.xml")
    assert session.scene.to_text() == before
    assert session.simulation.world is world
    session.simulation.advance(5)


def test_moving_an_actor_moves_its_free_root_by_as_much(tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    text = "mjrig: 1\nactors:\n  - {name: box, model: box.xml, pose: {position: [0, 0, 3]}}\n"
    session = _session(text, tmp_path)
    session.simulation.advance(20)
    before = session.simulation.world.data.qpos.copy()
    assert before[2] < 3.0
    session.set("box.pose.position", [1, 2, 3])
    after = session.simulation.world.data.qpos
    assert np.allclose(after - before, [1, 2, 0, 0, 0, 0, 0])


@pytest.mark.campaign
def test_many_random_edits_undone_give_the_text_byte_for_byte() -> None:
    session = _session()
    rng = random.Random(3)
    for i in range(amount(30, 500)):
        actor = rng.choice(["left", "right"])
        kind = rng.randrange(5)
        if kind == 0:
            session.set(f"{actor}.PDController.kp", rng.randint(1, 99))
        elif kind == 1:
            session.set(f"{actor}.PDController.kv", {".*": round(rng.random(), 3)})
        elif kind == 2:
            session.set(f"{actor}.PDController.delay.steps", rng.randint(0, 3))
        elif kind == 3:
            session.set(f"{actor}.PDController.enabled", rng.random() < 0.5)
        else:
            session.set(f"{actor}.pose.position", [i, rng.randint(0, 9), 0])
    assert session.scene.to_text() != TEXT
    while session.undo():
        pass
    assert session.scene.to_text() == TEXT
    assert not session.is_dirty
    while session.redo():
        pass
    assert session.is_dirty


def test_saving_marks_clean_and_undoing_past_it_dirty(tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text(TEXT)
    scene = Scene.load(file)
    session = Session(scene, Simulation(World(scene, "python")))
    session.set("left.PDController.kp", 12)
    assert session.is_dirty
    session.save()
    assert not session.is_dirty
    assert "kp: 12      # soft" in file.read_text()
    session.undo()
    assert session.is_dirty


def test_stop_goes_back_to_the_start_and_tells_what_was_edited_meanwhile() -> None:
    session = _session()
    session.play()
    session.simulation.advance(10)
    assert session.stop() == ()
    session.play()
    session.set("left.PDController.kp", 30)
    session.set("left.PDController.kp", 50)
    assert session.stop() == (Edit((*LEFT, "kp"), 10, 50),)
    assert session.simulation.frame.steps == 0
    assert _kp(session) == 50.0


@pytest.mark.campaign
def test_stop_lists_what_was_edited_while_it_ran_and_not_saved(
    tmp_path: Path, tally: Tally
) -> None:
    places = [f"{a}.PDController.{g}" for a in ("left", "right") for g in ("kp", "kv")]
    for rng in tally.cases("edits while playing", 6, 400):
        file = tmp_path / "scene.yaml"
        file.write_text(TEXT)
        scene = Scene.load(file)
        session = Session(scene, Simulation(World(scene, "python")))
        session.play()
        now = {place: find(scene, place)[0].authored(place[-2:]) for place in places}
        without = dict(now)  # what each would be but for the edits while it ran
        for i in range(rng.randrange(1, 25)):
            match rng.choice(["set", "set", "set", "play", "pause", "save", "stop"]):
                case "set":
                    place = rng.choice(places)
                    if not session.simulation.playing and without[place] == now[place]:
                        without[place] = i + 1
                    now[place] = i + 1
                    session.set(place, i + 1)
                case "play":
                    session.play()
                case "pause":
                    session.simulation.pause()
                case "save":
                    session.save()
                    without = dict(now)
                case _:
                    session.stop()
                    without = dict(now)
                    session.play()
        listed = {(e.path[1], e.path[-1]): (e.before, e.after) for e in session.stop()}
        wanted = {
            (int(place.startswith("right")), place[-2:]): (without[place], now[place])
            for place in places
            if without[place] != now[place]
        }
        if listed != wanted:
            tally.found(f"{listed} for {wanted}")


def test_what_takes_a_new_world() -> None:
    scene = Scene.parse(TEXT)
    tracker = SceneTracker(scene)
    scene.set("right.PDController.kp", 2)
    scene.set("right.PDController.delay.steps", 2)
    edited = edited_properties(tracker.edits())
    assert edited is not None
    assert set(edited) == {EditedProperty(1, 0, "kp"), EditedProperty(1, 0, "delay")}
    scene.set("right.pose.position", [0, 3, 0])
    assert edited_properties(tracker.edits()) is None


# Files ------------------------------------------------------------------------------------------


def _files(session: Session) -> dict[str, str]:
    """The very file each actor's model is."""
    scene = session.scene
    return {a.name: os.path.abspath(scene.base / a.model) for a in scene.actors if a.model}


@pytest.mark.campaign
def test_undo_and_redo_mean_the_same_files_wherever_the_scene_was_saved(
    tmp_path: Path, tally: Tally
) -> None:
    folders = [tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "c"]
    for i, folder in enumerate(folders):
        folder.mkdir(exist_ok=True)
        (folder / f"box{i}.xml").write_text(BOX)
    boxes = [folder / f"box{i}.xml" for i, folder in enumerate(folders)]
    for rng in tally.cases("files of a moved scene", 3, 200):
        session = _session("mjrig: 1\n", rng.choice(folders))
        meant = [_files(session)]
        for step in range(8):
            _edit_at_random(session, rng, step, boxes)
            meant.append(_files(session))
            if rng.random() < 0.4:
                session.save(rng.choice(folders) / "scene.yaml", overwrite=True)
                assert _files(session) == meant[-1]
        for names in reversed(meant[:-1]):
            session.undo()
            assert _files(session) == names
            if rng.random() < 0.2:
                session.save(rng.choice(folders) / "scene.yaml", overwrite=True)
        for names in meant[1:]:
            session.redo()
            assert _files(session) == names


def _edit_at_random(session: Session, rng: random.Random, step: int, boxes: list[Path]) -> None:
    """Add an actor, take one out, or give one another model, by a relative or absolute name."""
    scene, box = session.scene, rng.choice(boxes)
    written = rng.choice((str(box), os.path.relpath(box, scene.base)))
    names = [actor.name for actor in scene.actors]
    with session.edit(f"edit {step}"):
        kind = rng.choice(("add", "remove", "set")) if names else "add"
        if kind == "add":
            scene.add_actor(f"box{step}", model=written)
        elif kind == "remove":
            scene.remove(rng.choice(names))
        else:
            name = rng.choice(names)
            scene.set(f"{name}.model", written)
            scene.set(f"{name}.pose.position", [0, 0, step])  # so that there is an edit


def test_what_a_new_scene_had_is_named_shortly_once_it_has_a_file(tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    session = _session("mjrig: 1\n", tmp_path.parent)
    with session.edit("Add box") as scene:
        scene.add_actor("box", model=str(tmp_path / "box.xml"))
    session.undo()
    session.save(tmp_path / "scene.yaml")
    session.redo()
    assert "model: box.xml" in session.scene.to_text()
