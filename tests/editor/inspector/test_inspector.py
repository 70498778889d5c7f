"""The inspector, driven as a person would."""

from collections.abc import Iterator
from typing import Any

import pytest
from imgui_bundle import imgui
from imgui_bundle.imgui.test_engine_checks import CHECK

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.inspector.fields import EditedObject, Filter, fields_of
from mjrig.editor.inspector.inspector import Inspector
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.key_chords import chord
from mjrig.editor.ui.panel import Panel
from tests.editor.inspector.inspected import SCENE, registered
from tests.editor.ui_driver import app_with, editor_state, run_ui_tests

ONE, TWO = "one.Everything", "two.Everything"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditorState]:
    with registered(monkeypatch):
        made = editor_state(SCENE)
        made.selection.only(ONE)
        yield made


def rows(ctx: Any) -> None:
    """Refer to rows by the names of their properties from now on."""
    ctx.yield_(2)
    ctx.set_ref(ctx.window_info("//Inspector/rows").window)


def menu(ctx: Any, item: str, entry: str) -> None:
    """Choose from the context menu of an item."""
    ctx.item_click(item, 1)
    ctx.item_click(f"//$FOCUSED/{entry}")


def choose(ctx: Any, item: str, choice: str) -> None:
    ctx.item_click(item)
    ctx.item_click(f"//##Combo_00/{choice}")


def authored(state: EditorState, name: str, path: str = ONE) -> Any:
    obj = state.described(path)
    assert obj is not None
    return obj.authored(name)


def there(ctx: Any, ref: str) -> bool:
    return bool(ctx.item_exists(ref))


def drive(state: EditorState, *tests: Any, panels: tuple[Panel, ...] = ()) -> Inspector:
    inspector = Inspector(state)
    run_ui_tests(app_with(state, [inspector, *panels]), *tests)
    return inspector


def test_every_shown_property_has_a_row_and_no_other(state: EditorState) -> None:
    def looks(ctx: Any) -> None:
        rows(ctx)
        obj = state.described(ONE)
        assert obj is not None
        for prop in obj.properties():
            CHECK(there(ctx, f"props/{prop.name}/###label") == prop.shown)

    drive(state, looks)


def test_search_filters_by_name_and_doc_and_remembers_what_was_open(state: EditorState) -> None:
    state.session.set(f"{ONE}.bench", {"height": 2})

    def searches(ctx: Any) -> None:
        ctx.set_ref("//Inspector")
        ctx.item_input_value("##search", "degrees")  # in the doc of `angle`
        rows(ctx)
        CHECK(there(ctx, "props/angle/##v"))
        CHECK(not there(ctx, "props/gain/##v"))
        ctx.item_input_value("//Inspector/##search", "high")  # only in a nested part
        ctx.yield_(2)
        CHECK(there(ctx, "props/bench/height/##v"))
        CHECK(not there(ctx, "props/bench/name/##v"))
        ctx.item_input_value("//Inspector/##search", "")
        ctx.yield_(2)
        CHECK(not there(ctx, "props/bench/height/##v"))  # the node is closed, as it was
        ctx.item_click("//Inspector/modified")
        ctx.yield_(2)
        CHECK(there(ctx, "props/gain/##v"))
        CHECK(not there(ctx, "props/note/##v"))
        ctx.item_click("//Inspector/modified")

    def folds(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/Numbers##category")
        ctx.yield_(2)
        CHECK(not there(ctx, "props/gain/##v"))
        state.selection.only(TWO)
        ctx.yield_(2)
        CHECK(not there(ctx, "props/gain/##v"))

    drive(state, searches, folds)


def test_a_row_is_reset_by_its_arrow_which_shows_only_when_modified(state: EditorState) -> None:
    def resets(ctx: Any) -> None:
        rows(ctx)
        CHECK(not there(ctx, "props/note/##reset"))
        ctx.item_click("props/gain/##reset")
        ctx.yield_(2)
        CHECK(not there(ctx, "props/gain/##reset"))

    drive(state, resets)
    assert authored(state, "gain") is None
    assert state.session.undo_stack.names == [f"Reset {ONE}.gain"]


def test_a_disabled_row_says_why_and_cannot_be_edited(state: EditorState) -> None:
    def looks(ctx: Any) -> None:
        rows(ctx)
        for name, disabled in (("shade", True), ("seen", True), ("gain", False)):
            flags = ctx.item_info(f"props/{name}/##v").item_flags
            CHECK(bool(flags & imgui.ItemFlags_.disabled) == disabled)
        choose(ctx, "props/colour/##v", "green")
        ctx.yield_(2)
        flags = ctx.item_info("props/shade/##v").item_flags
        CHECK(not flags & imgui.ItemFlags_.disabled)

    drive(state, looks)
    assert authored(state, "colour") == "green"
    assert state.session.undo_stack.names == [f"Set {ONE}.colour"]


def test_values_by_name_are_added_renamed_changed_and_removed(state: EditorState) -> None:
    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/weights/###label")
        ctx.item_input_value("props/weights/##add", ".*_a")
        ctx.yield_(2)
        ctx.item_input_value("props/weights/.*_a/##v", 3.0)
        CHECK(authored(state, "weights") == {".*_a": 3.0})
        ctx.item_input_value("props/weights/.*_a/##key", ".*_b")
        ctx.yield_(2)
        CHECK(authored(state, "weights") == {".*_b": 3.0})
        ctx.item_click("props/weights/.*_b/x##remove")
        ctx.yield_(2)
        CHECK(authored(state, "weights") is None)
        ctx.item_click("props/alias/###label")
        ctx.item_input_value("props/alias/##add", "old")
        ctx.item_input_value("props/alias/old/##v", "new")
        ctx.item_click("props/extra/###label")
        ctx.item_input_value("props/extra/##add", "any")
        ctx.item_input_value("props/extra/any/##v", "[1, {a: b}]")
        ctx.yield_(2)
        CHECK(authored(state, "alias") == {"old": "new"})
        CHECK(authored(state, "extra") == {"any": [1, {"a": "b"}]})

    drive(state, edits)


PD = """mjrig: 1
actors:
  - name: dog
    model: package:mjrig.assets/quadruped/quadruped.xml
    components:
      - type: PDController
        kp: 60
"""


def test_per_actuator_values_change_form_and_show_what_is_in_force() -> None:
    state = editor_state(PD)
    path = "dog.PDController"
    state.selection.only(path)

    def kp() -> Any:
        return authored(state, "kp", path)

    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("props/kp/##v", 70.0)
        CHECK(kp() == 70)
        choose(ctx, "props/kp/##form", "by name")
        ctx.yield_(2)
        CHECK(kp() == {"default": 70})
        ctx.item_click("props/kp/###label")
        ctx.item_input_value("props/kp/##add", ".*_calf")
        ctx.yield_(2)
        ctx.item_input_value("props/kp/.*_calf/##v", 90.0)
        CHECK(kp() == {"default": 70, ".*_calf": 90})
        ctx.item_input_value("props/kp/in force FL_calf/##v", 95.0)
        ctx.yield_(2)
        CHECK(kp()["FL_calf"] == 95 and kp()["RR_calf"] == 90 and ".*_calf" not in kp())
        ctx.item_input_value("props/kp/##add", "FL_clf")
        ctx.yield_(2)
        CHECK("did you mean" in state.problems[f"{path}.kp"])
        choose(ctx, "props/kp/##form", "list")
        ctx.yield_(2)
        CHECK(len(kp()) == 12 and kp()[2] == 95)
        ctx.item_input_value("props/kp/[0]/##v", 1.0)
        CHECK(kp()[0] == 1)
        choose(ctx, "props/kp/##form", "default")
        ctx.yield_(2)
        CHECK(kp() is None)

    drive(state, edits)
    live = state.live(path)
    assert live is not None and vars(live)["kp"].tolist() == [100.0] * 12
    while state.session.undo():
        pass
    assert state.scene.to_text() == PD


def test_an_authored_actuator_is_edited_in_its_list() -> None:
    actuator = "actuators: [{type: MotorActuator, joint: FL_roll_hip, name: extra}]"
    text = PD.replace("    components:", f"    {actuator}\n    components:")
    text = text.replace("kp: 60", "actuators: '[FR].*'")
    state = editor_state(text)
    state.selection.only("dog.actuators[0]")

    def edits(ctx: Any) -> None:
        rows(ctx)
        choose(ctx, "props/ctrllimited/##v", "false")
        ctx.yield_(2)

    drive(state, edits)
    assert authored(state, "ctrllimited", "dog.actuators[0]") is False


def test_nested_parts_come_change_type_and_go(state: EditorState) -> None:
    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/bench/Add##add")
        ctx.item_click("props/bench/###label")
        ctx.item_input_value("props/bench/height/##v", 1.5)
        CHECK(authored(state, "bench") == {"height": 1.5})
        ctx.item_click("props/bench/Remove##remove")
        ctx.yield_(2)
        CHECK(authored(state, "bench") is None)
        choose(ctx, "props/knob/##type", "Knob")
        ctx.yield_(2)
        CHECK(authored(state, "knob") == {"type": "Knob"})
        choose(ctx, "props/knob/##type", "none")
        ctx.yield_(2)
        CHECK(authored(state, "knob") is None)

    def lists(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/benches/+##add")
        ctx.item_click("props/benches/+##add")
        ctx.yield_(2)
        CHECK(authored(state, "benches") == [{"name": "bench_1"}, {"name": "bench_2"}])
        ctx.item_click("props/benches/###label")
        ctx.item_click("props/benches/1/##up")
        ctx.yield_(2)
        CHECK(authored(state, "benches") == [{"name": "bench_2"}, {"name": "bench_1"}])
        ctx.item_click("props/benches/0/###item")
        ctx.item_input_value("props/benches/0/height/##v", 3.0)
        ctx.item_click("props/benches/1/x##remove")
        ctx.yield_(2)
        CHECK(authored(state, "benches") == [{"name": "bench_2", "height": 3.0}])
        ctx.item_click("props/knobs/+##add")
        ctx.item_click("//$FOCUSED/Knob")
        ctx.yield_(2)
        CHECK(authored(state, "knobs") == [{"type": "Knob"}])

    drive(state, edits, lists)
    while state.session.undo():
        pass
    assert state.scene.to_text() == SCENE


def test_values_paths_and_whole_components_are_copied_and_pasted(state: EditorState) -> None:
    def copies(ctx: Any) -> None:
        rows(ctx)
        menu(ctx, "props/gain/###label", "Copy path")
        CHECK(imgui.get_clipboard_text() == f"{ONE}.gain")
        menu(ctx, "props/gain/###label", "Copy category")
        CHECK(imgui.get_clipboard_text() == "gain: 60\nwhere: [1, 2, 3]\n")
        ctx.item_click("//Inspector/###header", 1)
        ctx.item_click("//$FOCUSED/###copy object")
        CHECK(imgui.get_clipboard_text() == "type: Everything\ngain: 60\nwhere: [1, 2, 3]\n")
        state.selection.only(TWO)
        ctx.yield_(2)
        ctx.item_click("//Inspector/###header", 1)
        ctx.item_click("//$FOCUSED/Paste")
        ctx.yield_(2)
        CHECK(authored(state, "where", TWO) == [1, 2, 3])
        CHECK(state.session.undo_stack.names == [f"Paste into {TWO}"])

    def keys(ctx: Any) -> None:
        state.selection.only(ONE)
        rows(ctx)
        ctx.mouse_move("props/gain/###label")
        ctx.key_press(chord(imgui.Key.mod_ctrl, imgui.Key.c))
        CHECK(imgui.get_clipboard_text() == "60")
        ctx.mouse_move("props/free/###label")
        imgui.set_clipboard_text("2.5")
        ctx.key_press(chord(imgui.Key.mod_ctrl, imgui.Key.v))
        ctx.yield_(2)
        CHECK(authored(state, "free") == 2.5)
        imgui.set_clipboard_text("[1, 2]")
        ctx.key_press(chord(imgui.Key.mod_ctrl, imgui.Key.v))
        ctx.yield_(2)
        CHECK(authored(state, "free") == 2.5)
        CHECK(state.problems[f"{ONE}.free"] == f"{ONE}.free: must be a number, got [1, 2]")

    drive(state, copies, keys)


def test_any_value_can_be_edited_as_yaml(state: EditorState) -> None:
    def edits(ctx: Any) -> None:
        rows(ctx)
        menu(ctx, "props/where/###label", "Edit as YAML...")
        ctx.yield_(2)
        ctx.item_click("//$FOCUSED/##yaml")
        ctx.key_press(chord(imgui.Key.mod_ctrl, imgui.Key.a))
        ctx.key_chars("[7, 8, 9]")
        ctx.item_click("//$FOCUSED/Apply")
        ctx.yield_(2)
        CHECK(authored(state, "where") == [7, 8, 9])

    drive(state, edits)


def test_several_objects_are_edited_together(state: EditorState) -> None:
    state.selection.paths = [ONE, TWO, "one"]

    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("props/gain/##v", 70.0)
        CHECK([authored(state, "gain", p) for p in (ONE, TWO)] == [70, 70])
        CHECK(len(state.session.undo_stack) == 1)
        ctx.item_click("props/bench/Add##add")
        ctx.item_click("props/bench/###label")
        ctx.item_input_value("props/bench/height/##v", 2.0)
        CHECK([authored(state, "bench", p) for p in (ONE, TWO)] == [{"height": 2.0}] * 2)

    drive(state, edits)
    while state.session.undo():
        pass
    assert state.scene.to_text() == SCENE


def test_a_dragged_row_that_vanishes_is_sealed(state: EditorState) -> None:
    def drags(ctx: Any) -> None:
        rows(ctx)
        ctx.mouse_move("props/gain/##v")
        ctx.mouse_down(0)
        ctx.mouse_move_to_pos(imgui.get_mouse_pos() + imgui.ImVec2(20, 0))
        ctx.yield_(2)
        CHECK(state.session.undo_stack.undoable.merge is not None)  # type: ignore[union-attr]
        state.selection.only("two")
        ctx.yield_(2)
        CHECK(state.session.undo_stack.undoable.merge is None)  # type: ignore[union-attr]
        ctx.mouse_up(0)

    drive(state, drags)
    assert len(state.session.undo_stack) == 1


class _Plot(Panel):
    """Something a row can be dropped on."""

    title = "Plot"
    place = "left"
    got: Any = None

    def draw(self) -> None:
        imgui.button("drop here", imgui.ImVec2(100, 100))
        if imgui.begin_drag_drop_target():
            if imgui.accept_drag_drop_payload_py_id("MJRIG") is not None:
                self.got = self.state.dragged
            imgui.end_drag_drop_target()


def test_a_numeric_row_is_dragged_onto_a_plot(state: EditorState) -> None:
    plot = _Plot(state)

    def drags(ctx: Any) -> None:
        rows(ctx)
        ctx.item_drag_and_drop("props/gain/###label", "//Plot/drop here")

    drive(state, drags, panels=(plot,))
    assert plot.got == ("property", f"{ONE}.gain")


class _Files(Panel):
    """Something that files are dragged from."""

    title = "Files"
    place = "left"

    def draw(self) -> None:
        imgui.button("curve.csv")
        if imgui.begin_drag_drop_source():
            self.state.dragged = ("file", "curve.csv")
            imgui.set_drag_drop_payload_py_id("MJRIG", 1)
            imgui.end_drag_drop_source()


def test_a_file_is_dropped_on_its_row(state: EditorState) -> None:
    def drags(ctx: Any) -> None:
        rows(ctx)
        ctx.item_drag_and_drop("//Files/curve.csv", "props/file/##v")
        ctx.yield_(2)

    drive(state, drags, panels=(_Files(state),))
    assert authored(state, "file") == "curve.csv"


def test_a_value_that_is_refused_is_told_of_at_its_row_until_it_is_mended(
    state: EditorState,
) -> None:
    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("props/gain/##v", -4.0)
        ctx.yield_(2)
        CHECK(there(ctx, "props/gain/x##problem"))
        CHECK(authored(state, "gain") == 60)
        ctx.item_input_value("props/gain/##v", 4.0)
        ctx.yield_(2)
        CHECK(not there(ctx, "props/gain/x##problem"))

    drive(state, edits)
    assert len(state.session.undo_stack) == 1


def test_an_edit_while_it_plays_reaches_the_world_without_a_new_one(state: EditorState) -> None:
    world = state.simulation.world
    state.session.play()

    def edits(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("props/gain/##v", 12.0)
        ctx.yield_(2)

    drive(state, edits)
    live = state.live(ONE)
    assert state.simulation.world is world and state.simulation.playing
    assert live is not None and vars(live)["gain"] == 12.0


def test_actions_run_with_typed_arguments_and_what_they_change_is_kept(state: EditorState) -> None:
    def calls(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("twist/amount##amount", 33.0)
        ctx.item_input_value("twist/word##word", "hey")
        ctx.item_click("twist/twist##call")
        ctx.yield_(2)

    drive(state, calls)
    assert state.console.lines[-1].text == f"{ONE}.twist(amount=33.0, word=hey) -> 'hey 33'"
    assert authored(state, "gain") == 33.0
    assert state.session.undo_stack.names == [f"Call {ONE}.twist"]


def test_an_action_that_fails_says_so(state: EditorState) -> None:
    def calls(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("twist/amount##amount", -1.0)
        ctx.item_click("twist/twist##call")

    drive(state, calls)
    assert state.console.lines[-1].text == f"{ONE}.gain: must be >= 0 N, got -1"
    assert authored(state, "gain") == 60


def test_the_actions_of_the_running_robot_are_on_its_actor() -> None:
    state = editor_state(PD)
    state.selection.only("dog")

    def holds(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("hold/keyframe##keyframe")
        ctx.item_click("//##Combo_00/**/home")
        ctx.item_click("hold/hold##call")
        ctx.yield_(2)
        CHECK(state.simulation.world["dog"].held == "home")

    drive(state, holds)


def test_keyframes_of_the_model_and_of_the_scene_are_chosen_from_a_list() -> None:
    keyframes = "    keyframes: [{name: low, joints: {FL_roll_hip: 0.1}}]\n"
    state = editor_state(PD.replace("    components:", f"{keyframes}    components:"))
    state.selection.only("dog")

    def chooses(ctx: Any) -> None:
        rows(ctx)
        for name in ("home", "low", "(none)"):
            ctx.item_click("props/keyframe/##v")
            ctx.item_click(f"//##Combo_00/**/{name}")
            ctx.yield_(2)
            CHECK(state.scene["dog"].keyframe == ("" if name == "(none)" else name))

    drive(state, chooses)
    assert state.session.undo_stack.names == [
        "Set dog.keyframe",
        "Set dog.keyframe",
        "Reset dog.keyframe",
    ]


def test_motors_are_chosen_from_the_library() -> None:
    state = editor_state(PD)
    state.selection.only("dog")

    def chooses(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/motors/##v")
        ctx.item_click("//##Combo_00/go2hv")
        ctx.yield_(2)
        CHECK(authored(state, "motors", "dog") == "go2hv")
        ctx.item_click("props/motors/###label")
        ctx.item_input_value("props/motors/##add", ".*_calf")
        ctx.yield_(2)
        CHECK(authored(state, "motors", "dog") == {"default": "go2hv", ".*_calf": "go2hv"})
        ctx.item_click("props/motors/.*_calf/##v")
        ctx.item_click("//##Combo_00/n7520-22.5")
        ctx.yield_(10)
        CHECK(authored(state, "motors", "dog") == {"default": "go2hv", ".*_calf": "n7520-22.5"})

    drive(state, chooses)
    world = state.simulation.world
    assert {b.motor.name for b in world["dog"].actuators if b.motor} == {"go2hv", "n7520-22.5"}


def test_a_renamed_actor_stays_selected_and_references_follow() -> None:
    state = editor_state(PD + "collision_groups: [{name: dogs, members: [dog]}]\n")
    state.selection.only("dog")

    def renames(ctx: Any) -> None:
        rows(ctx)
        ctx.item_input_value("props/name/##v", "rex")
        ctx.yield_(2)

    drive(state, renames)
    assert state.selection.paths == ["rex"]
    assert state.scene.collision_groups[0].members == ("rex",)
    assert state.session.undo_stack.names == ["Rename dog to rex"]


def test_options_are_as_the_model_says_until_they_are_set() -> None:
    state = editor_state(PD + "sim: {}\n")
    state.selection.only("sim")

    def sets(ctx: Any) -> None:
        rows(ctx)
        for name in ("timestep", "gravity", "cone", "iterations", "contact"):
            ctx.item_click(f"props/{name}/##on")
        ctx.yield_(2)
        ctx.item_input_value("props/timestep/##v", 0.004)
        ctx.item_input_value("props/gravity/##2", -3.0)
        ctx.item_input_value("props/iterations/##v", 50)
        choose(ctx, "props/cone/##v", "elliptic")
        ctx.item_click("props/contact/##on")
        ctx.yield_(2)

    drive(state, sets)
    assert state.scene.sim is not None
    assert state.scene.sim.to_data() == {
        "timestep": 0.004,
        "gravity": [0.0, 0.0, -3.0],
        "cone": "elliptic",
        "iterations": 50,
    }
    assert state.simulation.world.model.opt.timestep == 0.004


def test_looking_at_a_scene_changes_nothing(state: EditorState) -> None:
    paths = ["scene", "one", "one.pose", "sim", "two.Everything.bench", "nobody", "one.joint:swing"]

    def looks(ctx: Any) -> None:
        for path in paths:
            state.selection.only(path)
            ctx.yield_(3)

    drive(state, looks)
    assert state.scene.to_text() == SCENE
    assert len(state.session.undo_stack) == 0
    assert [line.text for line in state.console.lines] == []


def test_rows_of_every_class_of_a_scene_are_drawn(state: EditorState) -> None:
    text = (
        "include: []\nframes: [{name: gate}]\nvars: {a: 1}\n"
        "randomise: [{path: one.Everything.gain, high: 1}]\n"
    )
    state = editor_state(Scene.parse(SCENE + text))

    def looks(ctx: Any) -> None:
        for path in ("scene", "one", "frames[0]", "randomise[0]"):
            state.selection.only(path)
            ctx.yield_(3)
            rows(ctx)
            for prop in state.selected()[0].properties():
                CHECK(there(ctx, f"props/{prop.name}/###label"))

    drive(state, looks)
    assert [line.text for line in state.console.lines] == []


def test_the_filter_shows_a_part_for_what_is_in_it(state: EditorState) -> None:
    inspector = Inspector(state)
    obj = state.described(ONE)
    assert obj is not None
    state.session.set(f"{ONE}.bench", {"height": 2})
    shown = {
        search: [
            f.prop.name
            for f in fields_of([EditedObject(ONE, obj)], inspector.edits)
            if Filter(search).shows(f)
        ]
        for search in ("high", "DEGREES", "numbers slides", "no such thing")
    }
    assert shown == {
        "high": ["bench"],
        "DEGREES": ["angle"],
        "numbers slides": ["gain"],
        "no such thing": [],
    }
