"""Gain rows show what is in force, and edits of them are small changes of the scene."""

import math
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.gains.gain_edits import (
    Switches,
    changes_for,
    filtered,
    mirror_row,
    mirrored,
    set_gains,
    with_damping,
    with_frequency,
)
from mjrig.editor.gains.gain_model import Monitor, inertias
from mjrig.editor.session.state import EditorState
from mjrig.lab.gains.assignment import damping_ratio, frequency
from mjrig.lab.gains.gain_rows import GainRow, columns, gain_rows
from tests.editor.ui_driver import editor_state

QUADRUPED = Path(str(files("mjrig.config").joinpath("scenes", "quadruped.yaml")))
LEGS = """
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    components:
      - type: PDController
        kp: {kp}
        kv: 2  # tuned by hand
        torque_limit: 30
"""


def legs(models: Path, kp: str = "50") -> EditorState:
    return editor_state(Scene.parse(LEGS.format(kp=kp), models))


def rows_of(state: EditorState) -> dict[str, GainRow]:
    rows = gain_rows(state.simulation.world, state.scene)
    return {row.actuator: row for row in rows}


def set_one(state: EditorState, actuator: str, **gains: float) -> None:
    set_gains(state.session, [(rows_of(state)[actuator], gains)])


def authored(state: EditorState, gain: str = "kp") -> object:
    return state.scene.actors[0].components[0].authored(gain)


# Rows -------------------------------------------------------------------------------------------


def test_a_row_shows_the_values_in_force_and_where_they_come_from(models: Path) -> None:
    rows = rows_of(legs(models, "{left_hip: 60, right_.*: 70, default: 50}"))
    assert list(rows) == ["left_hip", "left_knee", "right_hip", "right_knee"]
    assert [row.values["kp"] for row in rows.values()] == [60, 50, 70, 70]
    found = [row.origins["kp"] for row in rows.values()]
    assert found == ["explicit", "default", "pattern", "pattern"]
    assert rows["left_hip"].paths["kp"] == "dog.PDController.kp"
    assert columns(list(rows.values())) == ["kp", "kv", "torque_limit"]


def test_gains_of_a_law_in_place_of_the_own_one_are_edited_there(models: Path) -> None:
    law = "        law: {type: PD, kp: 5, kv: 1}\n"
    own = "        kp: 50\n        kv: 2  # tuned by hand\n"
    state = editor_state(Scene.parse(LEGS.format(kp="50").replace(own, law), models))
    row = rows_of(state)["left_hip"]
    assert (row.values["kp"], row.paths["kp"]) == (5.0, "dog.PDController.law.kp")
    set_one(state, "left_hip", kp=9.0)
    assert [row.values["kp"] for row in rows_of(state).values()] == [9, 5, 5, 5]
    assert "law: {type: PD, kp: {default: 5, left_hip: 9.0}, kv: 1}" in state.scene.to_text()


def test_a_row_of_an_included_file_says_where_to_edit_it(models: Path) -> None:
    (models / "part.yaml").write_text(LEGS.format(kp="50"))
    state = editor_state(Scene.parse("mjrig: 1\ninclude: [part.yaml]\n", models))
    row = rows_of(state)["left_hip"]
    assert "part.yaml" in row.locked
    assert changes_for(row, [row], lambda r: {"kp": 1.0}) == []


def test_random_values_are_called_random(models: Path) -> None:
    text = LEGS.format(kp="50") + (
        "randomise:\n  - {path: dog.PDController.kp, operation: scale, low: 0.8, high: 1.2}\n"
    )
    row = rows_of(editor_state(Scene.parse(text, models)))["left_hip"]
    assert row.origins["kp"] == "random"
    assert row.origins["kv"] == "explicit"


def test_rows_are_filtered_by_a_regular_expression(models: Path) -> None:
    rows = list(rows_of(legs(models)).values())
    assert [r.actuator for r in filtered(rows, "LEFT_.*hip|right_k")] == ["left_hip", "right_knee"]
    assert filtered(rows, "(.|.|.|.|.|.|.|.)" * 11 + "X") == []  # and does not freeze the window


# Edits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kp", "expected"),
    [
        ("50", {"default": 50, "left_hip": 80.0}),
        ("{left_hip: 60, default: 50}", {"left_hip": 80.0, "default": 50}),
        (
            "{left_.*: 60, default: 50}",
            {"left_knee": 60, "default": 50, "left_hip": 80.0},
        ),
        (
            "[1, 2, 3, 4]",
            {"left_hip": 80.0, "left_knee": 2, "right_hip": 3, "right_knee": 4},
        ),
    ],
)
def test_an_edit_changes_little_of_what_was_authored(
    models: Path, kp: str, expected: object
) -> None:
    state = legs(models, kp)
    others = [row.values["kp"] for name, row in rows_of(state).items() if name != "left_hip"]
    set_one(state, "left_hip", kp=80.0)
    assert authored(state) == expected
    now = rows_of(state)
    assert now["left_hip"].values["kp"] == 80.0
    assert [row.values["kp"] for name, row in now.items() if name != "left_hip"] == others


def test_the_rest_of_the_file_stays_and_undo_brings_every_byte_back(models: Path) -> None:
    state = legs(models)
    before = state.scene.to_text()
    set_one(state, "left_hip", kp=80.0)
    changed = state.scene.to_text()
    assert "kp: {default: 50, left_hip: 80.0}" in changed
    assert "kv: 2  # tuned by hand" in changed
    assert state.session.undo() == "Set dog.PDController.left_hip kp"
    assert state.scene.to_text() == before
    assert rows_of(state)["left_hip"].values["kp"] == 50


def test_one_value_for_every_actuator_is_written_as_one_number(models: Path) -> None:
    state = legs(models, "{left_.*: 60, default: 50}")
    rows = list(rows_of(state).values())
    set_gains(state.session, changes_for(rows[0], rows, lambda r: {"kp": 75.0}, every=True))
    assert authored(state) == 75.0


@pytest.mark.parametrize(
    ("found_by", "said"),
    [
        ("hip", {"default": 50, ".*hip": 75.0}),
        (".*_hip", {"default": 50, ".*_hip": 75.0}),
        ("dog.*hip", {"default": 50, "left_hip": 75.0, "right_hip": 75.0}),
        ("(", {"default": 50, "left_hip": 75.0, "right_hip": 75.0}),
    ],
)
def test_a_group_is_written_as_the_pattern_it_was_found_by(
    models: Path, found_by: str, said: object
) -> None:
    state = legs(models)
    hips = [row for name, row in rows_of(state).items() if name.endswith("hip")]
    changes = changes_for(hips[0], hips, lambda r: {"kp": 75.0}, every=True)
    set_gains(state.session, changes, group=found_by)
    assert authored(state) == said
    assert rows_of(state)["left_hip"].values["kp"] == 75.0


def test_a_group_keeps_the_pattern_the_scene_has_for_it(models: Path) -> None:
    state = legs(models, "{left_.*: 60, default: 50}")
    left = [row for name, row in rows_of(state).items() if name.startswith("left")]
    set_gains(state.session, changes_for(left[0], left, lambda r: {"kp": 75.0}, every=True))
    assert authored(state) == {"left_.*": 75.0, "default": 50}


def test_an_edit_acts_in_the_next_step_without_a_new_world(models: Path) -> None:
    state = legs(models)
    world = state.simulation.world
    world["dog"].set_targets({"left_hip": 1.0})
    set_one(state, "left_hip", kp=0.0, kv=0.0)
    state.simulation.step_once()
    assert state.simulation.world is world
    assert state.simulation.frame.robots["dog"].raw_effort[0] == 0.0


def test_the_edits_of_one_drag_are_one_undo_entry(models: Path) -> None:
    state = legs(models)
    for kp in (51.0, 52.0, 53.0):
        changes = [(rows_of(state)["left_hip"], {"kp": kp})]
        set_gains(state.session, changes, merge="drag")
    state.session.seal()
    set_gains(state.session, [(rows_of(state)["left_hip"], {"kp": 99.0})], merge="drag")
    assert len(state.session.undo_stack) == 2
    state.session.undo()
    assert rows_of(state)["left_hip"].values["kp"] == 53.0
    state.session.undo()
    assert rows_of(state)["left_hip"].values["kp"] == 50.0


def test_a_refused_value_changes_nothing(models: Path) -> None:
    state = legs(models)
    with pytest.raises(PropertyError, match=r"dog\.PDController\.kp: must be .* got -1"):
        set_one(state, "left_hip", kv=3.0, kp=-1.0)
    assert rows_of(state)["left_hip"].values["kv"] == 2.0
    assert len(state.session.undo_stack) == 0


def test_copies_of_an_actor_are_edited_together(models: Path) -> None:
    text = LEGS.format(kp="50") + "    replicate: {count: [2]}\n"
    state = editor_state(Scene.parse(text, models))
    rows = gain_rows(state.simulation.world, state.scene, "dog")
    assert [r.actor for r in rows if r.actuator == "left_hip"] == ["dog_0", "dog_1"]
    set_gains(state.session, [(rows[0], {"kp": 80.0})])
    rows = gain_rows(state.simulation.world, state.scene, "dog_1")
    assert rows[0].values["kp"] == 80.0


# Mirror -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("FL_hip", "FR_hip"),
        ("RL_calf", "RR_calf"),
        ("left_knee", "right_knee"),
        ("knee_left", "knee_right"),
        ("LeftKnee", "RightKnee"),
        ("l_elbow", "r_elbow"),
        ("elbow_L", "elbow_R"),
        ("LHipPitch", "RHipPitch"),
        ("LF_HAA", "RF_HAA"),
        ("LH_KFE", "RH_KFE"),
        ("LR_hip", "RR_hip"),
        ("leg_left1_joint", "leg_right1_joint"),
        ("joint-l-2", "joint-r-2"),
    ],
)
def test_left_and_right_are_found_both_ways(left: str, right: str) -> None:
    assert mirrored(left, [left, right]) == right
    assert mirrored(right, [left, right]) == left


@pytest.mark.parametrize("name", ["torso", "shoulder_pan", "roll", "FL_hip"])
def test_what_has_no_other_side_has_no_mirror_image(name: str) -> None:
    assert mirrored(name, [name, "waist"]) is None


def test_an_edit_with_mirror_sets_both_sides(models: Path) -> None:
    state = legs(models)
    rows = list(rows_of(state).values())
    assert mirror_row(rows[0], rows) is rows[2]
    changes = changes_for(rows[0], rows, lambda r: {"kp": 75.0}, mirror=True)
    set_gains(state.session, changes)
    assert [r.values["kp"] for r in rows_of(state).values()] == [75, 50, 75, 50]
    assert state.session.undo_stack.names == ["Set kp of 2 actuators"]


# ω, ζ and inertia -------------------------------------------------------------------------------


def test_frequency_and_damping_lead_back_to_the_gains(models: Path) -> None:
    row = rows_of(legs(models))["left_hip"]
    inertia = 0.2
    assert frequency(50.0, inertia) == pytest.approx(math.sqrt(250.0) / (2 * math.pi))
    new = with_frequency(row, 3.0, inertia)
    assert frequency(new["kp"], inertia) == pytest.approx(3.0)
    before = damping_ratio(50.0, 2.0, inertia)
    assert damping_ratio(new["kp"], new["kv"], inertia) == pytest.approx(before)
    assert damping_ratio(50.0, with_damping(row, 1.0, inertia)["kv"], inertia) == pytest.approx(1.0)


def test_without_stiffness_there_is_no_ratio_to_keep(models: Path) -> None:
    row = rows_of(legs(models, "0"))["left_hip"]
    assert with_frequency(row, 1.0, 0.2).keys() == {"kp"}


def test_inertias_of_a_free_base_differ_from_the_diagonal() -> None:
    state = editor_state(Scene.load(QUADRUPED))
    row = rows_of(state)["FL_hip"]
    found = inertias(state.simulation)
    effective, diagonal = found.of(row), found.of(row, held=True)
    assert effective is not None and diagonal is not None
    assert 0.0 < effective < diagonal
    model = state.simulation.world.model
    assert diagonal > model.dof_armature[row.dof]


# On and off -------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ["python", "native"])
def test_an_actuator_that_is_off_gives_no_effort_and_keeps_its_gains(
    models: Path, execution: str
) -> None:
    from mjrig.core.sim.world import World
    from mjrig.editor.session.session import Session
    from mjrig.editor.session.simulation import Simulation

    scene = Scene.parse(LEGS.format(kp="50"), models)
    state = EditorState(Session(scene, Simulation(World(scene, execution))))
    world = state.simulation.world
    world["dog"].set_targets({"left_hip": 1.0}, feedforward={"left_hip": 3.0})
    switches = Switches()
    row = rows_of(state)["left_hip"]
    set_gains(state.session, [(row, switches.change(row))])
    state.simulation.step_once(5)
    applied = state.simulation.frame.robots["dog"].applied_effort
    assert applied[0] == 0.0
    row = rows_of(state)["left_hip"]
    assert not row.is_on
    assert row.values["kp"] == 50
    set_gains(state.session, [(row, switches.change(row))])
    assert rows_of(state)["left_hip"].values["torque_limit"] == 30.0


def test_one_that_was_saved_off_comes_back_with_the_default_limit(models: Path) -> None:
    text = LEGS.format(kp="50").replace("limit: 30", "limit: {left_hip: 0}")
    state = editor_state(Scene.parse(text, models))
    row = rows_of(state)["left_hip"]
    live = state.live("dog.PDController")
    assert Switches().change(row, live) == {"torque_limit": 200.0}


# Lights -----------------------------------------------------------------------------------------


def test_the_light_shows_how_often_a_limit_acted_in_the_last_second(models: Path) -> None:
    state = legs(models, "1000")
    monitor = Monitor()
    world = state.simulation.world
    row = rows_of(state)["left_hip"]
    monitor.see(state.simulation.frame)
    assert monitor.saturation(row) == 0.0
    world["dog"].set_targets({"left_hip": 2.0})
    for _ in range(4):
        state.simulation.step_once()
        monitor.see(state.simulation.frame)
    assert monitor.saturation(row) == pytest.approx(0.8)
    assert abs(monitor.effort(row)) == 30.0
    assert monitor.error(row) == pytest.approx(2.0, abs=0.05)
    assert monitor.saturation(rows_of(state)["right_hip"]) == 0.0
    state.simulation.reset()
    monitor.see(state.simulation.frame)
    assert monitor.saturation(row) == 0.0


def test_frames_older_than_a_second_are_forgotten(models: Path) -> None:
    state = legs(models, "1000")
    monitor, row = Monitor(), rows_of(state)["left_hip"]
    state.simulation.world["dog"].set_targets({"left_hip": 2.0})
    state.simulation.step_once()
    monitor.see(state.simulation.frame)
    assert monitor.saturation(row) == 1.0
    state.simulation.world["dog"].set_targets(np.zeros(5))
    state.session.set("dog.PDController.kp", 0)
    for _ in range(3):
        state.simulation.step_once(400)
        monitor.see(state.simulation.frame)
    assert monitor.saturation(row) == 0.0
