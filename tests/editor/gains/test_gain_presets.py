"""Presets are saved, read and put onto actors by name, all or nothing."""

from pathlib import Path

import pytest

from mjrig.core.errors import BindingError, MjrigError, PropertyError, SceneError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.gains.gain_edits import load_preset
from mjrig.editor.session.state import EditorState
from mjrig.lab.gains.gain_presets import fit, read_preset, save_preset
from mjrig.lab.gains.gain_rows import gain_rows
from tests.editor.gains.test_gain_edits import LEGS, QUADRUPED, legs, rows_of
from tests.editor.ui_driver import editor_state
from tests.wording import matches
from tests.worlds import refused

PRESETS = QUADRUPED.parents[1] / "gains"


def write(folder: Path, text: str) -> Path:
    path = folder / "soft.yaml"
    path.write_text("mjrig_gains: 1\n" + text)
    return path


def load(state: EditorState, path: Path) -> str:
    return str(load_preset(state.session, path, list(rows_of(state).values())))


def test_a_saved_preset_brings_the_same_gains_back(models: Path) -> None:
    first = legs(models, "{left_.*: 61.5, default: 50}")
    path = models / "new folder" / "own.yaml"
    save_preset(path, list(rows_of(first).values()))
    assert path.read_text().startswith("mjrig_gains: 1\nPDController:\n  kp: {left_hip: 61.5,")
    second = legs(models, "7")
    assert load(second, path) == "4 actuators set"
    for name, row in rows_of(first).items():
        assert rows_of(second)[name].values == row.values


def test_loading_is_one_undo_entry(models: Path) -> None:
    state = legs(models)
    before = state.scene.to_text()
    path = write(models, "PDController: {kp: {'.*': 20}, kv: {left_hip: 1, right_hip: 1}}\n")
    load(state, path)
    assert state.session.undo_stack.names == ["Load soft.yaml onto dog"]
    assert [r.values["kv"] for r in rows_of(state).values()] == [1, 2, 1, 2]
    state.session.undo()
    assert state.scene.to_text() == before


def test_missing_and_extra_names_are_told(models: Path) -> None:
    state = legs(models)
    path = write(models, "PDController: {kp: {left_hip: 20, tail: 3}}\n")
    text = "1 actuators set; not in the preset: left_knee, right_hip, right_knee"
    assert matches(load(state, path), f"{text}; not on the actor: …")
    assert [r.values["kp"] for r in rows_of(state).values()] == [20, 50, 50, 50]


def test_the_only_controller_takes_a_preset_of_another_type(models: Path) -> None:
    state = legs(models)
    load(state, write(models, "PIDController: {kp: {.*: 20}}\n"))
    assert rows_of(state)["left_hip"].values["kp"] == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "PDController: {kd: {.*: 20}}\n",
            "PDController has no gain 'kd'; did … 'kv'?",
        ),
        (
            "PDController: {kp: {tail: 20}}\n",
            "no name in the … left_hip, left_knee, right_hip, right_knee",
        ),
        (
            "PDController: {kp: {.*: 20}}\nDriver: {}\n",
            "the actor has no … 'Driver'; … PDController",
        ),
    ],
)
def test_what_does_not_fit_changes_nothing(models: Path, text: str, message: str) -> None:
    state = legs(models)
    with refused(BindingError, message):
        load(state, write(models, text))
    assert len(state.session.undo_stack) == 0


def test_a_refused_value_changes_nothing(models: Path) -> None:
    state = legs(models)
    path = write(models, "PDController: {kv: {.*: 9}, kp: {left_hip: -5}}\n")
    with pytest.raises(PropertyError, match="got -5"):
        load(state, path)
    assert [r.values["kv"] for r in rows_of(state).values()] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kp: 3\n", ":1:1: is not a gain … `mjrig_gains: 1`"),
        ("mjrig_gains: 2\n", ":1:14: mjrig_gains: unknown version 2; this mjrig … 1"),
        (
            "mjrig_gains: 1\nPD: {kp: 3}\n",
            ":2:10: PD.kp: must be a mapping … 3",
        ),
        (
            "mjrig_gains: 1\nPD: {kp: {a: x}}\n",
            ":2:14: PD.kp.a: must be a number, got 'x'",
        ),
    ],
)
def test_a_file_that_is_no_preset_is_refused_with_the_place(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with refused(SceneError, f"{path}{message}"):
        read_preset(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with refused(SceneError, f"{path}:1:1: cannot be read: No such …"):
        read_preset(path)


def test_a_preset_is_of_one_actor(models: Path) -> None:
    text = LEGS.format(kp="50") + "    replicate: {count: [2]}\n"
    state = editor_state(Scene.parse(text, models))
    rows = gain_rows(state.simulation.world, state.scene)
    with refused(PropertyError, "a preset holds the … dog_0, dog_1"):
        save_preset(models / "x.yaml", rows)


def test_bundled_presets_fit_the_quadruped_and_it_stands_with_them() -> None:
    files = sorted(PRESETS.glob("quadruped*.yaml"))
    assert files
    for path in files:
        state = editor_state(Scene.load(QUADRUPED))
        found = fit(read_preset(path), list(rows_of(state).values()))
        assert (found.missing, found.extra) == ((), ())
        try:
            load(state, path)
        except MjrigError as error:
            pytest.fail(str(error))
        world = World(state.scene)
        world.step(1000)
        assert world.data.qpos[2] > 0.25
