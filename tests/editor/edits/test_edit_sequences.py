"""Any edits of any scene file: comments stay, only edited lines change, undo is byte-identical."""

import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mjrig.core.errors import LocatedError, MjrigError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.yaml_text.comparison import same
from mjrig.editor.edits.edits import Edit
from mjrig.editor.session.session import Session
from tests.campaign import Tally
from tests.editor.edits.scene_texts import (
    FRAMES,
    MODELS,
    NAMES,
    SceneSource,
    SceneWriter,
    actor_mark,
    item_marked,
)

PENDULUM = Path(__file__).parents[1] / "pendulum.xml"


class _Editing(Session):
    """A session without a world: only what concerns the file."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene, None)  # type: ignore[arg-type]

    def _follow(self, edits: Sequence[Edit], kept: object) -> None:
        pass

    def _note_paused(self, edits: Sequence[Edit]) -> None:
        pass


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for i in range(MODELS):
        shutil.copy(PENDULUM, tmp_path / f"m{i}.xml")
    return tmp_path


@pytest.mark.campaign
def test_any_edits_of_any_scene_file_are_saved_in_place(models: Path, tally: Tally) -> None:
    for rng in tally.cases("sequences of scene edits", 120, 20_000):
        source = SceneWriter(rng).write()
        history: list[str] = []
        try:
            problem = _problem(source, models, rng, history)
        except MjrigError as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            tally.found(f"{problem}\n{' | '.join(history)}\n{source.text}")


@pytest.mark.campaign
def test_undo_restores_every_byte_after_any_saves(models: Path, tally: Tally) -> None:
    for rng in tally.cases("sequences of scene edits with saves", 80, 10_000):
        source = SceneWriter(rng).write()
        history: list[str] = []
        try:
            problem = _unrestored(source, models, rng, history)
        except MjrigError as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            tally.found(f"{problem}\n{' | '.join(history)}\n{source.text}")


def _unrestored(
    source: SceneSource, models: Path, rng: random.Random, history: list[str]
) -> str | None:
    """The first difference after edits and saves in any order, then undoing all."""
    content = source.text.encode()
    file = models / "scene.yaml"
    file.write_bytes(content)
    scene = Scene.load(file)
    before = scene.to_data()
    session = _Editing(scene)
    for i in range(rng.randint(1, 20)):
        draw = rng.random()
        if draw < 0.3:
            history.append("save")
            session.save()
            if file.read_bytes() != scene.to_text().encode():
                return f"saved as something else than {scene.to_text()}"
            if problem := _unlike(source, scene, before):
                return problem
        else:
            _edit_at_random(session, rng, i, history)
    while session.undo() is not None:
        pass
    session.save()
    return None if file.read_bytes() == content else f"undone: {scene.to_text()}"


@pytest.mark.parametrize("name", ["scene.yaml", "moved/other.yaml"])
def test_an_actor_that_is_added_again_after_a_save_has_its_comments(
    models: Path, name: str
) -> None:
    text = (
        "mjrig: 1\nactors:\n- name: ann  # first\n  prop: {type: BoxProp}  # measured\n"
        "- {name: bob, prop: {type: BoxProp}}\n"
    )
    (models / "moved").mkdir()
    (models / "scene.yaml").write_text(text)
    scene = Scene.load(models / "scene.yaml")
    data = scene["ann"].to_data()
    scene.remove("ann")
    scene.save(models / name)
    assert "# measured" not in (models / name).read_text()
    scene.actors = (data, *scene.actors)
    scene.save()
    assert (models / name).read_text() == text


def test_a_reload_takes_back_edits_of_parts_whose_type_the_file_leaves_out(models: Path) -> None:
    text = (
        "mjrig: 1\nactors:\n- name: ann\n  model: m0.xml\n  components:\n"
        "  - {type: PDController, kp: 1}\n"
        "  - {type: PDController, kp: 2, delay: {steps: 1}}  # slow\n"
    )
    (models / "scene.yaml").write_text(text)
    scene = Scene.load(models / "scene.yaml")
    scene.set("ann.PDController_2.delay.steps", 2)
    scene.reload()
    assert scene.to_text() == text


def test_errors_after_a_save_are_located_in_the_saved_file(models: Path) -> None:
    file = models / "scene.yaml"
    file.write_text(
        "mjrig: 1\nactors:\n- name: ann\n  prop: {type: BoxProp}\n- {name: bob, model: m0.xml}\n"
    )
    scene = Scene.load(file)
    scene.remove("ann")
    scene.save(models / "other.yaml")
    error = scene.located(("actors", 0, "model"), LocatedError("is odd"))
    assert str(error).startswith(f"{models / 'other.yaml'}:3:")


def _problem(
    source: SceneSource, models: Path, rng: random.Random, history: list[str]
) -> str | None:
    scene = Scene.parse(source.text, models)
    before = scene.to_data()
    session = _Editing(scene)
    for i in range(rng.randint(1, 30)):
        _edit_at_random(session, rng, i, history)
        if rng.random() < 0.1 and (problem := _unlike(source, session.scene, before)):
            return problem
    if problem := _unlike(source, scene, before):
        return problem
    last = scene.to_text()
    count = 0
    while session.undo() is not None:
        count += 1
    if scene.to_text() != source.text:
        return f"undone: {scene.to_text()}"
    for _ in range(count):
        session.redo()
    if not same(
        Scene.parse(scene.to_text(), models).to_data(), Scene.parse(last, models).to_data()
    ):
        return f"redone: {scene.to_text()}\nbefore: {last}"
    return _unlike(source, scene, before)


# What must hold -----------------------------------------------------------------------------------


def _unlike(source: SceneSource, scene: Scene, before: Any) -> str | None:
    """What is wrong with the text of an edited scene."""
    text = scene.to_text()
    data: Any = scene.to_data()
    if not same(Scene.parse(text, scene.base).to_data(), data):
        return f"reads as something else: {text}"
    if text.startswith("\ufeff") != source.text.startswith("\ufeff"):
        return f"byte order mark: {text}"
    if "\r\n" in source.text and re.search(r"(?<!\r)\n", text):
        return f"line breaks: {text!r}"
    for comment, (actor, part, keys) in source.comments.items():
        count = text.count(comment)
        if count > 1 or (not count and _is_present(data, actor, part, keys)):
            return f"{comment} occurs {count} times: {text}"
    was = {actor_mark(actor): actor for actor in before["actors"]}
    plain = text.replace("\r\n", "\n")
    for actor in data["actors"]:
        lines = source.actors.get(actor_mark(actor), "")
        is_shared = re.search(r"[&*][a-z]+\d", lines)
        is_equal = actor_mark(actor) in was and same(actor, was[actor_mark(actor)])
        if is_equal and not is_shared and "${" not in lines and lines not in plain:
            return f"changes the lines of {actor['name']}: {text}"
    return None


def _is_present(data: Any, actor: str, part: str, keys: tuple[str, ...]) -> bool:
    """Whether what a comment is about is in the scene."""
    value = data
    if actor:
        value = item_marked(data, actor)
    if part and value is not None:
        components = value.get("components", ())
        value = next((c for c in components if str(c.get("kv")) == part), None)
    for key in keys:
        value = value.get(key) if value is not None else None
    return value is not None


# Edits --------------------------------------------------------------------------------------------


def _edit_at_random(session: _Editing, rng: random.Random, i: int, history: list[str]) -> None:
    draw = rng.random()
    if draw < 0.12:
        history.append(f"undo {session.undo()}")
        return
    if draw < 0.2:
        history.append(f"redo {session.redo()}")
        return
    name = f"edit {i}"
    try:
        with session.edit(name) as scene:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                history.append(_change(scene, rng))
    except MjrigError as error:
        history.append(f"refused: {error}")


def _change(scene: Scene, rng: random.Random) -> str:
    kinds = (_set, _set, _set_scene, _unset, _rename, _add, _remove, _move)
    kinds += (_components, _components, _assign, _frames)
    return rng.choice(kinds)(scene, rng)


def _set(scene: Scene, rng: random.Random) -> str:
    actor = rng.choice(scene.actors)
    values: dict[str, Any] = {
        "pose.position": [rng.choice((rng.randint(0, 9), 0.0, -0.0)), 1, 1],
        "pose.euler_deg": [0, 0, 1],
    }
    for component in actor.components:
        values[f"{component.role}.kp"] = rng.choice((7, 8.5, {".*": 3}))
        values[f"{component.role}.delay.steps"] = rng.randint(1, 3)
        values[f"{component.role}.clamps"] = [{"type": "MaxEffort", "max_effort": 3}]
    path = rng.choice(sorted(values))
    scene.set(f"{actor.name}.{path}", values[path])
    return f"set {actor.name}.{path} {values[path]}"


def _set_scene(scene: Scene, rng: random.Random) -> str:
    values = {"sim.timestep": rng.choice((0.001, 0.004)), "scene.seed": rng.randint(0, 9)}
    values |= {"vars.stiff": rng.randint(1, 99)} if scene.vars else {}
    path = rng.choice(sorted(values))
    scene.set(path, values[path])
    return f"set {path} {values[path]}"


def _unset(scene: Scene, rng: random.Random) -> str:
    actor = rng.choice(scene.actors)
    if actor.components and rng.random() < 0.5:
        component = rng.choice(actor.components)
        component.unset(rng.choice(("kp", "delay", "clamps")))
        return f"unset in {component.label}"
    actor.unset("pose")
    return f"unset {actor.name}.pose"


def _rename(scene: Scene, rng: random.Random) -> str:
    old, new = rng.choice(scene.actors).name, rng.choice(NAMES)
    scene.rename(old, new)
    return f"rename {old} {new}"


def _add(scene: Scene, rng: random.Random) -> str:
    name, prop = rng.choice(NAMES), {"type": "SphereProp", "radius": 0.1}
    actor = scene.add_actor(name, prop=prop)
    items = [a for a in scene.actors if a is not actor]
    items.insert(rng.randint(0, len(items)), actor)
    scene.actors = tuple(items)
    return f"add {name}"


def _remove(scene: Scene, rng: random.Random) -> str:
    if len(scene.actors) < 2:
        return "nothing"
    name = rng.choice(scene.actors).name
    scene.remove(name, dependents="remove")
    return f"remove {name}"


def _move(scene: Scene, rng: random.Random) -> str:
    items = list(scene.actors)
    items.insert(rng.randrange(len(items)), items.pop(rng.randrange(len(items))))
    scene.actors = tuple(items)
    return f"order {[a.name for a in items]}"


def _components(scene: Scene, rng: random.Random) -> str:
    actor = rng.choice(scene.actors)
    items: list[Any] = list(actor.components)
    if actor.model is None:
        return "nothing"
    draw = rng.random()
    if draw < 0.4 or not items:
        items.insert(rng.randint(0, len(items)), {"type": "PDController", "kp": rng.randint(1, 9)})
    elif draw < 0.7:
        del items[rng.randrange(len(items))]
    else:
        rng.shuffle(items)
    actor.components = tuple(items)
    return f"components of {actor.name}"


def _assign(scene: Scene, rng: random.Random) -> str:
    """The same values as data, as a program or a paste assigns them."""
    actor = rng.choice(scene.actors)
    data: Any = actor.to_data().get("components")
    if not data:
        return "nothing"
    data[-1]["kp"] = rng.randint(1, 99)
    actor.assign({"components": data})
    return f"assign components of {actor.name}"


def _frames(scene: Scene, rng: random.Random) -> str:
    items: list[Any] = list(scene.frames)
    draw = rng.random()
    if draw < 0.3 or not items:
        items.insert(
            rng.randint(0, len(items)), {"name": rng.choice(FRAMES), "position": [1, 1, 9]}
        )
        scene.frames = tuple(items)
        return "add a frame"
    frame = rng.choice(items)
    if draw < 0.5:
        scene.set(f"frames[{items.index(frame)}].euler_deg", [0, 0, rng.randint(1, 9)])
    elif draw < 0.7:
        scene.rename(frame.name, rng.choice(FRAMES))
    elif draw < 0.85:
        scene.remove(frame.name, dependents="remove")
    else:
        rng.shuffle(items)
        scene.frames = tuple(items)
    return f"change frame {frame.name}, {draw:.2f}"
