"""The hierarchy: select, rename, duplicate, delete, context menus, drops."""

from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.errors import BindingError, MjrigError, PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.assets.hierarchy import delete, duplicate, rename
from mjrig.editor.ui.panel import Panel
from tests.editor.ui_driver import app_with, run_ui_tests
from tests.editor.windows import BOX, SWINGS, Bench, menu, press
from tests.wording import regex

KEY = imgui.Key
ROD = """<mujoco><worldbody><body name="rod"><joint name="turn" axis="0 1 0"/><geom size=".1"/>
</body></worldbody><actuator><motor name="turn" joint="turn"/></actuator></mujoco>"""
TOWER = """\
mjrig: 1
frames:
  - {name: desk, position: [5, 0, 1]}
collision_groups:
  - {name: soft, members: [base]}
actors:
  - {name: base, model: box.xml, pose: {relative_to: desk}}
  - {name: rider, model: rod.xml, attach: {to: base/box}}
  - {name: other, model: rod.xml, pose: {position: [0, 3, 0]}}
"""


@pytest.fixture
def tower(tmp_path: Path) -> Bench:
    """A rider on a base on a frame, and one that stands alone."""
    (tmp_path / "box.xml").write_text(BOX)
    (tmp_path / "rod.xml").write_text(ROD)
    return Bench.on(TOWER, tmp_path)


def test_clicks_select_one_or_several() -> None:
    bench = Bench.on(SWINGS)
    seen: list[list[str]] = []

    def clicks(ctx: Any) -> None:
        ctx.set_ref("//Hierarchy")
        ctx.item_click("###left")
        seen.append(list(bench.state.selection.paths))
        ctx.key_down(int(KEY.mod_ctrl))
        ctx.item_click("###right")
        ctx.key_up(int(KEY.mod_ctrl))
        seen.append(list(bench.state.selection.paths))
        ctx.key_down(int(KEY.mod_ctrl))
        ctx.item_click("###left")
        ctx.key_up(int(KEY.mod_ctrl))
        seen.append(list(bench.state.selection.paths))
        ctx.item_click("###scene")
        seen.append(list(bench.state.selection.paths))

    bench.run(clicks)
    assert seen == [["left"], ["left", "right"], ["right"], ["scene"]]


def test_components_joints_and_actuators_are_below_their_actor(tower: Bench) -> None:
    seen: list[list[str]] = []

    def opens(ctx: Any) -> None:
        ctx.set_ref("//Hierarchy")
        ctx.item_open("###other")
        ctx.item_open("###other/Joints (1)##other")
        ctx.item_click("###other/Joints (1)##other/###other.joint:turn")
        seen.append(list(tower.state.selection.paths))
        ctx.item_open("###other/Actuators (1)##other")
        ctx.item_click("###other/Actuators (1)##other/###other.actuator:turn")
        seen.append(list(tower.state.selection.paths))
        ctx.item_open("Frames")
        ctx.item_click("Frames/###frames[0]")
        seen.append(list(tower.state.selection.paths))

    tower.run(opens)
    assert seen == [["other.joint:turn"], ["other.actuator:turn"], ["frames[0]"]]


def test_the_search_field_hides_the_rest() -> None:
    bench = Bench.on(SWINGS)
    shown: list[bool] = []

    def filters(ctx: Any) -> None:
        ctx.item_input_value("//Hierarchy/##filter", "RIG")
        ctx.yield_(2)
        shown.append(ctx.item_exists("//Hierarchy/###right"))
        shown.append(ctx.item_exists("//Hierarchy/###left"))

    bench.run(filters)
    assert shown == [True, False]


# Edits --------------------------------------------------------------------------------------------


def test_rename_by_the_context_menu() -> None:
    bench = Bench.on(SWINGS)

    def renames(ctx: Any) -> None:
        bench.state.selection.only("left.PDController")
        ctx.item_click("//Hierarchy/###left", 1)
        ctx.set_ref("//$FOCUSED")
        ctx.item_click("Rename")
        ctx.yield_(2)
        ctx.key_chars_replace_enter("Links")
        ctx.yield_(2)

    bench.run(renames)
    assert bench.actors == ["Links", "right"]
    assert bench.entries == ["Rename left to Links"]
    assert bench.state.selection.paths == ["Links.PDController"]


@pytest.mark.parametrize("way", ["escape", "click"])
def test_a_rename_that_is_left_changes_nothing(way: str) -> None:
    bench = Bench.on(SWINGS)

    def renames(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###left")
        press(ctx, KEY.f2)
        ctx.key_chars("Links")
        if way == "escape":
            press(ctx, KEY.escape)
        else:
            ctx.item_click("//Hierarchy/###right")
        ctx.yield_(2)
        assert ctx.item_exists("//Hierarchy/###left")

    bench.run(renames)
    assert bench.actors == ["left", "right"]
    assert bench.entries == []


def test_a_name_that_is_taken_is_refused_with_the_reason() -> None:
    bench = Bench.on(SWINGS)

    def renames(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###left")
        press(ctx, KEY.f2)
        ctx.key_chars_replace_enter("right")
        ctx.yield_(2)

    bench.run(renames)
    assert bench.actors == ["left", "right"]
    (problem,) = bench.problems
    assert "right" in problem


def test_references_follow_a_rename(tower: Bench) -> None:
    rename(tower.state, "base", "foot")
    assert "attach: {to: foot/box}" in tower.state.scene.to_text()
    assert "members: [foot]" in tower.state.scene.to_text()
    assert tower.entries == ["Rename base to foot"]


def test_duplicate_by_key_and_by_menu() -> None:
    bench = Bench.on(SWINGS)

    def duplicates(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###left")
        press(ctx, KEY.mod_ctrl, KEY.d)
        ctx.item_click("//Hierarchy/###right")
        menu(ctx, "Edit/Duplicate")

    bench.run(duplicates)
    assert bench.actors == ["left", "right", "left_2", "right_2"]
    assert bench.entries == ["Duplicate left", "Duplicate right"]
    assert bench.state.selection.paths == ["right_2"]
    second = bench.state.scene["right_2"]
    assert second.pose is not None
    assert second.pose.position == pytest.approx([0, 3, 0])
    assert second.components[0].to_data()["kp"] == 20
    assert list(bench.state.simulation.world.articulations) == bench.actors


def test_deleting_several_things_is_one_edit(tower: Bench) -> None:
    before = tower.state.scene.to_text()

    def deletes(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###base")
        ctx.key_down(int(KEY.mod_ctrl))
        ctx.item_click("//Hierarchy/###rider")
        ctx.item_click("//Hierarchy/###other")
        ctx.key_up(int(KEY.mod_ctrl))
        press(ctx, KEY.delete)

    tower.run(deletes)
    assert tower.actors == []
    assert tower.entries == ["Delete base, rider, other"]
    assert not tower.problems
    assert tower.state.selection.paths == []
    tower.state.session.undo()
    assert tower.state.scene.to_text() == before


def test_what_depended_on_a_deleted_actor_goes_with_it_and_is_named(tower: Bench) -> None:
    delete(tower.state, "base")
    assert tower.actors == ["other"]
    assert any("also removed: actor 'rider'" in text for text in tower.said)
    tower.state.session.undo()
    assert tower.actors == ["base", "rider", "other"]


def test_a_component_is_removed_by_its_menu() -> None:
    bench = Bench.on(SWINGS)

    def removes(ctx: Any) -> None:
        ctx.item_open("//Hierarchy/###left")
        ctx.item_click("//Hierarchy/###left/###left.PDController", 1)
        ctx.set_ref("//$FOCUSED")
        ctx.item_click("Remove")
        ctx.yield_(2)

    bench.run(removes)
    assert bench.state.scene["left"].components == ()
    assert bench.state.simulation.world["left"].components == ()
    assert bench.entries == ["Delete left.PDController"]


def test_frames_groups_joints_and_actuators_can_go_too(tower: Bench) -> None:
    state = tower.state
    delete(state, "collision_groups[0]")
    assert state.scene.collision_groups == ()
    delete(state, "other.joint:turn", "other.actuator:turn")
    assert not state.simulation.world["other"].joint_names
    delete(state, "frames[0]")
    assert state.scene.frames == ()
    assert tower.actors == ["other"]
    for _ in range(3):
        state.session.undo()
    assert state.scene.to_text() == TOWER


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("scene", "the scene itself cannot be deleted"),
        ("nobody", None),
        ("left.nothing", "has no element 'nothing'"),
    ],
)
def test_what_cannot_be_deleted_says_so_and_stays(path: str, reason: str | None) -> None:
    bench = Bench.on(SWINGS)
    if reason is None:
        delete(bench.state, path)
    else:
        with pytest.raises(PropertyError, match=reason):
            delete(bench.state, "right", path)
    assert bench.actors == ["left", "right"]
    assert bench.entries == []


def test_nothing_selected_deletes_nothing() -> None:
    bench = Bench.on(SWINGS)
    delete(bench.state)
    assert bench.entries == []


def test_a_copy_and_an_include_cannot_be_renamed_or_doubled(tmp_path: Path) -> None:
    (tmp_path / "rod.xml").write_text(ROD)
    (tmp_path / "other.yaml").write_text("mjrig: 1\nactors:\n  - {name: rod, model: rod.xml}\n")
    bench = Bench.on("mjrig: 1\ninclude:\n  - {file: other.yaml}\n", tmp_path)
    for edit in (
        lambda: rename(bench.state, "rod", "pole"),
        lambda: duplicate(bench.state, "rod"),
        lambda: delete(bench.state, "rod"),
    ):
        with pytest.raises(BindingError, match=regex("comes from the included …")):
            edit()
    assert bench.state.scene.to_text() == "mjrig: 1\ninclude:\n  - {file: other.yaml}\n"


# Drops ------------------------------------------------------------------------------------------


class _Shelf(Panel):
    """Something to drag."""

    title = "Shelf"
    place = "bottom"

    def draw(self) -> None:
        imgui.button("thing")
        if imgui.begin_drag_drop_source():
            self.state.dragged = ("component", "PDController")
            imgui.set_drag_drop_payload_py_id("MJRIG", 0)
            imgui.end_drag_drop_source()


def test_a_component_type_dropped_on_an_actor_is_added(tower: Bench) -> None:
    panels = [tower.window.hierarchy, _Shelf(tower.state)]

    def drops(ctx: Any) -> None:
        ctx.item_drag_and_drop("//Shelf/thing", "//Hierarchy/###other")
        ctx.yield_(2)

    run_ui_tests(app_with(tower.state, panels), drops)
    assert [c._role for c in tower.state.scene["other"].components] == ["PDController"]
    assert tower.entries == ["Add PDController to other"]
    assert tower.state.dragged is None


# Structural edits that fail ---------------------------------------------------------------------


def test_a_structural_edit_that_fails_keeps_the_world_and_shows_why(tower: Bench) -> None:
    world, before = tower.state.simulation.world, tower.state.scene.to_text()

    def breaks() -> None:
        with tower.state.session.edit("Add nothing") as scene:
            scene.add_actor("ghost", model="gone.xml")

    def attempts(ctx: Any) -> None:
        tower.state.attempt(breaks)
        ctx.yield_(3)

    tower.run(attempts)
    assert tower.state.simulation.world is world
    assert tower.state.scene.to_text() == before
    (problem,) = tower.problems
    assert "gone.xml" in problem
    assert tower.entries == []
    with pytest.raises(MjrigError):
        breaks()


# Keyframes --------------------------------------------------------------------------------------


def test_a_pose_is_captured_by_the_menu_and_gone_to_by_a_double_click(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    world = bench.state.simulation.world
    seen: list[float] = []

    def captures(ctx: Any) -> None:
        world["left"].set_targets({".*": 0.7})
        bench.state.simulation.step_once(150)
        seen.append(float(world["left"].position[0]))
        ctx.item_click("//Hierarchy/###left", 1)
        ctx.item_click("//$FOCUSED/Capture pose as keyframe")
        ctx.yield_(2)
        bench.state.simulation.step_once(70)
        ctx.item_open("//Hierarchy/###left/Keyframes (2)##left")
        ctx.item_double_click("//Hierarchy/###left/Keyframes (2)##left/###left pose")
        ctx.yield_(2)
        seen.append(float(bench.state.simulation.world["left"].position[0]))

    bench.run(captures)
    assert not bench.problems
    assert seen[0] == seen[1] != 0.0
    assert bench.entries == ["Capture pose of left"]
    bench.state.session.save()
    again = Scene.load(tmp_path / "swings.yaml")
    assert [k.name for k in again["left"].keyframes] == ["pose"]
    reopened = World(again)
    reopened.reset("pose")
    assert float(reopened["left"].position[0]) == seen[0]
    bench.state.session.undo()
    assert not bench.state.scene["left"].keyframes
